/*
 * How it works.  A job checks what costs next to nothing, and the state, which the monitor parses.
 * The memory, hundreds of MiB of file with some ten or hundred MiB in it, is only hashed when it
 * was just saved and by `airlock template verify`.  What a job sees of it is its modification time:
 * it was set to a whole second when the template was complete, and whoever writes to the file
 * afterwards moves it, unless he sets it back on purpose, which only its owner can.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sup/template-internal.h"
#include "sys/fd.h"

#define PAGE  4096u
#define CHUNK (256 * KIB)

static int not_used(struct err *err, int errnum, const char *what)
{
    return err_set(err, ERR_USAGE, errnum, TEMPLATE_UNUSED "%s", what);
}

static int check_file(const struct template_footer *f, const struct stat *st, struct err *err)
{
    uint64_t want = f->memory_bytes + f->state_bytes + TEMPLATE_FOOTER_BYTES;

    if (st->st_uid != geteuid() || (st->st_mode & 07777) != 0444) {
        return not_used(err, EBADMSG, "its owner or mode is not what it was built with");
    }
    if ((uint64_t)st->st_size != want) {
        return not_used(err, EBADMSG, "its length is not what its footer says");
    }
    if ((uint64_t)st->st_mtim.tv_sec != f->built || st->st_mtim.tv_nsec != 0) {
        return not_used(err, EBADMSG, "it was written to after it was built");
    }
    return 0;
}

int template_open(int dirfd, const struct digest *key, int *ret_fd, struct template_footer *ret,
                  struct err *err)
{
    auto_fd int fd = -1;
    struct template_footer f = {.tsc_khz = 0};
    char footer[TEMPLATE_FOOTER_BYTES];
    struct stat st = {0};
    size_t got = 0;
    /* No access time: whoever looks does not use it. Only its owner may leave that out. */
    int r = fd_open_nolink(dirfd, key->hex, O_RDONLY | O_NONBLOCK | O_NOATIME, 0, &fd, err);

    if (r == -EPERM) {
        *err = (struct err)ERR_INIT;
        return not_used(err, EBADMSG, "it is not ours");
    }
    if (r < 0) {
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "fstat");
    }
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)TEMPLATE_FOOTER_BYTES) {
        return not_used(err, EBADMSG, "it is no regular file, or too short");
    }
    r = fd_pread_full(fd, footer, sizeof(footer), (uint64_t)st.st_size - TEMPLATE_FOOTER_BYTES,
                      &got, err);
    if (r == 0 && got < sizeof(footer)) {
        r = not_used(err, EBADMSG, "it became shorter");
    }
    if (r == 0) {
        r = template_footer_decode(footer, &f, err);
    }
    if (r == 0) {
        r = check_file(&f, &st, err);
    }
    if (r < 0) {
        return r;
    }
    if (!digest_equal(key, &f.key)) {
        return not_used(err, EBADMSG, "it is that of another machine");
    }
    *ret = f;
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

int template_check_boot(const struct template_footer *f, struct err *err)
{
    char boot_id[BOOT_ID_SIZE];
    int r = boot_id_read(boot_id, err);

    if (r == 0 && strcmp(boot_id, f->boot_id) != 0) {
        return not_used(err, ESTALE, "the host was started again since");
    }
    return r;
}

int template_check_state(int fd, const struct template_footer *f, struct err *err)
{
    auto_free uint8_t *state = malloc(f->state_bytes + 1); /* bounded by the footer's decoder */
    struct digest is = {.hex = ""};
    size_t got = 0;
    int r = 0;

    if (state == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = fd_pread_full(fd, state, f->state_bytes, f->memory_bytes, &got, err);
    if (r < 0) {
        return r;
    }
    digest_of_data(state, got, &is);
    return digest_equal(&is, &f->state) ? 0
                                        : not_used(err, EBADMSG, "its state has another digest");
}

/* One page's number and bytes, unless it is nothing but zeros. */
static void update_page(struct digest_ctx *ctx, uint64_t number, const uint8_t *page)
{
    static const uint8_t zeros[PAGE];
    uint8_t head[sizeof(number)];

    if (memcmp(page, zeros, PAGE) == 0) {
        return;
    }
    for (size_t i = 0; i < sizeof(head); i++) { /* little-endian */
        head[i] = (uint8_t)(number >> (8 * i));
    }
    digest_update(ctx, head, sizeof(head));
    digest_update(ctx, page, PAGE);
}

static int update_extent(struct digest_ctx *ctx, int fd, uint64_t from, uint64_t to,
                         struct err *err)
{
    auto_free uint8_t *chunk = malloc(CHUNK);

    if (chunk == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    while (from < to) {
        size_t want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
        size_t got = 0;
        int r = fd_pread_full(fd, chunk, want, from, &got, err);

        for (size_t at = 0; at + PAGE <= got && r == 0; at += PAGE) {
            update_page(ctx, (from + at) / PAGE, chunk + at);
        }
        if (r == 0 && got < want) {
            return not_used(err, EBADMSG, "it became shorter");
        }
        if (r < 0) {
            return r;
        }
        from += want;
    }
    return 0;
}

int template_digest_memory(int fd, uint64_t bytes, struct digest *ret, struct err *err)
{
    struct digest_ctx ctx;
    uint64_t at = 0;
    int r = 0;

    digest_begin(&ctx);
    while (r == 0 && at < bytes) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

        if (data < 0 && errno == ENXIO) {
            break; /* nothing but a hole is left */
        }
        if (data < 0 || hole <= data) {
            return err_sys(err, "look for holes in a template");
        }
        if ((uint64_t)data >= bytes) {
            break;
        }
        /* A file system may tell a hole in the middle of a page. */
        at = (uint64_t)data / PAGE * PAGE;
        hole = (hole + (off_t)PAGE - 1) / (off_t)PAGE * (off_t)PAGE;
        hole = (uint64_t)hole < bytes ? hole : (off_t)bytes;
        r = update_extent(&ctx, fd, at, (uint64_t)hole, err);
        at = (uint64_t)hole;
    }
    digest_finish(&ctx, ret);
    return r;
}

int template_seal(int fd, const struct template_footer *f, struct err *err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = (time_t)f->built}};

    if (fchmod(fd, 0444) < 0 || futimens(fd, times) < 0) {
        return err_sys(err, "seal a template");
    }
    return 0;
}

void template_mark_used(int fd)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};

    (void)futimens(fd, times);
}

uint64_t template_last_use(const struct stat *st)
{
    return (uint64_t)st->st_atim.tv_sec * NS_PER_S + (uint64_t)st->st_atim.tv_nsec;
}
