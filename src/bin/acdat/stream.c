/*
 * stream.c
 *		Matches in a file of any length, in constant memory.
 *
 * The buffer is a window of the file; core scans it as a text of its own.
 * Let L be the length of the longest term and n the end of what was read.
 * A term that starts before the border n - L + 1 ends at n or before it, so
 * all such matches have been seen; what starts at the border or after it is
 * scanned again with what follows.  So what is found is what one scan of the
 * whole file would find:
 *
 * leftmost kinds: which term is taken at a start depends on nothing but the
 * terms at that start and the end of the match before.  Matches that start
 * before the border are final; the next scan resumes at the border, or where
 * the last match taken ends.
 *
 * cover: a span that ends at the border or before it is final.  One that lies
 * across it is carried on: its text is not needed any more, only its end and
 * the match that stands for it.  The next scan resumes at the border, and its
 * spans that share a byte with the carried one belong to it.  So a span may
 * be of any length.
 *
 * all_overlapping: every match seen is final; the next scan resumes at the
 * border, and what it finds that ends at n or before is not new.
 *
 * Where terms hold no line feed, all is final up to the last one read.
 */
#define _GNU_SOURCE				/* memmem, memrchr */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"

/* A span of cover that is not final, with the match that stands for it. */
typedef struct Carry
{
	bool		active;
	uint64_t	start;
	uint64_t	end;
	uint32_t	term;
	bool		located;		/* is its match's start known? */
	uint64_t	match_start;	/* if not, it is the first occurrence in ... */
	uint64_t	from;			/* ... these bytes, which are in the buffer */
	uint64_t	to;
} Carry;

struct Stream
{
	StreamOptions options;
	StreamSink	sink;
	acd_scan	scan;
	size_t		max_len;
	char	   *pattern;		/* max_len bytes */

	char	   *buffer;
	size_t		size;
	size_t		len;
	uint64_t	base;			/* where the buffer's first byte is in the file */

	uint64_t	done;			/* text before it has been handed on */
	uint64_t	seen;			/* end of the last scan */
	Carry		carry;

	size_t		border;			/* matches that start before it are final */
	size_t		dealt_with;		/* bytes of the buffer the next scan does without */
	bool		enough;			/* stopped at what is not final */
	bool		stopped;		/* by the sink */
};

Stream *
stream_create(const StreamOptions *options, const StreamSink *sink)
{
	Stream	   *stream = calloc(1, sizeof(Stream));
	acd_machine_info info = {.max_len = 1};
	void	   *buffer = NULL;

	if (stream == NULL)
		return NULL;
	stream->options = *options;
	stream->sink = *sink;
	stream->scan.machines = &stream->options.machine;
	stream->scan.nmachines = options->machine != NULL;
	stream->scan.kind = options->kind;
	if (options->machine)
		acd_machine_describe(options->machine, &info);
	stream->max_len = info.max_len;

	/* at least half of a full buffer can be dealt with */
	stream->size = options->buffer_size;
	if (stream->size < 2 * stream->max_len)
		stream->size = 2 * stream->max_len;
	stream->pattern = malloc(stream->max_len);
	if (posix_memalign(&buffer, 4096, stream->size) != 0)
		buffer = NULL;
	stream->buffer = buffer;
	if (stream->pattern == NULL || stream->buffer == NULL)
	{
		stream_free(stream);
		return NULL;
	}
	return stream;
}

void
stream_free(Stream *stream)
{
	if (stream == NULL)
		return;
	free(stream->pattern);
	free(stream->buffer);
	free(stream);
}

/* ---- handing on ---- */

/* Hand on the text up to an offset in the file. */
static int
emit_text(Stream *stream, uint64_t upto)
{
	const char *piece;
	size_t		len;

	if (upto <= stream->done)
		return 0;
	piece = stream->buffer + (stream->done - stream->base);
	len = (size_t) (upto - stream->done);
	stream->done = upto;
	stream->stopped = stream->sink.text(stream->sink.arg, piece, len) != 0;
	return stream->stopped;
}

static int
emit_match(Stream *stream, uint32_t term, uint64_t start, uint64_t end)
{
	stream->stopped = stream->sink.match(stream->sink.arg, term, start, end) != 0;
	return stream->stopped;
}

