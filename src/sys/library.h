/*
 * library.h - a shared library that only some commands need, loaded when one does.
 *
 * What is linked is loaded by every start of a program, with all that it needs itself: libcurl costs
 * 8 ms, libarchive (its libxml2 and ICU) 3, libsquashfs (its four compressors, of which we use none)
 * 0.3. All stay the host's, with its security updates.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

struct library_symbol {
    const char *name;
    void **ret; /* a member of the caller's, of pointer type */
};

struct library {
    const char *soname;
    const char *package; /* Debian's, which has it */
    const struct library_symbol *symbols;
    size_t n_symbols;
    bool loaded;
};

/*
 * All of its symbols, once; it stays loaded for the process's life. ERR_HOST names the library, what
 * it lacks and the package that has it; then some may be set and none counts. Opens files: to be
 * called before a filter forbids that.
 */
must_use int library_load(struct library *library, struct err *err) nonnull_all;
