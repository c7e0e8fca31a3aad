#include "sup/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sup/ledger-internal.h"
#include "sup/prefix.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define LOCK_WAIT_NS (2 * NS_PER_S)
#define NAME_SIZE    (RECORDS_ID_SIZE + sizeof(".json"))
#define REMOVE_MAX   1024 /* records removed by one look at the limits: bounded work */

const struct records_limits records_limits_default = {
    .count = 4096,
    .bytes = 64 * MIB,
    .age_ns = 30ull * 24 * 3600 * NS_PER_S,
    .every = 64,
};

static bool id_ok(const char *id)
{
    return strlen(id) == RECORDS_ID_SIZE - 1 &&
           strspn(id, "0123456789abcdef") == RECORDS_ID_SIZE - 1;
}

static void name_of(const char *id, char name[NAME_SIZE])
{
    (void)snprintf(name, NAME_SIZE, "%.32s.json", id);
}

/* -ENOENT as ERR_HOST if there is none and make is false. */
static int open_dir(int store_fd, bool make, int *ret, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    int r = 0;

    if (make && mkdirat(store_fd, "records", 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "make the directory 'records' in the state directory");
    }
    r = fd_open_nolink(store_fd, "records", O_RDONLY | O_DIRECTORY, 0, &fd, err);
    if (r < 0) {
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat 'records' in the state directory");
    }
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_HOST, EPERM,
                       "'records' in the state directory belongs to uid %u with mode %04o: nobody "
                       "but uid %u may write it",
                       (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777),
                       (unsigned int)geteuid());
    }
    *ret = STEAL_FD(&fd);
    return 0;
}

static void dir_close_p(DIR **d)
{
    if (*d != NULL) {
        (void)closedir(*d);
    }
}

static int newest_first(const void *a, const void *b)
{
    const struct records_item *x = a;
    const struct records_item *y = b;

    if (x->mtime_ns != y->mtime_ns) {
        return x->mtime_ns > y->mtime_ns ? -1 : 1;
    }
    return strcmp(x->id, y->id);
}

/* True if the entry is a record; its size and time then. */
static bool look(int dir, const char *name, struct records_item *ret)
{
    struct stat st = {0};
    char same[NAME_SIZE];

    (void)snprintf(ret->id, sizeof(ret->id), "%.32s", name);
    if (!id_ok(ret->id)) {
        return false;
    }
    name_of(ret->id, same);
    if (strcmp(name, same) != 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(st.st_mode)) {
        return false;
    }
    ret->bytes = (uint64_t)st.st_size;
    ret->mtime_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
    return true;
}

static int list_dir(int dir, struct records_item **ret, size_t *ret_n, struct err *err)
{
    __attribute__((cleanup(dir_close_p))) DIR *list = NULL;
    auto_free struct records_item *items = NULL;
    auto_fd int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry = NULL;
    size_t n = 0;
    size_t room = 0;

    list = again >= 0 ? fdopendir(again) : NULL;
    if (list == NULL) {
        return err_sys(err, "list 'records' in the state directory");
    }
    (void)STEAL_FD(&again);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): own DIR */
    while (n < RECORDS_LIST_MAX && (entry = readdir(list)) != NULL) {
        if (n == room) {
            struct records_item *more =
                reallocarray(items, room == 0 ? 256 : room * 2, sizeof(*items));

            if (more == NULL) {
                return err_set(err, ERR_HOST, ENOMEM, "out of memory listing the records");
            }
            items = more;
            room = room == 0 ? 256 : room * 2;
        }
        n += look(dir, entry->d_name, &items[n]);
    }
    if (n > 0) {
        qsort(items, n, sizeof(*items), newest_first);
    }
    *ret = STEAL_PTR(&items);
    *ret_n = n;
    return 0;
}

int records_list(int store_fd, struct records_item **ret, size_t *ret_n, struct err *err)
{
    auto_fd int dir = -1;
    int r = open_dir(store_fd, false, &dir, err);

    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        *ret = NULL;
        *ret_n = 0;
        return 0;
    }
    return r < 0 ? r : list_dir(dir, ret, ret_n, err);
}

/* With the lock held. What can't be removed stays; the next look tries again. */
static int enforce(int dir, const struct records_limits *limits, struct err *err)
{
    auto_free struct records_item *items = NULL;
    uint64_t now = clock_ns(CLOCK_REALTIME);
    uint64_t bytes = 0;
    size_t n = 0;
    size_t keep = 0;
    int r = list_dir(dir, &items, &n, err);

    if (r < 0) {
        return r;
    }
    while (keep < n && keep < limits->count && bytes + items[keep].bytes <= limits->bytes &&
           (items[keep].mtime_ns >= now || now - items[keep].mtime_ns <= limits->age_ns)) {
        bytes += items[keep].bytes;
        keep++;
    }
    for (size_t i = n; i > keep && n - i < REMOVE_MAX; i--) {
        char name[NAME_SIZE];

        name_of(items[i - 1].id, name);
        (void)unlinkat(dir, name, 0);
    }
    return 0;
}

