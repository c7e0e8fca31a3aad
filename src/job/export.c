/*
 * How it works: DIR/.airlock-MACHINE/ is filled completely first, by descriptors of our own
 * directories only. Then each entry is renamed to its place in DIR: a directory that is not there
 * yet moves as a whole (its children are then gone from the staging side, which is how they are
 * recognised), one that is there is merged, a file takes a free name or is exchanged with the
 * regular file that has it, so that the old one can be put back. Every step is remembered and
 * undone in reverse if a later one fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/outputs.h"
#include "job/text.h"
#include "sys/fd.h"

#define CHUNK_BYTES     (256 * KIB)
#define LEAF_MAX        255u
#define STAGE_NAME_SIZE 64u

struct export
{
    const char *dir;
    int dir_fd;
    int stage_fd;
    char stage_name[STAGE_NAME_SIZE];
    int stream_fd;
    uint8_t *chunk;
    const struct outputs *outputs;
    unsigned int *flags; /* per item: how it was put in place, 0 = not, see rename_item() */
};

enum {
    DONE_MOVED = 1,
    DONE_EXCHANGED = 2,
};

static void export_fini(struct export *x)
{
    fd_close_p(&x->stage_fd);
    fd_close_p(&x->dir_fd);
    free(x->chunk);
    free(x->flags);
}

/* A full disk is a limit; the rest is the host's trouble. what is a name from the guest or DIR. */
static int write_fault(const struct export *x, const struct output_item *item, struct err *err)
{
    int e = errno;

    if (e == ENOSPC || e == EDQUOT) {
        return err_set(err, ERR_LIMIT, ENOSPC,
                       "output '%s': no space left in '%s'; free some or choose another --out",
                       text_of(item->name, item->name_len).s, text_of_str(x->dir).s);
    }
    return err_sys_num(err, e, "write output '%s' in '%s'", text_of(item->name, item->name_len).s,
                       text_of_str(x->dir).s);
}

/*
 * Walks to the directory that holds name, one component at a time, never through a link. Returns
 * 0, *ret_fd (owned) and the last component, or a negative errno.
 */
static int open_parent(int root_fd, const struct output_item *item, int *ret_fd,
                       char ret_leaf[LEAF_MAX + 1])
{
    auto_fd int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
    const uint8_t *at = item->name;
    const uint8_t *end = item->name + item->name_len;

    if (fd < 0) {
        return -errno;
    }
    for (;;) {
        const uint8_t *slash = memchr(at, '/', (size_t)(end - at));
        size_t len = (size_t)((slash == NULL ? end : slash) - at);
        int next = -1;

        if (len == 0 || len > LEAF_MAX) {
            return -ENAMETOOLONG;
        }
        memcpy(ret_leaf, at, len);
        ret_leaf[len] = '\0';
        if (strcmp(ret_leaf, ".") == 0 || strcmp(ret_leaf, "..") == 0) {
            return -EINVAL; /* outputs_inspect() lets none through */
        }
        if (slash == NULL) {
            *ret_fd = STEAL_FD(&fd);
            return 0;
        }
        next = openat(fd, ret_leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0) {
            return -errno;
        }
        fd_close_p(&fd);
        fd = next;
        at = slash + 1;
    }
}

static int copy_data(struct export *x, const struct output_item *item, int fd, struct err *err)
{
    uint64_t done = 0;

    while (done < item->bytes) {
        uint64_t left = item->bytes - done;
        size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        size_t got = 0;
        int r = fd_pread_full(x->stream_fd, x->chunk, want, item->offset + done, &got, err);

        if (r < 0) {
            return r;
        }
        if (got != want) {
            return err_set(err, ERR_HOST, EIO, "output stream: it is shorter than it was");
        }
        for (size_t out = 0; out < want;) {
            ssize_t n = write(fd, x->chunk + out, want - out);

            if (n < 0 && errno != EINTR) {
                return write_fault(x, item, err);
            }
            out += n > 0 ? (size_t)n : 0;
        }
        done += want;
    }
    return 0;
}

