/*
 * status.c
 *		Names of statuses and match kinds.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_internal.h"

/* Describe a status. */
const char *
acd_status_message(acd_status status)
{
	switch (status)
	{
		case ACD_OK:
			return "success";
		case ACD_ERR_NOMEM:
			return "out of memory";
		case ACD_ERR_ARGUMENT:
			return "argument out of range";
		case ACD_ERR_NO_TERMS:
			return "there are no terms";
		case ACD_ERR_EMPTY_TERM:
			return "a pattern is empty";
		case ACD_ERR_TERM_TOO_LONG:
			return "a pattern is too long";
		case ACD_ERR_TOO_MANY_TERMS:
			return "there are too many terms";
		case ACD_ERR_TOO_LARGE:
			return "a size exceeds what the artifact format can hold";
		case ACD_ERR_TRUNCATED:
			return "the artifact is shorter than its header says";
		case ACD_ERR_MAGIC:
			return "the data is not an artifact";
		case ACD_ERR_VERSION:
			return "the artifact's format version or a section of it is not supported";
		case ACD_ERR_CHECKSUM:
			return "the artifact's checksum is wrong";
		case ACD_ERR_CORRUPT:
			return "the artifact violates the rules of its format";
		case ACD_ERR_LIMIT:
			return "the output would exceed the limit";
		case ACD_ERR_STOPPED:
			return "the scan was stopped";
	}
	return "unknown status";
}

static const char *const kind_names[] = {
	[ACD_ALL_OVERLAPPING] = "all_overlapping",
	[ACD_LEFTMOST_LONGEST] = "leftmost_longest",
	[ACD_LEFTMOST_FIRST] = "leftmost_first",
	[ACD_COVER] = "cover"
};

#define NKINDS (sizeof(kind_names) / sizeof(kind_names[0]))

/* Find a kind by its name. */
bool
acd_kind_from_name(const char *name, acd_kind *kind)
{
	for (size_t i = 0; i < NKINDS; i++)
	{
		if (name != NULL && strcmp(name, kind_names[i]) == 0)
		{
			*kind = (acd_kind) i;
			return true;
		}
	}
	return false;
}

/* Name a kind; "unknown" if it is none. */
const char *
acd_kind_name(acd_kind kind)
{
	return (size_t) kind < NKINDS ? kind_names[kind] : "unknown";
}
