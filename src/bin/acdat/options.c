/*
 * options.c
 *		Reading the command lines of acdat's commands.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

int
next_option(const char *command, int argc, char **argv, const char *letters,
			const struct option *options, void (*help) (void), int *code)
{
	int			c;

	/* getopt's messages begin with the program's name */
	argv[0] = (char *) "acdat";
	c = getopt_long(argc, argv, letters, options, NULL);
	if (c == OPT_VERSION || c == 'V')
		printf("acdat (acdat_decoder) %s\n", ACDAT_VERSION);
	/* '?' is also what getopt says of an unknown option */
	else if (c == OPT_HELP || (c == '?' && strcmp(argv[optind - 1], "-?") == 0))
		help();
	else if (c == '?')
	{
		*code = try_help(command);
		return -2;
	}
	else
		return c;
	*code = ACDAT_EXIT_OK;
	return -2;
}

bool
parse_size(const char *text, uint64_t *size)
{
	uint64_t	value = 0;
	const char *c = text;
	int			shift = 0;

	for (; *c >= '0' && *c <= '9'; c++)
	{
		if (value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t) (*c - '0');
	}
	if (c == text)
		return false;
	if (*c == 'k' || *c == 'K')
		shift = 10;
	else if (*c == 'M')
		shift = 20;
	else if (*c == 'G')
		shift = 30;
	if (shift > 0)
		c++;
	if (*c != '\0' || value > UINT64_MAX >> shift)
		return false;
	*size = value << shift;
	return true;
}
