/*
 * load.c
 *		acdat load: its command line, and the passes over the file.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"
#include "term_reader.h"

static int
load_file(const LoadOptions *options)
{
	Load		load = {.options = options};
	const char *message;
	int			code;

	load.name = name_of_input(options->path);
	load.started = seconds_now();
	progress_init(&load.progress, options->progress);
	load.file = term_file_open(options->path, options->escapes, &message);
	if (load.file == NULL)
	{
		report("could not open \"%s\": %s", load.name, message);
		return ACDAT_EXIT_TROUBLE;
	}
	code = read_terms(load.file, load.name, &load.progress, NULL, NULL, &load.terms);
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
	for (int i = 0; i < options->npublish && load.generations; i++)
	{
		if (code == ACDAT_EXIT_OK)
			printf("policy %s published as generation %s\n", options->publish[i], load.generations[i]);
		free(load.generations[i]);
	}
	free(load.generations);
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat load loads a file of terms into a dictionary of a server, all or nothing.\n\n"
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
		   "      --publish=POLICY       publish a policy with the new terms, in the same\n"
		   "                             transaction; may be given several times\n"
		   "      --allow-lossy-keys     let --publish accept actions that lose keys\n"
		   "      --allow-unsafe-replacement\n"
		   "                             and replacements that could make a term\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n");
	printf("Connection options:\n"
		   "  -d, --dbname=DBNAME        database, or a connection string\n"
		   "  -h, --host=HOSTNAME        server's host or socket directory\n"
		   "  -p, --port=PORT            server's port\n"
		   "  -U, --username=NAME        role to connect as\n"
		   "  -w, --no-password          never ask for a password\n"
		   "  -W, --password             ask for a password before connecting\n\n"
		   "Exit status: 0 all is done; 1 the terms were refused; 2 anything else.\n"
		   "With 1 or 2 dictionary and policies are as they were.\n");
}

/* Read the command line; -1 to go on, or an exit code. */
static int
parse_options(int argc, char **argv, LoadOptions *options)
{
	enum
	{
		OPT_ALLOW_LOSSY_KEYS = OPT_OF_COMMAND, OPT_ALLOW_UNSAFE_REPLACEMENT, OPT_CREATE,
		OPT_DEFAULT_REPLACEMENT, OPT_ESCAPES, OPT_PROGRESS, OPT_PUBLISH, OPT_REPLACE
	};
	static const struct option long_options[] = {
		{"allow-lossy-keys", no_argument, NULL, OPT_ALLOW_LOSSY_KEYS},
		{"allow-unsafe-replacement", no_argument, NULL, OPT_ALLOW_UNSAFE_REPLACEMENT},
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
		{"publish", required_argument, NULL, OPT_PUBLISH},
		{"replace", no_argument, NULL, OPT_REPLACE},
		{"username", required_argument, NULL, 'U'},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}
	};
	int			c;
	int			code;

	while ((c = next_option("load", argc, argv, "d:D:h:p:U:VwW?", long_options, help, &code)) != -1)
	{
		switch (c)
		{
			case -2:
				return code;
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
			case OPT_ALLOW_LOSSY_KEYS:
				options->allow_lossy_keys = true;
				break;
			case OPT_ALLOW_UNSAFE_REPLACEMENT:
				options->allow_unsafe_replacement = true;
				break;
			case OPT_CREATE:
				options->create = true;
				break;
			case OPT_DEFAULT_REPLACEMENT:
				options->default_replacement = optarg;
				break;
			case OPT_ESCAPES:
				options->escapes = true;
				break;
			case OPT_PROGRESS:
				options->progress = true;
				break;
			case OPT_PUBLISH:
				options->publish[options->npublish++] = optarg;
				break;
			case OPT_REPLACE:
				options->replace = true;
				break;
		}
	}
	if (options->dictionary == NULL)
		report("no dictionary given (--dictionary)");
	else if (options->default_replacement && !options->create)
		report("--default-replacement needs --create");
	else if ((options->allow_lossy_keys || options->allow_unsafe_replacement) && options->npublish == 0)
		report("--allow-lossy-keys and --allow-unsafe-replacement need --publish");
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
	int			code;

	options.publish = calloc((size_t) argc, sizeof(char *));
	if (options.publish == NULL)
	{
		report("out of memory");
		return ACDAT_EXIT_TROUBLE;
	}
	code = parse_options(argc, argv, &options);
	if (code < 0)
		code = load_file(&options);
	free(options.publish);
	return code;
}
