/*
 * How it works: ensure_airlock() makes and prepares `airlock` in one hierarchy, make_member() a
 * machine's group below it.  Because a finished machine removes an empty `airlock`, both may lose
 * it to another process between two calls and start again.  The limits are in cgroup-limit.c,
 * reading, killing and removing in cgroup-run.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/cgroup-internal.h"
#include "sys/fd.h"

#define RACE_TRIES 100

static const struct {
    enum cgroup_part part;
    const char *enable;
} v2_controllers[] = {
    {CGROUP_MEMORY, "+memory"},
    {CGROUP_PIDS, "+pids"},
    {CGROUP_CPU, "+cpu"},
    {CGROUP_IO, "+io"},
};

int cgroup_read(int dir, const char *name, char *text, size_t size)
{
    auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    size_t n = 0;

    if (fd < 0) {
        return -errno;
    }
    while (n < size) {
        ssize_t got = read(fd, text + n, size - n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            text[n] = '\0';
            return 0;
        }
        n += (size_t)got;
    }
    return -EFBIG;
}

/* The kernel takes a control file's text by one write() or not at all. */
static int write_once(int fd, const char *text)
{
    ssize_t n = 0;

    do {
        n = write(fd, text, strlen(text));
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int cgroup_write(int dir, const char *name, const char *text)
{
    auto_fd int fd = openat(dir, name, O_WRONLY | O_TRUNC | O_CLOEXEC);

    return fd < 0 ? -errno : write_once(fd, text);
}

bool cgroup_name_ok(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

    return n > 0 && n < CGROUP_NAME_SIZE && name[n] == '\0' && name[0] != '-' && name[0] != '_' &&
           name[0] != '.';
}

/* A plain directory below dir, never through a link. -errno. */
static int open_dir(int dir, const char *name, int *ret)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        return -errno;
    }
    *ret = fd;
    return 0;
}

/* mkdir that takes an existing directory for success. -errno. */
static int make_dir(const struct cgroup_host *host, int dir, const char *name, bool v2)
{
    auto_fd int made = -1;
    int r = 0;

    if (mkdirat(dir, name, 0755) < 0) {
        return errno == EEXIST ? 0 : -errno;
    }
    if (host->fake != NULL) {
        r = open_dir(dir, name, &made);
        if (r == 0) {
            host->fake->made(made, v2);
        }
    }
    return r;
}

static bool is_used(const struct cgroup_host *host, size_t tree)
{
    for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
        if (host->where[part] == (int)tree) {
            return true;
        }
    }
    return false;
}

/* Of v2's controllers those that this tree serves and that have to be enabled. */
static unsigned int wanted_controllers(const struct cgroup_host *host, size_t tree)
{
    unsigned int wanted = 0;

    for (size_t i = 0; host->trees[tree].v2 && i < ARRAY_LEN(v2_controllers); i++) {
        if (host->where[v2_controllers[i].part] == (int)tree) {
            wanted |= 1u << v2_controllers[i].part;
        }
    }
    return wanted;
}

/*
 * Enables what is wanted for the children of dir, one by one, so that one refusal takes none of the
 * others along. A refused one is gone from the tree, with the reason.
 */
static void enable(struct cgroup_host *host, size_t tree, int dir, const char *what)
{
    unsigned int wanted = wanted_controllers(host, tree);
    char why[CGROUP_WHY_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(v2_controllers); i++) {
        enum cgroup_part part = v2_controllers[i].part;
        int r = 0;

        if ((wanted & 1u << part) == 0) {
            continue;
        }
        r = cgroup_write(dir, "cgroup.subtree_control", v2_controllers[i].enable);
        if (r < 0) {
            host->trees[tree].parts &= ~(1u << part);
            (void)snprintf(why, sizeof(why), "can't be enabled under %.90s%s: %s%s",
                           host->trees[tree].base, what, strerrordesc_np(-r),
                           r == -EBUSY ? " (other processes are in that group)" : "");
            memcpy(host->why[part], why, sizeof(why));
        }
    }
}

/* cgroup-v2.rst, "No Internal Process Constraint": out of base, into a leaf of it. -errno. */
static int enter_leaf(const struct cgroup_host *host, int base)
{
    auto_fd int leaf = -1;
    int r = make_dir(host, base, CGROUP_LEAF, true);

    if (r == 0) {
        r = open_dir(base, CGROUP_LEAF, &leaf);
    }
    return r == 0 ? cgroup_write(leaf, "cgroup.procs", "0") : r;
}

