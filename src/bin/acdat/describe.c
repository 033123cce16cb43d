/*
 * describe.c
 *		acdat describe: facts about a compiled machine.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "machine.h"

static int
run(const MachineOptions *options)
{
	Machine		machine;
	acd_machine_info info;
	int			code = machine_get(options, false, &machine);

	if (code != ACDAT_EXIT_OK)
		return code;
	acd_machine_describe(&machine.machine, &info);
	printf("format:   %u\n", (unsigned) info.version);
	printf("terms:    %" PRIu32 "\n", info.terms);
	printf("states:   %" PRIu32 "\n", info.states);
	printf("bytes:    %" PRIu64 "\n", info.bytes);
	printf("min_len:  %" PRIu32 "\n", info.min_len);
	printf("max_len:  %" PRIu32 "\n", info.max_len);
	printf("engine:   %s\n", info.engine);
	printf("reason:   %s\n", info.reason);
	printf("digest:   ");
	for (int i = 0; i < ACD_DIGEST_LEN; i++)
		printf("%02x", info.digest[i]);
	printf("\nverified: %s\n", options->trust ? "no" : "yes");
	machine_release(&machine);
	return code;
}

/* ---- command line ---- */

static void
help(void)
{
	printf("acdat describe prints facts about a compiled machine, none of its terms.\n\n"
		   "Usage:\n"
		   "  acdat describe [OPTION]... MACHINE\n\n"
		   "Options:\n"
		   "      --trust                do not prove that the machine loses no term\n"
		   "  -V, --version              print the version, then exit\n"
		   "  -?, --help                 print this help, then exit\n\n"
		   "Lengths are those of patterns, in bytes.  Equal digests mean the same terms.\n\n"
		   "Exit status: 0 the machine is good; 1 it is not; 2 anything else.\n");
}

int
describe_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"help", no_argument, NULL, OPT_HELP},
		{"trust", no_argument, NULL, OPT_TRUST},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}
	};
	MachineOptions options = {0};
	int			c;
	int			code;

	while ((c = next_option("describe", argc, argv, "V?", long_options, help, &code)) != -1)
	{
		if (c == -2)
			return code;
		machine_option(&options, c, optarg);
	}
	if (optind == argc)
		report("no machine given");
	else if (optind < argc - 1)
		report("more than one machine given");
	else
	{
		options.machine = argv[optind];
		return run(&options);
	}
	return try_help("describe");
}
