/*
 * machine.c
 *		The type acdat.machine: a compiled dictionary as a value.
 *
 * A value is the bytes of an artifact.  Whatever comes in from outside is
 * opened and verified before it becomes a value, so a value that does not
 * open is damage.  The text form is that of bytea, in hexadecimal.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "shared_machine.h"
#include "sql.h"

PG_FUNCTION_INFO_V1(acdat_machine_in);
PG_FUNCTION_INFO_V1(acdat_machine_out);
PG_FUNCTION_INFO_V1(acdat_machine_recv);
PG_FUNCTION_INFO_V1(acdat_machine_send);
PG_FUNCTION_INFO_V1(acdat_machine_from_bytea);

/* ---- in and out ---- */

pg_noreturn static void
refuse_input(int sqlstate, const char *why)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("invalid input for type %s", "acdat.machine"),
			 errdetail_internal("%s", why)));
}

/* Prove that the bytes are an artifact that behaves as its terms say. */
static void
check_artifact(const void *bytes, Size size, int sqlstate)
{
	acd_allocator allocator = acdat_allocator(CurrentMemoryContext);
	acd_machine machine;
	acd_status	status = acd_machine_open(&machine, bytes, size);

	if (status == ACD_OK)
		status = acd_machine_verify(&machine, &allocator);
	if (status == ACD_ERR_NOMEM)
		acdat_raise(status, "machine");
	if (status != ACD_OK)
	{
		char	   *why = psprintf("%s.", acd_status_message(status));

		why[0] = pg_toupper((unsigned char) why[0]);
		refuse_input(sqlstate, why);
	}
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

Datum
acdat_machine_in(PG_FUNCTION_ARGS)
{
	const char *str = PG_GETARG_CSTRING(0);
	Size		len = strlen(str);
	Size		size;
	bytea	   *result;
	char	   *out;

	if (len < 2 || str[0] != '\\' || str[1] != 'x' || len % 2 != 0)
		refuse_input(ERRCODE_INVALID_TEXT_REPRESENTATION,
					 "A machine is written as \\x and pairs of hexadecimal digits.");
	size = len / 2 - 1;
	result = palloc(VARHDRSZ + size);
	SET_VARSIZE(result, VARHDRSZ + size);
	out = VARDATA(result);
	for (Size i = 0; i < size; i++)
	{
		int			high = hex_digit(str[2 + 2 * i]);
		int			low = hex_digit(str[3 + 2 * i]);

		if (high < 0 || low < 0)
			refuse_input(ERRCODE_INVALID_TEXT_REPRESENTATION,
						 "There is something else than hexadecimal digits.");
		out[i] = (char) (high << 4 | low);
	}
	check_artifact(out, size, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_BYTEA_P(result);
}

Datum
acdat_machine_out(PG_FUNCTION_ARGS)
{
	bytea	   *machine = PG_GETARG_BYTEA_PP(0);
	Size		size = VARSIZE_ANY_EXHDR(machine);
	char	   *result;

	if (size > (MaxAllocSize - 3) / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("machine is too large for its text form"),
				 errhint("Use the binary form.")));
	result = palloc(size * 2 + 3);
	result[0] = '\\';
	result[1] = 'x';
	hex_encode(VARDATA_ANY(machine), size, result + 2);
	result[size * 2 + 2] = '\0';
	PG_RETURN_CSTRING(result);
}

Datum
acdat_machine_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			size = buf->len - buf->cursor;
	bytea	   *result = palloc(VARHDRSZ + size);

	SET_VARSIZE(result, VARHDRSZ + size);
	pq_copymsgbytes(buf, VARDATA(result), size);
	check_artifact(VARDATA(result), size, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_BYTEA_P(result);
}

Datum
acdat_machine_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(PG_GETARG_BYTEA_P_COPY(0));
}

Datum
acdat_machine_from_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);

	check_artifact(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
				   ERRCODE_INVALID_PARAMETER_VALUE);
	PG_RETURN_BYTEA_P(bytes);
}

/* ---- machines as arguments ---- */

