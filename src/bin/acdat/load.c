/*
 * load.c
 *		acdat load: its command line, and the first pass over the file.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define MAX_REPORTED	20		/* bad lines printed; the others are counted */

static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* ---- progress ---- */

/* Ten times a second on a terminal, once elsewhere. */
void
show_progress(Load *load, const char *doing, uint64_t done, uint64_t total)
{
	double		now;

	if (!load->options->progress)
		return;
	now = seconds_now();
	if (now - load->progress_at < (load->terminal ? 0.1 : 1.0))
		return;
	load->progress_at = now;
	load->progress_shown = true;
	fprintf(stderr, "%sacdat: %s: %" PRIu64, load->terminal ? "\r\033[K" : "", doing, done);
	if (total > 0)
		fprintf(stderr, " of %" PRIu64, total);
	fprintf(stderr, " terms%s", load->terminal ? "" : "\n");
	fflush(stderr);
}

/* Give the line back before anything else is printed. */
void
end_progress(Load *load)
{
	if (load->progress_shown && load->terminal)
		fputs("\r\033[K", stderr);
	load->progress_shown = false;
}

/* ---- first pass: validation ---- */

/* Read the whole file and report what is wrong with it. */
static int
validate(Load *load)
{
	uint64_t	bad = 0;
	Term		term;
	TermResult	result;
	const char *message;

	while ((result = term_file_next(load->file, &term, &message)) == TERM_OK ||
		   result == TERM_BAD)
	{
		if (result == TERM_OK)
		{
			show_progress(load, "checking", ++load->terms, 0);
			continue;
		}
		if (++bad > MAX_REPORTED)
			continue;
		end_progress(load);
		report("%s:%" PRIu64 ": %s", load->name, term.line, message);
	}
	end_progress(load);

	if (bad > MAX_REPORTED)
		report("%s: %" PRIu64 " more bad lines", load->name, bad - MAX_REPORTED);
	if (result == TERM_FAILED)
	{
		if (term.line == 0)
		{
			report("could not read \"%s\": %s", load->name, message);
			return ACDAT_EXIT_TROUBLE;
		}
		report("%s:%" PRIu64 ": %s", load->name, term.line, message);
		return ACDAT_EXIT_REFUSED;
	}
	if (bad > 0)
		return ACDAT_EXIT_REFUSED;

	/* a file cut short must not turn --replace into "redact nothing" */
	if (load->terms == 0)
	{
		report("%s: no terms in the file", load->name);
		return ACDAT_EXIT_REFUSED;
	}
	return ACDAT_EXIT_OK;
}

static int
load_file(const LoadOptions *options)
{
	Load		load = {.options = options};
	const char *message;
	int			code;

	load.name = strcmp(options->path, "-") == 0 ? "<stdin>" : options->path;
	load.terminal = isatty(STDERR_FILENO);
	load.started = load.progress_at = seconds_now();
	load.file = term_file_open(options->path, options->escapes, &message);
	if (load.file == NULL)
	{
		report("could not open \"%s\": %s", load.name, message);
		return ACDAT_EXIT_TROUBLE;
	}
	code = validate(&load);
	if (code == ACDAT_EXIT_OK)
	{
		load.conn = connect_to_server(&options->connect);
		if (load.conn == NULL)
			code = ACDAT_EXIT_TROUBLE;
	}
	if (code == ACDAT_EXIT_OK)
	{
		cancel_on_signal(load.conn);
		code = load_transaction(&load);
		PQfinish(load.conn);
	}
	term_file_close(load.file);
	if (code == ACDAT_EXIT_OK)
		printf("%" PRIu64 " terms loaded in %.1f s\n", load.terms, seconds_now() - load.started);
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat load loads a file of terms into a dictionary of acdat_decoder, all or nothing.\n\n"
		   "Usage:\n"
		   "  acdat load [OPTION]... --dictionary=NAME FILE\n\n"
		   "FILE, or standard input if it is \"-\", is UTF-8 text of one term a line:\n"
		   "  pattern[<TAB>replacement[<TAB>priority]]\n"
		   "Where no replacement is given, the dictionary's own stands.  Empty lines are\n"
		   "passed over.  Everything is checked before anything is sent.\n\n");
	printf("Options:\n"
		   "  -D, --dictionary=NAME      dictionary to load into\n"
		   "      --create               create the dictionary if it does not exist\n"
		   "      --default-replacement=TEXT\n"
		   "                             replacement of a dictionary made by --create\n"
		   "      --replace              remove the dictionary's present terms first\n"
		   "      --escapes              \\t, \\n, \\r and \\\\ in FILE stand for a tab, a line\n"
		   "                             feed, a carriage return and a backslash\n"
		   "      --progress             show progress even if not on a terminal\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n");
	printf("Connection options:\n"
		   "  -d, --dbname=DBNAME        database, or a connection string\n"
		   "  -h, --host=HOSTNAME        server's host or socket directory\n"
		   "  -p, --port=PORT            server's port\n"
		   "  -U, --username=NAME        role to connect as\n"
		   "  -w, --no-password          never ask for a password\n"
		   "  -W, --password             ask for a password before connecting\n\n"
		   "Exit status: 0 all terms are loaded; 1 the terms were refused; 2 anything else.\n"
		   "With 1 or 2 the dictionary is as it was.\n");
}

