/*
 * open.c
 *		Opening an artifact: everything a scan relies on is checked here.
 *
 * After acd_machine_open no scan needs a bounds check: bases, failure links,
 * outputs and chains stay inside their arrays, depths prove that failure
 * links and chains end and that a match lies within the text read.  That the
 * links are the right ones is acd_machine_verify's subject.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* The sections of an artifact, by type. */
typedef struct section_map
{
	const unsigned char *start[ACD_SECTION_LAST + 1];
	uint64_t	size[ACD_SECTION_LAST + 1];
} section_map;

/* Are the bytes from lo up to hi, fewer than eight, zero? */
static bool
padding_is_zero(const unsigned char *bytes, uint64_t lo, uint64_t hi)
{
	for (; lo < hi; lo++)
		if (bytes[lo] != 0)
			return false;
	return true;
}

/* Check the header. */
static acd_status
check_header(const unsigned char *bytes, size_t size)
{
	uint16_t	version;

	if (size < ACD_MAGIC_LEN)
		return size > 0 && memcmp(bytes, acd_magic, size) == 0 ? ACD_ERR_TRUNCATED : ACD_ERR_MAGIC;
	if (memcmp(bytes, acd_magic, ACD_MAGIC_LEN) != 0)
		return ACD_ERR_MAGIC;
	if (size < ACD_HEADER_SIZE)
		return ACD_ERR_TRUNCATED;
	version = acd_le16(bytes + ACD_AT_VERSION);
	if (version < 1 || version > ACD_VERSION)
		return ACD_ERR_VERSION;
	if (acd_le64(bytes + ACD_AT_SIZE) > size)
		return ACD_ERR_TRUNCATED;
	if (acd_le64(bytes + ACD_AT_SIZE) != size)
		return ACD_ERR_CORRUPT;
	if (acd_le64(bytes + ACD_AT_CHECKSUM) !=
		acd_xxh64(bytes + ACD_AT_DIGEST, size - ACD_AT_DIGEST, 0))
		return ACD_ERR_CHECKSUM;
	if (acd_le16(bytes + ACD_AT_HEADER_SIZE) != ACD_HEADER_SIZE ||
		acd_le32(bytes + ACD_AT_RESERVED) != 0 || size % 8 != 0)
		return ACD_ERR_CORRUPT;
	if (acd_le32(bytes + ACD_AT_FLAGS) != 0)
		return ACD_ERR_VERSION;
	return ACD_OK;
}

/*
 * Read the section table.  Types ascend and each section begins where the
 * one before ends, rounded up to 8 bytes, so that none can overlap.
 */
static acd_status
read_sections(const unsigned char *bytes, size_t size, section_map *map)
{
	uint32_t	nsections = acd_le32(bytes + ACD_AT_SECTIONS);
	uint32_t	last_type = 0;
	uint64_t	end;

	memset(map, 0, sizeof(*map));
	if (nsections > ACD_MAX_SECTIONS)
		return ACD_ERR_CORRUPT;
	end = ACD_HEADER_SIZE + (uint64_t) nsections * ACD_ENTRY_SIZE;
	if (end > size)
		return ACD_ERR_CORRUPT;
	for (uint32_t i = 0; i < nsections; i++)
	{
		const unsigned char *entry = bytes + ACD_HEADER_SIZE + (size_t) i * ACD_ENTRY_SIZE;
		uint32_t	type = acd_le32(entry + ACD_ENTRY_TYPE);
		uint32_t	flags = acd_le32(entry + ACD_ENTRY_FLAGS);
		uint64_t	offset = acd_le64(entry + ACD_ENTRY_OFFSET);
		uint64_t	section_size = acd_le64(entry + ACD_ENTRY_BYTES);

		if (type <= last_type || (flags & ~ACD_ENTRY_OPTIONAL) != 0)
			return ACD_ERR_CORRUPT;
		last_type = type;
		if (offset != ((end + 7) & ~UINT64_C(7)) || offset > size || section_size > size - offset ||
			!padding_is_zero(bytes, end, offset))
			return ACD_ERR_CORRUPT;
		end = offset + section_size;
		if (type <= ACD_SECTION_LAST)
		{
			map->start[type] = bytes + offset;
			map->size[type] = section_size;
		}
		else if ((flags & ACD_ENTRY_OPTIONAL) == 0)
			return ACD_ERR_VERSION;
	}
	if (((end + 7) & ~UINT64_C(7)) != size || !padding_is_zero(bytes, end, size))
		return ACD_ERR_CORRUPT;
	return ACD_OK;
}

