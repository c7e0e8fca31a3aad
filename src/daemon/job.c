#include "daemon/job.h"

#include <string.h>

const char *job_state_name(enum job_state state)
{
    switch (state) {
    case JOB_QUEUED:
        return "queued";
    case JOB_STARTING:
        return "starting";
    case JOB_RUNNING:
        return "running";
    case JOB_ENDED:
        break;
    }
    return "ended";
}

bool job_id_ok(const char *id)
{
    return strlen(id) == JOB_ID_SIZE - 1 && strspn(id, "0123456789abcdef") == JOB_ID_SIZE - 1;
}
