/*
 * find.c
 *		acdat find: where the terms of a dictionary are in files.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "output.h"
#include "stream.h"

enum
{
	OPT_BUFFER_SIZE = OPT_OF_MATCHING,
	OPT_KIND,
	OPT_RAW
};

typedef struct Find
{
	MachineOptions machine;
	acd_kind	kind;
	bool		raw;
	bool		count;
	bool		quiet;
	uint64_t	buffer_size;
	const char *output;

	/* while it runs */
	Machine		source;
	Output		out;
	bool		failed;			/* to read one of the files */
	bool		found;			/* in any of the files */
	const char *file;
	uint64_t	matches;		/* in this file */
	uint64_t	line;			/* 1-based, of the text seen so far */
	uint64_t	line_start;		/* where it begins in the file */
	uint64_t	position;		/* where the next piece of text begins */
} Find;

/* ---- lines ---- */

/* How often c is in a piece of text; eight bytes at a time. */
static uint64_t
count_bytes(const char *text, size_t len, unsigned char c)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const uint64_t pattern = ones * c;
	uint64_t	n = 0;
	size_t		i = 0;

	for (; i + 8 <= len; i += 8)
	{
		uint64_t	word;

		memcpy(&word, text + i, 8);
		word ^= pattern;
		/* the high bit of each byte that is 0, exactly */
		word = ~(((word & ~(ones << 7)) + ~(ones << 7)) | word) & (ones << 7);
		n += ((word >> 7) * ones) >> 56;
	}
	for (; i < len; i++)
		n += (unsigned char) text[i] == c;
	return n;
}

static int
on_text(void *arg, const char *piece, size_t len)
{
	Find	   *find = arg;
	uint64_t	line_feeds = count_bytes(piece, len, '\n');

	if (line_feeds > 0)
	{
		const char *last = piece + len;

		while (last[-1] != '\n')
			last--;
		find->line += line_feeds;
		find->line_start = find->position + (uint64_t) (last - piece);
	}
	find->position += len;
	return 0;
}

static int
skip_text(void *arg, const char *piece, size_t len)
{
	(void) arg;
	(void) piece;
	(void) len;
	return 0;
}

/* ---- output ---- */

/* Write a number and a tab or line feed. */
static void
put_number(Find *find, bool negative, uint64_t value, char end)
{
	char		digits[24];
	char	   *c = digits + sizeof(digits);

	*--c = end;
	do
		*--c = (char) ('0' + value % 10);
	while ((value /= 10) > 0);
	if (negative)
		*--c = '-';
	output_write(&find->out, c, (size_t) (digits + sizeof(digits) - c));
}

/* Write a file's name such that it is one field. */
static void
put_name(Find *find, const char *name)
{
	for (const char *c = name; *c; c++)
	{
		const char *escaped = *c == '\t' ? "\\t" : *c == '\n' ? "\\n" : *c == '\r' ? "\\r" :
			*c == '\\' ? "\\\\" : NULL;

		if (escaped)
			output_write(&find->out, escaped, 2);
		else
			output_write(&find->out, c, 1);
	}
	output_write(&find->out, "\t", 1);
}

static int
on_match(void *arg, uint32_t term, uint64_t start, uint64_t end)
{
	Find	   *find = arg;
	const char *kind = acd_kind_name(find->kind);
	acd_term_info info = {0};

	find->found = true;
	find->matches++;
	if (find->quiet)
		return 1;
	if (!find->count)
	{
		put_name(find, find->file);
		if (!find->raw)
		{
			put_number(find, false, find->line, '\t');
			start -= find->line_start;
			end -= find->line_start;
		}
		acd_machine_term(&find->source.machine, term, &info);
		put_number(find, false, start, '\t');
		put_number(find, false, end, '\t');
		put_number(find, info.id < 0, info.id < 0 ? -(uint64_t) info.id : (uint64_t) info.id, '\t');
		output_write(&find->out, kind, strlen(kind));
		output_write(&find->out, "\n", 1);
	}
	/* for all_overlapping the text goes before the match, for others around it */
	if (find->kind != ACD_ALL_OVERLAPPING)
		find->position += end - start;
	return find->out.failed;
}

static int
on_idle(void *arg)
{
	Find	   *find = arg;

	return !output_flush(&find->out);
}

/* ---- files ---- */

/* False if the rest of the files need not be read. */
static bool
find_in_file(Find *find, Stream *stream, const char *file)
{
	int			fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	bool		stopped = false;

	find->file = file;
	find->matches = 0;
	find->line = 1;
	find->line_start = find->position = 0;
	if (fd < 0)
	{
		report("could not open \"%s\": %s", file, strerror(errno));
		find->failed = true;
		return true;
	}
	if (!stream_run(stream, fd, name_of_input(file), &stopped))
		find->failed = true;
	if (find->count && !find->quiet)
	{
		put_name(find, file);
		put_number(find, false, find->matches, '\n');
	}
	if (fd > STDERR_FILENO)
		close(fd);
	return !stopped;
}