/* Take an automaton's arrays from a states and a depths section. */
static bool
take_slots(const section_map *map, int states, int depths, uint32_t *nslots)
{
	uint64_t	n = map->size[states] / ACD_SLOT_SIZE;

	if (map->start[states] == NULL || map->start[depths] == NULL || n == 0 ||
		n > ACD_MAX_SLOTS || n % ACD_BLOCK != 0 ||
		map->size[states] != n * ACD_SLOT_SIZE || map->size[depths] != n * 2)
		return false;
	*nslots = (uint32_t) n;
	return true;
}

/* Find the sections a machine needs and see that their sizes agree. */
static acd_status
take_sections(acd_machine *m, const section_map *map)
{
	bool		has_long = map->start[ACD_SECTION_LONG_STATES] != NULL ||
		map->start[ACD_SECTION_LONG_DEPTHS] != NULL || map->start[ACD_SECTION_LONG_TERMS] != NULL;

	m->nterms = acd_le32(m->bytes + ACD_AT_TERMS);
	m->nstates = acd_le32(m->bytes + ACD_AT_STATES);
	m->min_len = acd_le32(m->bytes + ACD_AT_MIN_LEN);
	m->max_len = acd_le32(m->bytes + ACD_AT_MAX_LEN);

	if (m->nterms < 1 || m->nterms > ACD_MAX_TERMS ||
		map->start[ACD_SECTION_TERMS] == NULL || map->start[ACD_SECTION_REPLACEMENTS] == NULL ||
		map->size[ACD_SECTION_TERMS] != (uint64_t) m->nterms * ACD_TERM_SIZE ||
		!take_slots(map, ACD_SECTION_STATES, ACD_SECTION_DEPTHS, &m->nslots))
		return ACD_ERR_CORRUPT;
	m->states = map->start[ACD_SECTION_STATES];
	m->depths = map->start[ACD_SECTION_DEPTHS];
	m->terms = map->start[ACD_SECTION_TERMS];
	m->replacements = map->start[ACD_SECTION_REPLACEMENTS];
	m->replacements_size = map->size[ACD_SECTION_REPLACEMENTS];

	if (!has_long)
		return ACD_OK;
	m->nlong_terms = (uint32_t) (map->size[ACD_SECTION_LONG_TERMS] / ACD_LONG_SIZE);
	if (map->start[ACD_SECTION_LONG_TERMS] == NULL || m->nlong_terms < 1 ||
		map->size[ACD_SECTION_LONG_TERMS] > (uint64_t) m->nterms * ACD_LONG_SIZE ||
		map->size[ACD_SECTION_LONG_TERMS] != (uint64_t) m->nlong_terms * ACD_LONG_SIZE ||
		!take_slots(map, ACD_SECTION_LONG_STATES, ACD_SECTION_LONG_DEPTHS, &m->nlong_slots))
		return ACD_ERR_CORRUPT;
	m->long_states = map->start[ACD_SECTION_LONG_STATES];
	m->long_depths = map->start[ACD_SECTION_LONG_DEPTHS];
	m->long_terms = map->start[ACD_SECTION_LONG_TERMS];
	return ACD_OK;
}

