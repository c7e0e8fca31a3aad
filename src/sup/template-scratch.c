#include "sup/template-scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "job/scratch.h"
#include "proto/wire.h"
#include "sys/fd.h"

#define BLOCK_BYTES ((size_t)4096)
#define RUN_BYTES   ((size_t)256 * KIB) /* one piece at most */
#define HEAD_BYTES  16u

static bool is_zero(const uint8_t *data, size_t len)
{
    return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

static int put_piece(int file, uint64_t offset, const uint8_t *data, size_t len, struct err *err)
{
    uint8_t head[HEAD_BYTES];
    int r = 0;

    wire_put_u64(head, offset);
    wire_put_u64(head + 8, len);
    r = fd_write_full(file, head, sizeof(head), err);
    return r < 0 ? r : fd_write_full(file, data, len, err);
}

/* The blocks of one run that are not zero, neighbours together. */
static int save_run(int file, uint64_t at, const uint8_t *data, size_t len, struct err *err)
{
    size_t from = 0;

    while (from < len) {
        size_t to = from;

        while (to < len && !is_zero(data + to, BLOCK_BYTES)) {
            to += BLOCK_BYTES;
        }
        if (to > from) {
            int r = put_piece(file, at + from, data + from, to - from, err);

            if (r < 0) {
                return r;
            }
        }
        from = to + BLOCK_BYTES;
    }
    return 0;
}

int template_scratch_save(int scratch_fd, uint64_t disk_bytes, int file, uint64_t *ret_bytes,
                          struct err *err)
{
    auto_free uint8_t *run = malloc(RUN_BYTES);
    off_t start = lseek(file, 0, SEEK_END);
    off_t end = 0;

    if (run == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (start < 0) {
        return err_sys(err, "lseek");
    }
    for (uint64_t at = 0; at < disk_bytes; at += RUN_BYTES) {
        size_t want = disk_bytes - at < RUN_BYTES ? (size_t)(disk_bytes - at) : RUN_BYTES;
        size_t got = 0;
        int r = fd_pread_full(scratch_fd, run, want, at, &got, err);

        got -= got % BLOCK_BYTES;
        if (r == 0) {
            r = save_run(file, at, run, got, err);
        }
        if (r < 0) {
            return r;
        }
    }
    end = lseek(file, 0, SEEK_CUR);
    if (end < start) {
        return err_sys(err, "lseek");
    }
    *ret_bytes = (uint64_t)(end - start);
    return 0;
}

/* Its digest was compared; a length that does not fit would be our own mistake. */
static int fill_from(const uint8_t *data, size_t len, uint64_t disk_bytes, int scratch_fd,
                     struct err *err)
{
    struct wire_in in = {data, len};

    while (in.left > 0) {
        const uint8_t *head = wire_take(&in, HEAD_BYTES);
        uint64_t at = head != NULL ? wire_get_u64(head) : 0;
        uint64_t n = head != NULL ? wire_get_u64(head + 8) : 0;
        const uint8_t *piece = n <= RUN_BYTES ? wire_take(&in, (size_t)n) : NULL;

        if (head == NULL || piece == NULL || at > disk_bytes || n > disk_bytes - at) {
            return err_set(err, ERR_HOST, EBADMSG, "the saved scratch disk is damaged");
        }
        if (pwrite(scratch_fd, piece, (size_t)n, (off_t)at) != (ssize_t)n) {
            return errno == ENOSPC || errno == EDQUOT
                       ? err_set(err, ERR_LIMIT, ENOSPC, "no space left for the scratch disk")
                       : err_sys(err, "write the scratch disk");
        }
    }
    return 0;
}

int template_scratch_fill(const struct template *t, uint64_t disk_bytes, int scratch_fd,
                          struct err *err)
{
    auto_free uint8_t *data = NULL;
    size_t got = 0;
    int r = 0;

    if (t->scratch_bytes == 0) {
        return 0;
    }
    r = scratch_reserve(scratch_fd, disk_bytes, err);
    if (r < 0) {
        return r;
    }
    data = malloc(t->scratch_bytes); /* below TEMPLATE_STATE_MAX: the footer's decoder */
    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = fd_pread_full(t->memory_fd, data, t->scratch_bytes, t->scratch_at, &got, err);
    return r < 0 ? r : fill_from(data, got, disk_bytes, scratch_fd, err);
}
