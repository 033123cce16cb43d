/*
 * cursor.c
 *		Reading text with a set of machines up to the next end of a match.
 *
 * The machines run in lockstep, so that at each stop the state of every one
 * is known there.  The loops need no bounds checks: acd_machine_open proved
 * that no transition leaves its array.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Begin a scan. */
acd_status
acd_cursor_init(acd_cursor *cursor, const acd_scan *scan, const void *text, size_t len)
{
	if (scan == NULL || scan->nmachines > ACD_MAX_MACHINES ||
		(scan->nmachines > 0 && scan->machines == NULL) ||
		(text == NULL && len > 0))
		return ACD_ERR_ARGUMENT;
	cursor->scan = scan;
	cursor->text = text;
	cursor->len = len;
	cursor->work = 0;
	acd_cursor_restart(cursor, 0);
	return ACD_OK;
}

/* Restart at a position. */
void
acd_cursor_restart(acd_cursor *cursor, size_t pos)
{
	cursor->pos = pos;
	memset(cursor->states, 0, cursor->scan->nmachines * sizeof(cursor->states[0]));
}

/* Account for work. */
acd_status
acd_cursor_work(acd_cursor *cursor, size_t steps)
{
	cursor->work += steps;
	if (cursor->work < ACD_POLL_BYTES)
		return ACD_OK;
	cursor->work = 0;
	if (cursor->scan->poll != NULL && cursor->scan->poll(cursor->scan->poll_arg) != 0)
		return ACD_ERR_STOPPED;
	return ACD_OK;
}

/*
 * Read text[pos, end) with one machine until a state has an output.  Returns
 * the position after the last byte read; *hit tells whether that state has
 * an output.
 */
static size_t
run_one(const unsigned char *states, uint32_t *state, const unsigned char *text,
		size_t pos, size_t end, bool *hit)
{
	const unsigned char *slot = acd_slot(states, *state);
	uint32_t	s = *state;
	uint32_t	base = acd_le32(slot + ACD_SLOT_BASE);

	while (pos < end)
	{
		unsigned char c = text[pos++];
		uint32_t	t = base ^ c;

		while (acd_slot_check(states, t) != s)
		{
			if (s == ACD_ROOT)
				goto next;
			s = acd_slot_fail(states, s);
			base = acd_slot_base(states, s);
			t = base ^ c;
		}
		slot = acd_slot(states, t);
		s = t;
		base = acd_le32(slot + ACD_SLOT_BASE);
		if (acd_le32(slot + ACD_SLOT_OUT) != 0)
		{
			*state = s;
			*hit = true;
			return pos;
		}
next:	;
	}
	*state = s;
	*hit = false;
	return pos;
}

/* Read text[pos, end) with all machines until one's state has an output. */
static size_t
run_all(acd_cursor *cursor, size_t pos, size_t end, bool *hit)
{
	const acd_scan *scan = cursor->scan;

	while (pos < end)
	{
		unsigned char c = cursor->text[pos++];
		uint32_t	any = 0;

		for (size_t m = 0; m < scan->nmachines; m++)
		{
			const unsigned char *states = scan->machines[m]->states;
			uint32_t	s = acd_step(states, cursor->states[m], c);

			cursor->states[m] = s;
			any |= acd_slot_out(states, s);
		}
		if (any != 0)
		{
			*hit = true;
			return pos;
		}
	}
	*hit = false;
	return pos;
}

/* Find the next end of a match. */
acd_status
acd_cursor_next(acd_cursor *cursor, bool *hit)
{
	const acd_scan *scan = cursor->scan;

	*hit = false;
	if (scan->nmachines == 0)
		cursor->pos = cursor->len;
	while (cursor->pos < cursor->len)
	{
		size_t		left = cursor->len - cursor->pos;
		size_t		room = cursor->work < ACD_POLL_BYTES ? ACD_POLL_BYTES - cursor->work : 1;
		size_t		end = cursor->pos + (left < room ? left : room);
		size_t		from = cursor->pos;
		acd_status	status;

		if (scan->nmachines == 1)
			cursor->pos = run_one(scan->machines[0]->states, &cursor->states[0], cursor->text,
								  from, end, hit);
		else
			cursor->pos = run_all(cursor, from, end, hit);
		status = acd_cursor_work(cursor, cursor->pos - from);
		if (status != ACD_OK)
			return status;
		if (*hit && acd_boundary(scan->boundaries, cursor->pos))
			return ACD_OK;
		*hit = false;
	}
	return ACD_OK;
}

/* Skip terms that start inside a character or word. */
uint32_t
acd_cursor_valid(acd_cursor *cursor, uint32_t machine, uint32_t out)
{
	const acd_machine *m = cursor->scan->machines[machine];

	if (cursor->scan->boundaries == NULL)
		return out;
	while (out != 0 && !acd_boundary(cursor->scan->boundaries,
									 cursor->pos - acd_term_len(m, out - 1)))
	{
		out = acd_term_next(m, out - 1);
		cursor->work++;
	}
	return out;
}

/* Find the longest match that ends here. */
bool
acd_cursor_longest(acd_cursor *cursor, acd_candidate *longest)
{
	const acd_scan *scan = cursor->scan;
	bool		found = false;

	for (uint32_t m = 0; m < scan->nmachines; m++)
	{
		const acd_machine *machine = scan->machines[m];
		uint32_t	out = acd_cursor_valid(cursor, m, acd_slot_out(machine->states, cursor->states[m]));
		acd_candidate c;

		if (out == 0)
			continue;
		acd_candidate_set(&c, scan, m, out - 1, cursor->pos - acd_term_len(machine, out - 1),
						  cursor->pos);
		if (!found || c.start < longest->start ||
			(c.start == longest->start && acd_beats_by_length(&c, longest)))
			*longest = c;
		found = true;
	}
	return found;
}
