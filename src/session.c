/*
 * session.c
 *		Start and end of a decoding session.
 */
#include "postgres.h"

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "replication/walsender.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "acdat.h"
#include "decoder.h"

/*
 * Settings that change what values look like.  They are pinned, as a client
 * that chose them could choose what the terms are compared with.
 */
static const struct
{
	const char *name;
	const char *value;
}			pinned_settings[] = {
	{"DateStyle", "ISO, MDY"},
	{"IntervalStyle", "postgres"},
	{"TimeZone", "UTC"},
	{"bytea_output", "hex"},
	{"extra_float_digits", "1"},
	{"lc_monetary", "C"},
	{"quote_all_identifiers", "off"},
	{"search_path", "public"},
};

/*
 * In a walsender nothing else runs, so the settings are made for good; in the
 * SQL interface they are undone when decoding ends, by shutdown or by the
 * rollback that an error brings.
 */
static void
pin_settings(AcdatDecoder *decoder)
{
	GucAction	action = decoder->walsender ? GUC_ACTION_SET : GUC_ACTION_SAVE;

	if (!decoder->walsender)
		decoder->guc_level = NewGUCNestLevel();
	for (int i = 0; i < (int) lengthof(pinned_settings); i++)
		(void) set_config_option(pinned_settings[i].name, pinned_settings[i].value,
								 PGC_USERSET, PGC_S_SESSION, action, true, 0, false);
}

/*
 * The slot's plugin name is the one the client asked for.  Under the names of
 * plugins whose output we do not write, nothing may be written at all.
 */
static void
check_plugin_name(void)
{
	static const char *const unsupported[] = {"pgoutput", "test_decoding", "decoderbufs"};
	const char *plugin = NameStr(MyReplicationSlot->data.plugin);

	for (int i = 0; i < (int) lengthof(unsupported); i++)
	{
		if (strcmp(plugin, unsupported[i]) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("output in the format of %s is not supported by this version of %s",
							unsupported[i], ACDAT_EXTENSION),
					 errdetail("This session is bound to a policy and may not use the native plugin."),
					 errhint("Use a client that reads the output of wal2json.")));
	}
}

/* The decoding context is going away, after an error too. */
static void
forget_decoder(void *arg)
{
	if (acdat_current_decoder == arg)
		acdat_current_decoder = NULL;
}

static AcdatDecoder *
create_decoder(LogicalDecodingContext *ctx)
{
	AcdatDecoder *decoder = palloc0(sizeof(AcdatDecoder));
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));

	decoder->ctx = ctx;
	decoder->session_context = AllocSetContextCreate(ctx->context, "acdat_decoder session",
													 ALLOCSET_DEFAULT_SIZES);
	decoder->change_context = AllocSetContextCreate(ctx->context, "acdat_decoder change",
													ALLOCSET_DEFAULT_SIZES);

	/* not am_walsender: the SQL interface can be called there too */
	decoder->walsender = ctx->update_progress != NULL;
	decoder->convert = decoder->walsender && GetDatabaseEncoding() != PG_UTF8;
	callback->func = forget_decoder;
	callback->arg = decoder;
	MemoryContextRegisterResetCallback(ctx->context, callback);
	return decoder;
}

void
acdat_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init)
{
	AcdatDecoder *decoder;

	check_plugin_name();
	opt->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
	opt->receive_rewrites = false;

	/* no catalog may be read while a slot is created, and nothing is emitted */
	if (is_init)
	{
		ctx->streaming = false;
		ctx->twophase = false;
		return;
	}

	decoder = create_decoder(ctx);
	acdat_parse_options(ctx->output_plugin_options, &decoder->options);
	ctx->streaming &= decoder->options.streaming;
	ctx->twophase &= decoder->options.two_phase;
	ctx->twophase_opt_given = decoder->options.two_phase;
	decoder->format = decoder->options.format_version == 1 ?
		&acdat_format_wal2json1 : &acdat_format_wal2json2;
	if (decoder->format->start != NULL)
		decoder->format->start(decoder);
	acdat_plans_init(decoder);
	acdat_current_decoder = decoder;
	ctx->output_plugin_private = decoder;
	acdat_load_policy(decoder);
	pin_settings(decoder);
}

/* Numbers of values only, never anything of them. */
static void
report_counts(const AcdatDecoder *decoder)
{
	const AcdatCounts *counts = &decoder->counts;
	int			level = counts->oversize + counts->failed + counts->withheld > 0 ? LOG : DEBUG1;

	ereport(level,
			(errmsg("decoding on slot \"%s\" ended", NameStr(MyReplicationSlot->data.name)),
			 errdetail("Values redacted: %llu; masked whole for a match: %llu, for their size: %llu, for failing output: %llu; columns withheld: %llu.",
					   (unsigned long long) counts->redacted,
					   (unsigned long long) counts->masked,
					   (unsigned long long) counts->oversize,
					   (unsigned long long) counts->failed,
					   (unsigned long long) counts->withheld)));
}

void
acdat_shutdown(LogicalDecodingContext *ctx)
{
	AcdatDecoder *decoder = ctx->output_plugin_private;

	if (decoder == NULL)
		return;
	if (MyReplicationSlot != NULL)
		report_counts(decoder);
	if (decoder->guc_level > 0)
		AtEOXact_GUC(true, decoder->guc_level);
	decoder->guc_level = 0;
	acdat_current_decoder = NULL;
	MemoryContextDelete(decoder->change_context);
	MemoryContextDelete(decoder->session_context);
	ctx->output_plugin_private = NULL;
}
