/*
 * driver.c
 *		Runs one match engine over one dictionary and one text.
 *
 * usage: driver TERMS TEXT
 *        driver --file TERMS IN OUT
 *        driver --run PROGRAM ARGUMENT...
 *
 * The second form copies IN to OUT with the matches of each line replaced, in
 * memory that does not grow with IN, and ends.  The third runs another program
 * and prints its wall and CPU seconds and its peak of memory in KiB: the peak of a
 * child begins with its parent's size, and a driver is small.
 *
 * TERMS holds one term a line, TEXT one row a line.  Commands come on
 * standard input, one a line, and each is answered by one line:
 *
 *   info                     ok BYTES BUILD_NS PEAK_KIB TEXT_BYTES ROWS
 *   time OP SECONDS LIMIT    ok ANSWER ITERATIONS NS   (repeats for SECONDS, at most LIMIT times)
 *   verify OP [FILE]         ok ANSWER HASH            (hash of the output; FILE receives it)
 *   text FILE                ok                        (another text for the same terms)
 *   quit
 *
 * OP is contains, find, overlapping, replace, rows-contains, rows-find,
 * rows-replace, rows-cover or build.  An operation that the engine does not have is
 * answered by "unsupported".  Times are CPU time of the thread per iteration,
 * in nanoseconds.  bench/driver/driver.rs speaks the same protocol.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "engine.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct session
{
	span	   *terms;
	size_t		nterms;
	span		text;
	span	   *rows;
	size_t		nrows;
	unsigned char *out;			/* output of the replacing operations */
	size_t		out_len;
	void	   *engine;
	uint64_t	build_ns;
	long		peak_kib;		/* memory that building needed */
} session;

typedef struct operation
{
	const char *name;
	bool		(*supported) (void);
	uint64_t	(*run) (session *s);
} operation;

static void
fail(const char *what, const char *detail)
{
	fprintf(stderr, "driver: %s %s\n", what, detail);
	exit(2);
}

static uint64_t
thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* A field of /proc/self/status in KiB, 0 where there is none. */
static long
status_kib(const char *field)
{
	char		line[256];
	long		value = 0;
	FILE	   *f = fopen("/proc/self/status", "r");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof line, f) != NULL)
	{
		if (strncmp(line, field, strlen(field)) == 0)
			value = atol(line + strlen(field));
	}
	fclose(f);
	return value;
}

static span
read_file(const char *path)
{
	FILE	   *f = fopen(path, "rb");
	unsigned char *bytes;
	long		size;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0)
		fail("cannot read", path);
	rewind(f);
	bytes = malloc((size_t) size + 64);
	if (bytes == NULL || fread(bytes, 1, (size_t) size, f) != (size_t) size)
		fail("cannot read", path);
	memset(bytes + size, 0, 64);
	fclose(f);
	return (span) {bytes, (size_t) size};
}

/* Split at newlines; a last line without one counts. */
static span *
split_lines(span all, size_t *nlines)
{
	const unsigned char *p = all.bytes;
	const unsigned char *end = p + all.len;
	size_t		room = 1024;
	size_t		n = 0;
	span	   *lines = malloc(room * sizeof *lines);

	while (p < end && lines != NULL)
	{
		const unsigned char *newline = memchr(p, '\n', (size_t) (end - p));
		const unsigned char *stop = newline != NULL ? newline : end;

		if (n == room)
			lines = realloc(lines, (room *= 2) * sizeof *lines);
		if (lines == NULL)
			break;
		lines[n++] = (span) {p, (size_t) (stop - p)};
		p = stop + 1;
	}
	if (lines == NULL)
		fail("out of memory", "");
	*nlines = n;
	return lines;
}

/* ---- operations ---- */

static bool has_contains(void) { return match_engine.contains != NULL; }
static bool has_leftmost(void) { return match_engine.count_leftmost != NULL; }
static bool has_overlapping(void) { return match_engine.count_overlapping != NULL; }
static bool has_replace(void) { return match_engine.replace != NULL; }
static bool has_cover(void) { return match_engine.replace_cover != NULL; }
static bool has_build(void) { return true; }

static uint64_t
run_contains(session *s)
{
	return match_engine.contains(s->engine, s->text.bytes, s->text.len);
}

static uint64_t
run_leftmost(session *s)
{
	return match_engine.count_leftmost(s->engine, s->text.bytes, s->text.len);
}

static uint64_t
run_overlapping(session *s)
{
	return match_engine.count_overlapping(s->engine, s->text.bytes, s->text.len);
}

static uint64_t
run_replace(session *s)
{
	s->out_len = match_engine.replace(s->engine, s->text.bytes, s->text.len, s->out);
	return s->out_len;
}

