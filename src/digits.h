/*
 * digits.h
 *		Numbers of a fixed number of digits.
 */
#ifndef ACDAT_DIGITS_H
#define ACDAT_DIGITS_H

/* "00" to "99", one after the other (output.c) */
extern const char acdat_two_digits[];

/* Write a number of 0 to 99 in two digits; returns the position after it. */
static inline char *
acdat_put_two(char *pos, int number)
{
	memcpy(pos, acdat_two_digits + 2 * number, 2);
	return pos + 2;
}

/* The same of 0 to 9999 in four. */
static inline char *
acdat_put_four(char *pos, int number)
{
	return acdat_put_two(acdat_put_two(pos, number / 100), number % 100);
}

#endif							/* ACDAT_DIGITS_H */
