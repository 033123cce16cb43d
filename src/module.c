/*
 * module.c
 *		The library's identity, and what it does when it is loaded.
 */
#include "postgres.h"

#include "fmgr.h"

#include "machine_directory.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	acdat_directory_init();
}