/* Read the command line; -1 to go on, or an exit code. */
static int
parse_options(int argc, char **argv, LoadOptions *options)
{
	enum
	{
		OPT_CREATE = 256, OPT_DEFAULT_REPLACEMENT, OPT_ESCAPES, OPT_HELP, OPT_PROGRESS, OPT_REPLACE
	};
	static const struct option long_options[] = {
		{"create", no_argument, NULL, OPT_CREATE},
		{"dbname", required_argument, NULL, 'd'},
		{"default-replacement", required_argument, NULL, OPT_DEFAULT_REPLACEMENT},
		{"dictionary", required_argument, NULL, 'D'},
		{"escapes", no_argument, NULL, OPT_ESCAPES},
		{"help", no_argument, NULL, OPT_HELP},
		{"host", required_argument, NULL, 'h'},
		{"no-password", no_argument, NULL, 'w'},
		{"password", no_argument, NULL, 'W'},
		{"port", required_argument, NULL, 'p'},
		{"progress", no_argument, NULL, OPT_PROGRESS},
		{"replace", no_argument, NULL, OPT_REPLACE},
		{"username", required_argument, NULL, 'U'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0}
	};
	int			c;

	/* getopt's messages begin with the program's name */
	argv[0] = (char *) "acdat";
	while ((c = getopt_long(argc, argv, "d:D:h:p:U:VwW?", long_options, NULL)) != -1)
	{
		switch (c)
		{
			case 'd':
				options->connect.dbname = optarg;
				break;
			case 'D':
				options->dictionary = optarg;
				break;
			case 'h':
				options->connect.host = optarg;
				break;
			case 'p':
				options->connect.port = optarg;
				break;
			case 'U':
				options->connect.user = optarg;
				break;
			case 'w':
				options->connect.no_password = true;
				break;
			case 'W':
				options->connect.ask_password = true;
				break;
			case 'V':
				printf("acdat (acdat_decoder) %s\n", ACDAT_VERSION);
				return ACDAT_EXIT_OK;
			case OPT_CREATE:
				options->create = true;
				break;
			case OPT_DEFAULT_REPLACEMENT:
				options->default_replacement = optarg;
				break;
			case OPT_REPLACE:
				options->replace = true;
				break;
			case OPT_ESCAPES:
				options->escapes = true;
				break;
			case OPT_PROGRESS:
				options->progress = true;
				break;
			default:
				/* '?' is also what getopt says of an unknown option */
				if (c != OPT_HELP && strcmp(argv[optind - 1], "-?") != 0)
					return try_help("load");
				help();
				return ACDAT_EXIT_OK;
		}
	}
	if (options->dictionary == NULL)
		report("no dictionary given (--dictionary)");
	else if (options->default_replacement && !options->create)
		report("--default-replacement needs --create");
	else if (optind == argc)
		report("no file given (\"-\" is standard input)");
	else if (optind < argc - 1)
		report("more than one file given");
	else
	{
		options->path = argv[optind];
		return -1;
	}
	return try_help("load");
}

int
load_main(int argc, char **argv)
{
	LoadOptions options = {.progress = isatty(STDERR_FILENO)};
	int			code = parse_options(argc, argv, &options);

	return code >= 0 ? code : load_file(&options);
}
