/*
 * library.h - a shared library that only some commands need, loaded when one does.
 *
 * What is linked is loaded by every start of a program, with all that it needs itself: libcurl costs
 * 8 ms, libarchive (its libxml2 and ICU) 3. Both stay the host's, with its security updates.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

struct library_symbol {
    const char *name;
    void **ret; /* a member of the caller's, of pointer type */
};

/*
 * All n symbols of the library, which stays loaded for the process's life. ERR_HOST names the
 * library, what it lacks and the Debian package that has it; then some may be set and none counts.
 * Opens files: to be called before a filter forbids that.
 */
must_use int library_load(const char *soname, const char *package,
                          const struct library_symbol *symbols, size_t n,
                          struct err *err) nonnull_all;
