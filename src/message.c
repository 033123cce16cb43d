/*
 * message.c
 *		Logical messages and identifiers of prepared transactions: text that a
 *		user chose and that is in no column.
 *
 * The policy's default action decides about them.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "decoder.h"
#include "json.h"

/* One part of a message, in the database's encoding until it is encoded. */
static void
mask_part(const char **part, Size *len)
{
	*part = ACDAT_DEFAULT_MASK;
	*len = strlen(ACDAT_DEFAULT_MASK);
}

/*
 * A prefix or a content after redaction.  Its bytes need not be text.  They
 * are made so first, as they will be in the output, where terms are looked
 * for: beside half a character one could be missed.
 */
static void
redact_part(AcdatDecoder *decoder, const char **part, Size *len)
{
	const AcdatGeneration *generation = decoder->generation;
	AcdatAction action = generation ? generation->policy->default_action : ACDAT_KEEP;
	char	   *text;
	Size		text_len;

	if (action == ACDAT_MASK || action == ACDAT_NULL || action == ACDAT_DROP)
	{
		mask_part(part, len);
		return;
	}
	if (!acdat_make_valid(part, len))
	{
		decoder->counts.oversize++;
		mask_part(part, len);
		return;
	}
	if (action == ACDAT_KEEP ||
		acdat_redact_text(generation->machines, generation->nmachines, *part, *len,
						  ACDAT_CHANGE_LIMIT, &text, &text_len) == 0)
		return;
	decoder->counts.redacted++;
	*part = text;
	*len = text_len;
	if (text == NULL)
		mask_part(part, len);
}

static void
encode_part(AcdatDecoder *decoder, const char **part, Size *len)
{
	const char *encoded = acdat_encode_bytes(decoder, *part, *len, len);

	if (encoded == NULL || acdat_json_size(encoded, *len) > ACDAT_CHANGE_LIMIT / 2)
	{
		decoder->counts.oversize++;
		mask_part(part, len);
		return;
	}
	*part = encoded;
}

/*
 * Outside a transaction, as a walsender is between transactions, no catalog
 * can be read and no resource owned: open one.  True if that was done, to be
 * passed to leave_transaction.
 */
static bool
enter_transaction(const AcdatDecoder *decoder)
{
	bool		own = !IsTransactionState();

	if (own)
		StartTransactionCommand();
	MemoryContextSwitchTo(decoder->change_context);
	return own;
}

static void
leave_transaction(const AcdatDecoder *decoder, bool own)
{
	if (own)
		AbortCurrentTransaction();	/* leaves no history in the caches */
	MemoryContextSwitchTo(decoder->change_context);
}

/*
 * Prefixes are chosen by what is emitted of them: by what they are, a client
 * could find out letter by letter what it is not to see.
 */
static bool
is_wanted(const AcdatDecoder *decoder, const AcdatMessage *message)
{
	const AcdatOptions *options = &decoder->options;

	if (options->add_prefixes == NIL && options->filter_prefixes == NIL)
		return true;
	return acdat_prefix_wanted(options, pnstrdup(message->prefix, message->prefix_len));
}

bool
acdat_prepare_message(AcdatDecoder *decoder, AcdatMessage *message)
{
	bool		own = enter_transaction(decoder);
	bool		wanted;

	if (!message->transactional)
		acdat_refresh_policy(decoder);
	redact_part(decoder, &message->prefix, &message->prefix_len);
	wanted = is_wanted(decoder, message);
	if (wanted)
	{
		redact_part(decoder, &message->content, &message->content_len);
		encode_part(decoder, &message->prefix, &message->prefix_len);
		encode_part(decoder, &message->content, &message->content_len);
	}
	leave_transaction(decoder, own);
	return wanted;
}

/*
 * An identifier ties records together, so it is redacted as a key: what was
 * different stays different, and the same gives the same.  A transaction can
 * end long after it was prepared, when no other one has begun: the policy is
 * looked at again then, so that an identifier can come in another form.
 */
void
acdat_prepare_gid(AcdatDecoder *decoder, AcdatMark *mark, const char *gid)
{
	const AcdatGeneration *generation;
	AcdatAction action;
	bool		own = enter_transaction(decoder);
	char	   *text = ACDAT_DEFAULT_MASK;
	Size		text_len = strlen(ACDAT_DEFAULT_MASK);

	if (!HistoricSnapshotActive())
		acdat_refresh_policy(decoder);
	generation = decoder->generation;
	action = generation ? generation->policy->default_action : ACDAT_KEEP;
	mark->gid = gid;
	mark->gid_len = strlen(gid);
	if (action == ACDAT_MASK || action == ACDAT_NULL || action == ACDAT_DROP ||
		(action != ACDAT_KEEP &&
		 acdat_redact_text(generation->machines, generation->nmachines,
						   mark->gid, mark->gid_len, ACDAT_CHANGE_LIMIT, &text, &text_len)))
		mark->gid = acdat_key_form(generation->policy, gid, strlen(gid), text, text_len,
								   ACDAT_FIT_ANY, 0, &mark->gid_len);
	mark->gid = acdat_encode_bytes(decoder, mark->gid, mark->gid_len, &mark->gid_len);
	leave_transaction(decoder, own);
}
