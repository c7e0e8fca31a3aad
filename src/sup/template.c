/*
 * How it works.  template_take() makes the key, looks for the file and checks it; if there is none
 * that is good, it takes the lock, looks again (somebody else may have built it), and builds: an
 * unnamed file becomes the memory of a machine that boots; the agent's READY is read; the monitor
 * writes its state behind the memory; the machine is killed; on KVM a rehearsal shows that it goes on and
 * what it writes (template-writes.h); the footer goes to the end; the file becomes read-only and gets
 * its name.  A crash at any point leaves no file.
 *
 * The machine that boots to be saved is jailed like every other one and dies with us, but is in no
 * control group: its memory stays as page cache when it is gone, and must be nobody's charge.
 */
#include "sup/template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"

#include "sup/template-build.h"
#include "sup/template-internal.h"
#include "sup/template-writes.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define DIR_NAME  "templates"
#define LOCK_NAME "lock"

/* Kept at most; the least recently used goes first. */
#define TEMPLATES_MAX       16
#define TEMPLATES_BYTES_MAX (4 * GIB)
/* As the ledger: what the host keeps for itself. */
#define DISK_RESERVE (256 * MIB)

#define LOCK_TURN_NS (50 * NS_PER_MS)
#define TSC_PERCENT  1 /* how far two measurements of one clock may be apart */

void template_fini(struct template *t)
{
    fd_close_p(&t->memory_fd);
    fd_close_p(&t->state_fd);
    fd_close_p(&t->writes_fd);
}

static int make_key(const struct template_request *q, struct digest *ret, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    struct machine_config like = q->config;
    int r = 0;

    /* The descriptors only say that there is one; the numbers are the engine's own. */
    like.root_fd = like.input_fd = like.scratch_fd = like.memory_fd = 0;
    like.state_fd = -1;
    if (buf_printf(&text, "airlock template 2\n%s\n%s\n%s\n%s\n%s\n", q->engine->name, q->monitor,
                   q->boot->kernel.hex, q->boot->initramfs.hex, q->boot->root.hex) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (buf_printf(&text, "%llu\n", (unsigned long long)like.mounted_bytes) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = q->engine->describe(&like, &text, err);
    digest_of_data(text.data, text.len, ret);
    return r;
}

static int not_ours(struct err *err, const char *what)
{
    return err_set(err, ERR_USAGE, ESTALE, TEMPLATE_UNUSED "%s", what);
}

static bool tsc_differs(uint64_t a, uint64_t b)
{
    uint64_t apart = a > b ? a - b : b - a;

    return apart > b / 100 * TSC_PERCENT;
}

/*
 * The pages that hold something, read in by us: a page is charged to the group of whoever reads it
 * first, and must not be a job's. Costs next to nothing when they are there.
 */
static void read_in(int fd, uint64_t bytes)
{
    off_t at = 0;

    while ((uint64_t)at < bytes) {
        off_t data = lseek(fd, at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

        if (hole <= data || (uint64_t)data >= bytes) {
            return;
        }
        (void)readahead(fd, data, (size_t)(hole - data));
        at = hole;
    }
}

int template_open_at(int file, int flags, uint64_t offset, int *ret, struct err *err)
{
    int r = fd_reopen(file, flags, ret, err);

    return r == 0 && lseek(*ret, (off_t)offset, SEEK_SET) < 0 ? err_sys(err, "lseek") : r;
}

/* Opens and checks; every failure but the host's own is a reason to build it anew. */
static int find(const struct template_request *q, int dirfd, const struct digest *key,
                struct template *ret, struct err *err)
{
    auto_template struct template t = TEMPLATE_INIT;
    struct template_footer f = {.tsc_khz = 0};
    uint64_t end = 0;
    int r = template_open(dirfd, key, &t.memory_fd, &f, err);

    if (r == 0) {
        r = template_check_boot(&f, err);
    }
    if (r == 0 && tsc_differs(q->config.tsc_khz, f.tsc_khz)) {
        r = not_ours(err, "the host's clock has another frequency now");
    }
    if (r == 0 && f.memory_bytes != q->config.memory_bytes) {
        r = not_ours(err, "it is that of another machine");
    }
    if (r == 0) {
        r = template_check_state(t.memory_fd, &f, err);
    }
    end = f.memory_bytes + f.state_bytes;
    if (r == 0) {
        r = template_open_at(t.memory_fd, O_RDONLY, f.memory_bytes, &t.state_fd, err);
    }
    if (r == 0 && f.writes_bytes > 0) {
        r = template_open_at(t.memory_fd, O_RDONLY, end - f.writes_bytes, &t.writes_fd, err);
    }
    if (r < 0) {
        return r;
    }
    read_in(t.memory_fd, f.memory_bytes);
    t.key = *key;
    t.scratch_bytes = f.scratch_bytes;
    t.scratch_at = end - f.writes_bytes - f.scratch_bytes;
    t.interpreter = f.interpreter;
    *ret = t;
    t = (struct template)TEMPLATE_INIT;
    return 0;
}

/* --- building --- */

int template_lock(int dirfd, bool (*stop)(void *ctx), void *ctx, int *ret, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + TEMPLATE_DEADLINE_NS;
    auto_fd int fd = -1;
    int r = fd_open_nolink(dirfd, LOCK_NAME, O_RDWR | O_CREAT, 0600, &fd, err);

    if (r < 0) {
        return r;
    }
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return err_sys(err, "lock the templates");
        }
        if (stop != NULL && stop(ctx)) {
            return err_set(err, ERR_LIMIT, ECANCELED, "stopped while waiting for a template");
        }
        if (clock_mono_ns() > deadline) {
            return err_set(err, ERR_HOST, ETIMEDOUT,
                           "another airlock has been building a template for %d s",
                           (int)(TEMPLATE_DEADLINE_NS / NS_PER_S));
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)LOCK_TURN_NS}, NULL);
    }
    *ret = STEAL_FD(&fd);
    return 0;
}

