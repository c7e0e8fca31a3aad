/* unique.h - bytes that nobody can guess, from the kernel. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#define UNIQUE_ID_SIZE 33 /* 128 bits in hex, with the NUL */

/* A new name for a machine or a job, never used before. */
must_use int unique_id(char ret[UNIQUE_ID_SIZE], struct err *err) nonnull_all;
