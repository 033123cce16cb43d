/*
 * policy_format.c
 *		Published policies as bytes, and back.
 *
 * The body of a generation is a fixed sequence of little-endian integers and
 * counted strings.  It is read back while decoding, where a surprise must be
 * an error and never a guess: every read is checked against the end, every
 * enum against its range, and nothing may follow the last field.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "compat.h"
#include "policy.h"

#define BODY_VERSION		1
#define NULL_LENGTH			PG_UINT16_MAX

/* ---- writing ---- */

static void
put_uint(StringInfo buf, uint64 value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		appendStringInfoChar(buf, (char) (value >> (8 * i)));
}

/* A string that may be NULL: 2 bytes of length, then the bytes. */
static void
put_string(StringInfo buf, const char *str)
{
	Size		len;

	if (str == NULL)
	{
		put_uint(buf, NULL_LENGTH, 2);
		return;
	}
	len = strlen(str);
	if (len >= NULL_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("argument of a policy rule is too long"),
				 errdetail("It may have at most %d bytes.", NULL_LENGTH - 1)));
	put_uint(buf, len, 2);
	appendBinaryStringInfo(buf, str, (int) len);
}

/* The buffer's bytes as a varlena. */
static bytea *
to_bytea(const char *data, Size size)
{
	bytea	   *result = palloc(VARHDRSZ + size);

	SET_VARSIZE(result, VARHDRSZ + size);
	memcpy(VARDATA(result), data, size);
	return result;
}

static void
put_rule(StringInfo buf, const AcdatRule *rule)
{
	put_uint(buf, rule->kind, 1);
	put_uint(buf, rule->action, 1);
	put_string(buf, rule->argument);
	put_string(buf, rule->schema);
	put_string(buf, rule->relation);
	put_string(buf, rule->column);
	put_string(buf, rule->type_schema);
	put_string(buf, rule->type_name);
	put_uint(buf, rule->relid, 4);
	put_uint(buf, (uint16) rule->attnum, 2);
	put_uint(buf, rule->typid, 4);
}

bytea *
acdat_policy_serialize(const AcdatPolicy *policy)
{
	StringInfoData buf;
	bytea	   *result;

	initStringInfo(&buf);
	put_uint(&buf, BODY_VERSION, 2);
	put_string(&buf, policy->name);
	put_uint(&buf, (uint64) policy->generation, 8);
	put_uint(&buf, (uint64) policy->published_at, 8);
	put_string(&buf, policy->publisher);
	put_uint(&buf, policy->clock_commit, 1);
	put_uint(&buf, policy->scan_all, 1);
	put_uint(&buf, policy->default_action, 1);
	put_uint(&buf, policy->secret_len, 2);
	appendBinaryStringInfo(&buf, (const char *) policy->secret, policy->secret_len);
	put_uint(&buf, policy->nmachines, 4);
	for (int i = 0; i < policy->nmachines; i++)
	{
		const AcdatMachineRef *ref = &policy->machines[i];

		appendBinaryStringInfo(&buf, (const char *) ref->digest, ACD_DIGEST_LEN);
		put_uint(&buf, (uint64) ref->size, 8);
		put_string(&buf, ref->dictionary);
	}
	put_uint(&buf, policy->nrules, 4);
	for (int i = 0; i < policy->nrules; i++)
		put_rule(&buf, &policy->rules[i]);

	result = to_bytea(buf.data, buf.len);
	pfree(buf.data);
	return result;
}

bytea *
acdat_header_serialize(const AcdatHeader *header)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, ACDAT_HEADER_MAGIC, 4);
	put_uint(&buf, ACDAT_HEADER_VERSION, 2);
	put_uint(&buf, 0, 2);
	put_uint(&buf, (uint64) header->generation, 8);
	put_uint(&buf, (uint64) header->body_size, 8);
	appendBinaryStringInfo(&buf, (const char *) header->body_digest, ACD_DIGEST_LEN);
	Assert(buf.len == ACDAT_HEADER_BYTES);
	return to_bytea(buf.data, buf.len);
}

