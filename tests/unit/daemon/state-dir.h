/* state-dir.h - a directory of its own for each case, as STATE/daemon is; removed afterwards. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/job.h"
#include "sys/fd.h"
#include "test.h"

static char state_dir[64];
static int state_fd = -1;

static inline int state_setup(void **state)
{
    (void)snprintf(state_dir, sizeof(state_dir), "/tmp/airlock-test-daemon-XXXXXX");
    if (mkdtemp(state_dir) == NULL) {
        return 1;
    }
    state_fd = open(state_dir, O_DIRECTORY | O_CLOEXEC);
    return state_fd < 0 || test_fds_before(state) != 0;
}

static inline int state_teardown(void **state)
{
    struct err err = ERR_INIT;
    int r = test_fds_after(state);

    fd_close_p(&state_fd);
    if (fd_remove_tree(AT_FDCWD, state_dir, &err) < 0) {
        print_error("%s\n", err.msg);
        r = 1;
    }
    return r;
}

/* A case that works in state_fd. */
#define D(f) cmocka_unit_test_setup_teardown(f, state_setup, state_teardown)

/* The n-th id of a test. */
static inline void id_of(unsigned int n, char ret[JOB_ID_SIZE])
{
    (void)snprintf(ret, JOB_ID_SIZE, "%032x", n);
}

/* A job as it is accepted. */
static inline struct job_info job_of(unsigned int n, const char *tenant)
{
    struct job_info job = {
        .state = JOB_QUEUED, .priority = JOB_PRIORITY, .created_ms = 1000000 + n, .verdict = -1};

    id_of(n, job.id);
    (void)snprintf(job.tenant, sizeof(job.tenant), "%s", tenant);
    return job;
}

/* One that ended as it should, n ms after a moment of long ago. */
static inline struct job_info ended_of(unsigned int n, const char *tenant, uint64_t kept_bytes)
{
    struct job_info job = job_of(n, tenant);

    job.state = JOB_ENDED;
    job.verdict = 0;
    job.attempts = 1;
    job.started_ms = job.created_ms + 1;
    job.ended_ms = job.created_ms + 2;
    job.kept_bytes = kept_bytes;
    return job;
}

/* r says errnum and err says all of it. err is empty again afterwards. */
static inline void test_fails_at(int r, enum err_class class, int errnum, struct err *err,
                                 const char *file, int line)
{
    if (r != -errnum || err->class != class || err->errnum != errnum || err->msg[0] == '\0') {
        print_error("%d, class %d, errno %d: %s\n", r, (int)err->class, err->errnum, err->msg);
        _fail(file, line);
    }
    *err = (struct err)ERR_INIT;
}

#define assert_fails(r, class, errnum, err) \
    test_fails_at((r), (class), (errnum), (err), __FILE__, __LINE__)
