/*
 * test_vectors.c
 *		Named vectors: tracked ones, and a public collection where present.
 *
 * Lines of test/data/core_vectors.tsv are: kind, name, patterns, text,
 * matches [pattern, start, end], and optionally priorities; all but the first
 * two are JSON.  A pattern's id is its index.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "helpers.h"

#define MAX_LINE	65536

static term_set set;
static found_list got;
static found_list expected;

/* Skip blanks and one expected character; false if it is not there. */
static bool
skip(const char **p, char c)
{
	while (**p == ' ')
		(*p)++;
	if (**p != c)
		return false;
	(*p)++;
	while (**p == ' ')
		(*p)++;
	return true;
}

/* Append a code point in UTF-8. */
static size_t
put_utf8(unsigned char *out, unsigned long c)
{
	if (c < 0x80)
	{
		out[0] = (unsigned char) c;
		return 1;
	}
	if (c < 0x800)
	{
		out[0] = (unsigned char) (0xC0 | c >> 6);
		out[1] = (unsigned char) (0x80 | (c & 0x3F));
		return 2;
	}
	out[0] = (unsigned char) (0xE0 | c >> 12);
	out[1] = (unsigned char) (0x80 | (c >> 6 & 0x3F));
	out[2] = (unsigned char) (0x80 | (c & 0x3F));
	return 3;
}

/* Parse a JSON string without surrogate pairs. */
static bool
parse_string(const char **p, unsigned char *out, size_t max, size_t *len)
{
	*len = 0;
	while (**p == ' ')
		(*p)++;
	if (*(*p)++ != '"')
		return false;
	while (**p != '"' && **p != '\0' && *len + 4 < max)
	{
		if (**p != '\\')
		{
			out[(*len)++] = (unsigned char) *(*p)++;
			continue;
		}
		(*p)++;
		if (**p == 'u')
		{
			char		hex[5] = {0};

			memcpy(hex, *p + 1, 4);
			*len += put_utf8(out + *len, strtoul(hex, NULL, 16));
			*p += 5;
			continue;
		}
		out[(*len)++] = (unsigned char) (**p == 'n' ? '\n' : **p == 't' ? '\t' : **p == 'r' ? '\r' : **p);
		(*p)++;
	}
	return skip(p, '"');
}

/* Parse a list of patterns into machine 0; false if one is empty. */
static bool
parse_patterns(const char *p, bool *empty)
{
	*empty = false;
	set_clear(&set);
	set.nmachines = 1;
	if (!skip(&p, '['))
		return false;
	while (*p != ']')
	{
		unsigned char bytes[400];
		size_t		len;

		if (!parse_string(&p, bytes, sizeof(bytes), &len))
			return false;
		if (len == 0)
			*empty = true;
		set_add(&set, 0, bytes, len, (int64_t) set.nterms, 0);
		skip(&p, ',');
	}
	return true;
}

/* Parse a list of priorities. */
static void
parse_priorities(const char *p)
{
	skip(&p, '[');
	for (size_t i = 0; *p != ']' && *p != '\0' && i < set.nterms; i++)
	{
		char	   *end;

		set.terms[i].priority = (int32_t) strtol(p, &end, 10);
		p = end;
		skip(&p, ',');
	}
}

/* Parse matches; of equal patterns that match the first is meant. */
static bool
parse_matches(const char *p)
{
	expected.n = 0;
	expected.broken = false;
	if (!skip(&p, '['))
		return false;
	while (*p != ']')
	{
		size_t		v[3];
		bool		repeated = false;

		if (!skip(&p, '['))
			return false;
		for (int i = 0; i < 3; i++)
		{
			char	   *end;

			v[i] = strtoul(p, &end, 10);
			if (end == p)
				return false;
			p = end;
			skip(&p, ',');
		}
		if (!skip(&p, ']'))
			return false;
		skip(&p, ',');
		for (size_t i = 0; i < expected.n; i++)
		{
			const found *f = &expected.list[i];

			repeated = repeated || (f->start == v[1] && f->end == v[2]);
		}
		if (!repeated)
			expected.list[expected.n++] = (found) {v[1], v[2], v[0]};
	}
	return true;
}

