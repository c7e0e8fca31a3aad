/* Slot files: their text, their locks and what can be checked of what they say. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

#include "sup/ledger-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define HEADER "airlock slot 1\n"

uint64_t ledger_start_ticks(pid_t pid)
{
    char path[40];
    char text[1024];
    auto_fd int fd = -1;
    ssize_t n = 0;
    char *at = NULL;
    char *end = NULL;
    uint64_t ticks = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (n <= 0) {
        return 0;
    }
    text[n] = '\0';
    at = strrchr(text, ')'); /* the name before it may hold anything; then field 3 */
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    end = at != NULL ? strchr(at + 1, ' ') : NULL;
    if (end == NULL) {
        return 0;
    }
    *end = '\0';
    return num_parse_u64(at + 1, &ticks) == 0 ? ticks : 0;
}

bool ledger_id_ok(const char *id)
{
    size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return n > 0 && n < LEDGER_ID_SIZE && id[n] == '\0' && id[0] != '-';
}

void ledger_group_name(uint64_t tag, const char *machine_id, char ret[CGROUP_NAME_SIZE])
{
    (void)snprintf(ret, CGROUP_NAME_SIZE, "%.*s.%016" PRIx64, LEDGER_ID_SIZE - 1, machine_id, tag);
}

uid_t ledger_uid(uint64_t tag, unsigned int number)
{
    return LEDGER_UID_BASE + (uid_t)(tag % LEDGER_UID_WINDOWS) * LEDGER_NUMBERS + number;
}

/* Spreads its argument over all bits (the finalizer of splitmix64). */
static uint64_t mix(uint64_t v)
{
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
    return v ^ (v >> 31);
}

void ledger_dir_fini(struct ledger_dir *dir)
{
    fd_close_p(&dir->lock_fd);
    fd_close_p(&dir->fd);
}

int ledger_lock(int fd, uint64_t timeout_ns)
{
    uint64_t deadline = clock_mono_ns() + timeout_ns;

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return -errno;
        }
        if (clock_mono_ns() >= deadline) {
            return -ETIMEDOUT;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)NS_PER_MS}, NULL);
    }
    return 0;
}

int ledger_dir_open(int store_fd, uint64_t timeout_ns, struct ledger_dir *ret, struct err *err)
{
    auto_ledger_dir struct ledger_dir dir = LEDGER_DIR_INIT;
    struct stat st = {0};
    int r = 0;

    if (mkdirat(store_fd, "slots", 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "make the directory 'slots' in the state directory");
    }
    r = fd_open_nolink(store_fd, "slots", O_RDONLY | O_DIRECTORY, 0, &dir.fd, err);
    if (r < 0) {
        return r;
    }
    if (fstat(dir.fd, &st) < 0) {
        return err_sys(err, "stat 'slots' in the state directory");
    }
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_HOST, EPERM,
                       "'slots' in the state directory belongs to uid %u with mode %04o: nobody "
                       "but uid %u may write it",
                       (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777),
                       (unsigned int)geteuid());
    }
    dir.tag = mix(mix((uint64_t)st.st_dev) + (uint64_t)st.st_ino);
    r = fd_open_nolink(dir.fd, "lock", O_RDWR | O_CREAT, 0600, &dir.lock_fd, err);
    if (r < 0) {
        return err_wrap(err, "slots");
    }
    r = ledger_lock(dir.lock_fd, timeout_ns);
    if (r < 0) {
        return err_sys_num(err, -r,
                           "lock 'slots/lock' in the state directory (which process holds it: "
                           "fuser, lslocks)");
    }
    ret->tag = dir.tag;
    ret->fd = STEAL_FD(&dir.fd);
    ret->lock_fd = STEAL_FD(&dir.lock_fd);
    return 0;
}

/* Numbers are of one width, so that writing again replaces every byte by one pwrite(). */
int ledger_put(int fd, const struct ledger_entry *e)
{
    char text[LEDGER_TEXT_SIZE];
    ssize_t done = 0;
    int n = snprintf(text, sizeof(text),
                     HEADER "id=%s\nmemory=%020" PRIu64 "\nvcpus=%020" PRIu64 "\ndisk=%020" PRIu64
                            "\nuid=%020" PRIu64 "\npid=%020" PRIu64 "\nstart=%020" PRIu64
                            "\nmonitor=%020" PRIu64 "\nmonitor_start=%020" PRIu64 "\nend\n",
                     e->machine_id, e->memory_bytes, e->vcpus, e->disk_bytes, (uint64_t)e->uid,
                     (uint64_t)e->pid, e->start_ticks, (uint64_t)e->monitor_pid, e->monitor_start);

    if (n < 0 || (size_t)n >= sizeof(text)) {
        return -EOVERFLOW;
    }
    do {
        done = pwrite(fd, text, (size_t)n, 0);
    } while (done < 0 && errno == EINTR);
    if (done < 0) {
        return -errno;
    }
    return done == n ? 0 : -ENOSPC;
}

/* Cuts "key=VALUE\n" off *at; NULL if it does not stand there. */
static char *take_line(char **at, const char *key)
{
    size_t n = strlen(key);
    char *value = *at + n + 1;
    char *end = NULL;

    if (strncmp(*at, key, n) != 0 || (*at)[n] != '=') {
        return NULL;
    }
    end = strchr(value, '\n');
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    *at = end + 1;
    return value;
}

static bool take_number(char **at, const char *key, uint64_t max, uint64_t *ret)
{
    const char *value = take_line(at, key);

    return value != NULL && num_parse_u64(value, ret) == 0 && *ret <= max;
}

