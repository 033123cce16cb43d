/*
 * term_file.c
 *		A file of terms, read as a stream and validated line by line.
 *
 * The buffer holds at least one line of the greatest length allowed, so a
 * line is always a slice of it; escapes are resolved in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term_file.h"

#define CHUNK		65536
#define BUFFER_SIZE	(TERM_MAX_LINE + 2 + CHUNK)

/* Numbers in messages, from the macros that say them. */
#define STRINGIFY(x)	#x
#define NUMBER(x)		STRINGIFY(x)

static const char out_of_memory[] = "out of memory";

struct TermFile
{
	int			fd;
	bool		escapes;
	bool		spooling;		/* keep what is read */
	bool		replaying;		/* read what was kept */
	bool		eof;
	bool		skipping;		/* inside a line that is too long */

	uint64_t	line;			/* number of the line last read */
	uint32_t	terms;

	size_t		start;			/* unread part of the buffer */
	size_t		end;
	char	   *buffer;

	char	   *spool;
	size_t		spool_len;
	size_t		spool_size;
	size_t		spool_read;
};

/*
 * Is this UTF-8?  Strictly: no overlong forms, no surrogates, nothing past
 * U+10FFFF.
 */
static bool
utf8_valid(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *) text;
	const unsigned char *end = s + len;

	while (s < end)
	{
		unsigned char lead = *s++;
		unsigned char low = 0x80;	/* bounds of the second byte */
		unsigned char high = 0xBF;
		int			more;

		if (lead < 0x80)
			continue;
		else if (lead >= 0xC2 && lead <= 0xDF)
			more = 1;
		else if ((lead & 0xF0) == 0xE0)
		{
			more = 2;
			if (lead == 0xE0)
				low = 0xA0;
			else if (lead == 0xED)
				high = 0x9F;
		}
		else if (lead >= 0xF0 && lead <= 0xF4)
		{
			more = 3;
			if (lead == 0xF0)
				low = 0x90;
			else if (lead == 0xF4)
				high = 0x8F;
		}
		else
			return false;

		if (end - s < more || *s < low || *s > high)
			return false;
		for (s++; --more > 0; s++)
		{
			if ((*s & 0xC0) != 0x80)
				return false;
		}
	}
	return true;
}

/* A decimal int32 with an optional sign and nothing else. */
static bool
parse_priority(const char *text, size_t len, int32_t *priority)
{
	bool		negative = len > 0 && text[0] == '-';
	size_t		i = len > 0 && (text[0] == '-' || text[0] == '+');
	int64_t		value = 0;

	if (i == len)
		return false;
	for (; i < len; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (text[i] - '0');
		if (value > (int64_t) INT32_MAX + 1)
			return false;
	}
	if (negative)
		value = -value;
	if (value > INT32_MAX)
		return false;
	*priority = (int32_t) value;
	return true;
}

/* Resolve \t, \n, \r and \\ in place; false for any other use of a backslash. */
static bool
unescape(char *text, size_t *len)
{
	char	   *in = memchr(text, '\\', *len);
	char	   *end = text + *len;
	char	   *out = in;

	if (in == NULL)
		return true;
	while (in < end)
	{
		char		c = *in++;

		if (c == '\\')
		{
			if (in == end)
				return false;
			switch (*in++)
			{
				case 't':
					c = '\t';
					break;
				case 'n':
					c = '\n';
					break;
				case 'r':
					c = '\r';
					break;
				case '\\':
					break;
				default:
					return false;
			}
		}
		*out++ = c;
	}
	*len = (size_t) (out - text);
	return true;
}

/* Keep a copy of bytes that cannot be read again. */
static const char *
spool(TermFile *file, const char *bytes, size_t len)
{
	if (file->spool_size - file->spool_len < len)
	{
		size_t		size = file->spool_size ? file->spool_size * 2 : 16 * CHUNK;
		char	   *grown;

		if (size > TERM_MAX_SPOOL)
			return "more than 1 GiB of terms from a pipe";
		grown = realloc(file->spool, size);
		if (grown == NULL)
			return out_of_memory;
		file->spool = grown;
		file->spool_size = size;
	}
	memcpy(file->spool + file->spool_len, bytes, len);
	file->spool_len += len;
	return NULL;
}

/* Read on into the buffer, which has room for a chunk; a message on failure. */
static const char *
fill(TermFile *file)
{
	char	   *into = file->buffer + file->end;
	ssize_t		got;

	if (file->replaying)
	{
		size_t		left = file->spool_len - file->spool_read;

		got = (ssize_t) (left < CHUNK ? left : CHUNK);
		if (got > 0)
			memcpy(into, file->spool + file->spool_read, (size_t) got);
		file->spool_read += (size_t) got;
	}
	else
	{
		do
			got = read(file->fd, into, CHUNK);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return strerror(errno);
		if (file->spooling && got > 0)
		{
			const char *message = spool(file, into, (size_t) got);

			if (message)
				return message;
		}
	}
	if (got == 0)
		file->eof = true;
	file->end += (size_t) got;
	return NULL;
}

/*
 * The next line without its end, which may be LF, CRLF or the end of the
 * file.  TERM_BAD is a line that is too long, of which nothing is kept.
 */