bytea *
acdat_body_key(const char *policy, int64 generation)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, policy, strlen(policy) + 1);
	for (int i = 7; i >= 0; i--)
		appendStringInfoChar(&buf, (char) ((uint64) generation >> (8 * i)));
	return to_bytea(buf.data, buf.len);
}

bytea *
acdat_binding_serialize(Oid role, const char *policy)
{
	StringInfoData buf;

	initStringInfo(&buf);
	put_uint(&buf, role, 4);
	appendStringInfoString(&buf, policy);
	return to_bytea(buf.data, buf.len);
}

/* ---- reading ---- */

typedef struct Reader
{
	const unsigned char *pos;
	const unsigned char *end;
} Reader;

pg_noreturn static void
corrupt(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("published policy is corrupt"),
			 errhint("Publish the policy again.")));
}

static const unsigned char *
get_bytes(Reader *reader, Size size)
{
	const unsigned char *start = reader->pos;

	if ((Size) (reader->end - start) < size)
		corrupt();
	reader->pos += size;
	return start;
}

static uint64
get_uint(Reader *reader, int bytes)
{
	const unsigned char *p = get_bytes(reader, bytes);
	uint64		value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64) p[i] << (8 * i);
	return value;
}

static char *
get_string(Reader *reader)
{
	Size		len = get_uint(reader, 2);
	const unsigned char *p;

	if (len == NULL_LENGTH)
		return NULL;
	p = get_bytes(reader, len);
	if (memchr(p, '\0', len) != NULL)
		corrupt();
	return pnstrdup((const char *) p, len);
}

/* A string that must be there. */
static char *
get_name(Reader *reader)
{
	char	   *str = get_string(reader);

	if (str == NULL)
		corrupt();
	return str;
}

/* An enum's value, 0 <= value <= max. */
static int
get_enum(Reader *reader, int max)
{
	int			value = (int) get_uint(reader, 1);

	if (value > max)
		corrupt();
	return value;
}

/* A count of items that take at least item_size bytes each. */
static int
get_count(Reader *reader, Size item_size)
{
	uint64		count = get_uint(reader, 4);

	if (count > (uint64) (reader->end - reader->pos) / item_size)
		corrupt();
	return (int) count;
}

static void
get_rule(Reader *reader, AcdatRule *rule)
{
	rule->kind = get_enum(reader, ACDAT_RULE_TYPE);
	rule->action = get_enum(reader, ACDAT_DROP);
	rule->argument = get_string(reader);
	rule->schema = get_string(reader);
	rule->relation = get_string(reader);
	rule->column = get_string(reader);
	rule->type_schema = get_string(reader);
	rule->type_name = get_string(reader);
	rule->relid = (Oid) get_uint(reader, 4);
	rule->attnum = (AttrNumber) (int16) get_uint(reader, 2);
	rule->typid = (Oid) get_uint(reader, 4);

	/* each kind has the names it is matched by */
	if ((rule->kind <= ACDAT_RULE_RELATION && (rule->schema == NULL || rule->relation == NULL)) ||
		((rule->kind == ACDAT_RULE_COLUMN || rule->kind == ACDAT_RULE_NAME) && rule->column == NULL) ||
		(rule->kind == ACDAT_RULE_TYPE && (rule->type_schema == NULL || rule->type_name == NULL)))
		corrupt();
}

