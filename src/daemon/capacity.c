#include "daemon/capacity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/num.h"

#include "sup/hold.h"
#include "sup/need.h"
#include "sys/fd.h"

/* Beside the monitor's group: the supervisor, its reaper, the helper or the inspector. */
#define JOB_PROCESSES (HOLD_PIDS + 4u)
/* The supervisor's socket, the job's directory, two streams, the events, some while it starts. */
#define JOB_FDS        8u
#define NUMBER_TEXT    32u
#define SHARE_MILLIONS 1000000u

struct resource {
    const char *name;
    size_t offset;
};

static const struct resource resources[CAPACITY_RESOURCES] = {
    [CAPACITY_MACHINES] = {"machines", offsetof(struct capacity_need, machines)},
    [CAPACITY_MEMORY] = {"memory", offsetof(struct capacity_need, memory_bytes)},
    [CAPACITY_VCPUS] = {"vcpus", offsetof(struct capacity_need, vcpus)},
    [CAPACITY_DISK] = {"disk", offsetof(struct capacity_need, disk_bytes)},
    [CAPACITY_PROCESSES] = {"processes", offsetof(struct capacity_need, processes)},
    [CAPACITY_FDS] = {"fds", offsetof(struct capacity_need, fds)},
};

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t *at(struct capacity_need *need, size_t resource)
{
    return (uint64_t *)(void *)((char *)need + resources[resource].offset);
}

static uint64_t value(const struct capacity_need *need, size_t resource)
{
    return *(const uint64_t *)(const void *)((const char *)need + resources[resource].offset);
}

const char *capacity_name(enum capacity_resource resource)
{
    return resource < CAPACITY_RESOURCES ? resources[resource].name : "unknown";
}

uint64_t capacity_get(const struct capacity_need *need, enum capacity_resource resource)
{
    return resource < CAPACITY_RESOURCES ? value(need, resource) : 0;
}

void capacity_add(struct capacity_need *sum, const struct capacity_need *need)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        *at(sum, i) = num_add(*at(sum, i), value(need, i));
    }
}

void capacity_sub(struct capacity_need *sum, const struct capacity_need *need)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        *at(sum, i) = num_less(*at(sum, i), value(need, i));
    }
}

bool capacity_fits(const struct capacity_need *room, const struct capacity_need *need,
                   enum capacity_resource *ret_short)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        if (value(need, i) > value(room, i)) {
            if (ret_short != NULL) {
                *ret_short = (enum capacity_resource)i;
            }
            return false;
        }
    }
    return true;
}

/* part of whole in millionths; of what there is none of, anything is all. */
static uint64_t millionths(uint64_t part, uint64_t whole)
{
    if (part == 0) {
        return 0;
    }
    if (part >= whole) {
        return SHARE_MILLIONS;
    }
    return (uint64_t)((unsigned __int128)part * SHARE_MILLIONS / whole);
}

uint64_t capacity_share(const struct capacity_need *total, const struct capacity_need *need)
{
    uint64_t most = 1;

    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        uint64_t share = millionths(value(need, i), value(total, i));

        most = share > most ? share : most;
    }
    return most;
}

void capacity_need_of(const struct spec *spec, struct capacity_need *ret)
{
    const struct ledger_need need = need_of_spec(spec, NULL, true);
    const struct spec_limits *l = &spec->limits;
    uint64_t kept = num_add(l->output_bytes, num_add(l->stdout_bytes, l->stderr_bytes));

    *ret = (struct capacity_need){
        .machines = 1,
        .memory_bytes = need.memory_bytes,
        .vcpus = need.vcpus,
        .disk_bytes = num_add(need.disk_bytes, kept),
        .processes = JOB_PROCESSES,
        .fds = JOB_FDS,
    };
}

/* A file of /proc/sys/kernel with one number. */
static int read_number(const char *path, uint64_t *ret, struct err *err)
{
    auto_fd int fd = -1;
    char text[NUMBER_TEXT] = "";
    size_t len = 0;
    int r = fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_full(fd, text, sizeof(text) - 1, &len, err);
    }
    if (r < 0) {
        return r;
    }
    text[strcspn(text, "\n")] = '\0';
    r = num_parse_u64(text, ret);
    return r < 0 ? err_sys_num(err, -r, "'%s' has no number in it", path) : 0;
}

static int ask_processes(uint64_t *ret, struct err *err)
{
    uint64_t pids = 0;
    uint64_t threads = 0;
    int r = read_number("/proc/sys/kernel/pid_max", &pids, err);

    if (r == 0) {
        r = read_number("/proc/sys/kernel/threads-max", &threads, err);
    }
    if (r == 0) {
        *ret = min(pids, threads) / 2;
    }
    return r;
}

int capacity_read(int state_fd, const struct capacity_config *config, struct capacity *ret,
                  struct err *err)
{
    struct ledger_capacity host = config->host;
    struct capacity c = {.total = {.processes = config->processes, .fds = config->fds}};
    struct rlimit files = {0};
    int r = ledger_ask_host(state_fd, &host, err);

    if (r == 0 && c.total.processes == 0) {
        r = ask_processes(&c.total.processes, err);
    }
    if (r < 0) {
        return r;
    }
    if (c.total.fds == 0) {
        if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
            return err_sys(err, "find how many descriptors there may be");
        }
        c.total.fds = files.rlim_cur == RLIM_INFINITY ? UINT64_MAX : files.rlim_cur / 2;
    }
    c.total.machines = min(host.machines, LEDGER_NUMBERS);
    c.total.memory_bytes = num_less(host.memory_total_bytes, host.memory_reserve_bytes);
    c.total.vcpus = host.vcpus;
    c.total.disk_bytes = num_less(host.disk_free_bytes, host.disk_reserve_bytes);
    c.memory_available_bytes = num_less(host.memory_available_bytes, host.memory_reserve_bytes);
    *ret = c;
    return 0;
}

void capacity_free(const struct capacity *capacity, const struct capacity_load *load,
                   struct capacity_need *ret)
{
    struct capacity_need room = capacity->total;
    uint64_t available = num_less(capacity->memory_available_bytes, load->untouched_bytes);

    capacity_sub(&room, &load->promised);
    room.memory_bytes = min(room.memory_bytes, available);
    *ret = room;
}