static TermResult
next_line(TermFile *file, char **line, size_t *len, const char **message)
{
	size_t		scanned = 0;	/* bytes past start known to hold no LF */

	for (;;)
	{
		char	   *start = file->buffer + file->start;
		size_t		have = file->end - file->start;
		char	   *newline = memchr(start + scanned, '\n', have - scanned);

		if (newline || (file->eof && (have > 0 || file->skipping)))
		{
			bool		skipped = file->skipping;

			*line = start;
			*len = newline ? (size_t) (newline - start) : have;
			file->start += *len + (newline != NULL);
			file->line++;
			file->skipping = false;
			if (*len > 0 && start[*len - 1] == '\r')
				(*len)--;
			if (skipped || *len > TERM_MAX_LINE)
			{
				*message = "line longer than " NUMBER(TERM_MAX_LINE) " bytes";
				return TERM_BAD;
			}
			return TERM_OK;
		}
		if (file->eof)
			return TERM_END;

		/* one byte more than a line may have: its CR */
		if (have > TERM_MAX_LINE + 1)
			file->skipping = true;
		if (file->skipping)
			file->start = file->end;

		have = file->end - file->start;
		memmove(file->buffer, file->buffer + file->start, have);
		file->start = 0;
		file->end = have;
		scanned = have;
		*message = fill(file);
		if (*message)
			return TERM_FAILED;
	}
}

/* What is wrong with a line as a whole, or NULL. */
static const char *
check_line(const char *line, size_t len)
{
	if (memchr(line, '\0', len))
		return "NUL byte";
	if (!utf8_valid(line, len))
		return "invalid UTF-8";
	if (len >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
		return "byte order mark inside the file";
	if (memchr(line, '\r', len))
		return "carriage return inside a line (see --escapes)";
	return NULL;
}

/* Take a line apart; what is wrong with it, or NULL. */
static const char *
parse_line(char *line, size_t len, bool escapes, Term *term)
{
	char	   *fields[3] = {line, NULL, NULL};
	size_t		lens[3] = {len, 0, 0};
	int			n = 1;
	char	   *tab;

	while ((tab = memchr(fields[n - 1], '\t', lens[n - 1])) != NULL)
	{
		if (n == 3)
			return "more than three fields";
		fields[n] = tab + 1;
		lens[n] = lens[n - 1] - (size_t) (tab + 1 - fields[n - 1]);
		lens[n - 1] = (size_t) (tab - fields[n - 1]);
		n++;
	}

	term->priority = 0;
	if (lens[2] > 0 && !parse_priority(fields[2], lens[2], &term->priority))
		return "priority is not an integer from -2147483648 to 2147483647";
	if (escapes && !(unescape(fields[0], &lens[0]) &&
					 (n == 1 || unescape(fields[1], &lens[1]))))
		return "backslash not followed by t, n, r or another backslash";
	if (lens[0] == 0)
		return "empty pattern";
	if (lens[0] > TERM_MAX_PATTERN)
		return "pattern longer than " NUMBER(TERM_MAX_PATTERN) " bytes";

	term->pattern = fields[0];
	term->pattern_len = lens[0];
	term->replacement = lens[1] > 0 ? fields[1] : NULL;
	term->replacement_len = lens[1];
	return NULL;
}

/* The first line may begin with a mark of its encoding. */
static const char *
strip_mark(char **line, size_t *len)
{
	if (*len >= 2 && (memcmp(*line, "\xFF\xFE", 2) == 0 || memcmp(*line, "\xFE\xFF", 2) == 0))
		return "the file is in UTF-16, not in UTF-8";
	if (*len >= 3 && memcmp(*line, "\xEF\xBB\xBF", 3) == 0)
	{
		*line += 3;
		*len -= 3;
	}
	return NULL;
}

TermFile *
term_file_open(const char *path, bool escapes, const char **message)
{
	TermFile   *file = calloc(1, sizeof(TermFile));
	struct stat st;

	if (file)
		file->buffer = malloc(BUFFER_SIZE);
	if (file == NULL || file->buffer == NULL)
	{
		free(file);
		*message = out_of_memory;
		return NULL;
	}
	file->escapes = escapes;
	file->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0 || fstat(file->fd, &st) != 0)
		*message = strerror(errno);
	else if (S_ISDIR(st.st_mode))
		*message = strerror(EISDIR);
	else
	{
		file->spooling = file->fd == STDIN_FILENO || !S_ISREG(st.st_mode);
		return file;
	}
	term_file_close(file);
	return NULL;
}

TermResult
term_file_next(TermFile *file, Term *term, const char **message)
{
	for (;;)
	{
		char	   *line = NULL;
		size_t		len = 0;
		TermResult	result = next_line(file, &line, &len, message);

		term->line = result == TERM_FAILED ? 0 : file->line;
		if (result != TERM_OK)
			return result;
		if (file->line == 1 && (*message = strip_mark(&line, &len)) != NULL)
			return TERM_FAILED;
		if (len == 0)
			continue;
		if ((*message = check_line(line, len)) != NULL ||
			(*message = parse_line(line, len, file->escapes, term)) != NULL)
			return TERM_BAD;
		if (++file->terms > TERM_MAX_TERMS)
		{
			*message = "more than " NUMBER(TERM_MAX_TERMS) " terms";
			return TERM_FAILED;
		}
		return TERM_OK;
	}
}

bool
term_file_rewind(TermFile *file)
{
	if (file->spooling)
		file->replaying = true;
	else if (lseek(file->fd, 0, SEEK_SET) != 0)
		return false;
	file->spool_read = 0;
	file->start = file->end = 0;
	file->eof = file->skipping = false;
	file->line = 0;
	file->terms = 0;
	return true;
}

void
term_file_close(TermFile *file)
{
	if (file == NULL)
		return;
	if (file->fd > STDIN_FILENO)
		close(file->fd);
	free(file->spool);
	free(file->buffer);
	free(file);
}
