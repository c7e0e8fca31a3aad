#include "guest/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "guest/cgroup.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define TRIGGER    "some 250000 1000000" /* usec stalled, of a window of usec */
#define ROW_NS     (3 * NS_PER_S)        /* events further apart are not in a row */
#define FULL_SHARE 80                    /* percent of the limit */

int pressure_open(struct pressure *p, uint64_t limit_bytes, struct err *err)
{
    *p = (struct pressure){.limit_bytes = limit_bytes};
    p->fd = open(CGROUP_PRESSURE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (p->fd < 0 && (errno == ENOENT || errno == EOPNOTSUPP)) {
        return 0; /* a kernel without PSI: its OOM killer alone must do */
    }
    if (p->fd < 0 || write(p->fd, TRIGGER, sizeof(TRIGGER)) < 0) {
        return err_sys(err, "watch '%s'", CGROUP_PRESSURE);
    }
    return 0;
}

void pressure_close(struct pressure *p)
{
    fd_close_p(&p->fd);
}

bool pressure_counts(struct pressure *p, uint64_t now_ns, uint64_t bytes)
{
    bool in_a_row = p->armed && now_ns - p->last_ns <= ROW_NS;

    p->armed = bytes / FULL_SHARE >= p->limit_bytes / 100;
    p->last_ns = now_ns;
    if (p->armed && in_a_row) {
        p->armed = false;
        return true;
    }
    return false;
}

int pressure_event(struct pressure *p, struct err *err)
{
    uint64_t bytes = 0;
    int r = cgroup_unevictable(&bytes, err);

    if (r < 0 || !pressure_counts(p, clock_mono_ns(), bytes)) {
        return r;
    }
    return cgroup_squeeze(bytes, p->limit_bytes, err);
}
