/*
 * suggest.c
 *		Near names for misspelt ones.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/varlena.h"

#include "suggest.h"

#define MAX_SUGGESTIONS		3

/* Bytes over which the server's levenshtein refuses to work. */
#define MAX_COMPARED_LENGTH 255

/* Edit distance, or more than "limit" if it is greater; case counts half. */
static int
name_distance(const char *a, const char *b, int limit)
{
	int			a_len = (int) strlen(a);
	int			b_len = (int) strlen(b);

	if (a_len > MAX_COMPARED_LENGTH || b_len > MAX_COMPARED_LENGTH)
		return limit + 1;
	if (pg_strcasecmp(a, b) == 0)
		return 1;
	return varstr_levenshtein_less_equal(a, a_len, b, b_len, 1, 1, 1, limit, false);
}

/* Near enough: one edit in three bytes or a part of them. */
static int
edit_limit(const char *name)
{
	return ((int) strlen(name) + 2) / 3;
}

/* ... or the start of a longer name. */
static int
nearness(const char *name, const char *candidate)
{
	int			limit = edit_limit(name);
	int			distance = name_distance(name, candidate, limit);

	if (distance <= limit)
		return distance;
	if (strlen(name) >= 3 && strncmp(name, candidate, strlen(name)) == 0)
		return limit;
	return limit + 1;
}

char *
acdat_near_names(const char *name, const char *const *candidates, int count)
{
	int			limit = edit_limit(name);
	const char *best[MAX_SUGGESTIONS];
	int			best_distance[MAX_SUGGESTIONS];
	int			found = 0;
	StringInfoData buf;

	for (int i = 0; i < count; i++)
	{
		int			distance = nearness(name, candidates[i]);
		int			at;

		if (distance > limit)
			continue;

		/* insert by distance, keeping the order of equals */
		for (at = found; at > 0 && best_distance[at - 1] > distance; at--)
		{
			if (at < MAX_SUGGESTIONS)
			{
				best[at] = best[at - 1];
				best_distance[at] = best_distance[at - 1];
			}
		}
		if (at < MAX_SUGGESTIONS)
		{
			best[at] = candidates[i];
			best_distance[at] = distance;
			found = Min(found + 1, MAX_SUGGESTIONS);
		}
	}
	if (found == 0)
		return NULL;

	initStringInfo(&buf);
	for (int i = 0; i < found; i++)
	{
		if (i > 0)
			appendStringInfoString(&buf, i == found - 1 ? " or " : ", ");
		appendStringInfo(&buf, "\"%s\"", best[i]);
	}
	return buf.data;
}
