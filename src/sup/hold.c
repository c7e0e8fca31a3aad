#include "sup/hold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sup/engine.h"
#include "sup/records.h"
#include "sys/fd.h"

/* Threads: 64 of QEMU's block layer, 8 vCPUs, RCU, the main loop; as RLIMIT_NPROC in the jail. */
#define GROUP_PIDS 128
/* Thousandths of a CPU beside the vCPUs, for the monitor's own threads. */
#define GROUP_CPU_OVERHEAD 500
#define GROUP_WEIGHT       100

#define KILL_NS   (5 * NS_PER_S)
#define REMOVE_NS (5 * NS_PER_S)

struct hold *hold_new(void)
{
    struct hold *hold = calloc(1, sizeof(*hold));

    if (hold != NULL) {
        hold->slot = (struct ledger_slot)LEDGER_SLOT_INIT;
        hold->group = (struct cgroup)CGROUP_INIT;
    }
    return hold;
}

void hold_free(struct hold *hold)
{
    if (hold != NULL) {
        cgroup_fini(&hold->group);
        ledger_drop(&hold->slot);
        free(hold);
    }
}

int hold_prepare(struct hold *hold, struct err *err)
{
    int r = cgroup_detect(&hold->host, err);

    return r < 0 ? r : cgroup_prepare(&hold->host, err);
}

/* --- left-overs of crashed supervisors --- */

struct sweep {
    const struct cgroup_host *host;
    int store_fd;
};

static int remove_group(const struct cgroup_host *host, const char *name, struct err *err)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    int r = cgroup_open(host, name, &group, err);

    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (r == 0) {
        r = cgroup_kill(&group, KILL_NS, err);
    }
    if (r == 0) {
        r = cgroup_remove(&group, REMOVE_NS, err);
    }
    return r < 0 ? err_wrap(err, "control group '%s' of a crashed job", name) : 0;
}

static int sweep_slot(void *arg, const struct ledger_entry *entry, struct err *err)
{
    const struct sweep *sweep = arg;
    int r = 0;

    if (entry->readable && entry->group[0] != '\0') {
        r = remove_group(sweep->host, entry->group, err);
    }
    if (r < 0) {
        return r;
    }
    /* First: no slot is given out again before the loss of its job is on record. */
    r = records_put_lost(sweep->store_fd, entry, err);
    if (r < 0) {
        return r;
    }
    r = ledger_clear(sweep->store_fd, entry, err);
    if (r == -EPERM) { /* in quarantine: the number stays taken, the others are given out */
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (r == -EBUSY) { /* another supervisor cleared it first, and the number is in use again */
        *err = (struct err)ERR_INIT;
        r = 0;
    }
    return r;
}

static int sweep_group(void *arg, const char *name, struct err *err)
{
    const struct sweep *sweep = arg;
    bool stale = false;
    int r = ledger_group_is_stale(sweep->store_fd, name, &stale, err);

    return r < 0 || !stale ? r : remove_group(sweep->host, name, err);
}

static int reconcile(const struct hold *hold, int store_fd, struct err *err)
{
    struct sweep sweep = {.host = &hold->host, .store_fd = store_fd};
    /* The listing first: a slot is locked before its group is made. */
    int r = cgroup_list(&hold->host, sweep_group, &sweep, err);

    return r < 0 ? r : ledger_stale(store_fd, sweep_slot, &sweep, err);
}

int hold_take(struct hold *hold, const struct store *store, const struct ledger_need *need,
              struct err *err)
{
    const struct ledger_capacity by_host = {0};
    int r = reconcile(hold, store->dirfd, err);

    return r < 0 ? r : ledger_admit(store->dirfd, need, &by_host, &hold->slot, err);
}

int hold_group(struct hold *hold, uint64_t machine_bytes, uint64_t vcpus, struct err *err)
{
    const struct cgroup_limits limits = {
        .memory_bytes = machine_bytes + ENGINE_OVERHEAD_BYTES,
        .pids = GROUP_PIDS,
        .cpu_milli = vcpus * 1000 + GROUP_CPU_OVERHEAD,
        .cpu_weight = GROUP_WEIGHT,
        .io_weight = GROUP_WEIGHT,
    };

    hold->grouped = true;
    return cgroup_create(&hold->host, hold->slot.group, &limits, &hold->group, &hold->report, err);
}

bool hold_was_oom(const struct hold *hold)
{
    struct cgroup_stats stats = {0};
    struct err ignored = ERR_INIT;

    return hold->grouped && cgroup_stats(&hold->group, &stats, &ignored) == 0 &&
           stats.oom_kills != CGROUP_UNKNOWN && stats.oom_kills > 0;
}

int hold_release_groups(struct hold *hold, struct err *err)
{
    int r = 0;

    if (hold->grouped) {
        r = cgroup_kill(&hold->group, KILL_NS, err);
        if (r == 0) {
            r = cgroup_remove(&hold->group, REMOVE_NS, err);
        }
        if (r < 0) {
            return r;
        }
        hold->grouped = false;
    }
    return 0;
}

int hold_sweep(struct hold *hold, struct err *err)
{
    int r = remove_group(&hold->host, hold->slot.group, err);

    if (r < 0) {
        return r;
    }
    ledger_release(&hold->slot);
    return 0;
}
