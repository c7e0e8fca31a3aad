/*
 * spec-wire.h - a whole job specification as bytes, for a process of ours that waits for one.
 *
 * Unlike the JSON form it carries everything a struct spec can hold: paths as they are, limits
 * exactly, arguments of any bytes. Only descriptors do not go along. Reader and writer are the same
 * program, so a form that does not fit is a mistake and no other version's.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"

/* As much as the JSON form can put into one spec, and what stands around it. */
#define SPEC_WIRE_MAX (SPEC_JSON_MAX + 64 * MIB)

/* Appends. ERR_HOST/-ENOMEM, or ERR_USAGE/-EFBIG if out->max is not enough. */
must_use int spec_encode(const struct spec *spec, struct buf *out, struct err *err) nonnull_all;

/*
 * Into an initialised spec, which has no stdin_fd afterwards. Strict: ERR_HOST/-EPROTO if anything
 * is out of range, missing or left over; no message repeats a value. spec_check() comes afterwards.
 */
must_use int spec_decode(struct spec *spec, const uint8_t *data, size_t len,
                         struct err *err) nonnull_all;

/*
 * The same of its beginning alone: what runs it and under which limits, nothing that the caller brought.
 * len may be less or more than SPEC_WIRE_HEAD_MAX; no more is looked at.
 */
#define SPEC_WIRE_HEAD_MAX 256u
must_use int spec_decode_head(struct spec *spec, const uint8_t *data, size_t len,
                              struct err *err) nonnull_all;