/* Machines a call site keeps open: queries that join a few dictionaries. */
#define KEPT_MACHINES	4

typedef struct MachineCache
{
	AcdatMachineArg *last;		/* the one of the last call */
	AcdatMachineArg kept[KEPT_MACHINES];
	int			next;			/* the one to give up */
} MachineCache;

static bool
same_pointer(const struct varatt_external *a, const struct varatt_external *b)
{
	return a->va_toastrelid == b->va_toastrelid && a->va_valueid == b->va_valueid &&
		a->va_rawsize == b->va_rawsize && a->va_extinfo == b->va_extinfo;
}

/* Is it the same artifact?  By its header, digest and checksum included. */
static inline bool
same_artifact(const AcdatMachineArg *slot, const char *bytes, Size size)
{
	return slot->machine.size == size && memcmp(slot->machine.bytes, bytes, slot->head_len) == 0;
}

/* Make a slot of the cache unused; returns a context for its next machine. */
static MemoryContext
clear_slot(AcdatMachineArg *slot, MemoryContext parent)
{
	if (slot->context != NULL)
		MemoryContextDelete(slot->context);
	memset(slot, 0, sizeof(AcdatMachineArg));
	return AllocSetContextCreate(parent, "acdat machine", ALLOCSET_SMALL_SIZES);
}

/* A slot has its machine: set up what is the same for all values. */
static void
prepare_scan(AcdatMachineArg *slot)
{
	slot->machines[0] = &slot->machine;
	slot->allocator = acdat_allocator(NULL);
	slot->scan.machines = slot->machines;
	slot->scan.nmachines = 1;
	slot->scan.allocator = &slot->allocator;
	slot->scan.poll = acdat_poll;
	slot->everywhere = slot->text != ACDAT_TEXT_UNKNOWN &&
		!acdat_needs_boundaries(slot->text);
}

/* Use a machine that is open in this process anyway. */
static void
keep_shared(AcdatMachineArg *slot, MemoryContext parent, AcdatMachine *shared)
{
	MemoryContext context = clear_slot(slot, parent);

	acdat_hold_machine(shared, context);
	slot->shared = shared;
	slot->machine = shared->machine;
	slot->text = shared->text;
	slot->context = context;
	prepare_scan(slot);
}

/* Open an artifact into a slot of the cache, copying it. */
static void
keep_machine(AcdatMachineArg *slot, MemoryContext parent, const char *bytes, Size size)
{
	MemoryContext context = clear_slot(slot, parent);
	acd_machine_info info;
	char	   *copy;
	acd_status	status;

	copy = MemoryContextAllocHuge(context, size + 1);
	memcpy(copy, bytes, size);
	status = acd_machine_open(&slot->machine, copy, size);
	if (status != ACD_OK)
		acdat_raise(status, "machine");
	acd_machine_describe(&slot->machine, &info);
	slot->head_len = (Size) (info.digest - slot->machine.bytes) + ACD_DIGEST_LEN;
	slot->text = ACDAT_TEXT_UNKNOWN;
	slot->context = context;
	prepare_scan(slot);
}

/* The slot to give up for a machine that is not in the cache. */
static AcdatMachineArg *
next_slot(MachineCache *cache)
{
	AcdatMachineArg *slot = &cache->kept[cache->next];

	cache->next = (cache->next + 1) % KEPT_MACHINES;
	return slot;
}

/* A value that is not at an address we know. */
static AcdatMachineArg *
find_by_content(MachineCache *cache, MemoryContext parent, struct varlena *value)
{
	bool		on_disk = VARATT_IS_EXTERNAL_ONDISK(value);
	struct varatt_external pointer = {0};
	struct varlena *plain = NULL;
	AcdatMachineArg *slot;

	if (on_disk)
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
	else
		plain = pg_detoast_datum_packed(value);

	for (int i = 0; i < KEPT_MACHINES; i++)
	{
		slot = &cache->kept[i];
		if (slot->context == NULL || slot->shared != NULL || slot->on_disk != on_disk)
			continue;
		if (on_disk ? same_pointer(&slot->pointer, &pointer)
			: same_artifact(slot, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain)))
			return slot;
	}

	slot = next_slot(cache);
	if (on_disk)
		plain = detoast_attr(value);
	keep_machine(slot, parent, VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain));
	slot->on_disk = on_disk;
	slot->pointer = pointer;
	if (on_disk)
		pfree(plain);
	return slot;
}