/* Check the records of terms, and that each ends in a state of its own. */
static bool
check_terms(const acd_machine *m)
{
	uint32_t	min_len = ACD_MAX_TERM_LEN;
	uint32_t	max_len = 0;
	uint32_t	nlong = 0;

	for (uint32_t i = 0; i < m->nterms; i++)
	{
		const unsigned char *record = acd_term_record(m, i);
		uint32_t	len = acd_le32(record + ACD_TERM_LEN);
		uint32_t	state = acd_le32(record + ACD_TERM_STATE);
		uint32_t	next = acd_le32(record + ACD_TERM_NEXT);
		uint32_t	best = acd_le32(record + ACD_TERM_BEST);
		uint64_t	offset = acd_le64(record + ACD_TERM_OFFSET);
		uint32_t	bytes = acd_le32(record + ACD_TERM_BYTES);

		if (len < 1 || len > ACD_MAX_TERM_LEN ||
			state >= m->nslots || acd_slot_depth(m->depths, state) != len ||
			acd_slot_out(m->states, state) != i + 1 ||
			next > m->nterms || (next != 0 && acd_term_len(m, next - 1) >= len) ||
			best >= m->nterms || acd_term_len(m, best) > len ||
			bytes > INT32_MAX || offset > m->replacements_size ||
			bytes > m->replacements_size - offset)
			return false;
		min_len = len < min_len ? len : min_len;
		max_len = len > max_len ? len : max_len;
		nlong += len > ACD_LONG_TERM;
	}
	return min_len == m->min_len && max_len == m->max_len && nlong == m->nlong_terms;
}

/* Check the records of long terms. */
static bool
check_long_terms(const acd_machine *m)
{
	for (uint32_t i = 0; i < m->nlong_terms; i++)
	{
		const unsigned char *record = acd_long_record(m, i);

		if (acd_le32(record + ACD_LONG_TERM_INDEX) >= m->nterms ||
			acd_le32(record + ACD_LONG_RESERVED) != 0 ||
			acd_term_len(m, acd_le32(record + ACD_LONG_TERM_INDEX)) <= ACD_LONG_TERM)
			return false;
	}
	for (uint32_t i = 0; i < m->nlong_terms; i++)
	{
		const unsigned char *record = acd_long_record(m, i);
		uint32_t	len = acd_term_len(m, acd_le32(record + ACD_LONG_TERM_INDEX));
		uint32_t	next = acd_le32(record + ACD_LONG_NEXT);
		uint32_t	best = acd_le32(record + ACD_LONG_BEST);

		if (next > m->nlong_terms || best >= m->nlong_terms ||
			acd_term_len(m, acd_le32(acd_long_record(m, best) + ACD_LONG_TERM_INDEX)) > len ||
			(next != 0 &&
			 acd_term_len(m, acd_le32(acd_long_record(m, next - 1) + ACD_LONG_TERM_INDEX)) >= len))
			return false;
	}
	return true;
}

/* Length of the term an output stands for; outputs are in range already. */
static uint32_t
output_len(const acd_machine *m, uint32_t out, bool reversed)
{
	uint32_t	term = out - 1;

	if (reversed)
		term = acd_le32(acd_long_record(m, out - 1) + ACD_LONG_TERM_INDEX);
	return acd_term_len(m, term);
}

/* Check one slot in use other than the root. */
static bool
check_slot(const acd_machine *m, const unsigned char *states, const unsigned char *depths,
		   uint32_t nslots, uint32_t t, bool reversed)
{
	uint32_t	parent = acd_slot_check(states, t);
	uint32_t	fail = acd_slot_fail(states, t);
	uint32_t	out = acd_slot_out(states, t);
	uint32_t	depth = acd_slot_depth(depths, t);
	uint32_t	label;

	if (parent >= nslots || (parent != ACD_ROOT && acd_slot_check(states, parent) == ACD_NO_SLOT))
		return false;
	label = acd_slot_base(states, parent) ^ t;
	if (label >= ACD_BLOCK || depth != acd_slot_depth(depths, parent) + 1)
		return false;

	if (fail != ACD_ROOT)
	{
		uint32_t	fail_parent;

		if (fail >= nslots || acd_slot_check(states, fail) >= nslots ||
			acd_slot_depth(depths, fail) >= depth)
			return false;
		fail_parent = acd_slot_check(states, fail);
		if ((acd_slot_base(states, fail_parent) ^ fail) != label)
			return false;
	}
	if (out > (reversed ? m->nlong_terms : m->nterms))
		return false;
	return out == 0 || output_len(m, out, reversed) <= depth;
}

