/*
 * cell.c
 *		A tuple's values after everything that has to happen to them.
 *
 * No value may stop a slot.  A value whose text form cannot be had, because
 * its output function fails or it does not fit memory, is masked whole and
 * counted.  The first such failure is caught for the row as a whole, which
 * costs next to nothing while nothing fails; from then on the column's output
 * runs in a subtransaction of its own.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "replication/slot.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "decoder.h"

/* The longest text form that is looked at; what is longer is masked. */
#define TEXT_LIMIT		ACDAT_OUTPUT_LIMIT

/* ---- masks ---- */

/* Put a column's mask in a cell. */
static void
mask_cell(const AcdatColumn *column, AcdatCell *cell)
{
	cell->kind = ACDAT_CELL_VALUE;
	cell->masked = true;
	cell->plain = false;
	cell->data = column->mask_out;
	cell->len = column->mask_out_len;
}

/* The same, keeping apart in key columns what was different before. */
static void
mask_matched_cell(const AcdatDecoder *decoder, const AcdatColumn *column, AcdatCell *cell)
{
	const char *original = cell->data;
	Size		original_len = cell->len;

	cell->matches = Max(cell->matches, 1);
	if (!column->key)
	{
		mask_cell(column, cell);
		return;
	}
	cell->masked = true;
	cell->plain = false;
	cell->data = acdat_key_form(decoder->generation->policy, original, original_len,
								column->mask, column->mask_len,
								column->fit, column->fit_limit, &cell->len);
	cell->data = acdat_encode(decoder, cell->data, cell->len, &cell->len);
}

void
acdat_mask_oversize(AcdatDecoder *decoder, const AcdatPlan *plan, int column,
					AcdatCell *cell, XLogRecPtr lsn)
{
	AcdatColumn *plan_column = &plan->columns[column];

	if (decoder->options.oversize_error)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a value is too large for the output of slot \"%s\"",
						NameStr(MyReplicationSlot->data.name)),
				 errdetail("Column \"%s\" of table \"%s.%s\", at %X/%X.",
						   NameStr(plan_column->name), plan->schema, plan->table,
						   LSN_FORMAT_ARGS(lsn)),
				 errhint("Leave out the option \"oversize\" to have such values masked, or advance the slot past this position.")));
	mask_cell(plan_column, cell);
	decoder->counts.oversize++;
	if (!plan_column->oversize_before)
		ereport(LOG,
				(errmsg("masked a value that is too large for the output of slot \"%s\"",
						NameStr(MyReplicationSlot->data.name)),
				 errdetail("Column \"%s\" of table \"%s.%s\", at %X/%X; further ones of this column are counted.",
						   NameStr(plan_column->name), plan->schema, plan->table,
						   LSN_FORMAT_ARGS(lsn))));
	plan_column->oversize_before = true;
}

/* ---- redaction ---- */

/* Is there a place where one of two characters follows another one? */
static bool
has_pair(const char *text, Size len, char first, const char seconds[2])
{
	const char *end = text + len;

	while ((text = memchr(text, first, end - text)) != NULL && ++text < end)
	{
		if (*text == seconds[0] || *text == seconds[1])
			return true;
	}
	return false;
}

/* Does xml hold what divides text: comments, CDATA or instructions? */
static bool
has_dividing_markup(const char *text, Size len)
{
	/* a declaration comes first */
	Size		declaration = len >= 5 && strncmp(text, "<?xml", 5) == 0 ? 1 : 0;

	return has_pair(text + declaration, len - declaration, '<', "!?");
}

bool
acdat_has_hiding_escape(int hides, const char *text, Size len)
{
	if ((hides & ACDAT_HIDE_BACKSLASH) && memchr(text, '\\', len) != NULL)
		return true;
	if ((hides & ACDAT_HIDE_AMPERSAND) && memchr(text, '&', len) != NULL)
		return true;
	if ((hides & ACDAT_HIDE_QUOTES) && has_pair(text, len, '"', "\"\""))
		return true;
	return (hides & ACDAT_HIDE_MARKUP) && has_dividing_markup(text, len);
}

