/*
 * open.c
 *		Opening an artifact: everything a scan relies on is checked here.
 *
 * After acd_machine_open no scan needs a bounds check: nodes, tables and
 * filters are what the scan takes them for, every term is found through its
 * filters, and walks end.  That the automaton's links are the right ones is
 * acd_machine_verify's subject.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_scan.h"

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

/* Is it an artifact of a version that is known, and all of it? */
static acd_status
check_size(const unsigned char *bytes, size_t size)
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
	return acd_le64(bytes + ACD_AT_SIZE) == size ? ACD_OK : ACD_ERR_CORRUPT;
}

/* Check the rest of the header, but for the checksum. */
static acd_status
check_header(const unsigned char *bytes, size_t size)
{
	if (acd_le16(bytes + ACD_AT_HEADER_SIZE) != ACD_HEADER_SIZE ||
		size % 8 != 0)
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

/* Take the automaton's sections, which are there together or not at all. */
static bool
take_automaton(acd_machine *m, const section_map *map)
{
	uint64_t	nslots = map->size[ACD_SECTION_STATES] / ACD_SLOT_SIZE;
	uint64_t	nends = map->size[ACD_SECTION_ENDS] / ACD_END_SIZE;

	if (map->start[ACD_SECTION_STATES] == NULL && map->start[ACD_SECTION_DEPTHS] == NULL &&
		map->start[ACD_SECTION_ENDS] == NULL)
		return true;
	if (map->start[ACD_SECTION_STATES] == NULL || map->start[ACD_SECTION_DEPTHS] == NULL ||
		map->start[ACD_SECTION_ENDS] == NULL ||
		nslots == 0 || nslots > ACD_MAX_SLOTS || nslots % ACD_BLOCK != 0 ||
		map->size[ACD_SECTION_STATES] != nslots * ACD_SLOT_SIZE ||
		map->size[ACD_SECTION_DEPTHS] != nslots * 2 ||
		nends == 0 || nends > m->nterms || map->size[ACD_SECTION_ENDS] != nends * ACD_END_SIZE)
		return false;
	m->states = map->start[ACD_SECTION_STATES];
	m->depths = map->start[ACD_SECTION_DEPTHS];
	m->ends = map->start[ACD_SECTION_ENDS];
	m->nslots = (uint32_t) nslots;
	m->nends = (uint32_t) nends;
	return true;
}

/* Find the sections a machine needs and see that their sizes agree. */
static acd_status
take_sections(acd_machine *m, const section_map *map)
{
	m->nterms = acd_le32(m->bytes + ACD_AT_TERMS);
	m->nnodes = acd_le32(m->bytes + ACD_AT_NODES);
	m->min_len = acd_le32(m->bytes + ACD_AT_MIN_LEN);
	m->max_len = acd_le32(m->bytes + ACD_AT_MAX_LEN);
	m->ntiers = acd_le32(m->bytes + ACD_AT_TIERS);

	for (int type = ACD_SECTION_TERMS; type <= ACD_SECTION_NODES; type++)
		if (map->start[type] == NULL)
			return ACD_ERR_CORRUPT;
	if (m->nterms < 1 || m->nterms > ACD_MAX_TERMS ||
		map->size[ACD_SECTION_TERMS] != (uint64_t) m->nterms * ACD_TERM_SIZE ||
		m->ntiers < 1 || m->ntiers > ACD_MAX_TIERS ||
		map->size[ACD_SECTION_TIERS] != (uint64_t) m->ntiers * ACD_TIER_SIZE ||
		map->size[ACD_SECTION_NODES] > INT32_MAX)
		return ACD_ERR_CORRUPT;
	m->terms = map->start[ACD_SECTION_TERMS];
	m->replacements = map->start[ACD_SECTION_REPLACEMENTS];
	m->replacements_size = map->size[ACD_SECTION_REPLACEMENTS];
	m->wide = map->start[ACD_SECTION_WIDE];
	if (m->wide != NULL && map->size[ACD_SECTION_WIDE] != (uint64_t) m->nterms * ACD_WIDE_SIZE)
		return ACD_ERR_CORRUPT;
	m->nodes = map->start[ACD_SECTION_NODES];
	m->nodes_size = map->size[ACD_SECTION_NODES];
	return take_automaton(m, map) &&
		acd_open_tiers(m, map->start[ACD_SECTION_TIERS],
					   map->start[ACD_SECTION_FILTERS], map->size[ACD_SECTION_FILTERS],
					   map->start[ACD_SECTION_TABLES], map->size[ACD_SECTION_TABLES]) ?
		ACD_OK : ACD_ERR_CORRUPT;
}

/* Is a replacement inside its section? */
static bool
check_replacement(const acd_machine *m, uint32_t unit)
{
	uint64_t	offset = (uint64_t) unit * ACD_REPLACEMENT_UNIT;
	uint32_t	bytes;

	if (offset > m->replacements_size || m->replacements_size - offset < ACD_REPLACEMENT_FRONT)
		return false;
	bytes = acd_le32(m->replacements + offset);
	return bytes <= INT32_MAX && bytes <= m->replacements_size - offset - ACD_REPLACEMENT_FRONT;
}

/* Check the records of terms; their nodes are checked with the trees. */
static bool
check_terms(acd_machine *m, acd_xxh64_state *checksum)
{
	uint32_t	last = acd_le32(m->terms + ACD_TERM_REPLACEMENT);
	uint32_t	min_len = ACD_MAX_TERM_LEN;
	uint32_t	max_len = 0;

	m->one_replacement = 1;
	if (!check_replacement(m, last))
		return false;
	for (uint32_t i = 0; i < m->nterms; i++)
	{
		const unsigned char *record = acd_term_record(m, i);
		uint32_t	len = acd_le16(record + ACD_TERM_LEN);
		uint32_t	replacement = acd_le32(record + ACD_TERM_REPLACEMENT);

		acd_checksum_along(checksum, record);
		if (len < 1 ||
			(m->wide != NULL && (acd_le32(record + ACD_TERM_ID) | acd_le16(record + ACD_TERM_PRIORITY)) != 0))
			return false;
		min_len = len < min_len ? len : min_len;
		max_len = len > max_len ? len : max_len;
		if (replacement != last)
		{
			m->one_replacement = 0;
			if (!check_replacement(m, replacement))
				return false;
			last = replacement;
		}
	}
	return min_len == m->min_len && max_len == m->max_len;
}

/* Check the records of the automaton's terms. */
static bool
check_ends(acd_machine *m)
{
	for (uint32_t i = 0; i < m->nends; i++)
	{
		uint32_t	term = acd_end_term(m, i);
		uint32_t	len;

		if (term >= m->nterms)
			return false;
		len = acd_term_len(m, term);
		m->ends_max_len = len > m->ends_max_len ? len : m->ends_max_len;
	}
	for (uint32_t i = 0; i < m->nends; i++)
	{
		const unsigned char *record = acd_end_record(m, i);
		uint32_t	len = acd_term_len(m, acd_end_term(m, i));
		uint32_t	next = acd_le32(record + ACD_END_NEXT);
		uint32_t	first = acd_le32(record + ACD_END_FIRST);
		uint32_t	cover = acd_le32(record + ACD_END_COVER);

		if (next > m->nends || first >= m->nends || cover >= m->nends ||
			acd_term_len(m, acd_end_term(m, first)) > len ||
			acd_term_len(m, acd_end_term(m, cover)) > len ||
			(next != 0 && acd_term_len(m, acd_end_term(m, next - 1)) >= len))
			return false;
	}
	return true;
}

/* Check one slot in use other than the root. */
static bool
check_slot(const acd_machine *m, uint32_t t)
{
	const unsigned char *states = m->states;
	uint32_t	parent = acd_slot_check(states, t);
	uint32_t	fail = acd_slot_fail(states, t);
	uint32_t	out = acd_slot_out(states, t);
	uint32_t	depth = acd_slot_depth(m->depths, t);
	uint32_t	label;

	if (parent >= m->nslots || (parent != ACD_ROOT && acd_slot_check(states, parent) == ACD_NO_SLOT))
		return false;
	label = acd_slot_base(states, parent) ^ t;
	if (label >= ACD_BLOCK || depth != acd_slot_depth(m->depths, parent) + 1)
		return false;

	if (fail != ACD_ROOT)
	{
		uint32_t	fail_parent;

		if (fail >= m->nslots || acd_slot_check(states, fail) >= m->nslots ||
			acd_slot_depth(m->depths, fail) >= depth)
			return false;
		fail_parent = acd_slot_check(states, fail);
		if ((acd_slot_base(states, fail_parent) ^ fail) != label)
			return false;
	}
	return out == 0 || (out <= m->nends && acd_term_len(m, acd_end_term(m, out - 1)) <= depth);
}

/* Check the automaton's slots. */
static bool
check_slots(const acd_machine *m)
{
	const unsigned char *states = m->states;

	if (acd_slot_check(states, ACD_ROOT) != ACD_NO_SLOT || acd_slot_fail(states, ACD_ROOT) != ACD_ROOT ||
		acd_slot_out(states, ACD_ROOT) != 0 || acd_slot_depth(m->depths, ACD_ROOT) != 0 ||
		acd_slot_base(states, ACD_ROOT) >= m->nslots)
		return false;
	for (uint32_t t = 1; t < m->nslots; t++)
	{
		if (acd_slot_check(states, t) == ACD_NO_SLOT)
		{
			if (acd_slot_base(states, t) != 0 || acd_slot_fail(states, t) != 0 ||
				acd_slot_out(states, t) != 0 || acd_slot_depth(m->depths, t) != 0)
				return false;
		}
		else if (acd_slot_base(states, t) >= m->nslots || !check_slot(m, t))
			return false;
	}
	return true;
}

/*
 * Check an artifact whose header is right, but for the checksum, which is
 * taken of what is checked on the way: bytes come from memory once.
 */
static acd_status
check_artifact(acd_machine *m, acd_xxh64_state *checksum)
{
	section_map map;
	acd_status	status = check_header(m->bytes, m->size);

	if (status == ACD_OK)
		status = read_sections(m->bytes, m->size, &map);
	if (status == ACD_OK)
		status = take_sections(m, &map);
	if (status != ACD_OK)
		return status;

	/* Terms first: the others look at their lengths. */
	if (!check_terms(m, checksum) || !acd_open_tables(m, checksum) || !acd_open_trees(m, checksum))
		return ACD_ERR_CORRUPT;
	if (m->nends > 0 && (!check_ends(m) || !check_slots(m)))
		return ACD_ERR_CORRUPT;
	return ACD_OK;
}

/* Open an artifact. */
acd_status
acd_machine_open(acd_machine *machine, const void *bytes, size_t size)
{
	acd_machine m;
	acd_xxh64_state checksum;
	acd_status	status;

	if (machine == NULL || bytes == NULL)
		return ACD_ERR_ARGUMENT;
	memset(&m, 0, sizeof(m));
	m.bytes = bytes;
	m.size = size;
	status = check_size(m.bytes, size);
	if (status != ACD_OK)
		return status;

	/* Where bytes have changed, that they break a rule as well is no news. */
	acd_xxh64_begin(&checksum, m.bytes + ACD_AT_DIGEST, size - ACD_AT_DIGEST, 0);
	status = check_artifact(&m, &checksum);
	if (acd_xxh64_end(&checksum) != acd_le64(m.bytes + ACD_AT_CHECKSUM))
		return ACD_ERR_CHECKSUM;
	if (status != ACD_OK)
		return status;
	m.filters = acd_simd_filters(acd_simd_best());
	*machine = m;
	return ACD_OK;
}

/*
 * Use equal bytes at another address.  Where things are is read again; what
 * the checks found out about them holds there too.
 */
acd_status
acd_machine_move(acd_machine *machine, const void *bytes)
{
	acd_machine m = *machine;
	section_map map;
	acd_status	status;

	m.bytes = bytes;
	status = read_sections(m.bytes, m.size, &map);
	if (status == ACD_OK)
		status = take_sections(&m, &map);
	if (status != ACD_OK)
		return status;
	m.filters = acd_simd_filters(acd_simd_best());
	*machine = m;
	return ACD_OK;
}

/* Look a term up. */
bool
acd_machine_term(const acd_machine *machine, uint32_t term, acd_term_info *info)
{
	if (term >= machine->nterms)
		return false;
	info->id = acd_term_id(machine, term);
	info->priority = acd_term_priority(machine, term);
	info->pattern_len = acd_term_len(machine, term);
	info->replacement = acd_term_replacement(machine, term, &info->replacement_len);
	return true;
}

/*
 * Spell a term's pattern by going from its node up to the root, whose depths
 * acd_machine_open checked.  A leaf's last byte is its label.
 */
bool
acd_machine_pattern(const acd_machine *machine, uint32_t term, void *buf)
{
	unsigned char *pattern = buf;
	const unsigned char *node;
	uint32_t	ref;

	if (term >= machine->nterms)
		return false;
	ref = acd_le32(acd_term_record(machine, term) + ACD_TERM_NODE);
	node = machine->nodes + (ref & ~ACD_NODE_LEAF);
	if ((ref & ACD_NODE_LEAF) != 0)
	{
		const unsigned char *labels = acd_node_labels(node);
		const unsigned char *children = acd_node_children(labels, acd_le16(node + ACD_NODE_CHILDREN));
		uint32_t	k = 0;

		while (acd_le32(children + 4 * (size_t) k) != 2 * term + ACD_NODE_LEAF)
			k++;
		pattern[acd_le16(node + ACD_NODE_DEPTH)] = labels[k];
	}
	for (;;)
	{
		uint32_t	path = acd_le16(node + ACD_NODE_PATH);
		uint32_t	before = acd_le16(node + ACD_NODE_DEPTH) - path;

		memcpy(pattern + before, node + ACD_NODE_SIZE, path);
		if (before == 0)
			return true;
		pattern[before - 1] = (unsigned char) acd_le16(node + ACD_NODE_LABEL);
		node -= acd_le32(node + ACD_NODE_UP);
	}
}
