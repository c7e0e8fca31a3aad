#include "guest/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "guest/cgroup.h"
#include "sys/clock.h"

#define TRIGGER "some 250000 1000000" /* usec stalled, of a window of usec */
#define ROW_NS  (3 * NS_PER_S)        /* events further apart are not in a row */
/*
 * A job is full when what could still be evicted is less than an interpreter needs to run: this
 * much, or a fifth of a small limit. One that holds less and streams files is left alone.
 */
#define ROOM_BYTES (12 * MIB)
#define ROOM_SHARE 5

int pressure_open(struct pressure *p, struct err *err)
{
    p->fd = open(CGROUP_PRESSURE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (p->fd < 0 && (errno == ENOENT || errno == EOPNOTSUPP)) {
        return 0; /* a kernel without PSI: its OOM killer alone must do */
    }
    if (p->fd < 0 || write(p->fd, TRIGGER, sizeof(TRIGGER)) < 0) {
        return err_sys(err, "watch '%s'", CGROUP_PRESSURE);
    }
    return 0;
}

void pressure_begin(struct pressure *p, uint64_t limit_bytes)
{
    p->limit_bytes = limit_bytes;
    p->armed = false;
}

bool pressure_counts(struct pressure *p, uint64_t now_ns, uint64_t bytes)
{
    bool in_a_row = p->armed && now_ns - p->last_ns <= ROW_NS;
    uint64_t share = p->limit_bytes / ROOM_SHARE;
    uint64_t room = share < ROOM_BYTES ? share : ROOM_BYTES;

    p->armed = bytes + room >= p->limit_bytes;
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