/* ---- the kinds without spans ---- */

static int
on_leftmost(void *arg, const acd_match *match)
{
	Stream	   *stream = arg;
	uint64_t	start = stream->base + match->start;

	if (match->start >= stream->border)
	{
		stream->enough = true;
		return 1;
	}
	if (emit_text(stream, start))
		return 1;
	stream->done = stream->base + match->end;
	return emit_match(stream, match->term, start, stream->done);
}

static int
on_overlapping(void *arg, const acd_match *match)
{
	Stream	   *stream = arg;
	uint64_t	start = stream->base + match->start;
	uint64_t	end = stream->base + match->end;

	if (end <= stream->seen)
		return 0;
	return emit_text(stream, end) || emit_match(stream, match->term, start, end);
}

/* ---- cover ---- */

/*
 * Where the match that stands for a span starts.  Of those of the highest
 * priority it is the leftmost, so no occurrence of its pattern in the span is
 * further left.
 */
static uint64_t
locate(Stream *stream, Carry *carry)
{
	if (!carry->located)
	{
		const char *span = stream->buffer + (carry->from - stream->base);
		const char *found = NULL;
		acd_term_info info;

		if (acd_machine_term(stream->options.machine, carry->term, &info) &&
			acd_machine_pattern(stream->options.machine, carry->term, stream->pattern))
			found = memmem(span, (size_t) (carry->to - carry->from), stream->pattern, info.pattern_len);
		carry->match_start = carry->from + (found ? (uint64_t) (found - span) : 0);
		carry->located = true;
	}
	return carry->match_start;
}

/* Does the match of span a win over that of span b? */
static bool
beats(Stream *stream, Carry *a, Carry *b)
{
	acd_term_info x = {0};
	acd_term_info y = {0};

	acd_machine_term(stream->options.machine, a->term, &x);
	acd_machine_term(stream->options.machine, b->term, &y);
	if (x.priority != y.priority)
		return x.priority > y.priority;
	if (locate(stream, a) != locate(stream, b))
		return a->match_start < b->match_start;
	return x.pattern_len > y.pattern_len;	/* or they are the same term */
}

/* Hand on the carried span, which is final. */
static int
emit_carry(Stream *stream)
{
	Carry	   *carry = &stream->carry;

	if (!carry->active)
		return 0;
	carry->active = false;
	return emit_match(stream, carry->term, carry->start, carry->end);
}

static int
on_span(void *arg, const acd_match *match)
{
	Stream	   *stream = arg;
	Carry	   *carry = &stream->carry;
	uint64_t	border = stream->base + stream->border;
	Carry		span = {
		.active = true,
		.start = stream->base + match->start,
		.end = stream->base + match->end,
		.term = match->term,
		.from = stream->base + match->start,
		.to = stream->base + match->end
	};

	if (carry->active && span.start < carry->end)
	{
		/* one span with the carried one, whatever its own end */
		span.start = carry->start;
		if (span.end < carry->end)
			span.end = carry->end;
		if (!beats(stream, carry, &span))
			*carry = span;
		carry->end = span.end;
		stream->done = carry->end;
		return 0;
	}

	/* what is not final will be seen again; if the carried span is not, this one is not */
	if (span.start >= border)
	{
		stream->enough = true;
		return 1;
	}
	if (emit_carry(stream) || emit_text(stream, span.start))
		return 1;
	*carry = span;
	stream->done = span.end;
	return 0;
}

/* ---- the window ---- */

/*
 * Scan the buffer up to "end".  "final" says that no match goes beyond.
 * False after reporting an error.
 */