static uint64_t
run_rows_contains(session *s)
{
	uint64_t	n = 0;

	for (size_t i = 0; i < s->nrows; i++)
		n += match_engine.contains(s->engine, s->rows[i].bytes, s->rows[i].len);
	return n;
}

static uint64_t
run_rows_leftmost(session *s)
{
	uint64_t	n = 0;

	for (size_t i = 0; i < s->nrows; i++)
		n += match_engine.count_leftmost(s->engine, s->rows[i].bytes, s->rows[i].len);
	return n;
}

static uint64_t
replace_rows(session *s, size_t (*replace) (void *, const unsigned char *, size_t, unsigned char *))
{
	unsigned char *out = s->out;

	for (size_t i = 0; i < s->nrows; i++)
	{
		out += replace(s->engine, s->rows[i].bytes, s->rows[i].len, out);
		*out++ = '\n';
	}
	s->out_len = (size_t) (out - s->out);
	return s->out_len;
}

static uint64_t
run_rows_replace(session *s)
{
	return replace_rows(s, match_engine.replace);
}

static uint64_t
run_rows_cover(session *s)
{
	return replace_rows(s, match_engine.replace_cover);
}

static uint64_t
run_build(session *s)
{
	void	   *built = match_engine.build(s->terms, s->nterms);

	if (built == NULL)
		fail("the engine cannot be built", "");
	match_engine.release(built);
	return s->nterms;
}

static const operation operations[] = {
	{"contains", has_contains, run_contains},
	{"find", has_leftmost, run_leftmost},
	{"overlapping", has_overlapping, run_overlapping},
	{"replace", has_replace, run_replace},
	{"rows-contains", has_contains, run_rows_contains},
	{"rows-find", has_leftmost, run_rows_leftmost},
	{"rows-replace", has_replace, run_rows_replace},
	{"rows-cover", has_cover, run_rows_cover},
	{"build", has_build, run_build},
};

static const operation *
find_operation(const char *name)
{
	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
	{
		if (strcmp(operations[i].name, name) == 0)
			return operations[i].supported() ? &operations[i] : NULL;
	}
	return NULL;
}

/* ---- commands ---- */

static void
time_operation(session *s, const operation *op, double seconds, long limit)
{
	uint64_t	budget = (uint64_t) (seconds * 1e9);
	uint64_t	start = thread_ns();
	uint64_t	spent;
	uint64_t	answer;
	uint64_t	iterations = 0;

	do
	{
		answer = op->run(s);
		iterations++;
		spent = thread_ns() - start;
	} while (spent < budget && (limit == 0 || iterations < (uint64_t) limit));
	printf("ok %llu %llu %.1f\n", (unsigned long long) answer,
		   (unsigned long long) iterations, (double) spent / (double) iterations);
}

/* FNV-1a over the output, so that equal answers can be told from equal lengths. */
static void
verify_operation(session *s, const operation *op, const char *path)
{
	uint64_t	hash = 0xcbf29ce484222325u;
	uint64_t	answer;

	s->out_len = 0;
	answer = op->run(s);
	for (size_t i = 0; i < s->out_len; i++)
		hash = (hash ^ s->out[i]) * 0x100000001b3u;
	if (path[0] != '\0')
	{
		FILE	   *f = fopen(path, "wb");

		if (f == NULL || fwrite(s->out, 1, s->out_len, f) != s->out_len || fclose(f) != 0)
			fail("cannot write", path);
	}
	printf("ok %llu %016llx\n", (unsigned long long) answer, (unsigned long long) hash);
}

/* Bytes that a replaced text can have at most. */
static size_t
output_bound(const session *s)
{
	size_t		shortest = SIZE_MAX;

	for (size_t i = 0; i < s->nterms; i++)
		shortest = s->terms[i].len < shortest ? s->terms[i].len : shortest;
	if (shortest == 0)
		fail("an empty term", "");
	return s->text.len + s->nrows + 64 + (s->text.len / shortest + 1) * REPLACEMENT_LEN;
}

/* Make a file the text, instead of the one before. */
static void
read_text(session *s, const char *path)
{
	free((void *) s->text.bytes);
	free(s->rows);
	free(s->out);
	s->text = read_file(path);
	s->rows = split_lines(s->text, &s->nrows);
	s->out = malloc(output_bound(s));
	if (s->out == NULL)
		fail("out of memory", "");
}

/* ---- a job from file to file ---- */

#define FILE_BUFFER		(256 * 1024)

