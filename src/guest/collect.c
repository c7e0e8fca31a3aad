/*
 * How it works: an explicit stack with one level a directory, each with its sorted names. Only the
 * directory being read is open: going down opens the name without following links, going up opens
 * "..", which on a dead tree of one filesystem is where we came from. So neither the process's stack
 * nor its descriptors grow with the depth. All entries of a directory are counted against the cap
 * before any of their names is kept.
 */
#include "guest/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/outar.h"
#include "sys/fd.h"

#define CHUNK FRAME_DATA_MAX

struct level {
    char **names; /* sorted; those before next are done */
    size_t n;
    size_t next;
    size_t path_len; /* of the directory itself */
};

struct collect {
    const struct collect_caps *caps;
    struct channel *ch;
    struct msg_output_end *end;
    struct err *err;
    int dir; /* the directory of the top level */
    struct level *levels;
    size_t depth; /* levels in use */
    size_t levels_cap;
    uint64_t files;
    uint64_t bytes;
    char path[OUTAR_PATH_MAX + 1];
    size_t path_len;
    uint8_t *chunk; /* payload of the next OUTPUT frame */
    size_t chunk_len;
};

/* A step returns 0 to go on, 1 when the walk has ended with end->status, or a channel error. */
#define ENDED 1

static int end_with(struct collect *c, enum msg_output_status status)
{
    size_t len = c->path_len < MSG_NAME_MAX ? c->path_len : MSG_NAME_MAX;

    c->end->status = status;
    memcpy(c->end->name, c->path, len);
    c->end->name[len] = '\0';
    return ENDED;
}

/* ---- the stream ---- */

static int flush_chunk(struct collect *c)
{
    int r = 0;

    if (c->chunk_len == 0) {
        return 0;
    }
    r = channel_send(c->ch, FRAME_OUTPUT, c->chunk, STEAL(&c->chunk_len, 0), c->err);
    return r < 0 ? r : channel_drain_to(c->ch, CHANNEL_STREAM_ROOM, c->err);
}

