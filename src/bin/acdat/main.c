/*
 * main.c
 *		acdat, the command-line companion of acdat_decoder: its commands.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#ifndef ACDAT_VERSION
#error "ACDAT_VERSION comes from the Makefile"
#endif

typedef struct Command
{
	const char *name;
	const char *summary;
	int			(*run) (int argc, char **argv);
} Command;

static const Command commands[] = {
	{"build", "compile a file of terms into a machine", build_main},
	{"check", "say what may be wrong with a file of terms", check_main},
	{"describe", "print facts about a machine", describe_main},
	{"find", "print where terms are in files", find_main},
	{"load", "load a file of terms into a dictionary of a server", load_main},
	{"replace", "copy a text with its terms replaced", replace_main},
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* One line on stderr, with nothing in it that a terminal would obey. */
void
report(const char *fmt,...)
{
	char		message[2048];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);

	for (char *c = message; *c; c++)
	{
		if (*c == '\n' && c[1] == '\0')
			*c = '\0';
		else if ((unsigned char) *c < 0x20 || *c == 0x7f)
			*c = '?';
	}
	fprintf(stderr, "acdat: %s\n", message);
}

int
try_help(const char *command)
{
	fprintf(stderr, "Try \"acdat %s%s--help\" for more information.\n",
			command, *command ? " " : "");
	return ACDAT_EXIT_TROUBLE;
}

static void
help(void)
{
	printf("acdat is the command-line companion of the PostgreSQL extension acdat_decoder.\n\n"
		   "Usage:\n"
		   "  acdat COMMAND [OPTION]...\n\n"
		   "Commands:\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-18s %s\n", commands[i].name, commands[i].summary);
	printf("\n"
		   "Options:\n"
		   "  -V, --version      print the version, then exit\n"
		   "  -?, --help         print this help, then exit\n\n"
		   "\"acdat COMMAND --help\" tells more about a command.\n");
}

/* Output that could not be written is not success. */
static int
finish(int code)
{
	if (fflush(stdout) != 0 || ferror(stdout))
	{
		report("could not write to standard output");
		return ACDAT_EXIT_TROUBLE;
	}
	return code;
}

int
main(int argc, char **argv)
{
	const char *name;

	if (argc < 2)
	{
		report("no command given");
		return try_help("");
	}
	name = argv[1];

	if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0)
	{
		help();
		return finish(ACDAT_EXIT_OK);
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
	{
		printf("acdat (acdat_decoder) %s\n", ACDAT_VERSION);
		return finish(ACDAT_EXIT_OK);
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
	{
		if (strcmp(name, commands[i].name) == 0)
			return finish(commands[i].run(argc - 1, argv + 1));
	}
	report("unknown %s \"%s\"", name[0] == '-' ? "option" : "command", name);
	return try_help("");
}
