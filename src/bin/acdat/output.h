/*
 * output.h
 *		Buffered output to a file that appears only when it is complete.
 */
#ifndef ACDAT_OUTPUT_H
#define ACDAT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define OUTPUT_BUFFER	262144

typedef struct Output
{
	int			fd;
	bool		failed;			/* and reported */
	bool		terminal;
	const char *name;			/* for messages */
	char	   *path;			/* what temp becomes, or NULL */
	size_t		len;
	char	   *buffer;
} Output;

/*
 * Open a file, or standard output for NULL or "-".  A regular file is
 * written beside its place and moved there by output_finish; on signals, and
 * without it, nothing is left.  A new one that is secret is only the user's.
 * False after reporting what went wrong.
 */
extern bool output_open(Output *output, const char *path, bool secret);

/* Write what is buffered; false once anything has failed. */
extern bool output_flush(Output *output);

/* Put the file into its place; false if any of it could not be written. */
extern bool output_finish(Output *output);

/* Give up: leaves no file.  Nothing after output_finish. */
extern void output_abandon(Output *output);

extern bool output_large(Output *output, const void *bytes, size_t len);

static inline bool
output_write(Output *output, const void *bytes, size_t len)
{
	if (len > OUTPUT_BUFFER - output->len)
		return output_large(output, bytes, len);
	memcpy(output->buffer + output->len, bytes, len);
	output->len += len;
	return true;
}

#endif							/* ACDAT_OUTPUT_H */
