/* template-internal.h - what template.c, template-check.c and template-upkeep.c share. */
#pragma once

#include <sys/stat.h>

#include "sup/template.h"

/* How every reason not to use one begins. */
#define TEMPLATE_UNUSED "the template is not used: "

/* STATE/templates, made if it is missing. */
must_use int template_open_dir(const struct store *store, int *ret, struct err *err) nonnull_all;

/*
 * Waits for the lock of the directory; closing *ret releases it. stop may be NULL, as in a request.
 */
must_use int template_lock(int dirfd, bool (*stop)(void *ctx), void *ctx, int *ret, struct err *err)
    nonnull_args(4, 5);

/*
 * Opens one and checks what costs next to nothing: footer, key, owner, mode, length, and that it
 * was not written to since it was built. -ENOENT, or ERR_USAGE/-ESTALE or -EBADMSG: do not use it.
 */
must_use int template_open(int dirfd, const struct digest *key, int *ret_fd,
                           struct template_footer *ret, struct err *err) nonnull_all;
/* The same file once more, to be read or written from offset on; flags as open(2)'s. */
must_use int template_open_at(int file, int flags, uint64_t offset, int *ret,
                              struct err *err) nonnull_all;
/* The host was not started again since: ERR_USAGE/-ESTALE. */
must_use int template_check_boot(const struct template_footer *f, struct err *err) nonnull_all;
/* The digest of the state: ERR_USAGE/-EBADMSG. */
must_use int template_check_state(int fd, const struct template_footer *f,
                                  struct err *err) nonnull_all;

/* Gives a finished file the modification time that its footer tells, to the second. */
must_use int template_seal(int fd, const struct template_footer *f, struct err *err) nonnull_all;

/* Notes that it is used now: access time of the file, which template_seal() leaves alone. */
void template_mark_used(int fd);
/* That time, real, in ns. */
uint64_t template_last_use(const struct stat *st) nonnull_all;
