/*
 * jail-files.h - the list of files that go into a jail; a program comes with its libraries.
 *
 * Which libraries is asked of the dynamic loader itself (--list), once while program, loader, its
 * configuration and every library are the same files (sys/memo.h).  They all go into the directory
 * in which it found libc, one that it searches by itself: the jail has no ld.so.cache.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/jail.h"

struct jail_files {
    struct jail_bind binds[JAIL_BINDS_MAX];
    size_t n;
    char *owned[2 * JAIL_BINDS_MAX]; /* texts that binds point to */
    size_t n_owned;
};

#define JAIL_FILES_INIT \
    {                   \
        .n = 0          \
    }
void jail_files_fini(struct jail_files *files) nonnull_all;
#define auto_jail_files on_scope_exit(jail_files_fini)

/* Both texts are copied; the same target again with the same source is fine. */
must_use int jail_files_add(struct jail_files *files, enum jail_bind_kind kind, const char *source,
                            const char *target, struct err *err) nonnull_all;

/* A regular file by descriptor (borrowed until jail_spawn() returned), which others may read. */
must_use int jail_files_add_fd(struct jail_files *files, int fd, const char *target,
                               struct err *err) nonnull_all;

/*
 * A dynamically linked program at its own path, with the loader and all libraries; and a plug-in
 * that it loads itself, with those of the plug-in (NULL: none). memo_dirfd: STATE, or -1 to ask the
 * loader in any case.
 */
must_use int jail_files_add_program(struct jail_files *files, const char *path, const char *plugin,
                                    int memo_dirfd, struct err *err) nonnull_args(1, 2, 5);

/* The same from the text of `ld.so --list`; exposed for its tests. */
must_use int jail_files_add_list(struct jail_files *files, const char *text,
                                 struct err *err) nonnull_all;