/* Look a value up in a call site's cache, or open it. */
static AcdatMachineArg *
find_machine_arg(MachineCache *cache, MemoryContext parent, struct varlena *value)
{
	AcdatMachine *shared;
	AcdatMachineArg *slot;

	for (int i = 0; i < KEPT_MACHINES; i++)
	{
		slot = &cache->kept[i];
		if (slot->shared != NULL && slot->shared->value == value)
			return slot;
	}
	shared = acdat_machine_at(value);
	if (shared == NULL)
		return find_by_content(cache, parent, value);
	slot = next_slot(cache);
	keep_shared(slot, parent, shared);
	return slot;
}

/* Is a value the machine of the last call?  False if finding out takes more than a look. */
static inline bool
is_last(const AcdatMachineArg *last, const struct varlena *value)
{
	if (last->shared != NULL)
		return last->shared->value == value;
	if (last->on_disk)
		return VARATT_IS_EXTERNAL_ONDISK(value) &&
			memcmp(VARDATA_EXTERNAL(value), &last->pointer, sizeof(last->pointer)) == 0;
	return VARATT_IS_4B_U(value) && same_artifact(last, VARDATA(value), VARSIZE(value) - VARHDRSZ);
}

/*
 * The machine in an argument.  A value of machine_of is known by its address,
 * one in a TOAST table by where it is, so that it is fetched once; any other
 * by its digest.
 */
AcdatMachineArg *
acdat_machine_arg(FunctionCallInfo fcinfo, int argno)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argno));
	MachineCache *cache = fcinfo->flinfo->fn_extra;
	MemoryContext parent = fcinfo->flinfo->fn_mcxt;

	/* most queries have one machine */
	if (likely(cache != NULL && cache->last != NULL && is_last(cache->last, value)))
		return cache->last;
	if (cache == NULL)
	{
		cache = MemoryContextAllocZero(parent, sizeof(MachineCache));
		fcinfo->flinfo->fn_extra = cache;
	}
	cache->last = NULL;			/* its slot may be given up, and opening fail */
	cache->last = find_machine_arg(cache, parent, value);
	return cache->last;
}

/*
 * Are all patterns and replacements valid text of this database?  Where they
 * are not, a match could lie inside a character.
 */
static AcdatTextState
machine_text(const acd_machine *machine)
{
	acd_machine_info info;
	char	   *pattern;
	AcdatTextState result = ACDAT_TEXT_CLEAN;

	acd_machine_describe(machine, &info);
	pattern = palloc((Size) info.max_len + 1);
	for (uint32 i = 0; i < info.terms && result == ACDAT_TEXT_CLEAN; i++)
	{
		acd_term_info term;

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!acd_machine_term(machine, i, &term) || !acd_machine_pattern(machine, i, pattern) ||
			!pg_verifymbstr(pattern, term.pattern_len, true) ||
			!pg_verifymbstr(term.replacement, term.replacement_len, true))
			result = ACDAT_TEXT_FOREIGN;
	}
	pfree(pattern);
	return result;
}

/* Find out whether a machine is text here, if that is not yet known. */
void
acdat_settle_machine_arg(AcdatMachineArg *arg)
{
	if (arg->text != ACDAT_TEXT_UNKNOWN)
		return;
	if (arg->shared == NULL)
		arg->text = machine_text(&arg->machine);
	else
	{
		if (arg->shared->text == ACDAT_TEXT_UNKNOWN)
			arg->shared->text = machine_text(&arg->machine);
		arg->text = arg->shared->text;
	}
	arg->everywhere = !acdat_needs_boundaries(arg->text);
}
