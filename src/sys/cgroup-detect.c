/*
 * How it works: cgroup_parse() turns the two texts of /proc/self into a list of hierarchies with
 * paths, cgroup_probe() asks the file system what may be done there, cgroup_choose() picks a
 * hierarchy for each part.  Only the second touches anything but its arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/cgroup-internal.h"
#include "sys/fd.h"

#define PROC_TEXT_MAX (4 * MIB) /* a container host has thousands of mounts */

struct span {
    const char *p;
    size_t n;
};

static const struct {
    const char *name;
    enum cgroup_part part;
    bool v1, v2;
} controllers[] = {
    {"memory", CGROUP_MEMORY, true, true}, {"pids", CGROUP_PIDS, true, true},
    {"cpu", CGROUP_CPU, true, true},       {"cpuacct", CGROUP_CPUTIME, true, false},
    {"io", CGROUP_IO, false, true},        {"blkio", CGROUP_IO, true, false},
    {"freezer", CGROUP_KILL, true, false},
};

const char *cgroup_part_name(enum cgroup_part part)
{
    static const char *const names[CGROUP_N_PARTS] = {"memory",   "pids", "cpu",
                                                      "cpu time", "io",   "kill"};

    return names[part];
}

static bool span_is(struct span s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* Cuts the text up to sep (or all of it) off the front of s. False if s is empty. */
static bool cut(struct span *s, char sep, struct span *ret)
{
    const char *end = NULL;

    if (s->n == 0) {
        return false;
    }
    end = memchr(s->p, sep, s->n);
    *ret = (struct span){s->p, end != NULL ? (size_t)(end - s->p) : s->n};
    if (end == NULL) {
        *s = (struct span){s->p + s->n, 0};
    } else {
        *s = (struct span){end + 1, s->n - ret->n - 1};
    }
    return true;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* mountinfo writes blanks and backslashes as \OOO (proc(5)). False if it does not fit. */
static bool unescape(struct span s, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '\\' && i + 3 < s.n && is_octal(s.p[i + 1]) && is_octal(s.p[i + 2]) &&
            is_octal(s.p[i + 3])) {
            c = (char)(((s.p[i + 1] - '0') << 6) | ((s.p[i + 2] - '0') << 3) | (s.p[i + 3] - '0'));
            i += 3;
        }
        if (n + 1 >= size || c == '\0') {
            return false;
        }
        out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

/* Parts of a comma-separated list of v1 controllers; other words count nothing. */
static unsigned int v1_parts(struct span list)
{
    struct span word = {0};
    unsigned int parts = 0;

    while (cut(&list, ',', &word)) {
        for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
            if (controllers[i].v1 && span_is(word, controllers[i].name)) {
                parts |= 1u << controllers[i].part;
            }
        }
    }
    return parts;
}

/*
 * The caller's path in a hierarchy: "N:controllers:/path", v2 is "0::/path" (cgroups.rst 1.2,
 * cgroup-v2.rst "Processes"). A removed group (" (deleted)") and one outside of the namespace
 * ("/..") give nothing. An earlier line wins, there is one for each hierarchy.
 */
static bool own_path(const char *self_cgroup, const struct cgroup_tree *tree, struct span *ret)
{
    static const char gone[] = " (deleted)";
    struct span text = {self_cgroup, strlen(self_cgroup)};
    struct span line = {0};

    while (cut(&text, '\n', &line)) {
        struct span id = {0};
        struct span list = {0};

        if (!cut(&line, ':', &id) || line.n == 0) {
            continue;
        }
        if (line.p[0] == ':') { /* an empty list: v2 */
            line = (struct span){line.p + 1, line.n - 1};
        } else if (!cut(&line, ':', &list)) {
            continue;
        }
        if (tree->v2 ? !span_is(id, "0") : (v1_parts(list) & tree->parts) == 0) {
            continue;
        }
        *ret = line;
        return line.n > 0 && line.p[0] == '/' && !(line.n >= 3 && memcmp(line.p, "/..", 3) == 0) &&
               !(line.n >= sizeof(gone) - 1 &&
                 memcmp(line.p + line.n - (sizeof(gone) - 1), gone, sizeof(gone) - 1) == 0);
    }
    return false;
}

/* mount + what of the own path lies below the mount's root. Leaves own empty if nothing does. */
static void set_own(const char *self_cgroup, const char *root, struct cgroup_tree *tree)
{
    struct span own = {0};
    size_t root_len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    int n = 0;

    if (!own_path(self_cgroup, tree, &own)) {
        return;
    }
    if (own.n < root_len || memcmp(own.p, root, root_len) != 0 ||
        (own.n > root_len && own.p[root_len] != '/')) {
        return;
    }
    own = (struct span){own.p + root_len, own.n - root_len};
    if (own.n == 1) {
        own.n = 0; /* "/": the mount itself */
    }
    n = snprintf(tree->own, sizeof(tree->own), "%s%.*s", tree->mount, (int)own.n, own.p);
    if (n < 0 || (size_t)n >= sizeof(tree->own)) {
        tree->own[0] = '\0';
    }
}

/* "ID PARENT MAJ:MIN ROOT MOUNT OPTIONS [TAGS] - TYPE SOURCE SUPEROPTIONS" (proc(5)). */
static bool parse_mount(struct span line, const char *self_cgroup, struct cgroup_tree *ret)
{
    struct span f[6] = {0};
    struct span type = {0};
    struct span source = {0};
    struct span tag = {0};
    char root[CGROUP_PATH_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(f); i++) {
        if (!cut(&line, ' ', &f[i])) {
            return false;
        }
    }
    do {
        if (!cut(&line, ' ', &tag)) {
            return false;
        }
    } while (!span_is(tag, "-"));
    if (!cut(&line, ' ', &type) || !cut(&line, ' ', &source)) {
        return false;
    }
    *ret = (struct cgroup_tree){.v2 = span_is(type, "cgroup2")};
    if (!ret->v2) {
        ret->parts = span_is(type, "cgroup") ? v1_parts(line) : 0;
        if (ret->parts == 0) {
            return false; /* no cgroup, or one that has nothing for us: name=systemd, cpuset */
        }
    }
    if (!unescape(f[3], root, sizeof(root)) || !unescape(f[4], ret->mount, sizeof(ret->mount)) ||
        ret->mount[0] != '/') {
        return false;
    }
    set_own(self_cgroup, root, ret);
    return true;
}

void cgroup_parse(const char *mountinfo, const char *self_cgroup, struct cgroup_host *ret)
{
    struct span text = {mountinfo, strlen(mountinfo)};
    struct span line = {0};

    *ret = (struct cgroup_host){0};
    while (ret->n_trees < CGROUP_TREES_MAX && cut(&text, '\n', &line)) {
        if (parse_mount(line, self_cgroup, &ret->trees[ret->n_trees])) {
            ret->n_trees++;
        }
    }
    cgroup_choose(ret);
}

bool cgroup_parse_swaps(const char *text)
{
    const char *header_end = strchr(text, '\n');

    return header_end != NULL && header_end[1] != '\0';
}

static unsigned int v2_parts(int dir, const char *file)
{
    char text[512];
    struct span words = {0};
    struct span word = {0};
    unsigned int parts = 0;

    if (cgroup_read(dir, file, text, sizeof(text)) < 0) {
        return 0;
    }
    words = (struct span){text, strcspn(text, "\n")};
    while (cut(&words, ' ', &word)) {
        for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
            if (controllers[i].v2 && span_is(word, controllers[i].name)) {
                parts |= 1u << controllers[i].part;
            }
        }
    }
    return parts;
}