static int put(struct collect *c, const void *data, size_t len)
{
    const uint8_t *at = data;

    while (len > 0) {
        size_t n = CHUNK - c->chunk_len < len ? CHUNK - c->chunk_len : len;
        int r = 0;

        memcpy(c->chunk + c->chunk_len, at, n);
        c->chunk_len += n;
        at += n;
        len -= n;
        r = c->chunk_len == CHUNK ? flush_chunk(c) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int put_record(struct collect *c, enum outar_kind kind, const struct stat *st)
{
    struct outar_header h = {
        .kind = kind,
        .mode = st->st_mode & 07777,
        .name_len = (uint32_t)c->path_len,
        .size = kind == OUTAR_FILE ? (uint64_t)st->st_size : 0,
    };
    uint8_t raw[OUTAR_HEADER_SIZE];
    int r = 0;

    outar_header_encode(raw, &h);
    r = put(c, raw, sizeof(raw));
    return r < 0 ? r : put(c, c->path, c->path_len);
}

static int put_data(struct collect *c, int fd, uint64_t size)
{
    while (size > 0) {
        size_t room = CHUNK - c->chunk_len;
        size_t want = size < room ? (size_t)size : room;
        ssize_t n = read(fd, c->chunk + c->chunk_len, want);
        int r = 0;

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return end_with(c, MSG_OUTPUT_ERROR);
        }
        c->chunk_len += (size_t)n;
        size -= (uint64_t)n;
        r = c->chunk_len == CHUNK ? flush_chunk(c) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* ---- the tree ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int count_entries(struct collect *c, DIR *dir, size_t *ret)
{
    struct dirent *entry = NULL;

    *ret = 0;
    errno = 0;
    while ((entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (is_dot(entry->d_name)) {
            continue;
        }
        if (++*ret > c->caps->files - c->files) {
            return end_with(c, MSG_OUTPUT_FILES);
        }
    }
    return errno == 0 ? 0 : end_with(c, MSG_OUTPUT_ERROR);
}

static int keep_names(struct collect *c, DIR *dir, size_t n, struct level *level)
{
    struct dirent *entry = NULL;

    level->names = calloc(n + 1, sizeof(*level->names));
    if (level->names == NULL) {
        return end_with(c, MSG_OUTPUT_ERROR);
    }
    rewinddir(dir);
    while ((entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (is_dot(entry->d_name)) {
            continue;
        }
        if (level->n == n) {
            return end_with(c, MSG_OUTPUT_ERROR); /* the directory grew: not dead after all */
        }
        level->names[level->n] = strdup(entry->d_name);
        if (level->names[level->n] == NULL) {
            return end_with(c, MSG_OUTPUT_ERROR);
        }
        level->n++;
    }
    qsort(level->names, level->n, sizeof(*level->names), by_bytes);
    return 0;
}

static struct level *push_level(struct collect *c)
{
    if (c->depth == c->levels_cap) {
        size_t cap = c->levels_cap == 0 ? 16 : 2 * c->levels_cap;
        struct level *levels = realloc(c->levels, cap * sizeof(*levels));

        if (levels == NULL) {
            return NULL;
        }
        c->levels = levels;
        c->levels_cap = cap;
    }
    c->levels[c->depth] = (struct level){.path_len = c->path_len};
    return &c->levels[c->depth++];
}

static void pop_level(struct collect *c)
{
    struct level *level = &c->levels[--c->depth];

    for (size_t i = 0; i < level->n; i++) {
        free(level->names[i]);
    }
    free(level->names);
}

/* Reads directory fd, which becomes the current one. Takes fd. */
static int enter(struct collect *c, int take_fd)
{
    struct level *level = push_level(c);
    int copy = fcntl(take_fd, F_DUPFD_CLOEXEC, 3);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    size_t n = 0;
    int r = 0;

    fd_close_p(&c->dir);
    c->dir = take_fd;
    if (level == NULL || dir == NULL) {
        r = end_with(c, MSG_OUTPUT_ERROR);
        if (dir == NULL) {
            fd_close_p(&copy);
        }
    } else {
        r = count_entries(c, dir, &n);
    }
    if (r == 0) {
        c->files += n;
        r = keep_names(c, dir, n, level);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return r;
}

static int leave(struct collect *c)
{
    int up = -1;

    pop_level(c);
    if (c->depth == 0) {
        return 0;
    }
    up = openat(c->dir, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (up < 0) {
        return end_with(c, MSG_OUTPUT_ERROR);
    }
    fd_close_p(&c->dir);
    c->dir = up;
    return 0;
}

static int send_file(struct collect *c, const char *name)
{
    auto_fd int fd =
        openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st = {0};
    int r = 0;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0) {
        return end_with(c, MSG_OUTPUT_ERROR);
    }
    /* The size alone decides: of a sparse file over the cap nothing is read. */
    if ((uint64_t)st.st_size > c->caps->bytes - c->bytes) {
        return end_with(c, MSG_OUTPUT_BYTES);
    }
    c->bytes += (uint64_t)st.st_size;
    r = put_record(c, OUTAR_FILE, &st);
    return r < 0 ? r : put_data(c, fd, (uint64_t)st.st_size);
}

static int send_dir(struct collect *c, const char *name, const struct stat *st)
{
    int fd = -1;
    int r = put_record(c, OUTAR_DIR, st);

    if (r < 0) {
        return r;
    }
    fd = openat(c->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? end_with(c, MSG_OUTPUT_ERROR) : enter(c, fd);
}

/* Puts "/name" behind the current directory's path. False if that is longer than a path may be. */
static bool set_path(struct collect *c, size_t dir_len, const char *name)
{
    size_t len = strlen(name);
    size_t at = dir_len;

    c->path_len = dir_len;
    if (at > 0) {
        if (at == OUTAR_PATH_MAX) {
            return false;
        }
        c->path[at++] = '/';
    }
    if (len > OUTAR_PATH_MAX - at) {
        return false;
    }
    memcpy(c->path + at, name, len);
    c->path_len = at + len;
    return true;
}

static int step(struct collect *c)
{
    struct level *level = &c->levels[c->depth - 1];
    struct stat st = {0};
    const char *name = NULL;

    if (level->next == level->n) {
        return leave(c);
    }
    name = level->names[level->next++];
    if (!set_path(c, level->path_len, name) || c->depth > c->caps->depth) {
        return end_with(c, MSG_OUTPUT_DEPTH);
    }
    if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return end_with(c, MSG_OUTPUT_ERROR);
    }
    if (S_ISREG(st.st_mode)) {
        return send_file(c, name);
    }
    return S_ISDIR(st.st_mode) ? send_dir(c, name, &st) : put_record(c, OUTAR_OTHER, &st);
}

static int send_end(struct collect *c)
{
    const struct stat none = {0};

    c->path_len = 0;
    return put_record(c, OUTAR_END, &none);
}

int collect_send(int dirfd, const struct collect_caps *caps, struct channel *ch,
                 struct msg_output_end *ret, struct err *err)
{
    auto_free uint8_t *chunk = malloc(CHUNK);
    struct collect c = {.caps = caps, .ch = ch, .end = ret, .err = err, .dir = -1, .chunk = chunk};
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    *ret = (struct msg_output_end){.status = MSG_OUTPUT_COMPLETE};
    if (fd < 0 || chunk == NULL) {
        fd_close_p(&fd);
        (void)end_with(&c, MSG_OUTPUT_ERROR);
        return 0;
    }
    r = enter(&c, fd);
    while (r == 0 && c.depth > 0) {
        r = step(&c);
    }
    if (r == 0) {
        r = send_end(&c);
    }
    if (r >= 0) {
        int flushed = flush_chunk(&c);

        r = flushed < 0 ? flushed : 0;
    }
    while (c.depth > 0) {
        pop_level(&c);
    }
    free(c.levels);
    fd_close_p(&c.dir);
    return r;
}
