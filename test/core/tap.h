/*
 * tap.h
 *		Test results in the Test Anything Protocol.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int	tap_count;
static int	tap_failed;

/* Report one test. */
static inline int
ok(int passed, const char *format,...)
{
	va_list		args;

	printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	tap_failed += !passed;
	return passed;
}

/* Print the plan at the end; the value is main's. */
static inline int
done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

/* A number from the environment, or a default. */
static inline unsigned long
env_number(const char *name, unsigned long value)
{
	const char *s = getenv(name);

	return s != NULL ? strtoul(s, NULL, 0) : value;
}

#endif							/* TAP_H */
