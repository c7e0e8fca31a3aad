/* Limits of a machine's group: written, read back where the kernel may round, and reported. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/num.h"

#include "sys/cgroup-internal.h"

#define CPU_PERIOD_US   100000 /* the kernel's default (sched-bwc.rst) */
#define CPU_MILLI_MIN   10     /* the kernel takes no quota below 1 ms */
#define CPU_MILLI_MAX   1000000
#define WEIGHT_MAX      10000
#define WEIGHT_DEFAULT  100
#define BFQ_WEIGHT_MAX  1000
#define V1_SHARES_EACH  1024 /* of a group with the default weight */
#define PIDS_MAX        4194304
#define MEMORY_MIN      (1 * MIB) /* less can't hold a process and only hangs in reclaim */
#define PAGE_SIZE_BYTES 4096

const char *cgroup_limit_name(enum cgroup_limit limit)
{
    static const char *const names[CGROUP_N_LIMITS] = {
        "memory", "swap", "oom group", "pids", "cpu quota", "cpu weight", "io weight", "io max"};

    return names[limit];
}

static void absent(struct cgroup_report *report, enum cgroup_limit limit, const char *why)
{
    report->state[limit] = CGROUP_ABSENT;
    (void)snprintf(report->why[limit], CGROUP_WHY_SIZE, "%s", why);
}

static bool put(struct cgroup_report *report, enum cgroup_limit limit, int dir, const char *file,
                const char *text)
{
    int r = cgroup_write(dir, file, text);

    if (r < 0) {
        report->state[limit] = CGROUP_ABSENT;
        (void)snprintf(report->why[limit], CGROUP_WHY_SIZE, "%s: %s", file,
                       r == -ENOENT ? "this kernel has no such file" : strerrordesc_np(-r));
        return false;
    }
    report->state[limit] = CGROUP_ENFORCED;
    report->why[limit][0] = '\0';
    return true;
}

static bool put_number(struct cgroup_report *report, enum cgroup_limit limit, int dir,
                       const char *file, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    return put(report, limit, dir, file, text);
}

/* What the kernel kept may exceed what was asked by less than a page. */
static void check_kept(struct cgroup_report *report, enum cgroup_limit limit, int dir,
                       const char *file, uint64_t asked)
{
    char text[64];
    uint64_t kept = 0;

    if (cgroup_read(dir, file, text, sizeof(text)) < 0) {
        absent(report, limit, "what was written can't be read back");
        return;
    }
    text[strcspn(text, "\n")] = '\0';
    if (num_parse_u64(text, &kept) < 0 || kept >= asked + PAGE_SIZE_BYTES) {
        report->state[limit] = CGROUP_ABSENT;
        (void)snprintf(report->why[limit], CGROUP_WHY_SIZE,
                       "%s: the kernel kept '%.30s' in place of %" PRIu64, file, text, asked);
    }
}

/* memory.rst 5.3 and 7; v1's memsw is memory and swap together, never below memory. */
static void limit_memory_v1(const struct cgroup_host *host, int dir, uint64_t bytes,
                            struct cgroup_report *report)
{
    if (put_number(report, CGROUP_LIMIT_MEMORY, dir, "memory.limit_in_bytes", bytes)) {
        check_kept(report, CGROUP_LIMIT_MEMORY, dir, "memory.limit_in_bytes", bytes);
    }
    /* With 0 reclaim at this limit never swaps; the sum below also binds the host's own reclaim. */
    (void)cgroup_write(dir, "memory.swappiness", "0");
    if (put_number(report, CGROUP_LIMIT_SWAP, dir, "memory.memsw.limit_in_bytes", bytes)) {
        check_kept(report, CGROUP_LIMIT_SWAP, dir, "memory.memsw.limit_in_bytes", bytes);
    } else if (!host->swap) {
        report->state[CGROUP_LIMIT_SWAP] = CGROUP_MOOT;
    }
    absent(report, CGROUP_LIMIT_OOM_GROUP,
           "cgroup v1 kills one process of the group: watch oom_kills and kill the rest");
}

