/* jobs-dir.h - STATE/daemon/jobs of its own for each case, and a job in it. */
#pragma once

#include "daemon/jobfiles.h"
#include "state-dir.h"

static const char id[] = "0123456789abcdef0123456789abcdef";

static int jobs_fd = -1;

static inline int jobs_setup(void **state)
{
    struct err err = ERR_INIT;

    if (state_setup(state) != 0) {
        return 1;
    }
    return jobfiles_open_jobs(state_fd, &jobs_fd, &err) < 0 || test_fds_before(state) != 0;
}

static inline int jobs_teardown(void **state)
{
    int r = test_fds_after(state);

    fd_close_p(&jobs_fd);
    (void)test_fds_before(state);
    return state_teardown(state) != 0 || r != 0;
}

#define J(f) cmocka_unit_test_setup_teardown(f, jobs_setup, jobs_teardown)

static inline void create(struct jobfiles *f)
{
    struct err err = ERR_INIT;

    assert_ok(jobfiles_create(jobs_fd, id, f, &err), &err);
}

static inline void put(struct jobfiles *f, enum jobfiles_event_kind kind, const char *text)
{
    struct err err = ERR_INIT;

    assert_ok(jobfiles_put_stream(f, kind, text, strlen(text), &err), &err);
}

static inline void put_at(int dirfd, const char *name, const void *data, size_t len, off_t at)
{
    auto_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, len, at), len);
}

static inline bool there(int dirfd, const char *name)
{
    return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
