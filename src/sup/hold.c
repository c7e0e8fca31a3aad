#include "sup/hold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sup/engine.h"
#include "sup/host.h"
#include "sup/records.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Thousandths of a CPU beside the vCPUs, for the monitor's own threads. */
#define GROUP_CPU_OVERHEAD 500
#define GROUP_WEIGHT       100

/*
 * Reads and writes each. Far above what a job of these sizes needs, below what one current SSD
 * gives: a machine that does nothing but read and write leaves the neighbours some of it.
 */
#define GROUP_IO_BYTES_PER_S (256 * MIB)

#define KILL_NS   (5 * NS_PER_S)
#define REMOVE_NS (5 * NS_PER_S)
/* For all left-overs together: what does not go in that time keeps nobody waiting. */
#define SWEEP_NS (2 * NS_PER_S)

/* One for all supervisors of a process, and told them by their fork: an owner's own setting. */
static struct ledger_capacity capacity_of_slots;

void hold_set_capacity(const struct ledger_capacity *capacity)
{
    capacity_of_slots = *capacity;
}

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

static uint64_t time_left(uint64_t deadline)
{
    uint64_t now = clock_mono_ns();

    return deadline > now ? deadline - now : 0;
}

struct sweep {
    struct hold *hold;
    int store_fd;
    uint64_t deadline;          /* monotonic ns */
    unsigned int groups, slots; /* that did not go; a slot's group is among the groups */
};

/* Each step is tried once even if no time is left for it. */
static int remove_group(const struct cgroup_host *host, const char *name, uint64_t deadline,
                        struct err *err)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    int r = cgroup_open(host, name, &group, err);

    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (r == 0) {
        r = cgroup_kill(&group, time_left(deadline), err);
    }
    if (r == 0) {
        r = cgroup_remove(&group, time_left(deadline), err);
    }
    return r < 0 ? err_wrap(err, "control group '%s' of a crashed job", name) : 0;
}

/* What can't be removed stays, quarantined, and is told; it keeps nobody else out. */
static void quarantine(struct sweep *sweep, unsigned int *count, const char *what, struct err *err)
{
    struct hold *hold = sweep->hold;

    if ((*count)++ == 0) { /* the slots come second: their number says more */
        (void)snprintf(hold->left_over, sizeof(hold->left_over), "%s stays out of use: %.900s",
                       what, err->msg);
    }
    hold->n_left_over = sweep->groups > sweep->slots ? sweep->groups : sweep->slots;
    *err = (struct err)ERR_INIT;
}

static int sweep_slot(void *arg, const struct ledger_entry *entry, struct err *err)
{
    struct sweep *sweep = arg;
    char what[32];
    int r = 0;

    if (entry->readable && entry->group[0] != '\0') {
        r = remove_group(&sweep->hold->host, entry->group, sweep->deadline, err);
    }
    if (r == 0) { /* no slot is given out again before the loss of its job is on record */
        r = records_put_lost(sweep->store_fd, entry, err);
    }
    if (r == 0) {
        r = ledger_clear(sweep->store_fd, entry, err);
        if (r == -EBUSY) { /* another supervisor cleared it first, and the number is in use again */
            *err = (struct err)ERR_INIT;
            return 0;
        }
    }
    if (r < 0) {
        (void)snprintf(what, sizeof(what), "slot %u", entry->number);
        quarantine(sweep, &sweep->slots, what, err);
    }
    return 0;
}

static int sweep_group(void *arg, const char *name, struct err *err)
{
    struct sweep *sweep = arg;
    bool stale = false;
    int r = ledger_group_is_stale(sweep->store_fd, name, &stale, err);

    if (r == 0 && stale && remove_group(&sweep->hold->host, name, sweep->deadline, err) < 0) {
        quarantine(sweep, &sweep->groups, "a control group", err);
    }
    return r;
}

static int reconcile(struct hold *hold, int store_fd, struct err *err)
{
    struct sweep sweep = {
        .hold = hold, .store_fd = store_fd, .deadline = clock_mono_ns() + SWEEP_NS};
    /* The listing first: a slot is locked before its group is made. */
    int r = cgroup_list(&hold->host, sweep_group, &sweep, err);

    return r < 0 ? r : ledger_stale(store_fd, sweep_slot, &sweep, err);
}

int hold_take(struct hold *hold, const struct store *store, const struct ledger_need *need,
              struct err *err)
{
    int r = reconcile(hold, store->dirfd, err);

