/*
 * output.c
 *		Buffered output to a file that appears only when it is complete.
 *
 * There is one output at a time, so its temporary file can be removed by a
 * signal's handler.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "output.h"

static char *volatile temporary;

/* Leave nothing behind, then die of the signal as if it had not been caught. */
static void
remove_and_die(int signal_number)
{
	if (temporary)
		unlink(temporary);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void
remove_on_signal(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
	{
		if (signal(signals[i], remove_and_die) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	}
}

/* Report a failure once.  Of a reader that went away there is nothing to say. */
static bool
fail(Output *output)
{
	if (!output->failed && errno != EPIPE)
		report("could not write \"%s\": %s", output->name, strerror(errno));
	output->failed = true;
	return false;
}

/* Open a temporary file beside the place of the file it becomes. */
static bool
open_temporary(Output *output, const char *path, mode_t mode)
{
	char	   *place = realpath(path, NULL);	/* a link stays one */
	size_t		size;

	if (place == NULL)
		place = strdup(path);
	if (place == NULL)
		return false;
	output->path = place;
	size = strlen(place) + sizeof(".XXXXXX");
	temporary = malloc(size);
	if (temporary == NULL)
		return false;
	snprintf(temporary, size, "%s.XXXXXX", place);
	remove_on_signal();			/* before there is anything to be left behind */
	output->fd = mkstemp(temporary);
	if (output->fd < 0)
	{
		free(temporary);
		temporary = NULL;
		return false;
	}
	return fchmod(output->fd, mode) == 0;
}

bool
output_open(Output *output, const char *path, bool secret)
{
	struct stat st;
	bool		opened = true;

	memset(output, 0, sizeof(*output));
	output->fd = STDOUT_FILENO;
	output->name = path && strcmp(path, "-") != 0 ? path : "<stdout>";
	output->buffer = malloc(OUTPUT_BUFFER);
	if (output->buffer == NULL)
		return fail(output);
	if (path && strcmp(path, "-") != 0)
	{
		mode_t		mask = umask(0);

		umask(mask);
		if (stat(path, &st) != 0)
			opened = open_temporary(output, path, (secret ? 0600 : 0666) & ~mask);
		else if (S_ISREG(st.st_mode))
			opened = open_temporary(output, path, st.st_mode & 0777);
		else
		{
			output->fd = open(path, O_WRONLY | O_CLOEXEC);
			opened = output->fd >= 0;
		}
	}
	if (!opened)
	{
		fail(output);
		output_abandon(output);
		return false;
	}
	output->terminal = isatty(output->fd);
	return true;
}

static bool
write_all(Output *output, const char *bytes, size_t len)
{
	while (len > 0 && !output->failed)
	{
		ssize_t		written = write(output->fd, bytes, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return fail(output);
		bytes += written;
		len -= (size_t) written;
	}
	return !output->failed;
}

bool
output_flush(Output *output)
{
	size_t		len = output->len;

	output->len = 0;
	return write_all(output, output->buffer, len);
}

/* What does not fit into the buffer, which is filled up and written in whole. */
bool
output_large(Output *output, const void *bytes, size_t len)
{
	size_t		room = OUTPUT_BUFFER - output->len;

	memcpy(output->buffer + output->len, bytes, room);
	output->len = OUTPUT_BUFFER;
	if (!output_flush(output))
		return false;
	bytes = (const char *) bytes + room;
	len -= room;
	if (len >= OUTPUT_BUFFER)
		return write_all(output, bytes, len);
	memcpy(output->buffer, bytes, len);
	output->len = len;
	return true;
}

bool
output_finish(Output *output)
{
	bool		ok = output_flush(output);

	if (ok && output->fd != STDOUT_FILENO)
	{
		ok = close(output->fd) == 0;
		output->fd = -1;
		if (ok && output->path)
			ok = rename(temporary, output->path) == 0;
		if (!ok)
			fail(output);
		else if (output->path)
		{
			free(temporary);
			temporary = NULL;
		}
	}
	output_abandon(output);
	return ok;
}

void
output_abandon(Output *output)
{
	if (output->fd > STDERR_FILENO)
		close(output->fd);
	output->fd = -1;
	if (temporary)
	{
		char	   *path = temporary;

		temporary = NULL;
		unlink(path);
		free(path);
	}
	free(output->path);
	free(output->buffer);
	output->path = NULL;
	output->buffer = NULL;
}