struct oldest {
    char name[DIGEST_HEX_SIZE];
    uint64_t used;
    size_t n;
    uint64_t bytes;
};

static int look_around(int dirfd, struct oldest *ret, struct err *err)
{
    auto_dir DIR *dir = NULL;
    const struct dirent *e = NULL;
    int fd = -1;
    int r = fd_reopen(dirfd, O_RDONLY | O_DIRECTORY, &fd, err);

    if (r < 0) {
        return r;
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        (void)close(fd);
        return err_sys(err, "list the templates");
    }
    *ret = (struct oldest){.n = 0};
    while ((e = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): one thread */
        struct stat st = {0};

        if (!digest_is_hex(e->d_name) || fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        ret->n++;
        ret->bytes += (uint64_t)st.st_blocks * 512;
        if (ret->n == 1 || template_last_use(&st) < ret->used) {
            memcpy(ret->name, e->d_name, sizeof(ret->name)); /* 64 digits: digest_is_hex() */
            ret->used = template_last_use(&st);
        }
    }
    return 0;
}

/* Until one more has room. Machines that run from a removed one keep it until they end. */
static int make_room(int dirfd, uint64_t bytes, struct err *err)
{
    for (size_t turns = 0; turns < 4096; turns++) {
        struct oldest old = {.n = 0};
        struct statvfs fs = {0};
        uint64_t avail = 0;
        int r = look_around(dirfd, &old, err);

        if (r < 0) {
            return r;
        }
        if (fstatvfs(dirfd, &fs) < 0) {
            return err_sys(err, "look for room on the disk of the state directory");
        }
        avail = (uint64_t)fs.f_bavail * fs.f_frsize;
        if (avail >= bytes + DISK_RESERVE &&
            (old.n == 0 || (old.n < TEMPLATES_MAX && old.bytes + bytes <= TEMPLATES_BYTES_MAX))) {
            return 0;
        }
        if (old.n == 0) {
            return err_set(err, ERR_LIMIT, ENOSPC,
                           "a saved machine needs up to %llu MiB on the disk of the state "
                           "directory and %llu MiB are free; free some, or choose another place "
                           "with --state",
                           (unsigned long long)(bytes / MIB), (unsigned long long)(avail / MIB));
        }
        if (unlinkat(dirfd, old.name, 0) < 0 && errno != ENOENT) {
            return err_sys(err, "remove template '%s'", old.name);
        }
    }
    return err_set(err, ERR_HOST, ELOOP, "the directory of templates does not get emptier");
}

static int finish(int dirfd, int file, struct template_footer *f, struct err *err)
{
    char footer[TEMPLATE_FOOTER_BYTES];
    char link[40];
    struct stat st = {0};
    auto_free uint8_t *state = NULL;
    size_t got = 0;
    int r = 0;

    if (fstat(file, &st) < 0) {
        return err_sys(err, "fstat");
    }
    if ((uint64_t)st.st_size <= f->memory_bytes ||
        (uint64_t)st.st_size - f->memory_bytes > TEMPLATE_STATE_MAX - TEMPLATE_FOOTER_BYTES) {
        return err_set(err, ERR_HOST, EPROTO, "the monitor saved no state of a sensible size");
    }
    f->state_bytes = (uint64_t)st.st_size - f->memory_bytes;
    state = malloc(f->state_bytes);
    if (state == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = fd_pread_full(file, state, f->state_bytes, f->memory_bytes, &got, err);
    if (r == 0) {
        digest_of_data(state, got, &f->state);
        r = template_digest_memory(file, f->memory_bytes, &f->memory, err);
    }
    f->built = clock_ns(CLOCK_REALTIME) / NS_PER_S;
    if (r == 0) {
        r = template_footer_encode(f, footer, err);
    }
    if (r < 0) {
        return r;
    }
    if (pwrite(file, footer, sizeof(footer), st.st_size) != (ssize_t)sizeof(footer)) {
        return err_sys(err, "finish a template");
    }
    r = template_seal(file, f, err);
    if (r < 0) {
        return r;
    }
    /* A damaged or outdated one of the same name makes way; nobody else does this: the lock. */
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    if ((unlinkat(dirfd, f->key.hex, 0) < 0 && errno != ENOENT) ||
        linkat(AT_FDCWD, link, dirfd, f->key.hex, AT_SYMLINK_FOLLOW) < 0) {
        return err_sys(err, "name template '%s'", f->key.hex);
    }
    return 0;
}

static void say(const struct template_request *q, enum template_step step)
{
    if (q->progress != NULL) {
        q->progress(q->ctx, step);
    }
}

static int build(const struct template_request *q, int dirfd, const struct digest *key,
                 struct err *err)
{
    auto_fd int file = -1;
    struct template_footer f = {.key = *key,
                                .memory_bytes = q->config.memory_bytes,
                                .vcpus = q->config.vcpus,
                                .root = q->boot->root,
                                .tsc_khz = q->config.tsc_khz};
    int r = make_room(dirfd, q->config.memory_bytes + TEMPLATE_STATE_MAX, err);

    (void)snprintf(f.engine, sizeof(f.engine), "%s", q->engine->name);
    (void)snprintf(f.image, sizeof(f.image), "%s", q->boot->image);
    if (r == 0) {
        r = boot_id_read(f.boot_id, err);
    }
    if (r == 0) {
        r = fd_open_tmp(dirfd, &file, err);
    }
    if (r < 0) {
        return r;
    }
    if (ftruncate(file, (off_t)q->config.memory_bytes) < 0) {
        return err_sys(err, "size a template");
    }
    say(q, TEMPLATE_STEP_BOOT);
    r = template_boot_and_save(q, file, &f, err);
    r = r < 0 ? r : template_writes_learn(q, file, &f, err);
    if (r < 0) {
        return r;
    }
    say(q, TEMPLATE_STEP_DIGEST);
    return finish(dirfd, file, &f, err);
}

int template_open_dir(const struct store *store, int *ret, struct err *err)
{
    if (mkdirat(store->dirfd, DIR_NAME, 0700) < 0 && errno != EEXIST) {
        return err_sys(err, "make '%s/%s'", store->path, DIR_NAME);
    }
    return fd_open_nolink(store->dirfd, DIR_NAME, O_RDONLY | O_DIRECTORY, 0, ret, err);
}

/* What makes a template unusable, not the host's failure to look at it. */
static bool is_missing(const struct err *err)
{
    return err->errnum == ENOENT ||
           (err->class == ERR_USAGE && (err->errnum == ESTALE || err->errnum == EBADMSG));
}

int template_take(const struct template_request *q, struct template *ret, struct err *err)
{
    auto_fd int dirfd = -1;
    auto_fd int lock = -1;
    struct digest key = {.hex = ""};
    int r = template_open_dir(q->store, &dirfd, err);

    if (r == 0) {
        r = make_key(q, &key, err);
    }
    if (r == 0) {
        r = find(q, dirfd, &key, ret, err);
    }
    if (r < 0 && is_missing(err)) {
        *err = (struct err)ERR_INIT;
        r = template_lock(dirfd, q->stop, q->ctx, &lock, err);
        if (r == 0) {
            r = find(q, dirfd, &key, ret, err);
        }
        if (r < 0 && is_missing(err)) {
            *err = (struct err)ERR_INIT;
            r = build(q, dirfd, &key, err);
            if (r == 0) {
                r = find(q, dirfd, &key, ret, err);
                ret->built = r == 0;
                err->class = r < 0 ? ERR_HOST : err->class; /* what we just built must be good */
            }
        }
    }
    if (r < 0) {
        return err_wrap(err, "a machine's saved state");
    }
    /* For make_room(): the time of last use. Losing it only makes it go earlier. */
    template_mark_used(ret->memory_fd);
    return 0;
}
