/*
 * How it works: admission adds up, with the lock held, what the live slots were promised, reads
 * what the host has, compares resource by resource, and locks the lowest number that no live and no
 * stale slot has.  Everything that a crash can leave half done is harmless: an empty file is free,
 * a full one without a lock is stale.
 */
#include "sup/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/num.h"

#include "sup/host.h"
#include "sup/ledger-internal.h"
#include "sup/quarantine.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define LOCK_WAIT_NS     (5 * NS_PER_S)
#define RELEASE_WAIT_NS  (NS_PER_S / 4)
#define MACHINES_DEFAULT 64
#define OVERCOMMIT       4 /* vCPUs a CPU: programs wait more than they compute */
#define RESERVE_BYTES    (256 * MIB)
#define STATUS_TEXT_SIZE 8192

struct sums {
    uint64_t machines, memory, untouched, vcpus, disk;
    bool taken[LEDGER_NUMBERS]; /* live or stale */
    unsigned int n_stale;
    char unreadable[128]; /* why, of a live slot that can't be read; "" if all can */
};

static uint64_t or_default(uint64_t value, uint64_t other)
{
    return value != 0 ? value : other;
}

/* Bytes that the monitor has made its own; file pages still count as available to others. */
static uint64_t touched_bytes(const struct ledger_entry *entry)
{
    char path[40];
    char text[STATUS_TEXT_SIZE];
    auto_fd int fd = -1;
    ssize_t n = 0;
    uint64_t kib = 0;
    static const char *const keys[] = {"\nRssAnon:", "\nRssShmem:"};

    if (!entry->monitor_lives) {
        return 0;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)entry->monitor_pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (n <= 0) {
        return 0;
    }
    text[n] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *at = strstr(text, keys[i]);

        if (at != NULL) {
            kib = num_add(kib, strtoull(at + strlen(keys[i]), NULL, 10));
        }
    }
    return kib > UINT64_MAX / KIB ? 0 : kib * KIB;
}

static int sum_one(void *arg, enum ledger_state state, const struct ledger_entry *entry,
                   struct err *err)
{
    struct sums *sums = arg;

    if (state == LEDGER_STALE) {
        sums->taken[entry->number] = true;
        sums->n_stale++;
    }
    if (state != LEDGER_LIVE) {
        return 0;
    }
    sums->taken[entry->number] = true;
    if (!entry->readable) {
        memcpy(sums->unreadable, entry->why, sizeof(sums->unreadable));
        return 0;
    }
    if (entry->machine_id[0] == '\0') { /* being released */
        return 0;
    }
    sums->machines += entry->vcpus > 0; /* else it waits */
    sums->memory = num_add(sums->memory, entry->memory_bytes);
    sums->untouched = num_add(sums->untouched, num_less(entry->memory_bytes, touched_bytes(entry)));
    sums->vcpus = num_add(sums->vcpus, entry->vcpus);
    sums->disk = num_add(sums->disk, entry->disk_bytes);
    return 0;
}

int ledger_ask_host(int store_fd, struct ledger_capacity *c, struct err *err)
{
    struct sysinfo info = {0};
    struct statvfs fs = {0};
    cpu_set_t cpus;
    int r = 0;

    c->machines = or_default(c->machines, MACHINES_DEFAULT);
    c->memory_reserve_bytes = or_default(c->memory_reserve_bytes, RESERVE_BYTES);
    c->disk_reserve_bytes = or_default(c->disk_reserve_bytes, RESERVE_BYTES);
    c->vcpus_per_cpu = or_default(c->vcpus_per_cpu, OVERCOMMIT);
    if (c->memory_total_bytes == 0) {
        if (sysinfo(&info) < 0) {
            return err_sys(err, "sysinfo");
        }
        c->memory_total_bytes = (uint64_t)info.totalram * info.mem_unit;
    }
    if (c->memory_available_bytes == 0) {
        r = host_memory_available(&c->memory_available_bytes, err);
    }
    if (r == 0 && c->vcpus == 0) {
        CPU_ZERO(&cpus);
        if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0) {
            return err_sys(err, "count the CPUs");
        }
        if (__builtin_mul_overflow((uint64_t)CPU_COUNT(&cpus), c->vcpus_per_cpu, &c->vcpus)) {
            c->vcpus = UINT64_MAX;
        }
    }
    if (r == 0 && c->disk_free_bytes == 0) {
        if (fstatvfs(store_fd, &fs) < 0) {
            return err_sys(err, "find the free space of the state directory");
        }
        c->disk_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    }
    return r;
}