/* False if the text is not exactly what ledger_put() writes. */
static bool parse(char *text, uid_t uid, struct ledger_entry *ret)
{
    char *at = text;
    const char *id = NULL;
    uint64_t said_uid = 0;
    uint64_t pid = 0;
    uint64_t monitor = 0;

    if (strncmp(at, HEADER, strlen(HEADER)) != 0) {
        return false;
    }
    at += strlen(HEADER);
    id = take_line(&at, "id");
    if (id == NULL || !ledger_id_ok(id)) {
        return false;
    }
    (void)snprintf(ret->machine_id, sizeof(ret->machine_id), "%s", id);
    if (!take_number(&at, "memory", UINT64_MAX, &ret->memory_bytes) ||
        !take_number(&at, "vcpus", UINT64_MAX, &ret->vcpus) ||
        !take_number(&at, "disk", UINT64_MAX, &ret->disk_bytes) ||
        !take_number(&at, "uid", UINT32_MAX, &said_uid) ||
        !take_number(&at, "pid", INT32_MAX, &pid) ||
        !take_number(&at, "start", UINT64_MAX, &ret->start_ticks) ||
        !take_number(&at, "monitor", INT32_MAX, &monitor) ||
        !take_number(&at, "monitor_start", UINT64_MAX, &ret->monitor_start)) {
        return false;
    }
    ret->pid = (pid_t)pid;
    ret->monitor_pid = (pid_t)monitor;
    return strcmp(at, "end\n") == 0 && said_uid == uid;
}

static bool lives(pid_t pid, uint64_t start_ticks)
{
    return pid > 0 && start_ticks != 0 && ledger_start_ticks(pid) == start_ticks;
}

static void check_text(const struct ledger_dir *dir, char *text, struct ledger_entry *ret)
{
    ret->readable = parse(text, ledger_uid(dir->tag, ret->number), ret);
    if (!ret->readable) {
        *ret =
            (struct ledger_entry){.number = ret->number, .uid = ledger_uid(dir->tag, ret->number)};
        (void)snprintf(ret->why, sizeof(ret->why),
                       "slots/%u is not what this airlock writes (another version, or damaged)",
                       ret->number);
        return;
    }
    ledger_group_name(dir->tag, ret->machine_id, ret->group);
    ret->pid_lives = lives(ret->pid, ret->start_ticks);
    ret->monitor_lives = lives(ret->monitor_pid, ret->monitor_start);
}

int ledger_look(const struct ledger_dir *dir, unsigned int number, enum ledger_state *ret_state,
                struct ledger_entry *ret, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    char name[16];
    char text[LEDGER_TEXT_SIZE] = "";
    size_t n = 0;
    bool locked = false;
    int r = 0;

    *ret = (struct ledger_entry){.number = number, .uid = ledger_uid(dir->tag, number)};
    *ret_state = LEDGER_MISSING;
    (void)snprintf(name, sizeof(name), "%u", number);
    fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return 0;
    }
    if (fd < 0 || fstat(fd, &st) < 0) {
        return err_sys(err, "open 'slots/%s' in the state directory", name);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(err, ERR_HOST, EBADMSG,
                       "'slots/%s' in the state directory is no plain file; remove it", name);
    }
    locked = flock(fd, LOCK_SH | LOCK_NB) < 0;
    if (locked && errno != EWOULDBLOCK) {
        return err_sys(err, "test the lock of 'slots/%s' in the state directory", name);
    }
    if (st.st_size == 0) {
        *ret_state = locked ? LEDGER_LIVE : LEDGER_FREE;
        ret->readable = true;
        return 0;
    }
    *ret_state = locked ? LEDGER_LIVE : LEDGER_STALE;
    r = fd_pread_full(fd, text, sizeof(text) - 1, 0, &n, err);
    if (r < 0) {
        return err_wrap(err, "slots/%s", name);
    }
    text[n] = '\0';
    check_text(dir, text, ret);
    return 0;
}

static void dir_close_p(DIR **dir)
{
    if (*dir != NULL) {
        (void)closedir(*dir);
    }
}

/* "17", not "017": a name that ledger_look() makes again. */
static bool slot_number(const char *name, unsigned int *ret)
{
    uint64_t v = 0;

    if (num_parse_u64(name, &v) < 0 || v >= LEDGER_NUMBERS || (name[0] == '0' && v != 0) ||
        (v == 0 && name[1] != '\0')) {
        return false;
    }
    *ret = (unsigned int)v;
    return true;
}

int ledger_each(const struct ledger_dir *dir, ledger_each_fn *fn, void *arg, struct err *err)
{
    __attribute__((cleanup(dir_close_p))) DIR *list = NULL;
    auto_fd int copy = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *file = NULL;
    int r = 0;

    list = copy >= 0 ? fdopendir(copy) : NULL;
    if (list == NULL) {
        return err_sys(err, "list 'slots' in the state directory");
    }
    copy = -1; /* list's now */
    while (r == 0) {
        enum ledger_state state = LEDGER_MISSING;
        struct ledger_entry entry;
        unsigned int number = 0;

        errno = 0;
        file = readdir(list); /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (file == NULL) {
            return errno == 0 ? 0 : err_sys(err, "list 'slots' in the state directory");
        }
        if (!slot_number(file->d_name, &number)) {
            continue;
        }
        r = ledger_look(dir, number, &state, &entry, err);
        if (r == 0) {
            r = fn(arg, state, &entry, err);
        }
    }
    return r;
}
