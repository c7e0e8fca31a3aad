/* boot.h - which start of the host's kernel this is. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#define BOOT_ID_SIZE 40 /* a UUID as text, with the NUL */

/* The same text until the host is started again, and never the same twice. */
must_use int boot_id_read(char ret[BOOT_ID_SIZE], struct err *err) nonnull_all;
