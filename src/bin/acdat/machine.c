/*
 * machine.c
 *		Machines from files: compiled ones, and dictionaries compiled on the spot.
 *
 * A compiled machine is read into memory, not mapped: what was verified must
 * not change afterwards, whoever writes to the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "term_reader.h"

#define HUGE_PAGE	((size_t) 2 << 20)

int
report_status(const char *name, acd_status status)
{
	report("%s: %s", name, acd_status_message(status));
	return status >= ACD_ERR_TRUNCATED ? ACDAT_EXIT_REFUSED : ACDAT_EXIT_TROUBLE;
}

bool
parse_kind(const char *name, acd_kind *kind)
{
	if (acd_kind_from_name(name, kind))
		return true;
	report("unknown kind \"%s\"", name);
	report("hint: it is one of all_overlapping, leftmost_longest, leftmost_first and cover");
	return false;
}

bool
machine_option(MachineOptions *options, int c, char *value)
{
	switch (c)
	{
		case 'm':
			options->machine = value;
			return true;
		case 'd':
			options->dictionary = value;
			return true;
		case OPT_DEFAULT_REPLACEMENT:
			options->default_replacement = value;
			return true;
		case OPT_ESCAPES:
			options->escapes = true;
			return true;
		case OPT_TRUST:
			options->trust = true;
			return true;
	}
	return false;
}

bool
machine_options_fit(const MachineOptions *options)
{
	if (options->machine && options->dictionary)
		report("both --machine and --dictionary given");
	else if (options->machine == NULL && options->dictionary == NULL)
		report("neither --machine nor --dictionary given");
	else if (options->machine && (options->default_replacement || options->escapes))
		report("--default-replacement and --escapes are for a --dictionary");
	else
		return true;
	return false;
}

/* ---- dictionaries ---- */

typedef struct Compiler
{
	const MachineOptions *options;
	const char *name;
	acd_builder *builder;
	bool		lines;			/* leave out what no line can hold */
	bool		empty;			/* nothing was added */
} Compiler;

static int
add_term(void *arg, const Term *term)
{
	Compiler   *compiler = arg;
	const char *standard = compiler->options->default_replacement;
	acd_term	added = {
		.pattern = term->pattern,
		.pattern_len = term->pattern_len,
		.replacement = term->replacement,
		.replacement_len = term->replacement_len,
		.id = (int64_t) term->line,
		.priority = term->priority
	};
	acd_status	status;

	if (compiler->lines && memchr(term->pattern, '\n', term->pattern_len))
		return ACDAT_EXIT_OK;
	if (term->replacement == NULL)
	{
		added.replacement = standard ? standard : ACDAT_DEFAULT_REPLACEMENT;
		added.replacement_len = strlen(added.replacement);
	}
	status = acd_builder_add(compiler->builder, &added);
	compiler->empty = false;
	return status == ACD_OK ? ACDAT_EXIT_OK : report_status(compiler->name, status);
}

static int
compile(const MachineOptions *options, bool lines, acd_artifact *artifact, bool *empty)
{
	Compiler	compiler = {.options = options, .lines = lines, .empty = true};
	Progress	progress;
	const char *message;
	uint64_t	terms;
	TermFile   *file = term_file_open(options->dictionary, options->escapes, &message);
	int			code;

	compiler.name = name_of_input(options->dictionary);
	if (file == NULL)
	{
		report("could not open \"%s\": %s", compiler.name, message);
		return ACDAT_EXIT_TROUBLE;
	}
	progress_init(&progress, false);
	compiler.builder = acd_builder_create(&acd_libc_allocator);
	if (compiler.builder == NULL)
		code = report_status(compiler.name, ACD_ERR_NOMEM);
	else
		code = read_terms(file, compiler.name, &progress, add_term, &compiler, &terms);
	term_file_close(file);
	*empty = compiler.empty;
	if (code == ACDAT_EXIT_OK && !compiler.empty)
	{
		acd_status	status = acd_builder_finish(compiler.builder, 0, artifact);

		if (status != ACD_OK)
			code = report_status(compiler.name, status);
	}
	if (compiler.builder)
		acd_builder_free(compiler.builder);
	return code;
}

int
compile_terms(const MachineOptions *options, acd_artifact *artifact)
{
	bool		empty;

	return compile(options, false, artifact, &empty);
}

/* ---- compiled machines ---- */

/* Memory for a machine: in large pages if it is large, as it is read all over. */
static void *
allocate(size_t size)
{
	void	   *block = NULL;

	if (size < HUGE_PAGE)
		return malloc(size > 0 ? size : 1);
	if (posix_memalign(&block, HUGE_PAGE, size) != 0)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void) madvise(block, size, MADV_HUGEPAGE);
#endif
	return block;
}