    return r < 0 ? r : ledger_admit(store->dirfd, need, &capacity_of_slots, &hold->slot, err);
}

int hold_set_need(struct hold *hold, const struct store *store, const struct ledger_need *need,
                  struct err *err)
{
    return ledger_set_need(&hold->slot, store->dirfd, need, &capacity_of_slots, err);
}

const char *hold_instead(enum cgroup_limit limit)
{
    static const char memory[] =
        "the guest by the machine's size (-m) and the translator's buffer (tb-size); the monitor by "
        "the supervisor, which reads its memory and swap ten times a second and kills over the "
        "same bound";
    static const char *const instead[] = {
        [CGROUP_LIMIT_MEMORY] = memory,
        [CGROUP_LIMIT_SWAP] = "the supervisor, which reads memory and swap ten times a second and "
                              "kills when their sum is over the machine's bound",
        [CGROUP_LIMIT_OOM_GROUP] = "the machine is one process that cannot fork",
        [CGROUP_LIMIT_PIDS] = "RLIMIT_NPROC, and a seccomp filter that denies every fork",
        [CGROUP_LIMIT_CPU_QUOTA] = "the number of its threads; --cpu, --wall and the deadlines of "
                                   "the other phases bound the sum",
        [CGROUP_LIMIT_CPU_WEIGHT] = "the host's scheduler, thread by thread; --cpu bounds the sum",
        [CGROUP_LIMIT_IO_WEIGHT] = "the disk's scheduler, process by process",
        [CGROUP_LIMIT_IO_MAX] = "no rate: the sizes of its files (RLIMIT_FSIZE) and the time it "
                                "runs are bounded",
    };

    _Static_assert(ARRAY_LEN(instead) == CGROUP_N_LIMITS, "every limit has a second line");
    return instead[limit];
}

/* A limit that could not even be asked for. */
static void note_absent(struct hold *hold, enum cgroup_limit limit, const char *why)
{
    hold->report.state[limit] = CGROUP_ABSENT;
    (void)snprintf(hold->report.why[limit], sizeof(hold->report.why[limit]), "%.250s", why);
}

int hold_group(struct hold *hold, uint64_t memory_bytes, uint64_t vcpus, int store_fd,
               struct err *err)
{
    struct err no_disk = ERR_INIT;
    struct cgroup_limits limits = {
        .memory_bytes = memory_bytes,
        .pids = HOLD_PIDS,
        .cpu_milli = vcpus * 1000 + GROUP_CPU_OVERHEAD,
        .cpu_weight = GROUP_WEIGHT,
        .io_weight = GROUP_WEIGHT,
    };

    int r = 0;

    if (host_disk_of(store_fd, "/sys", &limits.io_device, &no_disk) == 0) {
        limits.io_bytes_per_s = GROUP_IO_BYTES_PER_S;
    }
    hold->memory_bytes = limits.memory_bytes;
    hold->grouped = true;
    r = cgroup_create(&hold->host, hold->slot.group, &limits, &hold->group, &hold->report, err);
    if (r == 0 && limits.io_bytes_per_s == 0) {
        note_absent(hold, CGROUP_LIMIT_IO_MAX, no_disk.msg);
    }
    return r;
}

bool hold_must_watch(const struct hold *hold)
{
    return hold->report.state[CGROUP_LIMIT_MEMORY] != CGROUP_ENFORCED ||
           hold->report.state[CGROUP_LIMIT_SWAP] == CGROUP_ABSENT;
}

int hold_over_memory(const struct hold *hold, pid_t monitor, bool *ret, struct err *err)
{
    uint64_t bytes = 0;
    int r = host_process_memory(monitor, &bytes, err);

    if (r == 0) {
        *ret = bytes > hold->memory_bytes;
    }
    return r;
}

bool hold_has_processes(const struct hold *hold)
{
    struct err ignored = ERR_INIT;
    bool populated = false;

    return hold->grouped && (cgroup_populated(&hold->group, &populated, &ignored) < 0 || populated);
}

int hold_kill(struct hold *hold, struct err *err)
{
    return hold->grouped ? cgroup_kill(&hold->group, KILL_NS, err) : 0;
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
        r = hold_kill(hold, err);
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
    int r = remove_group(&hold->host, hold->slot.group, clock_mono_ns() + KILL_NS + REMOVE_NS, err);

    if (r < 0) {
        return r;
    }
    ledger_release(&hold->slot);
    return 0;
}
