/*
 * inline.h - a specification that names files of this host, made one that holds their bytes.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"

/*
 * Reads program, inputs, archive and standard input of a checked spec into it, by the rules of
 * staging (input-file.h) and within its limits. Afterwards it has no path and no descriptor. ERR_USAGE
 * for what the caller can mend; the spec may then be half one and half the other.
 */
must_use int spec_inline(struct spec *spec, struct err *err) nonnull_all;