/* Replace in whole lines; returns the bytes that are left, of a line not whole yet. */
static size_t
replace_lines(session *s, unsigned char *in, size_t len, bool last, unsigned char *out, FILE *to)
{
	unsigned char *p = in;
	unsigned char *o = out;

	while (p < in + len)
	{
		size_t		rest = len - (size_t) (p - in);
		unsigned char *newline = memchr(p, '\n', rest);

		if (newline == NULL && !last)
			break;
		o += match_engine.replace(s->engine, p, newline != NULL ? (size_t) (newline - p) : rest, o);
		if (newline != NULL)
			*o++ = '\n';
		p = newline != NULL ? newline + 1 : in + len;
	}
	if (fwrite(out, 1, (size_t) (o - out), to) != (size_t) (o - out))
		fail("cannot write", "");
	len -= (size_t) (p - in);
	memmove(in, p, len);
	return len;
}

static int
replace_file(session *s, const char *from, const char *to)
{
	FILE	   *in = fopen(from, "rb");
	FILE	   *out = fopen(to, "wb");
	unsigned char *text = calloc(1, FILE_BUFFER + 64);
	unsigned char *replaced = malloc((size_t) FILE_BUFFER * (REPLACEMENT_LEN + 1) + 64);
	size_t		len = 0;
	size_t		n;

	if (in == NULL || out == NULL || text == NULL || replaced == NULL || match_engine.replace == NULL)
		fail("cannot begin", "");
	setvbuf(in, NULL, _IONBF, 0);
	setvbuf(out, NULL, _IONBF, 0);
	while ((n = fread(text + len, 1, FILE_BUFFER - len, in)) > 0)
	{
		len = replace_lines(s, text, len + n, false, replaced, out);
		if (len == FILE_BUFFER)
			fail("a line is too long", "");
	}
	replace_lines(s, text, len, true, replaced, out);
	if (ferror(in) || fclose(out) != 0)
		fail("cannot copy", "");
	return 0;
}

static int
run_program(char **argv)
{
	struct timespec begin;
	struct timespec end;
	struct rusage usage;
	int			status;
	pid_t		pid;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (pid == 0)
	{
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail("failed:", argv[0]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.6f %.6f %ld\n",
		   (double) (end.tv_sec - begin.tv_sec) + (double) (end.tv_nsec - begin.tv_nsec) / 1e9,
		   (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		   (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6, usage.ru_maxrss);
	return 0;
}

static bool
answer_command(session *s, const char *line)
{
	char		verb[16] = "";
	char		name[4096] = "";
	char		rest[4096] = "";
	const operation *op;

	sscanf(line, "%15s %4095s %4095[^\n]", verb, name, rest);
	if (strcmp(verb, "quit") == 0)
		return false;
	if (strcmp(verb, "text") == 0)
	{
		sscanf(line, "text %4095[^\n]", name);
		read_text(s, name);
		printf("ok\n");
		return true;
	}
	if (strcmp(verb, "info") == 0)
	{
		printf("ok %zu %llu %ld %zu %zu\n", match_engine.bytes(s->engine),
			   (unsigned long long) s->build_ns, s->peak_kib, s->text.len, s->nrows);
		return true;
	}
	op = find_operation(name);
	if (op == NULL)
		printf("unsupported\n");
	else if (strcmp(verb, "time") == 0)
	{
		double		seconds = 0;
		long		limit = 0;

		sscanf(rest, "%lf %ld", &seconds, &limit);
		time_operation(s, op, seconds, limit);
	}
	else if (strcmp(verb, "verify") == 0)
		verify_operation(s, op, rest);
	else
		printf("unsupported\n");
	return true;
}

int
main(int argc, char **argv)
{
	session		s = {0};
	uint64_t	start;
	long		before;
	char		line[8192];

	if (argc > 2 && strcmp(argv[1], "--run") == 0)
		return run_program(argv + 2);
	if (argc == 5 && strcmp(argv[1], "--file") == 0)
	{
		s.terms = split_lines(read_file(argv[2]), &s.nterms);
		s.engine = match_engine.build(s.terms, s.nterms);
		if (s.engine == NULL)
			fail("the engine cannot be built", "");
		return replace_file(&s, argv[3], argv[4]);
	}
	if (argc != 3)
		fail("usage: driver TERMS TEXT", "");
	s.terms = split_lines(read_file(argv[1]), &s.nterms);
	before = status_kib("VmRSS:");
	start = thread_ns();
	s.engine = match_engine.build(s.terms, s.nterms);
	s.build_ns = thread_ns() - start;
	if (s.engine == NULL)
		fail("the engine cannot be built", "");
	s.peak_kib = status_kib("VmHWM:") - before;
	read_text(&s, argv[2]);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL && answer_command(&s, line))
		fflush(stdout);
	match_engine.release(s.engine);
	return 0;
}
