/*
 * suggest.h
 *		Near names for misspelt ones.
 */
#ifndef ACDAT_SUGGEST_H
#define ACDAT_SUGGEST_H

/*
 * Of "count" candidates those close to a name that does not exist, quoted and
 * joined as in: "a", "b" or "c".  palloc'd; NULL if none is close.  Names are
 * in the database encoding.
 */
extern char *acdat_near_names(const char *name, const char *const *candidates, int count);

#endif							/* ACDAT_SUGGEST_H */
