#include "posture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TEXT_MAX  16384
#define DEPTH_MAX 8
#define ENOUGH    40 /* departures: a root that is the host's has no end */
#define LOOK_MAX  512

struct look {
    const struct posture *p;
    struct buf *report;
    int departures;
    size_t files;
};

static void depart(struct look *l, const char *what, const char *is, const char *want)
{
    l->departures++;
    if (l->departures <= ENOUGH) {
        (void)!buf_printf(l->report, "%s: is '%.200s', must be '%.200s'\n", what, is, want);
    }
}

/* The whole posture, as far as text can say it. %U uid, %G gid, %P pid. */
static const struct row {
    const char *file; /* of /proc/PID */
    const char *key;  /* of a line, or NULL: the whole file */
    const char *want; /* runs of white space count as one space */

    enum {
        ALL,
        THREADS,
        ROOT_ONLY
    } where; /* THREADS: every thread's own status too */
} table[] = {
    {"status", "Uid", "%U %U %U %U", THREADS},
    {"status", "Gid", "%G %G %G %G", THREADS},
    {"status", "Groups", "", ROOT_ONLY},
    {"status", "Umask", "0077", THREADS},
    {"status", "NSpid", "%P 1", ALL},
    {"status", "NSsid", "%P 1", ALL},
    {"status", "CapInh", "0000000000000000", THREADS},
    {"status", "CapPrm", "0000000000000000", THREADS},
    {"status", "CapEff", "0000000000000000", THREADS},
    {"status", "CapBnd", "0000000000000000", THREADS},
    {"status", "CapAmb", "0000000000000000", THREADS},
    {"status", "NoNewPrivs", "1", THREADS},
    {"status", "Seccomp", "2", THREADS},
    {"status", "TracerPid", "0", ALL},
    {"limits", "Max core file size", "0 0 bytes", ALL},
    {"limits", "Max locked memory", "0 0 bytes", ALL},
    {"limits", "Max msgqueue size", "0 0 bytes", ALL},
    {"limits", "Max nice priority", "0 0", ALL},
    {"limits", "Max realtime priority", "0 0", ALL},
    {"limits", "Max open files", "%N files", ALL},
    {"limits", "Max processes", "%T processes", ALL},
    {"limits", "Max file size", "%F bytes", ALL},
    {"oom_score_adj", NULL, "%O", ALL},
    {"coredump_filter", NULL, "00000000", ALL},
    {"environ", NULL, "", ALL},
};

/* Own to the jail; all but the user namespace in every case. */
static const char *const namespaces[] = {"mnt", "pid", "net", "ipc", "uts", "cgroup", "user"};

static ssize_t read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 1;

    if (fd < 0) {
        return -1;
    }
    while (n > 0 && len < size - 1) {
        n = read(fd, text + len, size - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    text[len] = '\0';
    return n < 0 ? -1 : (ssize_t)len;
}

/* The rest of the line behind key (and a colon), white space made one. */
static void find_value(const char *text, const char *key, char *ret, size_t size)
{
    size_t len = 0;

    ret[0] = '\0';
    if (key != NULL) {
        const char *at = text;
        size_t key_len = strlen(key);

        while (strncmp(at, key, key_len) != 0 || strchr(": ", at[key_len]) == NULL) {
            at = strchr(at, '\n');
            if (at == NULL) {
                (void)snprintf(ret, size, "(no such line)");
                return;
            }
            at++;
        }
        text = at + key_len + (at[key_len] == ':');
    }
    text += strspn(text, " \t");
    while (*text != '\0' && *text != '\n' && len < size - 1) {
        if (*text == ' ' || *text == '\t') {
            text += strspn(text, " \t");
            if (*text != '\0' && *text != '\n') {
                ret[len++] = ' ';
            }
            continue;
        }
        ret[len++] = *text++;
    }
    ret[len] = '\0';
}

static void expand(const struct posture *p, const char *want, char *ret, size_t size)
{
    size_t len = 0;

    for (; *want != '\0' && len < size - 1; want++) {
        int n = 0;

        if (*want != '%') {
            ret[len++] = *want;
            continue;
        }
        want++;
        if (*want == 'U' || *want == 'G') {
            n = snprintf(ret + len, size - len, "%u", *want == 'U' ? p->uid : p->gid);
        } else if (*want == 'P') {
            n = snprintf(ret + len, size - len, "%d", (int)p->pid);
        } else {
            n = snprintf(ret + len, size - len, "%s",
                         *want == 'N'   ? p->nofile
                         : *want == 'T' ? p->nproc
                         : *want == 'F' ? p->fsize
                                        : p->oom_score_adj);
        }
        len += n > 0 ? (size_t)n : 0;
    }
    ret[len < size ? len : size - 1] = '\0';
}

static void check_row(struct look *l, const struct row *row, const char *dir)
{
    static char text[TEXT_MAX];
    char path[LOOK_MAX];
    char is[256];
    char want[256];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, row->file);
    if (read_file(path, text, sizeof(text)) < 0) {
        depart(l, path, strerror(errno),
               "readable"); /* NOLINT(concurrency-mt-unsafe): one thread */
        return;
    }
    find_value(text, row->key, is, sizeof(is));
    expand(l->p, row->want, want, sizeof(want));
    (void)snprintf(path, sizeof(path), "%s/%s %s", dir, row->file,
                   row->key != NULL ? row->key : "");
    if (strcmp(is, want) != 0) {
        depart(l, path, is, want);
    }
}