/* Opens base and `airlock` of a tree, made and prepared. -errno. */
static int ensure_airlock(struct cgroup_host *host, size_t index, int *ret_base, int *ret_airlock)
{
    const struct cgroup_tree *tree = &host->trees[index];
    auto_fd int base = open(tree->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int airlock = -1;
    int r = 0;

    if (base < 0) {
        return -errno;
    }
    if (wanted_controllers(host, index) != 0) {
        if (tree->leaf_first) {
            r = enter_leaf(host, base);
        }
        if (r < 0) {
            return r;
        }
        enable(host, index, base, "");
    }
    for (int tries = 0; tries < RACE_TRIES; tries++) {
        r = make_dir(host, base, CGROUP_GROUP, tree->v2);
        if (r == 0) {
            r = open_dir(base, CGROUP_GROUP, &airlock);
        }
        if (r != -ENOENT) {
            break;
        }
    }
    if (r < 0) {
        return r;
    }
    enable(host, index, airlock, "/" CGROUP_GROUP);
    *ret_base = STEAL_FD(&base);
    *ret_airlock = STEAL_FD(&airlock);
    return 0;
}

int cgroup_prepare(struct cgroup_host *host, struct err *err)
{
    unsigned int done = 0;

    /* A refused controller can bring another hierarchy into use: until nothing is left to do. */
    for (size_t i = 0; i < host->n_trees; i++) {
        auto_fd int base = -1;
        auto_fd int airlock = -1;
        int r = 0;

        if ((done & 1u << i) != 0 || !is_used(host, i)) {
            continue;
        }
        r = ensure_airlock(host, i, &base, &airlock);
        if (r < 0) {
            return err_sys_num(err, -r, "make the control group '%s/" CGROUP_GROUP "'",
                               host->trees[i].base);
        }
        done |= 1u << i;
        cgroup_choose(host);
        i = SIZE_MAX; /* from the first again */
    }
    return 0;
}

static void member_fini(struct cgroup_member *m)
{
    fd_close_p(&m->procs_fd);
    fd_close_p(&m->dir_fd);
    fd_close_p(&m->parent_fd);
    fd_close_p(&m->base_fd);
}

void cgroup_fini(struct cgroup *group)
{
    for (size_t i = 0; i < group->n_members; i++) {
        member_fini(&group->members[i]);
    }
    fd_close_p(&group->cpu_fd);
    *group = (struct cgroup)CGROUP_INIT;
}

static void set_where(const struct cgroup_host *host, size_t tree, struct cgroup *group)
{
    for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
        if (host->where[part] == (int)tree) {
            group->where[part] = (int)group->n_members;
        }
    }
}

static void open_cpu(struct cgroup *group)
{
    int where = group->where[CGROUP_CPUTIME];

    if (where >= 0) {
        const struct cgroup_member *m = &group->members[where];

        group->cpu_fd =
            openat(m->dir_fd, m->v2 ? "cpu.stat" : "cpuacct.usage", O_RDONLY | O_CLOEXEC);
    }
}

/* `airlock/NAME` in one tree, new. The group owns the new directory as soon as it exists. */
static int make_member(struct cgroup_host *host, size_t index, struct cgroup *group,
                       struct err *err)
{
    struct cgroup_member *m = &group->members[group->n_members];
    const char *base = host->trees[index].base;
    int r = 0;