static void
rewrite_cell(AcdatDecoder *decoder, const AcdatColumn *column, AcdatCell *cell)
{
	const AcdatGeneration *generation = decoder->generation;
	char	   *text;
	Size		len;

	cell->matches = acdat_redact_text(generation->machines, generation->nmachines,
									  cell->data, cell->len, TEXT_LIMIT, &text, &len);
	if (cell->matches == 0)
		return;
	decoder->counts.redacted++;
	if (text == NULL)			/* grew past the limit */
		mask_matched_cell(decoder, column, cell);
	else if (column->key)
		cell->data = acdat_key_form(generation->policy, cell->data, cell->len, text, len,
									column->fit, column->fit_limit, &cell->len);
	else if (column->fit != ACDAT_FIT_ANY)
		cell->data = acdat_fit_text(column->fit, column->fit_limit, text, len, &cell->len);
	else
	{
		cell->data = text;
		cell->len = len;
	}
}

static void
redact_cell(AcdatDecoder *decoder, const AcdatColumn *column, AcdatCell *cell)
{
	const AcdatGeneration *generation = decoder->generation;

	switch (column->scan)
	{
		case ACDAT_SCAN_NONE:
			return;
		case ACDAT_SCAN_REWRITE:
			rewrite_cell(decoder, column, cell);
			return;
		case ACDAT_SCAN_WHOLE:
			if (!acdat_has_hiding_escape(column->hides, cell->data, cell->len) &&
				!acdat_text_matches(generation->machines, generation->nmachines,
									cell->data, cell->len))
				return;
			break;
		case ACDAT_SCAN_ALWAYS:
			break;
	}
	decoder->counts.masked++;
	mask_matched_cell(decoder, column, cell);
}

/* ---- rows ---- */

static void
make_value_cell(AcdatDecoder *decoder, AcdatColumn *column, Datum datum, AcdatCell *cell)
{
	acdat_text_of_value(column, datum, cell);
	if (cell->len > TEXT_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value is too large")));
	if (column->scan != ACDAT_SCAN_NONE)
		redact_cell(decoder, column, cell);
	/* masks are in the output's encoding already */
	if (decoder->convert && !cell->masked && !cell->plain)
		cell->data = acdat_encode(decoder, cell->data, cell->len, &cell->len);
}

/* Everything about a cell that can be said without the value. */
static bool
make_valueless_cell(const AcdatColumn *column, Datum datum, bool isnull, AcdatCell *cell)
{
	cell->masked = false;
	cell->matches = 0;
	cell->data = NULL;
	cell->len = 0;
	if (column->action == ACDAT_DROP)
		cell->kind = ACDAT_CELL_ABSENT;
	else if (isnull)
		cell->kind = ACDAT_CELL_NULL;
	else if (column->varlena && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		cell->kind = ACDAT_CELL_UNCHANGED;
	else if (column->action == ACDAT_NULL)
		cell->kind = ACDAT_CELL_NULL;
	else if (column->action == ACDAT_MASK)
		mask_cell(column, cell);
	else
		return false;
	return true;
}

/*
 * Errors that a value cannot be blamed for: those that an operator or a lack
 * of resources causes, and the one by which the server learns that a streamed
 * transaction has meanwhile aborted.  They carry no value and pass through.
 */
static bool
is_not_the_values_fault(int sqlerrcode)
{
	int			category = ERRCODE_TO_CATEGORY(sqlerrcode);

	return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_IO_ERROR) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES);
}

/*
 * After an error in a value's output, which may show the value and therefore
 * goes nowhere: pass on what is not the value's fault, else say in the log
 * where it happened and nothing more.
 */
