/*
 * batch.h - what the commands that run many jobs of their own share (`airlock suite`, `airlock
 * bench`): the host's part of it, and how they speak.
 */
#pragma once

#include <signal.h>

#include "base/base.h"
#include "base/err.h"

#include "sup/engine.h"

/* One line on stderr, escaped as for a terminal. command: "suite". */
void batch_say(const char *command, const char *text) nonnull_all;
/* Says why it ended early, and returns the exit code for that. */
int batch_exit_code(const char *command, int r, const struct err *err) nonnull_all;

/* CPUs that this process may run on, at most max. */
unsigned int batch_processors(unsigned int max);

/*
 * The engine that the jobs will choose, by the same rule. state: --state, NULL = the default.
 * wanted: "auto", "kvm", "tcg", or NULL.
 */
must_use int batch_engine(const char *state, const char *wanted, const struct engine **ret,
                          struct err *err) nonnull_args(3, 4);

/* Builds the images that are missing now, so that no job waits for it. */
must_use int batch_images(const char *command, const char *state, bool python, bool javascript,
                          struct err *err) nonnull_args(1, 5);

/*
 * An empty directory below $TMPDIR or /tmp, for names of up to `longest` bytes in it. The caller
 * owns *ret_fd, and removes it; after a failure dir is "".
 */
must_use int batch_directory(const char *command, size_t longest, char *dir, size_t size,
                             int *ret_fd, struct err *err) nonnull_all;

/*
 * Blocks what asks a command to end, and makes it readable: the caller owns *ret_fd. *old is the
 * mask from before; it may be NULL.
 */
must_use int batch_signals(sigset_t *old, int *ret_fd, struct err *err) nonnull_args(2, 3);