/* Order by end, then start, as all_overlapping reports. */
static void
sort_matches(found_list *f)
{
	for (size_t i = 1; i < f->n; i++)
		for (size_t k = i; k > 0; k--)
		{
			found		a = f->list[k - 1];
			found		b = f->list[k];

			if (a.end < b.end || (a.end == b.end && a.start <= b.start))
				break;
			f->list[k - 1] = b;
			f->list[k] = a;
		}
}

/* Run the parsed vector. */
static bool
run_vector(acd_kind kind, const unsigned char *text, size_t len)
{
	acd_scan	scan = {0};
	bool		any;
	bool		passed;

	if (set.nterms > 0 && set_build(&set) != ACD_OK)
		return false;
	scan.machines = set.pointers;
	scan.nmachines = set.nterms > 0;
	scan.kind = kind;
	got.n = 0;
	got.broken = false;
	got.set = &set;
	if (kind == ACD_ALL_OVERLAPPING)
		sort_matches(&expected);
	passed = acd_find(&scan, text, len, collect_match, &got) == ACD_OK &&
		same_matches(&got, &expected) &&
		acd_contains(&scan, text, len, &any) == ACD_OK && any == (expected.n > 0);
	set_free(&set);
	return passed;
}

/* Does a group of the collection hold for a kind? */
static bool
group_has_kind(const char *group, acd_kind kind)
{
	static const char *const groups[][4] = {
		[ACD_ALL_OVERLAPPING] = {"BASICS", "OVERLAPPING"},
		[ACD_LEFTMOST_LONGEST] = {"BASICS", "NON_OVERLAPPING", "LEFTMOST", "LEFTMOST_LONGEST"},
		[ACD_LEFTMOST_FIRST] = {"BASICS", "NON_OVERLAPPING", "LEFTMOST", "LEFTMOST_FIRST"}
	};
	acd_kind	own;

	if (acd_kind_from_name(group, &own))
		return own == kind;
	if (strcmp(group, "REGRESSION") == 0)
		return kind == ACD_LEFTMOST_FIRST || kind == ACD_LEFTMOST_LONGEST;
	if (kind == ACD_COVER)
		return false;
	for (int i = 0; i < 4 && groups[kind][i] != NULL; i++)
		if (strcmp(group, groups[kind][i]) == 0)
			return true;
	return false;
}

/* Run the vectors of a file; how many ran. */
static int
run_file(const char *path)
{
	static char line[MAX_LINE];
	FILE	   *f = fopen(path, "r");
	int			ran = 0;

	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL)
	{
		char	   *field[6] = {0};
		int			n = 0;
		const char *p;
		unsigned char text[4096];
		size_t		len;
		bool		empty;

		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		for (char *s = line; s != NULL && n < 6; n++)
		{
			field[n] = s;
			s = strchr(s, '\t');
			if (s != NULL)
				*s++ = '\0';
		}
		for (int kind = 0; n >= 5 && kind <= ACD_COVER; kind++)
		{
			bool		parsed;

			if (!group_has_kind(field[0], (acd_kind) kind))
				continue;
			p = field[3];
			parsed = parse_patterns(field[2], &empty);
			if (parsed && empty)
				break;
			parsed = parsed && parse_string(&p, text, sizeof(text), &len) && parse_matches(field[4]);
			if (parsed && n == 6)
				parse_priorities(field[5]);
			ok(parsed && run_vector((acd_kind) kind, text, len), "%s %s: %s", field[0], field[1],
			   acd_kind_name((acd_kind) kind));
			ran++;
		}
		if (n < 5)
			ok(false, "line with %d fields", n);
	}
	fclose(f);
	return ran;
}

int
main(void)
{
	const char *tracked = "../data/core_vectors.tsv";
	const char *collection = "../../../shared/data/ac_vectors.tsv";
	const char *set_by_env = getenv("CORE_COLLECTION");
	int			n = run_file(tracked);

	ok(n > 0, "%d vectors in %s", n, tracked);
	n = run_file(set_by_env != NULL ? set_by_env : collection);
	if (n < 0)
		ok(true, "collection # SKIP not there");
	else
		ok(n > 100, "%d vectors in the collection", n);
	return done_testing();
}