static void
absorb_failure(const AcdatPlan *plan, AcdatColumn *column, XLogRecPtr lsn)
{
	int			sqlerrcode = geterrcode();

	if (is_not_the_values_fault(sqlerrcode))
		PG_RE_THROW();
	FlushErrorState();
	if (!column->failed_before)
		ereport(LOG,
				(errmsg("masked a value that could not be output on slot \"%s\"",
						NameStr(MyReplicationSlot->data.name)),
				 errdetail("Column \"%s\" of table \"%s.%s\", at %X/%X, SQLSTATE %s; further ones of this column are counted.",
						   NameStr(column->name), plan->schema, plan->table,
						   LSN_FORMAT_ARGS(lsn), unpack_sql_state(sqlerrcode))));
	column->failed_before = true;
}

/*
 * Make a cell in a subtransaction, so that a failure leaves nothing behind
 * but a masked cell.
 */
static void
make_guarded_cell(AcdatDecoder *decoder, const AcdatPlan *plan, AcdatColumn *column,
				  Datum datum, XLogRecPtr lsn, AcdatCell *cell)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	TransactionId alive = CheckXidAlive;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		make_value_cell(decoder, column, datum, cell);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		absorb_failure(plan, column, lsn);
		RollbackAndReleaseCurrentSubTransaction();
		CheckXidAlive = alive;	/* forgotten by the rollback */
		decoder->counts.failed++;
		cell->matches = 1;
		mask_cell(column, cell);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

/*
 * A generated column shows its sources in another form.  Where one of them
 * had a match, or is not there to be looked at, it is masked whole.
 */
static void
mask_generated_cells(const AcdatDecoder *decoder, const AcdatPlan *plan, bool identity,
					 AcdatCell *cells)
{
	for (int i = 0; i < plan->ncolumns; i++)
	{
		const AcdatColumn *column = &plan->columns[i];
		bool		mask = identity || column->key;
		int			source = -1;

		if (column->sources == NULL || column->action != ACDAT_REDACT ||
			cells[i].kind != ACDAT_CELL_VALUE || cells[i].masked)
			continue;
		while (!mask && (source = bms_next_member(column->sources, source)) >= 0)
			mask = cells[source].matches > 0 || cells[source].kind == ACDAT_CELL_UNCHANGED;
		if (mask)
			mask_matched_cell(decoder, column, &cells[i]);
	}
}

/*
 * Make the cells from number *next on.  It is up to date whenever something
 * can fail.
 */
static void
make_cells(AcdatDecoder *decoder, AcdatPlan *plan, XLogRecPtr lsn, AcdatCell *cells,
		   volatile int *next)
{
	for (int i = *next; i < plan->ncolumns; i++)
	{
		AcdatColumn *column = &plan->columns[i];
		Datum		datum = plan->values[column->attnum - 1];

		*next = i;
		if (make_valueless_cell(column, datum, plan->nulls[column->attnum - 1], &cells[i]))
			continue;
		if (column->failed_before)
			make_guarded_cell(decoder, plan, column, datum, lsn, &cells[i]);
		else
			make_value_cell(decoder, column, datum, &cells[i]);
	}
	*next = plan->ncolumns;
}

void
acdat_make_row(AcdatDecoder *decoder, AcdatPlan *plan, Relation relation, HeapTuple tuple,
			   bool identity, XLogRecPtr lsn, AcdatCell *cells)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int next = 0;

	heap_deform_tuple(tuple, RelationGetDescr(relation), plan->values, plan->nulls);
	while (next < plan->ncolumns)
	{
		PG_TRY();
		{
			make_cells(decoder, plan, lsn, cells, &next);
		}
		PG_CATCH();
		{
			/* once more for this column, guarded, and on */
			MemoryContextSwitchTo(context);
			bsysscan = false;	/* if it was in a catalog scan */
			absorb_failure(plan, &plan->columns[next], lsn);
		}
		PG_END_TRY();
	}
	if (plan->has_sources)
		mask_generated_cells(decoder, plan, identity, cells);
}
