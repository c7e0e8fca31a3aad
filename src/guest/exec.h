/* exec.h - finding and executing the program. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#define EXEC_PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

/* The value of name in envp, or NULL. */
must_use const char *exec_env(char *const *envp, const char *name) nonnull_all;

/*
 * Executes argv[0]: as it is if it has a '/', else the first that can be executed in the
 * directories of envp's PATH (relative and empty ones are skipped). Returns only on failure:
 * ERR_USAGE with the errno that stands nearest to the cause (EACCES before ENOENT).
 */
void exec_search(char *const *argv, char *const *envp, struct err *err) nonnull_all;
