/* tool.h - runs the Debian tools the image builder is made of, with a bare environment. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define TOOL_OUT_MAX (8 * MIB)

struct tool {
    const char *tmpdir;      /* TMPDIR and HOME of the child */
    const char *cwd;         /* where it runs; NULL = tmpdir */
    const char *const *env;  /* further NAME=VALUE, NULL-terminated, or NULL */
    const char *const *argv; /* argv[0]: a plain name of a known tool, or an absolute path */
    uint64_t timeout_ns;     /* 0 = half an hour */
};

/*
 * Runs it to its end, stdout and stderr into out. A failure is ERR_HOST naming the tool and the
 * first line in which it said why ("E: ..."), ERR_LIMIT/-ENOSPC when the disk was full, and
 * ERR_USAGE/-ENOENT with the package to install when the tool is missing.
 */
must_use int tool_run(const struct tool *tool, struct buf *out, struct err *err) nonnull_all;

/* ERR_USAGE/-ENOENT naming the package of the first tool an image build needs and does not find. */
must_use int tool_check_all(struct err *err) nonnull_all;
