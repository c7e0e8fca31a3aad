#include "sup/jail-files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

#include "sys/memo.h"
#include "sys/proc.h"

#define LOADER        "/lib64/ld-linux-x86-64.so.2" /* x86-64 psABI: the one fixed name */
#define LIST_MAX      (64 * KIB)
#define LIST_PATH_MAX 512
#define LIST_TIMEOUT  (10 * NS_PER_S)

void jail_files_fini(struct jail_files *files)
{
    for (size_t i = 0; i < files->n_owned; i++) {
        free(files->owned[i]);
    }
    files->n_owned = 0;
    files->n = 0;
}

static int full(struct err *err)
{
    return err_set(err, ERR_HOST, E2BIG, "more than %d files for a jail", JAIL_BINDS_MAX);
}

static const char *keep(struct jail_files *files, const char *text)
{
    char *copy = files->n_owned < ARRAY_LEN(files->owned) ? strdup(text) : NULL;

    if (copy != NULL) {
        files->owned[files->n_owned++] = copy;
    }
    return copy;
}

static const struct jail_bind *find(const struct jail_files *files, const char *target)
{
    for (size_t i = 0; i < files->n; i++) {
        if (strcmp(files->binds[i].target, target) == 0) {
            return &files->binds[i];
        }
    }
    return NULL;
}

