/*
 * cleanup.h - the checks behind `cleanup.verified`, each looking at the host for itself.
 *
 * A check fills a struct result_check: true only if what must be gone was looked for and not found;
 * else detail says what is there. Trouble with looking is a failure, too.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

#include "job/result.h"
#include "sup/ledger.h"
#include "sys/cgroup.h"

/*
 * The calling process, of one thread, has no child but this one (0: none at all), dead or alive; a
 * subreaper gets the orphans of its helpers.
 */
struct result_check cleanup_no_processes(pid_t except);

/* No hierarchy has a group `airlock/NAME`; NAME "" means that none was made. */
struct result_check cleanup_no_group(const struct cgroup_host *host, const char *name) nonnull_all;

/*
 * Mounts of our namespace that a machine's jail could have left there: at "/", where it lays its
 * own root, and in the state directory, which its files come from. Others' mounts come and go.
 */
must_use int cleanup_count_mounts(const char *state_path, unsigned int *ret,
                                  struct err *err) nonnull_all;
struct result_check cleanup_no_mounts(const char *state_path, unsigned int before) nonnull_all;

/* None of the files has a name; -1 among them means nothing. Ask before they are closed. */
struct result_check cleanup_no_names(const int *fds, size_t n) nonnull_all;

/*
 * Ours but the n in keep are no socket, no memory file and no file of the directory tmp_dirfd any
 * more: the kernel has freed what the job alone had open.
 */
struct result_check cleanup_no_descriptors(const int *keep, size_t n, int tmp_dirfd) nonnull_all;

/* No directory of an export in progress in out_dir (NULL: there was no export). */
struct result_check cleanup_no_staging(const char *out_dir, const char *machine_id) nonnull_args(2);

/* The slot's file has no name any more, or is empty, which is free. -1: no slot was taken. */
struct result_check cleanup_slot_released(int slot_fd, unsigned int number);