    m->v2 = host->trees[index].v2;
    for (int tries = 0; tries < RACE_TRIES; tries++) {
        member_fini(m);
        r = ensure_airlock(host, index, &m->base_fd, &m->parent_fd);
        if (r < 0) {
            break;
        }
        r = mkdirat(m->parent_fd, group->name, 0755) < 0 ? -errno : 0;
        if (r != -ENOENT && r != -ENODEV) { /* else another process removed `airlock` just now */
            break;
        }
    }
    if (r == 0) {
        r = open_dir(m->parent_fd, group->name, &m->dir_fd);
        if (r < 0) { /* ours, but not yet the caller's to remove */
            (void)unlinkat(m->parent_fd, group->name, AT_REMOVEDIR);
        }
    }
    if (r < 0) {
        member_fini(m);
        if (r == -EEXIST) {
            return err_set(err, ERR_HOST, EEXIST,
                           "control group '%s/" CGROUP_GROUP "/%s' exists already; a machine's "
                           "name is used once",
                           base, group->name);
        }
        return err_sys_num(err, -r, "make the control group '%s/" CGROUP_GROUP "/%s'", base,
                           group->name);
    }
    set_where(host, index, group);
    group->n_members++;
    if (host->fake != NULL) {
        host->fake->made(m->dir_fd, m->v2);
    }
    m->procs_fd = openat(m->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return m->procs_fd < 0 ? err_sys(err, "open cgroup.procs of '%s'", group->name) : 0;
}

int cgroup_make(struct cgroup_host *host, const char *name, struct cgroup *ret, struct err *err)
{
    int r = 0;

    if (!cgroup_name_ok(name)) {
        return err_usage(err, "'%.40s' is no name for a machine's control group", name);
    }
    r = cgroup_prepare(host, err);
    if (r < 0) {
        return r;
    }
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->fake = host->fake;
    for (size_t i = 0; i < host->n_trees && r == 0; i++) {
        if (is_used(host, i)) {
            r = make_member(host, i, ret, err);
        }
    }
    if (r == 0) {
        open_cpu(ret);
    }
    return r;
}

/* Opens what stands of the group in one tree; 0 and no member if nothing does. -errno. */
static int open_member(const struct cgroup_host *host, size_t index, struct cgroup *group)
{
    struct cgroup_member *m = &group->members[group->n_members];
    int r = 0;

    m->v2 = host->trees[index].v2;
    r = open_dir(AT_FDCWD, host->trees[index].base, &m->base_fd);
    if (r == 0) {
        r = open_dir(m->base_fd, CGROUP_GROUP, &m->parent_fd);
    }
    if (r == 0) {
        r = open_dir(m->parent_fd, group->name, &m->dir_fd);
    }
    if (r < 0) {
        member_fini(m);
        return r == -ENOENT ? 0 : r;
    }
    m->procs_fd = openat(m->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    set_where(host, index, group);
    group->n_members++;
    return 0;
}

int cgroup_open(const struct cgroup_host *host, const char *name, struct cgroup *ret,
                struct err *err)
{
    if (!cgroup_name_ok(name)) {
        return err_usage(err, "'%.40s' is no name for a machine's control group", name);
    }
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->fake = host->fake;
    for (size_t i = 0; i < host->n_trees; i++) {
        int r = host->trees[i].usable ? open_member(host, i, ret) : 0;

        if (r < 0) {
            return err_sys_num(err, -r, "open the control group '%s/" CGROUP_GROUP "/%s'",
                               host->trees[i].base, name);
        }
    }
    if (ret->n_members == 0) {
        return err_set(err, ERR_USAGE, ENOENT, "there is no control group '" CGROUP_GROUP "/%s'",
                       name);
    }
    open_cpu(ret);
    return 0;
}

int cgroup_clone_fd(const struct cgroup *group)
{
    for (size_t i = 0; i < group->n_members; i++) {
        if (group->members[i].v2) {
            return group->members[i].dir_fd;
        }
    }
    return -1;
}

int cgroup_enter(const struct cgroup *group, bool in_v2)
{
    for (size_t i = 0; i < group->n_members; i++) {
        int r = 0;

        if (!(group->members[i].v2 && in_v2)) {
            r = write_once(group->members[i].procs_fd, "0");
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int cgroup_attach(const struct cgroup *group, pid_t pid, struct err *err)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    for (size_t i = 0; i < group->n_members; i++) {
        int r = write_once(group->members[i].procs_fd, text);

        if (r < 0) {
            return err_sys_num(err, -r, "move process %d into the control group '%s' (%s)",
                               (int)pid, group->name, group->members[i].v2 ? "v2" : "v1");
        }
    }
    return 0;
}

static void dir_close_p(DIR **dir)
{
    if (*dir != NULL) {
        (void)closedir(*dir);
    }
}

/* True if one of the first n `airlock` directories has that name: it was reported from there. */
static bool listed_before(const int *airlocks, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (airlocks[i] >= 0 && faccessat(airlocks[i], name, F_OK, 0) == 0) {
            return true;
        }
    }
    return false;
}

struct listing {
    cgroup_found_fn *found;
    void *arg;
    size_t n; /* reported so far */
};

/* Reports the groups of airlocks[at] that no earlier hierarchy has. */
static int list_tree(const int *airlocks, size_t at, struct listing *list, struct err *err)
{
    __attribute__((cleanup(dir_close_p))) DIR *dir = NULL;
    auto_fd int copy = openat(airlocks[at], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry = NULL;
    int r = 0;

    dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL) {
        return err_sys(err, "list the control groups under '" CGROUP_GROUP "'");
    }
    copy = -1; /* dir's now */
    while (r == 0 && list->n < CGROUP_LIST_MAX) {
        errno = 0;
        entry = readdir(dir); /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (entry == NULL) {
            return errno == 0 ? 0
                              : err_sys(err, "list the control groups under '" CGROUP_GROUP "'");
        }
        if (entry->d_type == DT_DIR && cgroup_name_ok(entry->d_name) &&
            !listed_before(airlocks, at, entry->d_name)) {
            list->n++;
            r = list->found(list->arg, entry->d_name, err);
        }
    }
    return r;
}

int cgroup_list(const struct cgroup_host *host, cgroup_found_fn *found, void *arg, struct err *err)
{
    int airlocks[CGROUP_TREES_MAX];
    struct listing list = {.found = found, .arg = arg};
    int r = 0;

    for (size_t i = 0; i < host->n_trees; i++) {
        auto_fd int base = -1;

        airlocks[i] = -1;
        if (host->trees[i].usable && open_dir(AT_FDCWD, host->trees[i].base, &base) == 0 &&
            open_dir(base, CGROUP_GROUP, &airlocks[i]) < 0) {
            airlocks[i] = -1;
        }
    }
    for (size_t i = 0; i < host->n_trees && r == 0; i++) {
        r = airlocks[i] >= 0 ? list_tree(airlocks, i, &list, err) : 0;
    }
    for (size_t i = 0; i < host->n_trees; i++) {
        fd_close_p(&airlocks[i]);
    }
    return r;
}