static void link_of(const char *path, char *ret, size_t size)
{
    ssize_t n = readlink(path, ret, size - 1);

    ret[n > 0 ? n : 0] = '\0';
}

static void check_namespaces(struct look *l, const char *dir)
{
    char path[LOOK_MAX];
    char ours[128];
    char its[128];

    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        bool own = strcmp(namespaces[i], "user") != 0 || l->p->rootless;

        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
        link_of(path, ours, sizeof(ours));
        (void)snprintf(path, sizeof(path), "%s/ns/%s", dir, namespaces[i]);
        link_of(path, its, sizeof(its));
        if (its[0] == '\0' || (strcmp(ours, its) != 0) != own) {
            depart(l, path, its, own ? "its own" : "ours");
        }
    }
}

static bool matches(const char *const *patterns, const char *text)
{
    for (; *patterns != NULL; patterns++) {
        if (fnmatch(*patterns, text, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* Calls each() for every entry of a directory but "." and "..". */
static void for_entries(struct look *l, const char *dir,
                        void (*each)(struct look *, const char *, const char *))
{
    DIR *d = opendir(dir);
    const struct dirent *e = NULL;

    if (d == NULL) {
        depart(l, dir, "unreadable", "a directory");
        return;
    }
    while (l->departures < ENOUGH && (e = readdir(d)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            each(l, dir, e->d_name);
        }
    }
    (void)closedir(d);
}

static void check_thread(struct look *l, const char *dir, const char *tid)
{
    char path[LOOK_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, tid);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].where == THREADS) {
            check_row(l, &table[i], path);
        }
    }
    check_namespaces(l, path);
}

static void check_fd(struct look *l, const char *dir, const char *fd)
{
    static const char *const modes[] = {"r", "w", "rw", "?"};
    char path[LOOK_MAX];
    char link[LOOK_MAX];
    char is[2 * LOOK_MAX];
    char info[1024];
    char flags[32];
    struct stat st = {0};

    (void)snprintf(path, sizeof(path), "%s/%s", dir, fd);
    link_of(path, link, sizeof(link));
    /* Its mount is detached inside, so its name is not; the device is what counts. */
    if (stat(path, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
        (void)snprintf(link, sizeof(link), "/dev/null");
    }
    (void)snprintf(path, sizeof(path), "%sinfo/%s", dir, fd);
    if (read_file(path, info, sizeof(info)) < 0) {
        return; /* closed since: a running monitor opens and closes */
    }
    find_value(info, "flags", flags, sizeof(flags));
    (void)snprintf(is, sizeof(is), "%s %s", modes[strtoul(flags, NULL, 8) & O_ACCMODE], link);
    if (!matches(l->p->fds, is)) {
        depart(l, path, is, "one of the descriptors named");
    }
}

static void list(struct look *l, const char *dir, const char *name)
{
    char path[LOOK_MAX];
    struct stat st = {0};
    const char *inside = NULL;
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

    if (n < 0 || (size_t)n >= sizeof(path) || lstat(path, &st) < 0) {
        depart(l, dir, "unreadable", "readable");
        return;
    }
    if (S_ISDIR(st.st_mode)) {
        for_entries(l, path, list);
        return;
    }
    inside = strstr(path, "/root/") + strlen("/root");
    l->files++;
    if (!matches(l->p->files, inside)) {
        depart(l, "root", inside, "not there");
    }
    if (S_ISLNK(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)) {
        depart(l, inside, "a link, socket or fifo", "a file or a device");
    }
}

static bool has_option(const char *options, const char *option)
{
    char with[1024];
    char look[64];

    (void)snprintf(with, sizeof(with), ",%s,", options);
    (void)snprintf(look, sizeof(look), ",%s,", option);
    return strstr(with, look) != NULL;
}

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS [shared:N master:N ...] - TYPE SOURCE SUPER" */
static void check_mount(struct look *l, char *line)
{
    static const char *const always[] = {"ro", "nosuid"};
    char *field[7] = {NULL};
    char *rest = line;

    for (size_t i = 0; i < ARRAY_LEN(field); i++) {
        field[i] = strsep(&rest, " ");
        if (field[i] == NULL) {
            depart(l, "mountinfo", line, "seven fields");
            return;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(always); i++) {
        if (!has_option(field[5], always[i])) {
            depart(l, field[4], field[5], always[i]);
        }
    }
    if (strncmp(field[4], "/dev/", 5) != 0 && !has_option(field[5], "nodev")) {
        depart(l, field[4], field[5], "nodev");
    }
    if (strstr(field[4], "/lib") == NULL && strcmp(field[4], l->p->program) != 0 &&
        !has_option(field[5], "noexec")) {
        depart(l, field[4], field[5], "noexec");
    }
    if (strcmp(field[6], "-") != 0) {
        depart(l, field[4], field[6], "private");
    }
    if (strcmp(field[4], "/") != 0 && !matches(l->p->files, field[4])) {
        depart(l, "mountinfo", field[4], "not there");
    }
}

static void check_root(struct look *l, const char *dir)
{
    static char text[4 * TEXT_MAX];
    char path[LOOK_MAX];
    char *rest = text;
    char *line = NULL;
    size_t mounts = 0;
    int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/mountinfo", dir);
    if (read_file(path, text, sizeof(text)) < 0) {
        depart(l, path, "unreadable", "readable");
    }
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        mounts++;
        check_mount(l, line);
    }
    (void)snprintf(path, sizeof(path), "%s/root", dir);
    for_entries(l, path, list);
    if (l->departures == 0 &&
        (mounts != l->files + 1 || (l->p->n_files != 0 && l->files != l->p->n_files))) {
        char is[80];
        char want[80];

        (void)snprintf(is, sizeof(is), "%zu mounts, %zu files", mounts, l->files);
        (void)snprintf(want, sizeof(want), "1 + %zu, %zu", l->p->n_files, l->p->n_files);
        depart(l, "root", is, want);
    }
    /* We are privileged where the jail is not: only a read-only mount stops this. */
    (void)snprintf(path, sizeof(path), "%s/root/airlock-posture", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
        depart(l, "root", "writable", "read-only");
    }
}

/* A shared writable mapping would be a way to write a file without a descriptor for it. */
static void check_maps(struct look *l, const char *dir)
{
    char path[LOOK_MAX];
    char line[1024];
    FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "%s/maps", dir);
    f = fopen(path, "re");
    if (f == NULL) {
        depart(l, path, "unreadable", "readable");
        return;
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        const char *perms = strchr(line, ' ');
        const char *file = strchr(line, '/');

        if (perms != NULL && file != NULL && perms[2] == 'w' && perms[4] == 's') {
            depart(l, path, file, "no file that is mapped shared and writable");
        }
    }
    (void)fclose(f);
}

static void check_links(struct look *l, const char *dir)
{
    const struct {
        const char *name, *want;
    } links[] = {{"exe", l->p->program}, {"cwd", "/"}};

    char path[LOOK_MAX];
    char is[LOOK_MAX];

    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, links[i].name);
        link_of(path, is, sizeof(is));
        if (strcmp(is, links[i].want) != 0) {
            depart(l, path, is, links[i].want);
        }
    }
}

