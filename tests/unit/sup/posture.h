/*
 * posture.h - reads a running jail from /proc and compares it with what it must look like.
 *
 * Needs the right to look at the process: root, or the owner of its user namespace.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"

struct posture {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    bool rootless;            /* in a user namespace of its own */
    const char *const *files; /* fnmatch(3) patterns of what may be in the root; NULL-terminated */
    size_t n_files;           /* how many files there are, exactly; 0 = not compared */
    const char *const *fds;   /* the same of "MODE LINK" of open descriptors, MODE r, w or rw */
    const char *program;      /* what /proc/PID/exe says */
    const char *nofile, *nproc; /* as in /proc/PID/limits: the soft and the hard one, "256 256" */
    const char *fsize;
    const char *oom_score_adj;
    const char *cgroup; /* text that /proc/PID/cgroup must hold, or NULL */
    size_t n_cgroups;   /* how many times, at least */
};

/* One line in report for each departure; returns how many there are, -1 if it could not look. */
int posture_check(const struct posture *p, struct buf *report);
