/*
 * filter.h - system call filters: compiled by libseccomp before the fork, loaded with one call.
 *
 * A filter is an allow-list, for programs that are known call by call (seccomp_compile()). Whatever no rule matches, and every call of another architecture
 * (i386, x32), ends the process (SECCOMP_RET_KILL_PROCESS: SIGSYS), so that a denied call is seen
 * from outside as what it is.
 */
#pragma once

#include <linux/filter.h>
#include <seccomp.h>

#include "base/base.h"
#include "base/err.h"

enum seccomp_do {
    SECCOMP_DO_ALLOW,
    SECCOMP_DO_ERRNO, /* fails with errnum: for what a program probes and can do without */
    SECCOMP_DO_KILL,  /* ends the process; in a list of what is denied */
    SECCOMP_DO_ASK    /* blocks until the listener's owner answers; -ENOSYS once it is closed */
};

#define SECCOMP_CMP_MAX 3

/* nr and, if n > 0, all of cmp[0..n) must match. Several rules for one call: any may match. */
struct seccomp_rule {
    int nr;
    enum seccomp_do action;
    int errnum; /* positive; for SECCOMP_DO_ERRNO */
    unsigned n;
    struct scmp_arg_cmp cmp[SECCOMP_CMP_MAX];
};

/* A compiled filter; code NULL is the empty value. */
struct seccomp_filter {
    struct sock_filter *code;
    unsigned short len; /* instructions */
};

#define SECCOMP_FILTER_INIT \
    {                       \
        .code = NULL        \
    }

/* ERR_HOST if libseccomp or the kernel does not know a rule: nothing is left out silently. */
must_use int seccomp_compile(const struct seccomp_rule *rules, size_t n, struct seccomp_filter *ret,
                             struct err *err) nonnull_all;
/*
 * The same without libseccomp, for rules that allow, by SCMP_CMP_EQ and SCMP_CMP_MASKED_EQ alone
 * (filter-plain.c). ERR_HOST for any other rule.
 */
must_use int seccomp_assemble(const struct seccomp_rule *rules, size_t n,
                              struct seccomp_filter *ret, struct err *err) nonnull_all;
/*
 * The other way round, for a process of ours whose libraries choose calls that nobody has listed:
 * what no rule matches is allowed. Other architectures end the process all the same.
 */
must_use int seccomp_compile_denials(const struct seccomp_rule *rules, size_t n,
                                     struct seccomp_filter *ret, struct err *err) nonnull_all;
void seccomp_filter_fini(struct seccomp_filter *filter) nonnull_all;
#define auto_seccomp_filter on_scope_exit(seccomp_filter_fini)

/*
 * Loads the filter into the calling thread for good; no_new_privs must be set. Async-signal-safe.
 * Returns 0 or -errno; the caller owns *ret_listener (O_CLOEXEC), on which SECCOMP_DO_ASK calls
 * arrive. NULL for a filter that asks nothing: a thread can have one listener only.
 */
must_use int seccomp_load_filter(const struct seccomp_filter *filter, int *ret_listener)
    nonnull_args(1);

/*
 * Waits for the one call that is asked about and lets it go on if it is nr; any other one, or a
 * caller that is gone, is an error. Close the listener afterwards: what is asked then fails.
 */
must_use int seccomp_answer(int listener, int nr, uint64_t timeout_ns, struct err *err) nonnull_all;

/*
 * The same for an openat(), which does not take place: its result is a new descriptor of that
 * process for our fd (borrowed; O_CLOEXEC there), with the access mode of fd. Linux 5.9.
 */
must_use int seccomp_answer_open(int listener, int fd, uint64_t timeout_ns,
                                 struct err *err) nonnull_all;
