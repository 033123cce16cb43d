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

#include "decoder.h"
#include "json.h"

static void
mask_part(const AcdatDecoder *decoder, const char **part, Size *len)
{
	*part = acdat_encode(decoder, ACDAT_DEFAULT_MASK, strlen(ACDAT_DEFAULT_MASK), len);
}

/*
 * One part of a message, a prefix or a content, after redaction and in the
 * output's encoding.
 */
static void
redact_part(AcdatDecoder *decoder, const char **part, Size *len)
{
	const AcdatGeneration *generation = decoder->generation;
	AcdatAction action = generation ? generation->policy->default_action : ACDAT_KEEP;
	char	   *text;
	Size		text_len;

	if (action == ACDAT_MASK || action == ACDAT_NULL)
	{
		mask_part(decoder, part, len);
		return;
	}
	if (action != ACDAT_KEEP &&
		acdat_redact_text(generation->machines, generation->nmachines, *part, *len,
						  ACDAT_CHANGE_LIMIT, &text, &text_len))
	{
		decoder->counts.redacted++;
		if (text == NULL)
		{
			mask_part(decoder, part, len);
			return;
		}
		*part = text;
		*len = text_len;
	}
	*part = acdat_encode_bytes(decoder, *part, *len, len);
	if (acdat_json_size(*part, *len) > ACDAT_CHANGE_LIMIT / 2)
	{
		decoder->counts.oversize++;
		mask_part(decoder, part, len);
	}
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

void
acdat_prepare_message(AcdatDecoder *decoder, AcdatMessage *message)
{
	bool		own = enter_transaction(decoder);

	if (!message->transactional)
		acdat_refresh_policy(decoder);
	redact_part(decoder, &message->prefix, &message->prefix_len);
	redact_part(decoder, &message->content, &message->content_len);
	leave_transaction(decoder, own);
}

/*
 * An identifier ties records together, so it is redacted as a key: what was
 * different stays different, and the same gives the same.
 */
void
acdat_prepare_gid(AcdatDecoder *decoder, AcdatMark *mark, const char *gid)
{
	const AcdatGeneration *generation = decoder->generation;
	AcdatAction action = generation ? generation->policy->default_action : ACDAT_KEEP;
	bool		own = enter_transaction(decoder);
	char	   *text = ACDAT_DEFAULT_MASK;
	Size		text_len = strlen(ACDAT_DEFAULT_MASK);

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