/* Whether `airlock` can be made in path; if so it becomes the base. */
static bool try_base(struct cgroup_tree *tree, const char *path)
{
    auto_fd int dir = -1;
    char type[64] = "";
    int r = 0;

    if (path[0] == '\0') {
        (void)snprintf(tree->why, sizeof(tree->why),
                       "our own group is not below the mount of this hierarchy");
        return false;
    }
    dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0 ||
        faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0) {
        (void)snprintf(tree->why, sizeof(tree->why), "%.90s: %s", path,
                       errno == EACCES   ? "not ours to write (run as root, or delegated: "
                                           "systemd-run --user --scope -p Delegate=yes ...)"
                       : errno == EROFS  ? "mounted read-only"
                       : errno == ENOENT ? "there is no such directory"
                                         : "it can't be used");
        return false;
    }
    if (tree->v2) {
        r = cgroup_read(dir, "cgroup.type", type, sizeof(type));
        /* Only the real root has no type; threaded groups take no memory controller. */
        if (r == 0 && strcmp(type, "domain\n") != 0) {
            (void)snprintf(tree->why, sizeof(tree->why), "%.100s: it is a threaded group", path);
            return false;
        }
        tree->leaf_first = r == 0;
        tree->parts =
            v2_parts(dir, "cgroup.controllers") | 1u << CGROUP_CPUTIME | 1u << CGROUP_KILL;
    }
    (void)snprintf(tree->base, sizeof(tree->base), "%s", path);
    tree->usable = true;
    tree->why[0] = '\0';
    return true;
}