/* cgroup-v2.rst, "Memory Interface Files". */
static void limit_memory_v2(const struct cgroup_host *host, int dir, uint64_t bytes,
                            struct cgroup_report *report)
{
    if (put_number(report, CGROUP_LIMIT_MEMORY, dir, "memory.max", bytes)) {
        check_kept(report, CGROUP_LIMIT_MEMORY, dir, "memory.max", bytes);
    }
    if (!put_number(report, CGROUP_LIMIT_SWAP, dir, "memory.swap.max", 0) && !host->swap) {
        report->state[CGROUP_LIMIT_SWAP] = CGROUP_MOOT;
    }
    (void)put_number(report, CGROUP_LIMIT_OOM_GROUP, dir, "memory.oom.group", 1);
}

/* sched-bwc.rst; cgroup-v2.rst, "CPU Interface Files". */
static void limit_cpu(const struct cgroup_member *m, const struct cgroup_limits *limits,
                      struct cgroup_report *report)
{
    uint64_t quota_us = limits->cpu_milli * CPU_PERIOD_US / 1000;
    uint64_t shares = limits->cpu_weight * V1_SHARES_EACH / WEIGHT_DEFAULT;
    char text[48];

    if (quota_us > 0 && m->v2) {
        (void)snprintf(text, sizeof(text), "%" PRIu64 " %d", quota_us, CPU_PERIOD_US);
        (void)put(report, CGROUP_LIMIT_CPU_QUOTA, m->dir_fd, "cpu.max", text);
    } else if (quota_us > 0 && put_number(report, CGROUP_LIMIT_CPU_QUOTA, m->dir_fd,
                                          "cpu.cfs_period_us", CPU_PERIOD_US)) {
        (void)put_number(report, CGROUP_LIMIT_CPU_QUOTA, m->dir_fd, "cpu.cfs_quota_us", quota_us);
    }
    if (limits->cpu_weight > 0 && m->v2) {
        (void)put_number(report, CGROUP_LIMIT_CPU_WEIGHT, m->dir_fd, "cpu.weight",
                         limits->cpu_weight);
    } else if (limits->cpu_weight > 0) {
        (void)put_number(report, CGROUP_LIMIT_CPU_WEIGHT, m->dir_fd, "cpu.shares",
                         shares < 2 ? 2 : shares);
    }
}

static void limit_io_weight(const struct cgroup_member *m, uint64_t weight,
                            struct cgroup_report *report)
{
    uint64_t bfq = weight > BFQ_WEIGHT_MAX ? BFQ_WEIGHT_MAX : weight;
    char text[48];

    (void)snprintf(text, sizeof(text), "default %" PRIu64, weight);
    if (m->v2 && put(report, CGROUP_LIMIT_IO_WEIGHT, m->dir_fd, "io.weight", text)) {
        return;
    }
    (void)put_number(report, CGROUP_LIMIT_IO_WEIGHT, m->dir_fd,
                     m->v2 ? "io.bfq.weight" : "blkio.bfq.weight", bfq);
}

/* cgroup-v2.rst, "IO Interface Files"; blkio-controller.rst, "Throttling/Upper limit policy". */
static void limit_io_max(const struct cgroup_member *m, const struct cgroup_limits *limits,
                         struct cgroup_report *report)
{
    unsigned int maj = major(limits->io_device);
    unsigned int min = minor(limits->io_device);
    uint64_t bps = limits->io_bytes_per_s;
    char text[128];

    if (m->v2) {
        (void)snprintf(text, sizeof(text), "%u:%u rbps=%" PRIu64 " wbps=%" PRIu64, maj, min, bps,
                       bps);
        (void)put(report, CGROUP_LIMIT_IO_MAX, m->dir_fd, "io.max", text);
        return;
    }
    (void)snprintf(text, sizeof(text), "%u:%u %" PRIu64, maj, min, bps);
    if (put(report, CGROUP_LIMIT_IO_MAX, m->dir_fd, "blkio.throttle.read_bps_device", text)) {
        (void)put(report, CGROUP_LIMIT_IO_MAX, m->dir_fd, "blkio.throttle.write_bps_device", text);
    }
}

