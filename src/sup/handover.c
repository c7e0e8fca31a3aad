#include "sup/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/spec-wire.h"
#include "sys/fd.h"

enum part_kind {
    PART_STDIN = 1,
    PART_DIR,
    PART_SPEC
};

/* Between two processes of one program. */
struct part {
    uint32_t kind;
    uint32_t streaming; /* these with PART_SPEC */
    uint64_t submitted_ns;
};

void handover_fini(struct handover *h)
{
    spec_fini(&h->spec);
    fd_close_p(&h->dir_fd);
}

static void wiped_fini(struct buf *buf)
{
    if (buf->data != NULL) {
        explicit_bzero(buf->data, buf->len);
    }
    buf_fini(buf);
}

static int send_part(int sock, struct part part, int fd, struct err *err)
{
    ssize_t n = fd_send(sock, &part, sizeof(part), fd, MSG_DONTWAIT);

    if (n == (ssize_t)sizeof(part)) {
        return 0;
    }
    return err_sys_num(err, n < 0 ? (int)-n : EPIPE, "hand the job over");
}

static int encode(const struct spec *spec, int *ret_fd, struct err *err)
{
    on_scope_exit(wiped_fini) struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    auto_fd int fd = memfd_create("airlock-job", MFD_CLOEXEC);
    int r = fd < 0 ? err_sys(err, "memfd_create") : spec_encode(spec, &text, err);

    if (r == 0) {
        r = fd_write_full(fd, text.data, text.len, err);
    }
    if (r == 0) {
        *ret_fd = STEAL_FD(&fd);
    }
    return r;
}

int handover_send(int sock, const struct spec *spec, bool streaming, uint64_t submitted_ns,
                  struct err *err)
{
    auto_fd int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int file = -1;
    int r = dir < 0 ? err_sys(err, "open the working directory") : encode(spec, &file, err);

    if (r == 0 && spec->stdin_fd >= 0) {
        r = send_part(sock, (struct part){.kind = PART_STDIN}, spec->stdin_fd, err);
    }
    if (r == 0) {
        r = send_part(sock, (struct part){.kind = PART_DIR}, dir, err);
    }
    if (r == 0) {
        r = send_part(
            sock,
            (struct part){.kind = PART_SPEC, .streaming = streaming, .submitted_ns = submitted_ns},
            file, err);
    }
    return r;
}

/* Zeros in place of what was read: it may hold secrets, and others may still have it open. */
static void wipe(int fd, size_t len)
{
    static const uint8_t zeros[4096];

    for (size_t done = 0; done < len; done += sizeof(zeros)) {
        size_t n = len - done < sizeof(zeros) ? len - done : sizeof(zeros);

        (void)!pwrite(fd, zeros, n, (off_t)done);
    }
}

static int decode(int fd, struct spec *spec, struct err *err)
{
    on_scope_exit(wiped_fini) struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    struct stat st = {0};
    uint8_t *at = NULL;
    size_t n = 0;
    int r = 0;

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "look at the job");
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > SPEC_WIRE_MAX) {
        return err_set(err, ERR_HOST, EPROTO, "a job that was handed over has no sensible size");
    }
    if (buf_reserve(&text, (size_t)st.st_size, &at) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the job");
    }
    r = fd_pread_full(fd, at, (size_t)st.st_size, 0, &n, err);
    if (r < 0) {
        return r;
    }
    text.len = n;
    wipe(fd, n);
    r = spec_decode(spec, text.data, text.len, err);
    return r < 0 ? r : spec_check(spec, err);
}

/* Takes the descriptor. 1 when that was the last part. */
static int take_part(const struct part *part, int take_fd, struct handover *ret, struct err *err)
{
    auto_fd int fd = take_fd;
    int *place = NULL;
    int r = 0;

    switch (part->kind) {
    case PART_STDIN:
        place = &ret->spec.stdin_fd;
        break;
    case PART_DIR:
        place = &ret->dir_fd;
        break;
    case PART_SPEC:
        break;
    default:
        return err_set(err, ERR_HOST, EPROTO, "part %u of a job is not known", part->kind);
    }
    if (fd < 0 || (place != NULL && *place >= 0) || (place == NULL && ret->dir_fd < 0)) {
        return err_set(err, ERR_HOST, EPROTO,
                       "part %u of a job came without its file, twice or "
                       "too early",
                       part->kind);
    }
    if (place != NULL) {
        *place = STEAL_FD(&fd);
        return 0;
    }
    ret->streaming = part->streaming != 0;
    ret->submitted_ns = part->submitted_ns;
    r = decode(fd, &ret->spec, err);
    return r < 0 ? r : 1;
}

int handover_receive(int sock, struct handover *ret, struct err *err)
{
    auto_handover struct handover h = HANDOVER_INIT;
    int r = 0;

    spec_init(&h.spec);
    while (r == 0) {
        struct part part = {0};
        int fd = -1;

        r = fd_receive(sock, &part, sizeof(part), &fd, err);
        if (r == 0) {
            return err_set(err, ERR_HOST, EPIPE, "the caller is gone");
        }
        if (r > 0) {
            r = take_part(&part, fd, &h, err);
        }
    }
    if (r < 0) {
        return r;
    }
    *ret = h;
    h = (struct handover)HANDOVER_INIT;
    return 0;
}
