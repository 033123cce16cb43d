/*
 * replace.c
 *		acdat replace: a file with its matches replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
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
	OPT_LIMIT,
	OPT_PROGRESS,
	OPT_RAW
};

typedef struct Replace
{
	MachineOptions machine;
	acd_kind	kind;
	bool		raw;
	bool		progress;
	uint64_t	limit;
	uint64_t	buffer_size;
	const char *input;
	const char *output;

	/* while it runs */
	Machine		source;
	Output		out;
	uint64_t	room;			/* bytes that may still be written */
	bool		limited;		/* and more were to be */
} Replace;

static int
put(Replace *replace, const void *bytes, size_t len)
{
	if (len > replace->room)
	{
		replace->limited = true;
		return 1;
	}
	replace->room -= len;
	return !output_write(&replace->out, bytes, len);
}

static int
on_text(void *arg, const char *piece, size_t len)
{
	return put(arg, piece, len);
}

static int
on_match(void *arg, uint32_t term, uint64_t start, uint64_t end)
{
	Replace    *replace = arg;
	acd_term_info info = {0};

	(void) start;
	(void) end;
	acd_machine_term(&replace->source.machine, term, &info);
	return put(replace, info.replacement, info.replacement_len);
}

static int
on_idle(void *arg)
{
	Replace    *replace = arg;

	return !output_flush(&replace->out);
}

/* Everything from an open input to an open output. */
static int
copy(Replace *replace, int fd)
{
	Progress	progress;
	StreamOptions options = {
		.machine = replace->source.empty ? NULL : &replace->source.machine,
		.kind = replace->kind,
		.lines = !replace->raw,
		.buffer_size = replace->buffer_size,
		.progress = &progress
	};
	StreamSink	sink = {on_text, on_match, on_idle, replace};
	Stream	   *stream = stream_create(&options, &sink);
	bool		stopped = false;
	bool		ok;

	if (stream == NULL)
	{
		report("out of memory");
		return ACDAT_EXIT_TROUBLE;
	}
	/* on a terminal the text itself is progress enough */
	progress_init(&progress, replace->progress || (isatty(STDERR_FILENO) && !replace->out.terminal));
	ok = stream_run(stream, fd, name_of_input(replace->input), &stopped);
	stream_free(stream);
	if (replace->limited)
		report("the output would have more than %" PRIu64 " bytes", replace->limit);
	return ok && !stopped ? ACDAT_EXIT_OK : ACDAT_EXIT_TROUBLE;
}

static int
run(Replace *replace)
{
	int			code = machine_get(&replace->machine, !replace->raw, &replace->source);
	int			fd = STDIN_FILENO;

	if (code != ACDAT_EXIT_OK)
		return code;
	if (strcmp(replace->input, "-") != 0)
		fd = open(replace->input, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
	{
		report("could not open \"%s\": %s", replace->input, strerror(errno));
		code = ACDAT_EXIT_TROUBLE;
	}
	else if (!output_open(&replace->out, replace->output, false))
		code = ACDAT_EXIT_TROUBLE;
	else
	{
		code = copy(replace, fd);
		if (code != ACDAT_EXIT_OK)
		{
			/* what was done before an error in the input may be wanted */
			if (replace->out.path == NULL)
				output_flush(&replace->out);
			output_abandon(&replace->out);
		}
		else if (!output_finish(&replace->out))
			code = ACDAT_EXIT_TROUBLE;
	}
	if (fd > STDERR_FILENO)
		close(fd);
	machine_release(&replace->source);
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat replace copies a text with the terms of a dictionary replaced.\n\n"
		   "Usage:\n"
		   "  acdat replace (-m MACHINE | -d DICTIONARY) [OPTION]... [FILE]\n\n"
		   "It reads FILE, or standard input if there is none or it is \"-\".  Each line is\n"
		   "a text of its own; what comes in is neither decoded nor checked, so NUL bytes\n"
		   "and invalid UTF-8 pass.  Memory does not grow with the text.\n\n");
	printf("Options:\n"
		   MACHINE_HELP
		   "      --kind=KIND            cover (default), leftmost_longest, leftmost_first\n"
		   "      --limit=SIZE           fail before writing more than this (k, M, G)\n"
		   "  -o, --output=FILE          write there, all or nothing, not to standard output\n"
		   "      --progress             show progress even if not on a terminal\n"
		   "      --raw                  the file is one text: terms may span lines\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n"
		   "Exit status: 0 all is written; 1 the machine or dictionary was refused; 2\n"
		   "anything else.\n");
}

/* Read the command line; -1 to go on, or an exit code. */
static int
parse_options(int argc, char **argv, Replace *replace)
{
	static const struct option long_options[] = {
		MACHINE_LONG_OPTIONS,
		{"buffer-size", required_argument, NULL, OPT_BUFFER_SIZE},	/* for tests */
		{"help", no_argument, NULL, OPT_HELP},
		{"kind", required_argument, NULL, OPT_KIND},
		{"limit", required_argument, NULL, OPT_LIMIT},
		{"output", required_argument, NULL, 'o'},
		{"progress", no_argument, NULL, OPT_PROGRESS},
		{"raw", no_argument, NULL, OPT_RAW},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}
	};
	int			c;
	int			code;

	while ((c = next_option("replace", argc, argv, MACHINE_LETTERS "o:V?", long_options, help, &code)) != -1)
	{
		if (c == -2)
			return code;
		if (machine_option(&replace->machine, c, optarg))
			continue;
		switch (c)
		{
			case 'o':
				replace->output = optarg;
				break;
			case OPT_BUFFER_SIZE:
				if (!parse_size(optarg, &replace->buffer_size))
				{
					report("invalid size \"%s\"", optarg);
					return try_help("replace");
				}
				break;
			case OPT_KIND:
				if (!parse_kind(optarg, &replace->kind))
					return try_help("replace");
				if (replace->kind == ACD_ALL_OVERLAPPING)
				{
					report("overlapping matches cannot be replaced: cover joins them");
					return try_help("replace");
				}
				break;
			case OPT_LIMIT:
				if (!parse_size(optarg, &replace->limit))
				{
					report("invalid size \"%s\"", optarg);
					return try_help("replace");
				}
				break;
			case OPT_PROGRESS:
				replace->progress = true;
				break;
			case OPT_RAW:
				replace->raw = true;
				break;
		}
	}
	if (!machine_options_fit(&replace->machine))
		return try_help("replace");
	if (optind < argc - 1)
	{
		report("more than one file given");
		return try_help("replace");
	}
	replace->input = optind < argc ? argv[optind] : "-";
	if (replace->machine.dictionary && strcmp(replace->machine.dictionary, "-") == 0 &&
		strcmp(replace->input, "-") == 0)
	{
		report("the dictionary and the text cannot both be standard input");
		return try_help("replace");
	}
	return -1;
}

int
replace_main(int argc, char **argv)
{
	Replace		replace = {
		.kind = ACD_COVER,
		.limit = UINT64_MAX,
		.buffer_size = STREAM_BUFFER
	};
	int			code = parse_options(argc, argv, &replace);

	replace.room = replace.limit;
	return code >= 0 ? code : run(&replace);
}