static void check_cgroups(struct look *l, const char *dir)
{
    static char text[TEXT_MAX];
    char path[LOOK_MAX];
    const char *at = text;
    size_t n = 0;

    (void)snprintf(path, sizeof(path), "%s/cgroup", dir);
    if (read_file(path, text, sizeof(text)) < 0) {
        text[0] = '\0';
    }
    while ((at = strstr(at, l->p->cgroup)) != NULL) {
        at++;
        n++;
    }
    if (n == 0 || n < l->p->n_cgroups) {
        depart(l, path, text, l->p->cgroup);
    }
}

int posture_check(const struct posture *p, struct buf *report)
{
    struct look l = {.p = p, .report = report};
    char dir[32];
    char path[64];

    (void)snprintf(dir, sizeof(dir), "/proc/%d", (int)p->pid);
    if (access(dir, F_OK) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (table[i].where != ROOT_ONLY || !p->rootless) {
            check_row(&l, &table[i], dir);
        }
    }
    check_namespaces(&l, dir);
    check_links(&l, dir);
    check_maps(&l, dir);
    (void)snprintf(path, sizeof(path), "%s/task", dir);
    for_entries(&l, path, check_thread);
    (void)snprintf(path, sizeof(path), "%s/fd", dir);
    for_entries(&l, path, check_fd);
    if (p->cgroup != NULL) {
        check_cgroups(&l, dir);
    }
    check_root(&l, dir);
    return l.departures;
}