static int check_range(const char *what, uint64_t value, uint64_t min, uint64_t max,
                       struct err *err)
{
    if (value != 0 && (value < min || value > max)) {
        return err_usage(err,
                         "control group: %s is %" PRIu64 ", allowed are %" PRIu64 " to %" PRIu64,
                         what, value, min, max);
    }
    return 0;
}

static int check_limits(const struct cgroup_limits *limits, struct err *err)
{
    int r = check_range("memory_bytes", limits->memory_bytes, MEMORY_MIN, INT64_MAX / 2, err);

    if (r == 0) {
        r = check_range("pids", limits->pids, 1, PIDS_MAX, err);
    }
    if (r == 0) {
        r = check_range("cpu_milli", limits->cpu_milli, CPU_MILLI_MIN, CPU_MILLI_MAX, err);
    }
    if (r == 0) {
        r = check_range("cpu_weight", limits->cpu_weight, 1, WEIGHT_MAX, err);
    }
    if (r == 0) {
        r = check_range("io_weight", limits->io_weight, 1, WEIGHT_MAX, err);
    }
    if (r == 0) {
        r = check_range("io_bytes_per_s", limits->io_bytes_per_s, PAGE_SIZE_BYTES, INT64_MAX, err);
    }
    return r;
}

static void ask(struct cgroup_report *report, const struct cgroup_host *host,
                enum cgroup_limit limit, enum cgroup_part part, bool asked)
{
    if (asked) {
        absent(report, limit, host->why[part]);
    }
}

/* Everything asked for begins as absent, for the reason that its part has none. */
static void begin_report(const struct cgroup_host *host, const struct cgroup_limits *limits,
                         struct cgroup_report *ret)
{
    bool memory = limits->memory_bytes != 0;

    *ret = (struct cgroup_report){0};
    ask(ret, host, CGROUP_LIMIT_MEMORY, CGROUP_MEMORY, memory);
    ask(ret, host, CGROUP_LIMIT_SWAP, CGROUP_MEMORY, memory);
    ask(ret, host, CGROUP_LIMIT_OOM_GROUP, CGROUP_MEMORY, memory);
    ask(ret, host, CGROUP_LIMIT_PIDS, CGROUP_PIDS, limits->pids != 0);
    ask(ret, host, CGROUP_LIMIT_CPU_QUOTA, CGROUP_CPU, limits->cpu_milli != 0);
    ask(ret, host, CGROUP_LIMIT_CPU_WEIGHT, CGROUP_CPU, limits->cpu_weight != 0);
    ask(ret, host, CGROUP_LIMIT_IO_WEIGHT, CGROUP_IO, limits->io_weight != 0);
    ask(ret, host, CGROUP_LIMIT_IO_MAX, CGROUP_IO, limits->io_bytes_per_s != 0);
}

int cgroup_create(struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
                  struct cgroup *ret, struct cgroup_report *ret_report, struct err *err)
{
    int where = -1;
    int r = check_limits(limits, err);

    if (r == 0) {
        r = cgroup_make(host, name, ret, err);
    }
    if (r < 0) {
        return r;
    }
    begin_report(host, limits, ret_report); /* after cgroup_make(), which can lose controllers */
    where = ret->where[CGROUP_MEMORY];
    if (where >= 0 && limits->memory_bytes > 0) {
        (ret->members[where].v2 ? limit_memory_v2 : limit_memory_v1)(
            host, ret->members[where].dir_fd, limits->memory_bytes, ret_report);
    }
    where = ret->where[CGROUP_PIDS];
    if (where >= 0 && limits->pids > 0) {
        (void)put_number(ret_report, CGROUP_LIMIT_PIDS, ret->members[where].dir_fd, "pids.max",
                         limits->pids);
    }
    where = ret->where[CGROUP_CPU];
    if (where >= 0) {
        limit_cpu(&ret->members[where], limits, ret_report);
    }
    where = ret->where[CGROUP_IO];
    if (where >= 0 && limits->io_weight > 0) {
        limit_io_weight(&ret->members[where], limits->io_weight, ret_report);
    }
    if (where >= 0 && limits->io_bytes_per_s > 0) {
        limit_io_max(&ret->members[where], limits, ret_report);
    }
    return 0;
}