static bool
scan_window(Stream *stream, size_t end, bool final, const char *name)
{
	acd_kind	kind = stream->options.kind;
	acd_match_fn fn = kind == ACD_COVER ? on_span : kind == ACD_ALL_OVERLAPPING ? on_overlapping : on_leftmost;
	acd_status	status;

	stream->dealt_with = 0;
	if (!final && end < stream->max_len)
		return true;
	stream->border = final ? end : end - stream->max_len + 1;
	stream->enough = false;
	status = acd_find(&stream->scan, stream->buffer, end, fn, stream);
	if (status != ACD_OK && !(status == ACD_ERR_STOPPED && (stream->enough || stream->stopped)))
	{
		report("%s: %s", name, acd_status_message(status));
		return false;
	}
	if (stream->stopped)
		return true;

	stream->seen = stream->base + end;
	stream->dealt_with = stream->border;
	if (stream->carry.active)
	{
		if (!final && stream->carry.end > stream->base + stream->border)
			locate(stream, &stream->carry);
		else if (emit_carry(stream))
			return true;
	}
	emit_text(stream, stream->base + (kind == ACD_ALL_OVERLAPPING ? end : stream->border));
	if ((kind == ACD_LEFTMOST_LONGEST || kind == ACD_LEFTMOST_FIRST) &&
		stream->done > stream->base + stream->border)
		stream->dealt_with = (size_t) (stream->done - stream->base);
	return true;
}

/* Drop what is not needed any more from the front of the buffer. */
static void
shift(Stream *stream)
{
	stream->len -= stream->dealt_with;
	memmove(stream->buffer, stream->buffer + stream->dealt_with, stream->len);
	stream->base += stream->dealt_with;
}

/*
 * Read on; *got is 0 at the end of the file.  What is there is dealt with
 * before waiting for more.
 */
static bool
fill(Stream *stream, int fd, const char *name, bool patient, size_t *got)
{
	ssize_t		n;

	if (!patient && stream->sink.idle && stream->sink.idle(stream->sink.arg) != 0)
	{
		stream->stopped = true;
		return true;
	}
	do
		n = read(fd, stream->buffer + stream->len, stream->size - stream->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
	{
		report("could not read \"%s\": %s", name, strerror(errno));
		return false;
	}
	*got = (size_t) n;
	stream->len += *got;
	return true;
}

/*
 * How much of the buffer is to be scanned now that "got" bytes were added; 0
 * for none.  *final is as in scan_window.
 */
static size_t
ripe(const Stream *stream, size_t got, bool *final)
{
	const char *line_feed = NULL;

	*final = got == 0;
	if (*final)
		return stream->len;
	if (stream->options.lines)
		line_feed = memrchr(stream->buffer + stream->len - got, '\n', got);
	if (line_feed)
	{
		*final = true;
		return (size_t) (line_feed + 1 - stream->buffer);
	}
	if (stream->len == stream->size ||
		(!stream->options.lines && stream->len >= 2 * stream->max_len))
		return stream->len;
	return 0;
}

static void
show_progress(Stream *stream, double started, uint64_t total)
{
	Progress   *progress = stream->options.progress;
	uint64_t	bytes = stream->base + stream->len;
	double		megabytes = (double) bytes / 1e6;
	double		seconds;

	if (progress == NULL || !progress_due(progress))
		return;
	seconds = seconds_now() - started;
	if (total > 0)
		progress_show(progress, "%.0f of %.0f MB, %.0f %%, %.0f MB/s", megabytes, (double) total / 1e6,
					  100.0 * (double) bytes / (double) total, megabytes / seconds);
	else
		progress_show(progress, "%.0f MB, %.0f MB/s", megabytes, megabytes / seconds);
}

bool
stream_run(Stream *stream, int fd, const char *name, bool *stopped)
{
	struct stat st;
	bool		regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	double		started = seconds_now();
	bool		ok = true;
	size_t		got = 1;

	stream->len = 0;
	stream->base = stream->done = stream->seen = 0;
	stream->carry.active = false;
	stream->stopped = false;
	while (ok && got > 0 && !stream->stopped)
	{
		ok = fill(stream, fd, name, regular, &got);
		if (ok && !stream->stopped)
		{
			bool		final;
			size_t		end = ripe(stream, got, &final);

			if (end > 0 || final)
			{
				ok = scan_window(stream, end, final, name);
				shift(stream);
			}
			show_progress(stream, started, regular ? (uint64_t) st.st_size : 0);
		}
	}
	if (stream->options.progress)
		progress_end(stream->options.progress);
	*stopped = stream->stopped;
	return ok;
}
