/*
 * build.c
 *		acdat build: a file of terms compiled into a machine.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "output.h"

static int
run(const MachineOptions *options, const char *path)
{
	acd_artifact artifact;
	Output		output;
	int			code = compile_terms(options, &artifact);

	if (code != ACDAT_EXIT_OK)
		return code;
	if (!output_open(&output, path, true))
		code = ACDAT_EXIT_TROUBLE;
	else if (output.terminal)
	{
		report("a machine is not for a terminal (--output)");
		output_abandon(&output);
		code = ACDAT_EXIT_TROUBLE;
	}
	else
	{
		output_write(&output, artifact.block, artifact.size);
		if (!output_finish(&output))
			code = ACDAT_EXIT_TROUBLE;
	}
	free(artifact.block);
	if (code == ACDAT_EXIT_OK && strcmp(path, "-") != 0)
	{
		printf("%" PRIu32 " terms compiled into %zu bytes\n", artifact.terms, artifact.size);
		if (artifact.duplicates > 0)
			printf("%" PRIu32 " duplicates left out\n", artifact.duplicates);
	}
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat build compiles a file of terms into a machine.\n\n"
		   "Usage:\n"
		   "  acdat build [OPTION]... -o MACHINE FILE\n\n"
		   "FILE, or standard input if it is \"-\", is UTF-8 text of one term a line:\n"
		   "  pattern[<TAB>replacement[<TAB>priority]]\n"
		   "A term's id is the number of its line.  Of terms with the same pattern the one\n"
		   "of higher priority is kept, then the first.  The same terms give the same\n"
		   "bytes.  MACHINE holds all terms: it is as secret as FILE.\n\n");
	printf("Options:\n"
		   "  -o, --output=MACHINE       file to write; \"-\" is standard output\n"
		   "      --default-replacement=TEXT\n"
		   "                             where FILE gives none (default " ACDAT_DEFAULT_REPLACEMENT ")\n"
		   "      --escapes              \\t, \\n, \\r and \\\\ in FILE stand for a tab, a line\n"
		   "                             feed, a carriage return and a backslash\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n"
		   "Exit status: 0 MACHINE is written; 1 the terms were refused; 2 anything else.\n");
}

int
build_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"default-replacement", required_argument, NULL, OPT_DEFAULT_REPLACEMENT},
		{"escapes", no_argument, NULL, OPT_ESCAPES},
		{"help", no_argument, NULL, OPT_HELP},
		{"output", required_argument, NULL, 'o'},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}
	};
	MachineOptions options = {0};
	const char *output = NULL;
	int			c;
	int			code;

	while ((c = next_option("build", argc, argv, "o:V?", long_options, help, &code)) != -1)
	{
		if (c == -2)
			return code;
		if (c == 'o')
			output = optarg;
		else
			machine_option(&options, c, optarg);
	}
	if (optind == argc)
		report("no file given (\"-\" is standard input)");
	else if (optind < argc - 1)
		report("more than one file given");
	else if (output == NULL)
		report("no output given (--output)");
	else
	{
		options.dictionary = argv[optind];
		return run(&options, output);
	}
	return try_help("build");
}
