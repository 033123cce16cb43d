/*
 * stream.h
 *		Matches in a file of any length, in constant memory.
 */
#ifndef ACDAT_STREAM_H
#define ACDAT_STREAM_H

#include "acd.h"
#include "cli.h"

#define STREAM_BUFFER	262144	/* bytes scanned at a time, if not said otherwise */

/*
 * Who receives what is found, in order: pieces of text, none of them empty,
 * and matches at [start, end) of the file.  Pieces lie between matches; for
 * ACD_ALL_OVERLAPPING they are the whole text, up to a match's end before it.
 * "idle" comes before a read that may have to wait.  Nonzero stops.
 */
typedef struct StreamSink
{
	int			(*text) (void *arg, const char *piece, size_t len);
	int			(*match) (void *arg, uint32_t term, uint64_t start, uint64_t end);
	int			(*idle) (void *arg);	/* or NULL */
	void	   *arg;
} StreamSink;

typedef struct StreamOptions
{
	const acd_machine *machine; /* NULL: nothing matches */
	acd_kind	kind;
	bool		lines;			/* no term holds a line feed: what stands before
								 * one is never kept waiting for what follows */
	size_t		buffer_size;
	Progress   *progress;
} StreamOptions;

typedef struct Stream Stream;

/* NULL if out of memory. */
extern Stream *stream_create(const StreamOptions *options, const StreamSink *sink);
extern void stream_free(Stream *stream);

/*
 * Scan a file from where it stands to its end; false after reporting why
 * that was not possible.  *stopped says that the sink asked to stop.
 */
extern bool stream_run(Stream *stream, int fd, const char *name, bool *stopped);

#endif							/* ACDAT_STREAM_H */
