/*
 * cli.h
 *		What the commands of acdat share.
 *
 * acdat is a plain client: none of the server's headers or libraries.  The
 * commands that match use core alone; those that talk to a server use libpq.
 */
#ifndef ACDAT_CLI_H
#define ACDAT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes, in the manner of diff and grep. */
#define ACDAT_EXIT_OK		0
#define ACDAT_EXIT_REFUSED	1	/* the input was refused */
#define ACDAT_EXIT_NONE		1	/* nothing was found */
#define ACDAT_EXIT_TROUBLE	2	/* usage, files, connection, server */

#define ACDAT_MAX_REPORTED	20	/* of a kind; what is more is counted */

#define ACDAT_DEFAULT_REPLACEMENT "[REDACTED]"	/* the extension's own */

#if defined(__GNUC__)
#define ACDAT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ACDAT_PRINTF(fmt, args)
#endif

/*
 * Print "acdat: " and a message to stderr, as one line whatever the
 * arguments hold: control characters become question marks.
 */
extern void report(const char *fmt,...) ACDAT_PRINTF(1, 2);

/* Point at the help of a command and return ACDAT_EXIT_TROUBLE. */
extern int	try_help(const char *command);

/* A file's name for messages: that of "-" is <stdin>. */
extern const char *name_of_input(const char *path);

/* ---- options.c ---- */

/* Values of long options that have no letter and are known to all commands. */
enum
{
	OPT_HELP = 1000,
	OPT_VERSION,
	OPT_OF_COMMAND				/* a command's own begin here */
};

/*
 * getopt_long for a command: --help and --version are dealt with, as are
 * mistakes.  The next option; -1 at the end; -2 to leave with *code.
 */
struct option;
extern int	next_option(const char *command, int argc, char **argv, const char *letters,
						const struct option *options, void (*help) (void), int *code);

/* A size in bytes with an optional k, M or G (of 1024); false if it is none. */
extern bool parse_size(const char *text, uint64_t *size);

/* ---- progress.c ---- */

/* What is shown on a terminal while a command works. */
typedef struct Progress
{
	bool		enabled;
	bool		terminal;		/* stderr is one */
	bool		shown;
	double		at;				/* when it was last shown */
} Progress;

extern double seconds_now(void);
extern void progress_init(Progress *progress, bool enabled);

/* Is it time to show something?  Ten times a second on a terminal, once elsewhere. */
extern bool progress_due(Progress *progress);
extern void progress_show(Progress *progress, const char *fmt,...) ACDAT_PRINTF(2, 3);

/* Give the line back before anything else is printed. */
extern void progress_end(Progress *progress);

/* ---- commands ---- */

extern int	build_main(int argc, char **argv);
extern int	check_main(int argc, char **argv);
extern int	describe_main(int argc, char **argv);
extern int	find_main(int argc, char **argv);
extern int	load_main(int argc, char **argv);
extern int	replace_main(int argc, char **argv);

#endif							/* ACDAT_CLI_H */