AcdatPolicy *
acdat_policy_parse(const char *data, Size size)
{
	Reader		reader = {(const unsigned char *) data, (const unsigned char *) data + size};
	AcdatPolicy *policy = palloc0(sizeof(AcdatPolicy));

	if (get_uint(&reader, 2) != BODY_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("published policy has a format this version of %s does not read",
						ACDAT_EXTENSION),
				 errhint("Publish the policy again.")));
	policy->name = get_name(&reader);
	policy->generation = (int64) get_uint(&reader, 8);
	policy->published_at = (TimestampTz) get_uint(&reader, 8);
	policy->publisher = get_name(&reader);
	policy->clock_commit = get_enum(&reader, 1);
	policy->scan_all = get_enum(&reader, 1);
	policy->default_action = get_enum(&reader, ACDAT_ERROR);
	policy->secret_len = (int) get_uint(&reader, 2);
	policy->secret = palloc(policy->secret_len + 1);
	memcpy(policy->secret, get_bytes(&reader, policy->secret_len), policy->secret_len);

	policy->nmachines = get_count(&reader, ACD_DIGEST_LEN + 10);
	if (policy->nmachines > ACD_MAX_MACHINES)
		corrupt();
	policy->machines = palloc0((policy->nmachines + 1) * sizeof(AcdatMachineRef));
	for (int i = 0; i < policy->nmachines; i++)
	{
		AcdatMachineRef *ref = &policy->machines[i];

		memcpy(ref->digest, get_bytes(&reader, ACD_DIGEST_LEN), ACD_DIGEST_LEN);
		ref->size = (int64) get_uint(&reader, 8);
		if (ref->size <= 0 || ref->size > (int64) (MaxAllocSize - VARHDRSZ))
			corrupt();
		ref->dictionary = get_name(&reader);
	}

	policy->nrules = get_count(&reader, 24);
	policy->rules = palloc0((policy->nrules + 1) * sizeof(AcdatRule));
	for (int i = 0; i < policy->nrules; i++)
		get_rule(&reader, &policy->rules[i]);

	if (reader.pos != reader.end)
		corrupt();
	return policy;
}

void
acdat_header_parse(const char *data, Size size, AcdatHeader *header)
{
	Reader		reader = {(const unsigned char *) data, (const unsigned char *) data + size};

	if (size != ACDAT_HEADER_BYTES ||
		memcmp(get_bytes(&reader, 4), ACDAT_HEADER_MAGIC, 4) != 0 ||
		get_uint(&reader, 2) != ACDAT_HEADER_VERSION ||
		get_uint(&reader, 2) != 0)
		corrupt();
	header->generation = (int64) get_uint(&reader, 8);
	header->body_size = (int64) get_uint(&reader, 8);
	memcpy(header->body_digest, get_bytes(&reader, ACD_DIGEST_LEN), ACD_DIGEST_LEN);
}

char *
acdat_binding_parse(const char *data, Size size, Oid *role)
{
	Reader		reader = {(const unsigned char *) data, (const unsigned char *) data + size};
	Size		len;

	*role = (Oid) get_uint(&reader, 4);
	len = reader.end - reader.pos;
	if (len == 0 || memchr(reader.pos, '\0', len) != NULL)
		corrupt();
	return pnstrdup((const char *) reader.pos, len);
}

void
acdat_sha256(const void *data, Size size, uint8 *digest)
{
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(PG_SHA256);

	if (ctx == NULL ||
		pg_cryptohash_init(ctx) < 0 ||
		pg_cryptohash_update(ctx, (const uint8 *) data, size) < 0 ||
		pg_cryptohash_final(ctx, digest, PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute %s digest", "SHA-256");
	pg_cryptohash_free(ctx);
}

/* ---- names of actions ---- */

static const char *const action_names[] = {
	[ACDAT_KEEP] = "keep",
	[ACDAT_REDACT] = "redact",
	[ACDAT_MASK] = "mask",
	[ACDAT_NULL] = "null",
	[ACDAT_DROP] = "drop",
	[ACDAT_ERROR] = "error",
};

const char *
acdat_action_name(AcdatAction action)
{
	return action_names[action];
}

bool
acdat_action_from_name(const char *name, AcdatAction *action)
{
	for (int i = 0; i < (int) lengthof(action_names); i++)
	{
		if (strcmp(name, action_names[i]) == 0)
		{
			*action = (AcdatAction) i;
			return true;
		}
	}
	return false;
}
