#include "cli/bench-memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#include "sup/host.h"
#include "sys/fd.h"

#define PROCESSES_MAX 65536u

struct process {
    pid_t pid, parent;
    bool monitor, ours;
};

struct processes {
    struct process *list;
    size_t n, cap;
};

static void processes_fini(struct processes *all)
{
    free(all->list);
}

/* The kernel's name of it, of which it keeps 15 bytes; either engine's. */
static bool is_monitor(const char *name)
{
    static const char *const prefixes[] = {"qemu-system", "airlock-vmm"};

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* "PID (NAME) STATE PARENT ...": NAME may hold anything, ')' and blanks too. */
static bool parse_stat(const char *text, struct process *ret)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    uint64_t parent = 0;
    char number[24];
    size_t n = 0;

    if (open == NULL || close == NULL || close < open || strlen(close) < 5) {
        return false;
    }
    n = strspn(close + 4, "0123456789");
    if (n == 0 || n >= sizeof(number)) {
        return false;
    }
    memcpy(number, close + 4, n);
    number[n] = '\0';
    ret->monitor = is_monitor(open + 1);
    ret->ours = false;
    if (num_parse_u64(number, &parent) < 0 || parent > INT32_MAX) {
        return false;
    }
    ret->parent = (pid_t)parent;
    return true;
}

/* False for what is no process any more. */
static bool read_process(int procfd, const char *name, struct process *ret)
{
    auto_buf struct buf text = BUF_INIT(4096);
    auto_fd int fd = -1;
    struct err ignored = ERR_INIT;
    uint64_t pid = 0;
    char path[280];

    if (num_parse_u64(name, &pid) < 0 || pid > INT32_MAX) {
        return false;
    }
    ret->pid = (pid_t)pid;
    (void)snprintf(path, sizeof(path), "%.255s/stat", name);
    return fd_open(procfd, path, O_RDONLY, 0, &fd, &ignored) == 0 &&
           fd_read_all(fd, path, &text, &ignored) == 0 && text.len > 0 &&
           parse_stat((const char *)text.data, ret);
}

static int add_process(struct processes *all, const struct process *p)
{
    if (all->n == all->cap) {
        size_t cap = all->cap == 0 ? 256 : all->cap * 2;
        struct process *list =
            cap <= PROCESSES_MAX ? reallocarray(all->list, cap, sizeof(*list)) : NULL;

        if (list == NULL) {
            return -ENOMEM;
        }
        all->list = list;
        all->cap = cap;
    }
    all->list[all->n++] = *p;
    return 0;
}

static int read_processes(struct processes *all, struct err *err)
{
    auto_dir DIR *dir = opendir("/proc");
    const struct dirent *entry = NULL;

    if (dir == NULL) {
        return err_sys(err, "open '/proc'");
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((entry = readdir(dir)) != NULL) {
        struct process p = {0};

        if (read_process(dirfd(dir), entry->d_name, &p) && add_process(all, &p) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "too many processes on this host");
        }
    }
    return 0;
}

/* A child is not always listed behind its parent: again until nothing changes. */
static void mark_ours(struct processes *all)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < all->n; i++) {
            struct process *p = &all->list[i];
            bool ours = p->parent == getpid();

            for (size_t k = 0; k < all->n && !ours && !p->ours; k++) {
                ours = all->list[k].ours && all->list[k].pid == p->parent;
            }
            changed = changed || (ours && !p->ours);
            p->ours = p->ours || ours;
        }
    }
}

int bench_descendants(struct bench_density *d, struct err *err)
{
    __attribute__((cleanup(processes_fini))) struct processes all = {.n = 0};
    int r = read_processes(&all, err);

    if (r < 0) {
        return r;
    }
    mark_ours(&all);
    d->monitors = 0;
    d->rest_pss = 0;
    for (size_t i = 0; i < all.n; i++) {
        const struct process *p = &all.list[i];
        struct err ignored = ERR_INIT;
        uint64_t pss = 0;

        if (!p->ours || host_process_pss(p->pid, &pss, &ignored) < 0) {
            continue;
        }
        if (!p->monitor) {
            d->rest_pss += pss;
        } else if (d->monitors < BENCH_DENSITY_MAX) {
            d->monitor_pss[d->monitors++] = pss;
        }
    }
    return 0;
}