static int
find_in_files(Find *find, char **files, int nfiles)
{
	static char *standard_input[] = {(char *) "-"};
	bool		lines = !find->raw && !find->count && !find->quiet;
	StreamOptions options = {
		.machine = find->source.empty ? NULL : &find->source.machine,
		.kind = find->kind,
		.lines = !find->raw,
		.buffer_size = find->buffer_size
	};
	StreamSink	sink = {lines ? on_text : skip_text, on_match, on_idle, find};
	Stream	   *stream = stream_create(&options, &sink);

	if (stream == NULL)
	{
		report("out of memory");
		return ACDAT_EXIT_TROUBLE;
	}
	if (nfiles == 0)
	{
		files = standard_input;
		nfiles = 1;
	}
	for (int i = 0; i < nfiles && find_in_file(find, stream, files[i]); i++)
		;
	stream_free(stream);

	/* as grep -q, a match is an answer whatever else went wrong */
	if (find->quiet && find->found)
		return ACDAT_EXIT_OK;
	if (find->failed || find->out.failed)
		return ACDAT_EXIT_TROUBLE;
	return find->found ? ACDAT_EXIT_OK : ACDAT_EXIT_NONE;
}

static int
run(Find *find, char **files, int nfiles)
{
	int			code;

	if (machine_get(&find->machine, !find->raw, &find->source) != ACDAT_EXIT_OK)
		return ACDAT_EXIT_TROUBLE;
	if (!output_open(&find->out, find->output, false))
		code = ACDAT_EXIT_TROUBLE;
	else
	{
		code = find_in_files(find, files, nfiles);
		if (code == ACDAT_EXIT_TROUBLE && find->out.path)
			output_abandon(&find->out);
		else if (!output_finish(&find->out))
			code = ACDAT_EXIT_TROUBLE;
	}
	machine_release(&find->source);
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat find prints where the terms of a dictionary are in files.\n\n"
		   "Usage:\n"
		   "  acdat find (-m MACHINE | -d DICTIONARY) [OPTION]... [FILE]...\n\n"
		   "It reads standard input if there is no FILE or FILE is \"-\".  For each match it\n"
		   "prints a line of fields separated by tabs, none of them text that was matched:\n"
		   "  file  line  start  end  id  kind\n"
		   "start and end are bytes of the line, from 0, the end not included.  With --raw\n"
		   "they are bytes of the file, and there is no field for the line.\n\n");
	printf("Options:\n"
		   MACHINE_HELP
		   "  -c, --count                print only each file and how many matches it has\n"
		   "      --kind=KIND            all_overlapping (default), leftmost_longest,\n"
		   "                             leftmost_first, cover\n"
		   "  -o, --output=FILE          write there, not to standard output\n"
		   "  -q, --quiet                print nothing, stop at the first match\n"
		   "      --raw                  each file is one text: terms may span lines\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n"
		   "Exit status: 0 there are matches; 1 there are none; 2 anything else.\n");
}

/* Read the command line; -1 to go on, or an exit code. */
static int
parse_options(int argc, char **argv, Find *find)
{
	static const struct option long_options[] = {
		MACHINE_LONG_OPTIONS,
		{"buffer-size", required_argument, NULL, OPT_BUFFER_SIZE},	/* for tests */
		{"count", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, OPT_HELP},
		{"kind", required_argument, NULL, OPT_KIND},
		{"output", required_argument, NULL, 'o'},
		{"quiet", no_argument, NULL, 'q'},
		{"raw", no_argument, NULL, OPT_RAW},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}
	};
	int			c;
	int			code;

	while ((c = next_option("find", argc, argv, MACHINE_LETTERS "co:qV?", long_options, help, &code)) != -1)
	{
		if (c == -2)
			return code;
		if (machine_option(&find->machine, c, optarg))
			continue;
		switch (c)
		{
			case 'c':
				find->count = true;
				break;
			case 'o':
				find->output = optarg;
				break;
			case 'q':
				find->quiet = true;
				break;
			case OPT_BUFFER_SIZE:
				if (!parse_size(optarg, &find->buffer_size))
				{
					report("invalid size \"%s\"", optarg);
					return try_help("find");
				}
				break;
			case OPT_KIND:
				if (!parse_kind(optarg, &find->kind))
					return try_help("find");
				break;
			case OPT_RAW:
				find->raw = true;
				break;
		}
	}
	return machine_options_fit(&find->machine) ? -1 : try_help("find");
}

int
find_main(int argc, char **argv)
{
	Find		find = {.kind = ACD_ALL_OVERLAPPING, .buffer_size = STREAM_BUFFER};
	int			code = parse_options(argc, argv, &find);

	return code >= 0 ? code : run(&find, argv + optind, argc - optind);
}