/* Puts root before a path that is not empty. */
static void rebase(char path[CGROUP_PATH_SIZE], const char *root)
{
    char copy[CGROUP_PATH_SIZE];
    int n = 0;

    if (path[0] == '\0' || root[0] == '\0') {
        return;
    }
    memcpy(copy, path, sizeof(copy));
    n = snprintf(path, CGROUP_PATH_SIZE, "%s%s", root, copy);
    if (n < 0 || (size_t)n >= CGROUP_PATH_SIZE) {
        path[0] = '\0';
    }
}

/* Our own group; its parent if we already moved ourselves into the leaf. */
static void own_base(const struct cgroup_tree *tree, char ret[CGROUP_PATH_SIZE])
{
    char *slash = NULL;

    memcpy(ret, tree->own, CGROUP_PATH_SIZE);
    slash = strrchr(ret, '/');
    if (tree->v2 && slash != NULL && strcmp(slash + 1, CGROUP_LEAF) == 0) {
        *slash = '\0';
    }
}

void cgroup_probe(struct cgroup_host *host, const char *root, uid_t euid)
{
    for (size_t i = 0; i < host->n_trees; i++) {
        struct cgroup_tree *tree = &host->trees[i];
        auto_fd int mount = -1;
        char own[CGROUP_PATH_SIZE];

        rebase(tree->mount, root);
        rebase(tree->own, root);
        if (tree->v2) { /* so that a hierarchy that can't be used is named as the reason */
            mount = open(tree->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
            tree->parts = mount >= 0 ? v2_parts(mount, "cgroup.controllers") : 0;
            tree->parts |= 1u << CGROUP_CPUTIME | 1u << CGROUP_KILL;
        }
        own_base(tree, own);
        if (euid != 0 || !try_base(tree, tree->mount)) {
            (void)try_base(tree, own);
        }
    }
    cgroup_choose(host);
}

static int choose_part(const struct cgroup_host *host, unsigned int part, bool v2)
{
    for (size_t i = 0; i < host->n_trees; i++) {
        if (host->trees[i].v2 == v2 && host->trees[i].usable &&
            (host->trees[i].parts & 1u << part) != 0) {
            return (int)i;
        }
    }
    return -1;
}

void cgroup_choose(struct cgroup_host *host)
{
    for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
        char *why = host->why[part];

        host->where[part] = choose_part(host, part, true);
        if (host->where[part] < 0) {
            host->where[part] = choose_part(host, part, false);
        }
        if (host->where[part] >= 0) {
            why[0] = '\0';
            continue;
        }
        if (why[0] == '\0') { /* else cgroup_prepare() knew better */
            (void)snprintf(why, CGROUP_WHY_SIZE, "no mounted cgroup hierarchy has it");
        }
        for (size_t i = 0; i < host->n_trees; i++) {
            if ((host->trees[i].parts & 1u << part) != 0 && host->trees[i].why[0] != '\0') {
                (void)snprintf(why, CGROUP_WHY_SIZE, "%s", host->trees[i].why);
            }
        }
    }
}

/* One of the files in /proc, as text. */
static int read_proc(const char *path, struct buf *text, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_all(fd, path, text, err);
    }
    return r;
}

static const char *text_of(const struct buf *buf)
{
    return buf->data != NULL ? (const char *)buf->data : "";
}

int cgroup_detect(struct cgroup_host *ret, struct err *err)
{
    auto_buf struct buf mounts = BUF_INIT(PROC_TEXT_MAX);
    auto_buf struct buf self = BUF_INIT(PROC_TEXT_MAX);
    auto_buf struct buf swaps = BUF_INIT(PROC_TEXT_MAX);
    int r = read_proc("/proc/self/mountinfo", &mounts, err);

    if (r < 0) {
        return r;
    }
    /* A kernel without control groups or without swap lacks the file: nothing is in it. */
    if (access("/proc/self/cgroup", F_OK) == 0) {
        r = read_proc("/proc/self/cgroup", &self, err);
    }
    if (r == 0 && access("/proc/swaps", F_OK) == 0) {
        r = read_proc("/proc/swaps", &swaps, err);
    }
    if (r < 0) {
        return r;
    }
    cgroup_parse(text_of(&mounts), text_of(&self), ret);
    ret->swap = cgroup_parse_swaps(text_of(&swaps));
    cgroup_probe(ret, "", geteuid());
    return 0;
}