/* The counter in the lock file; a damaged one counts as due. */
static bool limits_due(int lock, const struct records_limits *limits)
{
    uint64_t writes = 0;
    bool due = pread(lock, &writes, sizeof(writes), 0) != (ssize_t)sizeof(writes) ||
               writes + 1 >= limits->every;

    writes = due ? 0 : writes + 1;
    return pwrite(lock, &writes, sizeof(writes), 0) != (ssize_t)sizeof(writes) || due;
}

/* The name of a write in progress; whoever has the lock may replace one that a crash left. */
#define NEW_NAME ".new"

static int write_new(int dir, const struct buf *json, struct err *err)
{
    auto_fd int fd = -1;
    int r = 0;

    (void)unlinkat(dir, NEW_NAME, 0);
    r = fd_open_nolink(dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, err);
    if (r == 0) {
        r = fd_write_full(fd, json->data, json->len, err);
    }
    return r;
}

int records_put(int store_fd, const char *id, const struct buf *json, bool replace,
                const struct records_limits *limits, struct err *err)
{
    auto_fd int dir = -1;
    auto_fd int lock = -1;
    char name[NAME_SIZE];
    int r = 0;

    if (!id_ok(id)) {
        return err_usage(err, "'%.40s' is no id of a job", id);
    }
    r = open_dir(store_fd, true, &dir, err);
    if (r == 0) {
        r = fd_open_nolink(dir, ".lock", O_RDWR | O_CREAT, 0600, &lock, err);
    }
    if (r < 0) {
        return r;
    }
    r = ledger_lock(lock, LOCK_WAIT_NS);
    if (r < 0) {
        return err_sys_num(err, -r, "lock 'records/.lock' in the state directory");
    }
    name_of(id, name);
    if (!replace && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return 1;
    }
    r = write_new(dir, json, err);
    if (r == 0 && renameat(dir, NEW_NAME, dir, name) < 0) {
        r = err_sys(err, "rename");
    }
    if (r < 0) {
        (void)unlinkat(dir, NEW_NAME, 0);
        return err_wrap(err, "store the record 'records/%s'", name);
    }
    return limits_due(lock, limits) ? enforce(dir, limits, err) : 0;
}

int records_put_lost(int store_fd, const struct ledger_entry *entry, struct err *err)
{
    auto_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
    struct events events = {0};
    struct spec spec;
    struct result result = {.spec = &spec, .events = &events};
    struct record record = {.state = RECORD_LOST, .written_by = "next start", .id_only = true};
    int r = 0;

    if (!entry->readable || !id_ok(entry->machine_id)) {
        return 0; /* no job of ours that had an id */
    }
    spec_init(&spec);
    (void)snprintf(result.machine_id, sizeof(result.machine_id), "%.32s", entry->machine_id);
    events_add(&events, EVENT_HOST_FAULT, 0, "supervisor_lost", NULL);
    result.checks[result.n_checks++] = (struct result_check){"control_group_gone", true, ""};
    r = record_json(&result, &record, &json);
    spec_fini(&spec);
    if (r < 0) {
        return err_sys_num(err, -r, "make the record of a lost job");
    }
    r = records_put(store_fd, entry->machine_id, &json, false, &records_limits_default, err);
    return r < 0 ? r : 0;
}

int records_load(int store_fd, const char *id, struct buf *ret, struct err *err)
{
    auto_fd int dir = -1;
    auto_fd int fd = -1;
    char name[NAME_SIZE];
    int r = open_dir(store_fd, false, &dir, err);

    name_of(id, name);
    if (r == 0) {
        r = fd_open_nolink(dir, name, O_RDONLY | O_NONBLOCK, 0, &fd, err);
    }
    return r < 0 ? r : fd_read_all(fd, name, ret, err);
}

int records_read(int store_fd, const char *prefix, char ret_id[RECORDS_ID_SIZE], struct buf *ret,
                 struct err *err)
{
    static const struct prefix_kind kind = {.thing = "record",
                                            .article = "an",
                                            .name = "id",
                                            .list = "airlock records list",
                                            .digits = RECORDS_ID_SIZE - 1};
    auto_free struct records_item *items = NULL;
    struct prefix p;
    size_t n = 0;
    int r = prefix_begin(&p, &kind, prefix, err);

    if (r == 0) {
        r = records_list(store_fd, &items, &n, err);
    }
    for (size_t i = 0; i < n; i++) {
        prefix_offer(&p, items[i].id);
    }
    if (r == 0) {
        r = prefix_end(&p, err);
    }
    if (r < 0) {
        return r;
    }
    (void)snprintf(ret_id, RECORDS_ID_SIZE, "%s", p.found);
    return records_load(store_fd, ret_id, ret, err);
}
