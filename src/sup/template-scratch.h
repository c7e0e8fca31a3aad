/*
 * template-scratch.h - the scratch disk of a saved machine whose scratch filesystem is mounted: what
 * is on it belongs to what the guest's kernel knows of it, so it is saved with the machine, and each
 * machine that goes on from there gets a disk with the same on it.
 *
 * Blocks that hold something, as u64 offset, u64 length, bytes: behind the monitor's state, which
 * ends by itself.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/template.h"

/* Appends what is in the first disk_bytes of scratch_fd to file; *ret_bytes is its length. */
must_use int template_scratch_save(int scratch_fd, uint64_t disk_bytes, int file,
                                   uint64_t *ret_bytes, struct err *err) nonnull_all;

/*
 * Puts it on an empty scratch disk, whose blocks are then all taken (ERR_LIMIT/-ENOSPC). Nothing to
 * do for a template without one.
 */
must_use int template_scratch_fill(const struct template *t, uint64_t disk_bytes, int scratch_fd,
                                   struct err *err) nonnull_all;
