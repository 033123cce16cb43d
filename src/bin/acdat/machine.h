/*
 * machine.h
 *		Machines from files: compiled ones, and dictionaries compiled on the spot.
 */
#ifndef ACDAT_MACHINE_H
#define ACDAT_MACHINE_H

#include "acd.h"
#include "cli.h"

/* Where a machine comes from. */
typedef struct MachineOptions
{
	const char *machine;		/* a compiled one, or NULL */
	const char *dictionary;		/* or a file of terms */
	const char *default_replacement;	/* NULL: the extension's */
	bool		escapes;
	bool		trust;			/* do not verify */
} MachineOptions;

/* A machine and the bytes it lies in. */
typedef struct Machine
{
	acd_machine machine;
	acd_artifact artifact;
	bool		empty;			/* no terms: nothing can match */
} Machine;

/* The long and short options of MachineOptions, for tables of options. */
enum
{
	OPT_DEFAULT_REPLACEMENT = OPT_OF_COMMAND,
	OPT_ESCAPES,
	OPT_TRUST,
	OPT_OF_MATCHING				/* others begin here */
};

#define MACHINE_LETTERS "d:m:"
#define MACHINE_LONG_OPTIONS \
	{"default-replacement", required_argument, NULL, OPT_DEFAULT_REPLACEMENT}, \
	{"dictionary", required_argument, NULL, 'd'}, \
	{"escapes", no_argument, NULL, OPT_ESCAPES}, \
	{"machine", required_argument, NULL, 'm'}, \
	{"trust", no_argument, NULL, OPT_TRUST}

#define MACHINE_HELP \
	"  -m, --machine=FILE         a machine made by acdat build\n" \
	"  -d, --dictionary=FILE      or a file of terms, compiled on the spot\n" \
	"      --default-replacement=TEXT\n" \
	"                             where FILE gives none (default " ACDAT_DEFAULT_REPLACEMENT ")\n" \
	"      --escapes              \\t, \\n, \\r and \\\\ in FILE stand for a tab, a line\n" \
	"                             feed, a carriage return and a backslash\n" \
	"      --trust                do not prove that the machine loses no term\n"

/* Take an option if it is one of these. */
extern bool machine_option(MachineOptions *options, int c, char *value);

/* Is one source given, with options that fit it?  False after reporting. */
extern bool machine_options_fit(const MachineOptions *options);

/*
 * Compile a file of terms; ids are line numbers.  An exit code; reports what
 * went wrong.  The block is to be released with free.
 */
extern int	compile_terms(const MachineOptions *options, acd_artifact *artifact);

/*
 * Get a machine ready.  Where lines is true the terms that no line can hold,
 * as a line feed is in them, are left out.  An exit code.
 */
extern int	machine_get(const MachineOptions *options, bool lines, Machine *machine);
extern void machine_release(Machine *machine);

/* A name of a kind; false after reporting that there is none such. */
extern bool parse_kind(const char *name, acd_kind *kind);

/* Report a status of core about a file, and give its exit code. */
extern int	report_status(const char *name, acd_status status);

#endif							/* ACDAT_MACHINE_H */