/* Read the rest of a file of st_size bytes; false with errno. */
static bool
read_file(int fd, acd_artifact *artifact)
{
	struct stat st;
	size_t		got = 0;

	if (fstat(fd, &st) != 0)
		return false;
	if (!S_ISREG(st.st_mode))
	{
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return false;
	}
	artifact->size = (size_t) st.st_size;
	artifact->block = allocate(artifact->size);
	if (artifact->block == NULL)
	{
		errno = ENOMEM;
		return false;
	}
	while (got < artifact->size)
	{
		ssize_t		n = read(fd, (char *) artifact->block + got, artifact->size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		got += (size_t) n;
	}
	artifact->size = got;
	return true;
}

static int
open_machine(const MachineOptions *options, Machine *machine)
{
	const char *name = options->machine;
	int			fd = open(name, O_RDONLY | O_CLOEXEC);
	bool		ok = fd >= 0 && read_file(fd, &machine->artifact);
	acd_status	status;

	if (!ok)
		report("could not read \"%s\": %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (!ok)
		return ACDAT_EXIT_TROUBLE;
	status = acd_machine_open(&machine->machine, machine->artifact.block, machine->artifact.size);
	if (status == ACD_OK && !options->trust)
		status = acd_machine_verify(&machine->machine, &acd_libc_allocator);
	return status == ACD_OK ? ACDAT_EXIT_OK : report_status(name, status);
}

/* ---- terms that hold line feeds ---- */

/* A buffer for the patterns of a machine, or NULL. */
static char *
pattern_buffer(const acd_machine *machine)
{
	acd_machine_info info;

	acd_machine_describe(machine, &info);
	return malloc(info.max_len);
}

/* Is there a line feed in term number "term"? */
static bool
holds_line_feed(const acd_machine *machine, uint32_t term, char *buffer, acd_term_info *info)
{
	return acd_machine_term(machine, term, info) &&
		acd_machine_pattern(machine, term, buffer) &&
		memchr(buffer, '\n', info->pattern_len) != NULL;
}

/* Compile a machine's terms without those that hold a line feed. */
static acd_status
compile_without(const acd_machine *machine, char *buffer, acd_artifact *artifact)
{
	acd_builder *builder = acd_builder_create(&acd_libc_allocator);
	acd_status	status = builder ? ACD_OK : ACD_ERR_NOMEM;
	acd_term_info info;

	for (uint32_t t = 0; status == ACD_OK && acd_machine_term(machine, t, &info); t++)
	{
		acd_term	term = {
			.pattern = buffer,
			.pattern_len = info.pattern_len,
			.replacement = info.replacement,
			.replacement_len = info.replacement_len,
			.id = info.id,
			.priority = info.priority
		};

		if (!holds_line_feed(machine, t, buffer, &info))
			status = acd_builder_add(builder, &term);
	}
	if (status == ACD_OK)
		status = acd_builder_finish(builder, 0, artifact);
	if (builder)
		acd_builder_free(builder);
	return status;
}

static int
drop_line_feeds(const char *name, Machine *machine)
{
	char	   *buffer = pattern_buffer(&machine->machine);
	acd_artifact artifact = {0};
	acd_term_info info;
	acd_status	status = buffer ? ACD_OK : ACD_ERR_NOMEM;
	uint32_t	t = 0;

	while (buffer && acd_machine_term(&machine->machine, t, &info) &&
		   !holds_line_feed(&machine->machine, t, buffer, &info))
		t++;
	if (buffer && acd_machine_term(&machine->machine, t, &info))
	{
		status = compile_without(&machine->machine, buffer, &artifact);
		if (status == ACD_ERR_NO_TERMS)
		{
			machine->empty = true;
			status = ACD_OK;
		}
		else if (status == ACD_OK)
		{
			free(machine->artifact.block);
			machine->artifact = artifact;
			status = acd_machine_open(&machine->machine, artifact.block, artifact.size);
		}
	}
	free(buffer);
	return status == ACD_OK ? ACDAT_EXIT_OK : report_status(name, status);
}

int
machine_get(const MachineOptions *options, bool lines, Machine *machine)
{
	int			code;

	memset(machine, 0, sizeof(*machine));
	if (options->machine)
	{
		code = open_machine(options, machine);
		if (code == ACDAT_EXIT_OK && lines)
			code = drop_line_feeds(options->machine, machine);
	}
	else
	{
		code = compile(options, lines, &machine->artifact, &machine->empty);
		if (code == ACDAT_EXIT_OK && !machine->empty)
		{
			acd_status	status = acd_machine_open(&machine->machine, machine->artifact.block,
												  machine->artifact.size);

			if (status != ACD_OK)
				code = report_status(name_of_input(options->dictionary), status);
		}
	}
	if (code != ACDAT_EXIT_OK)
		machine_release(machine);
	return code;
}

void
machine_release(Machine *machine)
{
	free(machine->artifact.block);
	machine->artifact.block = NULL;
}
