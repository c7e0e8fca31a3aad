/* spec-internal.h - what spec.c and spec-json.c share. */
#pragma once

#include "job/spec.h"

/* Inodes take 256 bytes each; a disk must keep most of its room for data. */
#define SPEC_DISK_BYTES_PER_INODE 1024u

/* ERR_HOST/-ENOMEM. */
int spec_no_memory(struct err *err) nonnull_all;

/* The caller's own value for a limit; it is in the range of info. */
void spec_limit_give(struct spec *spec, const struct spec_limit_info *info,
                     uint64_t value) nonnull_all;

/* Fails: "LABEL: 'SHOWN' WHY; give a value from MIN to MAX" (ERR_USAGE). */
int spec_limit_fail(const struct spec_limit_info *info, const char *label, const char *shown,
                    const char *why, struct err *err) nonnull_all;

/*
 * Checks the name and appends the input; on success its memory belongs to spec and *take_input is
 * empty, on failure it stays the caller's. label names the source in messages.
 */
must_use int spec_append_input(struct spec *spec, struct spec_input *take_input, const char *label,
                               struct err *err) nonnull_all;

/* spec_add_env() and spec_set_image() with another name for the source in messages. */
must_use int spec_append_env(struct spec *spec, const char *assignment, const char *label,
                             struct err *err) nonnull_all;
must_use int spec_put_image(struct spec *spec, const char *image, const char *label,
                            struct err *err) nonnull_all;
