/* store-fixture.h - the store of a case, in its own directory (state-dir.h). */
#pragma once

#include "daemon/jobstore.h"
#include "state-dir.h"

static inline struct jobstore *open_store(void)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;

    assert_ok(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), &err);
    return s;
}

static inline void insert(struct jobstore *s, const struct job_info *job)
{
    struct err err = ERR_INIT;

    assert_ok(jobstore_insert(s, job, NULL, NULL, &err), &err);
}
