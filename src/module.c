/*
 * module.c
 *		The library's identity, and what it does when it is loaded.
 */
#include "postgres.h"

#include "fmgr.h"

#include "acdat.h"
#include "machine_directory.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	acdat_guard_init();
	acdat_directory_init();
}