struct budget {
    const char *what;
    const char *unit; /* behind the numbers */
    uint64_t scale;   /* of what is shown */
    uint64_t need, taken, capacity;
    int errnum; /* when it is over */
};

static int check_budget(const struct budget *b, uint64_t machines, struct err *err)
{
    uint64_t left = num_less(b->capacity, b->taken);

    if (b->need <= left) {
        return 0;
    }
    return err_set(err, ERR_LIMIT, b->errnum,
                   "no room for another machine now: %s: needs %" PRIu64 "%s, %" PRIu64
                   "%s left of %" PRIu64 "%s (machines running: %" PRIu64 "); try again later",
                   b->what, (b->need + b->scale - 1) / b->scale, b->unit, left / b->scale, b->unit,
                   b->capacity / b->scale, b->unit, machines);
}

/* need: what comes to what is promised already; machines: 1, or 0 if it is one of them. */
static int check_capacity(const struct ledger_need *need, uint64_t machines,
                          const struct ledger_capacity *c, const struct sums *sums, struct err *err)
{
    const struct budget budgets[] = {
        {"machines at once", "", 1, machines, sums->machines, c->machines, EAGAIN},
        {"vCPUs", "", 1, need->vcpus, sums->vcpus, c->vcpus, EAGAIN},
        {"memory in total", " MiB", MIB, need->memory_bytes, sums->memory,
         num_less(c->memory_total_bytes, c->memory_reserve_bytes), ENOMEM},
        {"memory available", " MiB", MIB, need->memory_bytes, sums->untouched,
         num_less(c->memory_available_bytes, c->memory_reserve_bytes), ENOMEM},
        {"disk", " MiB", MIB, need->disk_bytes, sums->disk,
         num_less(c->disk_free_bytes, c->disk_reserve_bytes), ENOSPC},
    };

    if (sums->unreadable[0] != '\0') {
        return err_set(err, ERR_LIMIT, EAGAIN,
                       "no room for another machine now: %s, but a process holds it, so it counts "
                       "as everything; end that process (lslocks names it) or wait",
                       sums->unreadable);
    }
    for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
        int r = check_budget(&budgets[i], sums->machines, err);

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Locks a free number and writes it. ret is filled on success only. */
static int take_number(const struct ledger_dir *dir, const struct ledger_need *need,
                       unsigned int number, struct ledger_slot *ret, struct err *err)
{
    auto_fd int fd = -1;
    struct ledger_entry entry = {
        .number = number,
        .memory_bytes = need->memory_bytes,
        .vcpus = need->vcpus,
        .disk_bytes = need->disk_bytes,
        .uid = ledger_uid(dir->tag, number),
        .pid = getpid(),
        .start_ticks = ledger_start_ticks(getpid()),
    };
    char name[16];
    int r = 0;

    (void)snprintf(entry.machine_id, sizeof(entry.machine_id), "%s", need->machine_id);
    (void)snprintf(name, sizeof(name), "%u", number);
    r = fd_open_nolink(dir->fd, name, O_RDWR | O_CREAT, 0600, &fd, err);
    if (r < 0) {
        return err_wrap(err, "slots");
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        return err_sys(err, "lock 'slots/%s'", name);
    }
    r = ledger_put(fd, &entry);
    if (r < 0) {
        (void)unlinkat(dir->fd, name, 0);
    }
    if (r == -ENOSPC || r == -EDQUOT) {
        return err_set(err, ERR_LIMIT, ENOSPC,
                       "no room for another machine now: the state directory's disk is full");
    }
    if (r < 0) {
        return err_sys_num(err, -r, "write 'slots/%s'", name);
    }
    ret->slots_fd = fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
    if (ret->slots_fd < 0) {
        r = err_sys(err, "keep 'slots' open");
        (void)unlinkat(dir->fd, name, 0);
        return r;
    }
    ret->fd = STEAL_FD(&fd);
    ret->number = number;
    ret->uid = entry.uid;
    ledger_group_name(dir->tag, need->machine_id, ret->group);
    return 0;
}

int ledger_usage(int store_fd, const struct ledger_capacity *capacity, struct ledger_usage *ret,
                 struct err *err)
{
    auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;
    struct ledger_capacity c = *capacity;
    struct sums sums = {0};
    int r = ledger_dir_open(store_fd, LOCK_WAIT_NS, &dir, err);

    if (r == 0) {
        r = ledger_each(&dir, sum_one, &sums, err);
    }
    if (r == 0) {
        r = ledger_ask_host(store_fd, &c, err);
    }
    if (r == 0) {
        *ret = (struct ledger_usage){
            .capacity = c,
            .machines = sums.machines,
            .memory_bytes = sums.memory,
            .vcpus = sums.vcpus,
            .disk_bytes = sums.disk,
            .untouched_bytes = sums.untouched,
            .stale = sums.n_stale,
            .blocked = sums.unreadable[0] != '\0',
        };
    }
    return r;
}

int ledger_admit(int store_fd, const struct ledger_need *need,
                 const struct ledger_capacity *capacity, struct ledger_slot *ret, struct err *err)
{
    auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;
    struct ledger_capacity c = *capacity;
    struct sums sums = {0};
    unsigned int number = 0;
    int r = 0;

    if (!ledger_id_ok(need->machine_id)) {
        return err_usage(err, "'%.70s' is no machine id", need->machine_id);
    }
    r = ledger_dir_open(store_fd, LOCK_WAIT_NS, &dir, err);
    if (r == 0) {
        r = ledger_each(&dir, sum_one, &sums, err);
    }
    if (r == 0) {
        r = ledger_ask_host(store_fd, &c, err);
    }
    if (r == 0) {
        r = check_capacity(need, 1, &c, &sums, err);
    }
    if (r < 0) {
        return r;
    }
    while (number < LEDGER_NUMBERS && sums.taken[number]) {
        number++;
    }
    if (number == LEDGER_NUMBERS) {
        return err_set(err, ERR_LIMIT, EAGAIN,
                       "no room for another machine now: all %d slots are taken, %u of them wait "
                       "for the reconciliation of a crash",
                       LEDGER_NUMBERS, sums.n_stale);
    }
    return take_number(&dir, need, number, ret, err);
}

/* A handle on the directory of a slot that is held. */
static int reopen(const struct ledger_slot *slot, uint64_t timeout_ns, int *ret_lock)
{
    auto_fd int lock = openat(slot->slots_fd, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    int r = lock < 0 ? -errno : ledger_lock(lock, timeout_ns);

    if (r == 0) {
        *ret_lock = STEAL_FD(&lock);
    }
    return r;
}

/* Our own entry, with the lock held until *ret_lock is closed. */
static int look_at_own(const struct ledger_slot *slot, struct ledger_dir *ret_dir, int *ret_lock,
                       struct ledger_entry *ret, struct err *err)
{
    enum ledger_state state = LEDGER_MISSING;
    int r = reopen(slot, LOCK_WAIT_NS, ret_lock);

    if (r < 0) {
        return err_sys_num(err, -r, "lock 'slots/lock' in the state directory");
    }
    /* The tag is in the uid, which the file repeats: it is read back by what the slot knows. */
    *ret_dir = (struct ledger_dir){.fd = slot->slots_fd,
                                   .lock_fd = -1,
                                   .tag = ((uint64_t)slot->uid - LEDGER_UID_BASE) / LEDGER_NUMBERS};
    r = ledger_look(ret_dir, slot->number, &state, ret, err);
    if (r < 0) {
        return r;
    }
    if (state != LEDGER_LIVE || !ret->readable || ret->machine_id[0] == '\0') {
        return err_set(err, ERR_HOST, EBADMSG, "our own 'slots/%u' was changed by someone else",
                       slot->number);
    }
    return 0;
}

int ledger_note_monitor(struct ledger_slot *slot, pid_t pid, uint64_t disk_left_bytes,
                        struct err *err)
{
    struct ledger_dir dir;
    auto_fd int lock = -1;
    struct ledger_entry entry;
    int r = look_at_own(slot, &dir, &lock, &entry, err);

    if (r < 0) {
        return r;
    }
    entry.monitor_pid = pid;
    entry.monitor_start = ledger_start_ticks(pid);
    if (disk_left_bytes < entry.disk_bytes) {
        entry.disk_bytes = disk_left_bytes;
    }
    r = ledger_put(slot->fd, &entry);
    return r < 0 ? err_sys_num(err, -r, "write 'slots/%u'", slot->number) : 0;
}

int ledger_set_need(struct ledger_slot *slot, int store_fd, const struct ledger_need *need,
                    const struct ledger_capacity *capacity, struct err *err)
{
    struct ledger_capacity c = *capacity;
    struct ledger_need more = {0};
    struct sums sums = {0};
    struct ledger_dir dir;
    auto_fd int lock = -1;
    struct ledger_entry entry;
    int r = look_at_own(slot, &dir, &lock, &entry, err);

    if (r < 0) {
        return r;
    }
    more.memory_bytes = num_less(need->memory_bytes, entry.memory_bytes);
    more.vcpus = num_less(need->vcpus, entry.vcpus);
    more.disk_bytes = num_less(need->disk_bytes, entry.disk_bytes);
    if (more.memory_bytes > 0 || more.vcpus > 0 || more.disk_bytes > 0) {
        r = ledger_each(&dir, sum_one, &sums, err);
        if (r == 0) {
            r = ledger_ask_host(store_fd, &c, err);
        }
        if (r == 0) {
            r = check_capacity(&more, entry.vcpus == 0 && need->vcpus > 0, &c, &sums, err);
        }
    }
    if (r < 0) {
        return r;
    }
    entry.memory_bytes = need->memory_bytes;
    entry.vcpus = need->vcpus;
    entry.disk_bytes = need->disk_bytes;
    r = ledger_put(slot->fd, &entry);
    return r < 0 ? err_sys_num(err, -r, "write 'slots/%u'", slot->number) : 0;
}

void ledger_drop(struct ledger_slot *slot)
{
    fd_close_p(&slot->fd);
    fd_close_p(&slot->slots_fd);
    *slot = (struct ledger_slot)LEDGER_SLOT_INIT;
}

void ledger_release(struct ledger_slot *slot)
{
    auto_fd int lock = -1;
    char name[16];
    struct stat st = {0};

    if (slot->fd < 0) {
        return;
    }
    /* Without its name it was given back already, by whom we share it with: the number may be
     * another's by now. */
    if (fstat(slot->fd, &st) == 0 && st.st_nlink == 0) {
        ledger_drop(slot);
        return;
    }
    if (quarantine_has(slot->slots_fd, slot->number)) { /* stays, unlocked: stale */
        ledger_drop(slot);
        return;
    }
    /* Empty first: from here on it is free whatever happens to us. Only the lock makes the
     * unlink safe: another process must not lock a file that is about to lose its name. */
    if (ftruncate(slot->fd, 0) == 0 && reopen(slot, RELEASE_WAIT_NS, &lock) == 0) {
        (void)snprintf(name, sizeof(name), "%u", slot->number);
        (void)unlinkat(slot->slots_fd, name, 0);
    }
    ledger_drop(slot);
}

struct stale_list {
    struct ledger_entry *entries; /* LEDGER_NUMBERS of them */
    size_t n;
};

static int collect_stale(void *arg, enum ledger_state state, const struct ledger_entry *entry,
                         struct err *err)
{
    struct stale_list *list = arg;

    if (state == LEDGER_STALE && list->n < LEDGER_NUMBERS) {
        list->entries[list->n++] = *entry;
    }
    return 0;
}

int ledger_stale(int store_fd, ledger_stale_fn *found, void *arg, struct err *err)
{
    auto_free struct ledger_entry *entries = calloc(LEDGER_NUMBERS, sizeof(*entries));
    struct stale_list list = {.entries = entries};
    int r = 0;

    if (entries == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory listing the slots");
    }
    {
        auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;

        r = ledger_dir_open(store_fd, LOCK_WAIT_NS, &dir, err);
        if (r == 0) {
            r = ledger_each(&dir, collect_stale, &list, err);
        }
    }
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        r = found(arg, &entries[i], err);
    }
    return r;
}

int ledger_clear(int store_fd, const struct ledger_entry *entry, struct err *err)
{
    auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;
    struct ledger_entry now;
    enum ledger_state state = LEDGER_MISSING;
    char name[16];
    int r = ledger_dir_open(store_fd, LOCK_WAIT_NS, &dir, err);

    if (r == 0) {
        r = ledger_look(&dir, entry->number, &state, &now, err);
    }
    if (r < 0 || state == LEDGER_MISSING || state == LEDGER_FREE) {
        return r;
    }
    if (state == LEDGER_LIVE || now.readable != entry->readable ||
        strcmp(now.machine_id, entry->machine_id) != 0 || now.start_ticks != entry->start_ticks) {
        return err_set(err, ERR_HOST, EBUSY, "'slots/%u' is in use again", entry->number);
    }
    if (quarantine_has(dir.fd, entry->number)) {
        return err_set(err, ERR_HOST, EPERM,
                       "slot %u stays out of use: the cleanup after machine %.64s could not be "
                       "verified; 'airlock records list' says why, 'airlock records release %u' "
                       "ends it",
                       entry->number, entry->machine_id, entry->number);
    }
    (void)snprintf(name, sizeof(name), "%u", entry->number);
    return unlinkat(dir.fd, name, 0) < 0 ? err_sys(err, "remove 'slots/%s'", name) : 0;
}

struct machine_search {
    const char *id;
    enum ledger_held held;
};

static int match_machine(void *arg, enum ledger_state state, const struct ledger_entry *entry,
                         struct err *err)
{
    struct machine_search *search = arg;
    bool named = entry->readable && strcmp(entry->machine_id, search->id) == 0;

    (void)err;
    if (state == LEDGER_LIVE && (!entry->readable || named)) {
        search->held = LEDGER_HELD_LIVE;
    } else if (state == LEDGER_STALE && named && search->held == LEDGER_HELD_NOT) {
        search->held = entry->pid_lives ? LEDGER_HELD_LIVE : LEDGER_HELD_DEAD;
    }
    return 0;
}

int ledger_held(int store_fd, const char *machine_id, enum ledger_held *ret, struct err *err)
{
    auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;
    struct machine_search search = {.id = machine_id, .held = LEDGER_HELD_NOT};
    int r = ledger_dir_open(store_fd, LOCK_WAIT_NS, &dir, err);

    if (r == 0) {
        r = ledger_each(&dir, match_machine, &search, err);
    }
    if (r == 0) {
        *ret = search.held;
    }
    return r;
}

struct group_search {
    const char *group;
    bool in_use;
};

static int match_group(void *arg, enum ledger_state state, const struct ledger_entry *entry,
                       struct err *err)
{
    struct group_search *search = arg;

    if (state == LEDGER_LIVE && (!entry->readable || strcmp(entry->group, search->group) == 0)) {
        search->in_use = true;
    }
    return 0;
}

int ledger_group_is_stale(int store_fd, const char *group, bool *ret, struct err *err)
{
    auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;
    struct group_search search = {.group = group};
    char id[LEDGER_ID_SIZE];
    char ours[CGROUP_NAME_SIZE];
    size_t n = strcspn(group, ".");
    int r = ledger_dir_open(store_fd, LOCK_WAIT_NS, &dir, err);

    *ret = false;
    if (r < 0 || n >= sizeof(id)) {
        return r;
    }
    memcpy(id, group, n);
    id[n] = '\0';
    ledger_group_name(dir.tag, id, ours);
    if (!ledger_id_ok(id) || strcmp(group, ours) != 0) {
        return 0;
    }
    r = ledger_each(&dir, match_group, &search, err);
    if (r == 0) {
        *ret = !search.in_use;
    }
    return r;
}