static int stage_item(struct export *x, const struct output_item *item, struct err *err)
{
    auto_fd int parent = -1;
    auto_fd int fd = -1;
    char leaf[LEAF_MAX + 1];
    int r = open_parent(x->stage_fd, item, &parent, leaf);

    if (r < 0) {
        errno = -r;
        return write_fault(x, item, err);
    }
    if (item->is_dir) {
        if (mkdirat(parent, leaf, 0755) < 0) {
            return write_fault(x, item, err);
        }
        fd = openat(parent, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } else {
        fd = openat(parent, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    }
    if (fd < 0 || fchmod(fd, item->is_dir ? 0755 : 0644) < 0) { /* whatever the umask */
        return write_fault(x, item, err);
    }
    return item->is_dir ? 0 : copy_data(x, item, fd, err);
}

static int rename_at(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
    return renameat2(from_dir, from, to_dir, to, flags) < 0 ? -errno : 0;
}

static int collision(const struct export *x, const struct output_item *item, const char *why,
                     struct err *err)
{
    return err_set(err, ERR_USAGE, EEXIST,
                   "output '%s' collides with what is in '%s': %s; remove it or choose another "
                   "--out",
                   text_of(item->name, item->name_len).s, text_of_str(x->dir).s, why);
}

/* The name is taken: by a directory for a directory, by a regular file for a file, or collision. */
static int rename_over(struct export *x, size_t i, const int dirs[2], const char *leaf,
                       struct err *err)
{
    const struct output_item *item = &x->outputs->items[i];
    struct stat st;
    int r = 0;

    if (fstatat(dirs[1], leaf, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return write_fault(x, item, err);
    }
    if (item->is_dir) {
        return S_ISDIR(st.st_mode) ? 0 : collision(x, item, "it is not a directory there", err);
    }
    if (!S_ISREG(st.st_mode)) {
        return collision(x, item, "it is not a regular file there", err);
    }
    r = rename_at(dirs[0], leaf, dirs[1], leaf, RENAME_EXCHANGE);
    if (r < 0) {
        errno = -r;
        return write_fault(x, item, err);
    }
    x->flags[i] = DONE_EXCHANGED;
    /* Somebody may have swapped it in between. */
    if (fstatat(dirs[0], leaf, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
        return collision(x, item, "it is not a regular file there", err);
    }
    return 0;
}

static int rename_item(struct export *x, size_t i, struct err *err)
{
    const struct output_item *item = &x->outputs->items[i];
    auto_fd int from = -1;
    auto_fd int to = -1;
    char leaf[LEAF_MAX + 1];
    int r = open_parent(x->stage_fd, item, &from, leaf);

    if (r == -ENOENT) {
        return 0; /* moved along with a directory above it */
    }
    if (r == 0) {
        r = open_parent(x->dir_fd, item, &to, leaf);
    }
    if (r == 0) {
        r = rename_at(from, leaf, to, leaf, RENAME_NOREPLACE);
    }
    if (r == -EEXIST) {
        return rename_over(x, i, (const int[]){from, to}, leaf, err);
    }
    if (r == -EINVAL) {
        return err_set(err, ERR_USAGE, EINVAL,
                       "the filesystem of '%s' cannot rename without replacing; choose another "
                       "--out",
                       text_of_str(x->dir).s);
    }
    if (r < 0) {
        errno = -r;
        return write_fault(x, item, err);
    }
    x->flags[i] = DONE_MOVED;
    return 0;
}

/* Puts item i back where it was. Nothing more can be done if even that fails. */
static void undo_item(struct export *x, size_t i)
{
    const struct output_item *item = &x->outputs->items[i];
    auto_fd int from = -1;
    auto_fd int to = -1;
    char leaf[LEAF_MAX + 1];

    if (x->flags[i] == 0 || open_parent(x->stage_fd, item, &from, leaf) < 0 ||
        open_parent(x->dir_fd, item, &to, leaf) < 0) {
        return;
    }
    (void)rename_at(to, leaf, from, leaf,
                    x->flags[i] == DONE_EXCHANGED ? RENAME_EXCHANGE : RENAME_NOREPLACE);
}

static int put_in_place(struct export *x, struct err *err)
{
    size_t i = 0;
    int r = 0;

    for (i = 0; i < x->outputs->n_items && r == 0; i++) {
        r = rename_item(x, i, err);
    }
    while (r < 0 && i > 0) {
        undo_item(x, --i);
    }
    return r;
}

static void stage_name(char name[STAGE_NAME_SIZE], const char *machine_id)
{
    (void)snprintf(name, STAGE_NAME_SIZE, ".airlock-%s", machine_id);
}

/* A machine's id is used once: a directory of that name is not ours, and not taken. */
static int make_stage(struct export *x, struct err *err)
{
    if (mkdirat(x->dir_fd, x->stage_name, 0700) == 0) {
        return fd_open_nolink(x->dir_fd, x->stage_name, O_RDONLY | O_DIRECTORY, 0, &x->stage_fd,
                              err);
    }
    if (errno == ENOSPC || errno == EDQUOT) {
        return err_set(err, ERR_LIMIT, ENOSPC, "no space left in '%s'; choose another --out",
                       text_of_str(x->dir).s);
    }
    return err_sys(err, "create '%s' in '%s'", x->stage_name, text_of_str(x->dir).s);
}

void outputs_export_sweep(const char *dir, const char *machine_id)
{
    struct err ignored = ERR_INIT;
    char name[STAGE_NAME_SIZE];
    auto_fd int fd = -1;

    stage_name(name, machine_id);
    if (fd_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, &fd, &ignored) == 0) {
        (void)!fd_remove_tree(fd, name, &ignored);
    }
}

/* The directory, made if missing; *ret_created tells. */
static int open_dir(const char *dir, int *ret_fd, bool *ret_created, struct err *err)
{
    int r = outputs_check_dir(dir, err);
    struct stat st;

    if (r < 0) {
        return r;
    }
    if (stat(dir, &st) < 0) {
        r = fd_mkdir_parents(dir, err);
        if (r < 0) {
            return r;
        }
        *ret_created = true;
    }
    return fd_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, ret_fd, err);
}

static int fill_and_rename(struct export *x, struct err *err)
{
    int r = make_stage(x, err);

    for (size_t i = 0; i < x->outputs->n_items && r == 0; i++) {
        r = stage_item(x, &x->outputs->items[i], err);
    }
    return r < 0 ? r : put_in_place(x, err);
}

int outputs_export(int stream_fd, const struct outputs *o, const char *dir, const char *machine_id,
                   struct err *err)
{
    on_scope_exit(export_fini) struct export x = {
        .dir = dir, .dir_fd = -1, .stage_fd = -1, .stream_fd = stream_fd, .outputs = o};
    struct err ignored = ERR_INIT;
    bool created = false;
    int r = 0;

    stage_name(x.stage_name, machine_id);
    x.chunk = malloc(CHUNK_BYTES);
    x.flags = calloc(o->n_items + 1, sizeof(*x.flags));
    if (x.chunk == NULL || x.flags == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = open_dir(dir, &x.dir_fd, &created, err);
    if (r == 0) {
        r = fill_and_rename(&x, err);
    }
    /* By now it holds only what was replaced, or what was not put in place. */
    if (x.stage_fd >= 0) {
        (void)!fd_remove_tree(x.dir_fd, x.stage_name, &ignored);
    }
    if (r < 0 && created) {
        (void)rmdir(dir);
    }
    return r;
}

int outputs_check_dir(const char *dir, struct err *err)
{
    auto_free char *path = strdup(dir);
    struct stat st;

    if (path == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (*dir == '\0') {
        return err_usage(err, "--out: an empty name; name a directory");
    }
    /* From the directory itself up to the first that exists: there the next one will be made. */
    while (stat(path, &st) < 0) {
        char *slash = strrchr(path, '/');

        if (errno != ENOENT) {
            return err_set(err, ERR_USAGE, errno, "--out '%s': %s: %s", text_of_str(dir).s,
                           text_of_str(path).s, strerrordesc_np(errno));
        }
        if (lstat(path, &st) == 0) {
            return err_set(err, ERR_USAGE, ENOENT,
                           "--out '%s': '%s' is a symbolic link to nothing; name a directory",
                           text_of_str(dir).s, text_of_str(path).s);
        }
        if (slash == NULL) {
            memcpy(path, ".", 2); /* path has at least one character */
        } else {
            slash[slash == path ? 1 : 0] = '\0';
        }
    }
    if (!S_ISDIR(st.st_mode)) {
        return err_set(err, ERR_USAGE, ENOTDIR, "--out '%s': '%s' is a file; name a directory",
                       text_of_str(dir).s, text_of_str(path).s);
    }
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0) {
        return err_set(err, ERR_USAGE, errno, "--out '%s': cannot write in '%s': %s",
                       text_of_str(dir).s, text_of_str(path).s, strerrordesc_np(errno));
    }
    return 0;
}