/* Check an automaton's slots and count those in use. */
static bool
check_slots(const acd_machine *m, const unsigned char *states, const unsigned char *depths,
			uint32_t nslots, bool reversed, uint32_t *nstates)
{
	uint32_t	used = 1;

	if (acd_slot_check(states, ACD_ROOT) != ACD_NO_SLOT || acd_slot_fail(states, ACD_ROOT) != ACD_ROOT ||
		acd_slot_out(states, ACD_ROOT) != 0 || acd_slot_depth(depths, ACD_ROOT) != 0 ||
		acd_slot_base(states, ACD_ROOT) >= nslots)
		return false;
	for (uint32_t t = 1; t < nslots; t++)
	{
		if (acd_slot_check(states, t) == ACD_NO_SLOT)
		{
			if (acd_slot_base(states, t) != 0 || acd_slot_fail(states, t) != 0 ||
				acd_slot_out(states, t) != 0 || acd_slot_depth(depths, t) != 0)
				return false;
			continue;
		}
		if (acd_slot_base(states, t) >= nslots || !check_slot(m, states, depths, nslots, t, reversed))
			return false;
		used++;
	}
	*nstates = used;
	return true;
}

/* Open an artifact. */
acd_status
acd_machine_open(acd_machine *machine, const void *bytes, size_t size)
{
	acd_machine m;
	section_map map;
	uint32_t	nstates;
	acd_status	status;

	if (machine == NULL || bytes == NULL)
		return ACD_ERR_ARGUMENT;
	memset(&m, 0, sizeof(m));
	m.bytes = bytes;
	m.size = size;
	status = check_header(m.bytes, size);
	if (status == ACD_OK)
		status = read_sections(m.bytes, size, &map);
	if (status == ACD_OK)
		status = take_sections(&m, &map);
	if (status != ACD_OK)
		return status;

	/* Terms first: slots look at their lengths. */
	if (!check_terms(&m) || !check_long_terms(&m) ||
		!check_slots(&m, m.states, m.depths, m.nslots, false, &nstates) || nstates != m.nstates)
		return ACD_ERR_CORRUPT;
	if (m.nlong_terms > 0 &&
		!check_slots(&m, m.long_states, m.long_depths, m.nlong_slots, true, &nstates))
		return ACD_ERR_CORRUPT;
	*machine = m;
	return ACD_OK;
}

/* Describe an open machine. */
void
acd_machine_describe(const acd_machine *machine, acd_machine_info *info)
{
	info->terms = machine->nterms;
	info->states = machine->nstates;
	info->bytes = machine->size;
	info->min_len = machine->min_len;
	info->max_len = machine->max_len;
	info->version = acd_le16(machine->bytes + ACD_AT_VERSION);
	info->digest = machine->bytes + ACD_AT_DIGEST;
	info->engine = "double-array aho-corasick";
}

/* Look a term up. */
bool
acd_machine_term(const acd_machine *machine, uint32_t term, acd_term_info *info)
{
	const unsigned char *record;

	if (term >= machine->nterms)
		return false;
	record = acd_term_record(machine, term);
	info->id = acd_term_id(machine, term);
	info->priority = acd_term_priority(machine, term);
	info->pattern_len = acd_term_len(machine, term);
	info->replacement = machine->replacements + acd_le64(record + ACD_TERM_OFFSET);
	info->replacement_len = acd_le32(record + ACD_TERM_BYTES);
	return true;
}

/*
 * Spell a term's pattern by walking from its state to the root.  Depths fall
 * by one a step, so the walk has exactly pattern_len steps.
 */
bool
acd_machine_pattern(const acd_machine *machine, uint32_t term, void *buf)
{
	unsigned char *pattern = buf;
	uint32_t	s;

	if (term >= machine->nterms)
		return false;
	s = acd_le32(acd_term_record(machine, term) + ACD_TERM_STATE);
	for (uint32_t i = acd_term_len(machine, term); i > 0; i--)
	{
		uint32_t	parent = acd_slot_check(machine->states, s);

		pattern[i - 1] = (unsigned char) (acd_slot_base(machine->states, parent) ^ s);
		s = parent;
	}
	return true;
}
