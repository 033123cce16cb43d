/*
 * progress.c
 *		What acdat shows while it works.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

void
progress_init(Progress *progress, bool enabled)
{
	progress->enabled = enabled;
	progress->terminal = isatty(STDERR_FILENO);
	progress->shown = false;
	progress->at = seconds_now();
}

bool
progress_due(Progress *progress)
{
	double		now;

	if (!progress->enabled)
		return false;
	now = seconds_now();
	if (now - progress->at < (progress->terminal ? 0.1 : 1.0))
		return false;
	progress->at = now;
	return true;
}

void
progress_show(Progress *progress, const char *fmt,...)
{
	va_list		args;

	progress->shown = true;
	fprintf(stderr, "%sacdat: ", progress->terminal ? "\r\033[K" : "");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	if (!progress->terminal)
		fputc('\n', stderr);
	fflush(stderr);
}

void
progress_end(Progress *progress)
{
	if (progress->shown && progress->terminal)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