int jail_files_add(struct jail_files *files, enum jail_bind_kind kind, const char *source,
                   const char *target, struct err *err)
{
    const struct jail_bind *same = find(files, target);
    struct jail_bind bind = {.fd = -1, .kind = kind};

    if (same != NULL) {
        if (same->source != NULL && strcmp(same->source, source) == 0 && same->kind == kind) {
            return 0;
        }
        return err_set(err, ERR_HOST, EEXIST, "two files for '%s' in a jail", target);
    }
    if (files->n == JAIL_BINDS_MAX) {
        return full(err);
    }
    bind.source = keep(files, source);
    bind.target = keep(files, target);
    if (bind.source == NULL || bind.target == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    files->binds[files->n++] = bind;
    return 0;
}

int jail_files_add_fd(struct jail_files *files, int fd, const char *target, struct err *err)
{
    struct jail_bind bind = {.fd = fd, .kind = JAIL_DATA};
    struct stat st = {0};

    if (find(files, target) != NULL) {
        return err_set(err, ERR_HOST, EEXIST, "two files for '%s' in a jail", target);
    }
    if (files->n == JAIL_BINDS_MAX) {
        return full(err);
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "the file for '%s' in a jail", target);
    }
    /* The jail's uid is nobody else's: what it opens by name must be open to all. */
    if (!S_ISREG(st.st_mode) || (st.st_mode & S_IROTH) == 0) {
        return err_set(err, ERR_HOST, EACCES,
                       "the file for '%s' in a jail must be a regular one that all may read "
                       "(chmod a+r)",
                       target);
    }
    bind.target = keep(files, target);
    if (bind.target == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    files->binds[files->n++] = bind;
    return 0;
}

/*
 * One line: "\tSONAME => PATH (0xADDRESS)", "\tPATH (0xADDRESS)" (the loader, a
 * plug-in), or
 * "\tlinux-vdso.so.1 (0xADDRESS)". 1 with the path (and name, "" where there is none); 0: no file.
 */
static int parse_line(const char *line, size_t len, char name[LIST_PATH_MAX],
                      char path[LIST_PATH_MAX], struct err *err)
{
    char text[2 * LIST_PATH_MAX];
    char *arrow = NULL;
    char *address = NULL;
    const char *from = text;

    if (len >= sizeof(text)) {
        return err_set(err, ERR_HOST, ENAMETOOLONG, "a line of %zu bytes", len);
    }
    memcpy(text, line, len);
    text[len] = '\0';
    from += strspn(from, "\t ");
    address = strstr(text, " (0x");
    arrow = strstr(text, " => ");
    if (address == NULL) {
        return err_set(err, ERR_HOST, ENOENT, "'%s'", from); /* "=> not found" among others */
    }
    *address = '\0';
    name[0] = '\0';
    if (arrow != NULL) {
        *arrow = '\0';
        (void)snprintf(name, LIST_PATH_MAX, "%s", from);
        from = arrow + strlen(" => ");
    }
    if (from[0] != '/') {
        return arrow == NULL ? 0 : err_set(err, ERR_HOST, ENOENT, "'%s' has no path", name);
    }
    if (strlen(from) >= LIST_PATH_MAX || strchr(name, '/') != NULL) {
        return err_set(err, ERR_HOST, EINVAL, "'%s' at '%s'", name, from);
    }
    (void)snprintf(path, LIST_PATH_MAX, "%s", from);
    return 1;
}

/* Calls each() for every line that names a file. */
static int for_lines(const char *text,
                     int (*each)(void *, const char *, const char *, struct err *), void *arg,
                     struct err *err)
{
    char name[LIST_PATH_MAX] = "";
    char path[LIST_PATH_MAX] = "";
    int r = 0;

    while (r >= 0 && *text != '\0') {
        size_t len = strcspn(text, "\n");

        r = len == 0 ? 0 : parse_line(text, len, name, path, err);
        if (r == 1) {
            r = each(arg, name, path, err);
        }
        text += len + (text[len] == '\n');
    }
    return r < 0 ? err_wrap(err, "the loader's list of libraries") : 0;
}

struct list {
    struct jail_files *files;
    char dir[LIST_PATH_MAX]; /* where libc is, without a slash at the end; "" before it is known */
};

static int look_for_libc(void *arg, const char *name, const char *path, struct err *err)
{
    struct list *list = arg;

    (void)err;
    if (strcmp(name, "libc.so.6") == 0) {
        (void)snprintf(list->dir, sizeof(list->dir), "%.*s", (int)(strrchr(path, '/') - path),
                       path);
    }
    return 0;
}

static int add_library(void *arg, const char *name, const char *path, struct err *err)
{
    const struct list *list = arg;
    char target[2 * LIST_PATH_MAX];

    if (name[0] == '\0') {
        (void)snprintf(target, sizeof(target), "%s", path); /* the loader, a plug-in */
    } else {
        (void)snprintf(target, sizeof(target), "%s/%s", list->dir, name);
    }
    return jail_files_add(list->files, JAIL_PROGRAM, path, target, err);
}

int jail_files_add_list(struct jail_files *files, const char *text, struct err *err)
{
    struct list list = {.files = files};
    int r = for_lines(text, look_for_libc, &list, err);

    if (r == 0 && list.dir[0] == '\0') {
        return err_set(err, ERR_HOST, ENOENT, "the loader's list of libraries has no libc.so.6");
    }
    return r < 0 ? r : for_lines(text, add_library, &list, err);
}

static int ask_loader(const char *path, const char *plugin, struct buf *out, struct err *err)
{
    /* A preloaded plug-in is listed by its path, and its libraries with the program's. */
    const char *const with[] = {LOADER, "--preload", plugin, "--list", path, NULL};
    const char *const without[] = {LOADER, "--list", path, NULL};

    return proc_run(plugin != NULL ? with : without, NULL, LIST_TIMEOUT, out, err);
}

static int add_to_memo(void *arg, const char *name, const char *path, struct err *err)
{
    (void)name;
    return memo_add_path(arg, path, err);
}

/* The loader's list, and what it depends on: all but the libraries, which the list itself names. */
struct asked {
    struct memo memo;
    struct buf list;
    char about_program[128]; /* names of the two memos */
    char about_libraries[128];
};

static void asked_fini(struct asked *a)
{
    memo_fini(&a->memo);
    buf_fini(&a->list);
}

static int begin_asking(struct asked *a, const char *path, const char *plugin, struct err *err)
{
    /* What ld.so(8) reads before it looks into directories. */
    const char *const depends[] = {LOADER, "/etc/ld.so.cache", "/etc/ld.so.preload", path, plugin};
    const char *base = strrchr(path, '/');
    int r = memo_begin(&a->memo, err);

    base = base != NULL ? base + 1 : path;
    (void)snprintf(a->about_program, sizeof(a->about_program), "loader-%.100s", base);
    (void)snprintf(a->about_libraries, sizeof(a->about_libraries), "libraries-%.100s", base);
    for (size_t i = 0; i < ARRAY_LEN(depends) && r == 0; i++) {
        r = depends[i] != NULL ? memo_add_path(&a->memo, depends[i], err) : 0;
    }
    return r;
}

static const char *text_of(const struct buf *buf)
{
    return buf->data != NULL ? (const char *)buf->data : "";
}

/* True with the list if it is known and all libraries on it are the same files as well. */
static bool is_known(struct asked *a, int memo_dirfd)
{
    auto_buf struct buf nothing = BUF_INIT(16);
    struct err ignored = ERR_INIT;

    return memo_get(memo_dirfd, a->about_program, &a->memo, &a->list) &&
           for_lines(text_of(&a->list), add_to_memo, &a->memo, &ignored) == 0 &&
           memo_get(memo_dirfd, a->about_libraries, &a->memo, &nothing);
}

static int ask_and_keep(struct asked *a, const char *path, const char *plugin, int memo_dirfd,
                        struct err *err)
{
    int r = begin_asking(a, path, plugin, err);

    a->list.len = 0;
    if (r == 0) {
        r = ask_loader(path, plugin, &a->list, err);
    }
    if (r < 0) {
        return r;
    }
    memo_put(memo_dirfd, a->about_program, &a->memo, text_of(&a->list), a->list.len);
    r = for_lines(text_of(&a->list), add_to_memo, &a->memo, err);
    if (r == 0) {
        memo_put(memo_dirfd, a->about_libraries, &a->memo, "", 0);
    }
    return r;
}

int jail_files_add_program(struct jail_files *files, const char *path, const char *plugin,
                           int memo_dirfd, struct err *err)
{
    on_scope_exit(asked_fini) struct asked a = {.memo = MEMO_INIT, .list = BUF_INIT(LIST_MAX)};
    int r = begin_asking(&a, path, plugin, err);

    if (r == 0 && !is_known(&a, memo_dirfd)) {
        r = ask_and_keep(&a, path, plugin, memo_dirfd, err);
    }
    if (r == 0) {
        r = jail_files_add(files, JAIL_PROGRAM, path, path, err);
    }
    if (r == 0) {
        r = jail_files_add_list(files, text_of(&a.list), err);
    }
    if (r == 0 && plugin != NULL && find(files, plugin) == NULL) {
        return err_set(err, ERR_HOST, ENOENT, "the loader did not list the plug-in '%s'", plugin);
    }
    return r < 0 ? err_wrap(err, "libraries of '%s'", path) : 0;
}
