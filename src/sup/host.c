#include "sup/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/buf.h"
#include "base/num.h"

#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/memo.h"

#define TSC_SAMPLE_NS (10 * NS_PER_MS)
#define TSC_MEMO      "tsc"

struct host_tsc host_tsc_now(void)
{
    struct host_tsc t = {0};

    t.ns = clock_ns(CLOCK_MONOTONIC_RAW);
    t.ticks = __rdtsc();
    return t;
}

static uint64_t khz_between(struct host_tsc from, struct host_tsc to)
{
    return (uint64_t)((double)(to.ticks - from.ticks) * (double)NS_PER_MS /
                      (double)(to.ns - from.ns));
}

static bool is_old_enough(struct host_tsc from, struct host_tsc now)
{
    return now.ticks > from.ticks && now.ns > from.ns && now.ns - from.ns >= TSC_SAMPLE_NS;
}

/* The first reading of this boot: the longer ago, the better. */
static bool recall_first(int memo_dirfd, const struct memo *memo, struct host_tsc *ret)
{
    auto_buf struct buf text = BUF_INIT(64);

    if (!memo_get(memo_dirfd, TSC_MEMO, memo, &text) || text.len != sizeof(*ret)) {
        return false;
    }
    memcpy(ret, text.data, sizeof(*ret));
    return true;
}

uint64_t host_tsc_khz(int memo_dirfd, struct host_tsc since)
{
    auto_memo struct memo memo = MEMO_INIT;
    struct host_tsc now = host_tsc_now();
    struct host_tsc first = since;
    struct err ignored = ERR_INIT;
    bool can_keep = memo_begin(&memo, &ignored) == 0;

    if (can_keep && recall_first(memo_dirfd, &memo, &first) && is_old_enough(first, now)) {
        return khz_between(first, now);
    }
    if (!is_old_enough(since, now)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)TSC_SAMPLE_NS}, NULL);
        now = host_tsc_now();
    }
    if (can_keep) {
        memo_put(memo_dirfd, TSC_MEMO, &memo, &since, sizeof(since));
    }
    return khz_between(since, now);
}

/* The number of kB behind "key:" in a file of /proc. */
static int proc_kb(const char *path, const char *key, uint64_t *ret_bytes, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(65536);
    auto_fd int fd = -1;
    char number[24];
    const char *at = NULL;
    size_t n = 0;
    int r = fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_all(fd, path, &text, err);
    }
    if (r < 0) {
        return r;
    }
    at = text.data != NULL ? strstr((const char *)text.data, key) : NULL;
    if (at == NULL) {
        return err_set(err, ERR_HOST, ENODATA, "'%s' has no line %s", path, key);
    }
    at += strlen(key);
    at += strspn(at, ": \t");
    n = strspn(at, "0123456789");
    if (n == 0 || n >= sizeof(number)) {
        return err_set(err, ERR_HOST, ENODATA, "'%s' has no number behind %s", path, key);
    }
    memcpy(number, at, n);
    number[n] = '\0';
    if (num_parse_u64(number, ret_bytes) < 0 ||
        __builtin_mul_overflow(*ret_bytes, KIB, ret_bytes)) {
        return err_set(err, ERR_HOST, ERANGE, "'%s': %s is out of range", path, key);
    }
    return 0;
}

int host_memory_available(uint64_t *ret_bytes, struct err *err)
{
    return proc_kb("/proc/meminfo", "MemAvailable", ret_bytes, err);
}

uint64_t host_process_peak_rss(pid_t pid)
{
    struct err ignored = ERR_INIT;
    char path[40];
    uint64_t bytes = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return proc_kb(path, "VmHWM", &bytes, &ignored) == 0 ? bytes : 0;
}

int host_process_pss(pid_t pid, uint64_t *ret_bytes, struct err *err)
{
    char path[40];

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    return proc_kb(path, "Pss:", ret_bytes, err);
}

int host_process_memory(pid_t pid, uint64_t *ret_bytes, struct err *err)
{
    char path[40];
    uint64_t resident = 0;
    uint64_t swapped = 0;
    struct err ignored = ERR_INIT;
    int r = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    r = proc_kb(path, "VmRSS", &resident, err);
    if (r < 0) {
        return r;
    }
    /* A kernel without swap has no such line. */
    if (proc_kb(path, "VmSwap", &swapped, &ignored) < 0) {
        swapped = 0;
    }
    *ret_bytes = resident + swapped;
    return 0;
}

/* "MAJOR:MINOR" in a file of sysfs. */
static int read_dev(const char *path, dev_t *ret, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(64);
    auto_fd int fd = -1;
    uint64_t maj = 0;
    uint64_t min = 0;
    char *colon = NULL;
    int r = fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_all(fd, path, &text, err);
    }
    if (r < 0) {
        return r;
    }
    colon = text.data != NULL ? strchr((char *)text.data, ':') : NULL;
    if (colon != NULL) {
        *colon = '\0';
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
    }
    if (colon == NULL || num_parse_u64((const char *)text.data, &maj) < 0 ||
        num_parse_u64(colon + 1, &min) < 0 || maj > UINT32_MAX || min > UINT32_MAX) {
        return err_set(err, ERR_HOST, ENODATA, "'%s' names no device", path);
    }
    *ret = makedev((unsigned int)maj, (unsigned int)min);
    return 0;
}

int host_whole_disk(dev_t dev, const char *sysfs, dev_t *ret, struct err *err)
{
    char at[256];
    char path[300];

    if (major(dev) == 0) { /* anonymous: the kernel's number for a superblock without a device */
        return err_set(err, ERR_HOST, ENODEV,
                       "the state directory is on no single block device (tmpfs, overlay, btrfs or "
                       "a network)");
    }
    (void)snprintf(at, sizeof(at), "%.200s/dev/block/%u:%u", sysfs, major(dev), minor(dev));
    (void)snprintf(path, sizeof(path), "%s/dev", at);
    if (access(path, F_OK) < 0) {
        return err_set(err, ERR_HOST, ENODEV, "the kernel shows no block device at '%s'", at);
    }
    (void)snprintf(path, sizeof(path), "%s/partition", at);
    if (access(path, F_OK) < 0) {
        *ret = dev;
        return 0;
    }
    /* The link leads to .../DISK/PARTITION. */
    (void)snprintf(path, sizeof(path), "%s/../dev", at);
    return read_dev(path, ret, err);
}

int host_disk_of(int fd, const char *sysfs, dev_t *ret, struct err *err)
{
    struct stat st = {0};

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "examine the state directory");
    }
    return host_whole_disk(st.st_dev, sysfs, ret, err);
}

uint64_t host_process_cpu_ns(pid_t pid)
{
    clockid_t id = 0;

    return clock_getcpuclockid(pid, &id) == 0 ? clock_ns(id) : 0;
}
