/* Messages from a stranger: first byte which one. What decodes must encode to the same bytes. */
#include <string.h>

#include "fuzz.h"
#include "proto/frame.h"
#include "proto/msg.h"

static void same(const struct buf *buf, int r, const uint8_t *data, size_t size)
{
    fuzz_check(r == 0);
    fuzz_check(buf->len == size && memcmp(buf->data, data, size) == 0);
}

static void fuzz_job(const uint8_t *data, size_t size, struct buf *buf, struct err *err)
{
    struct msg_job m = {0};

    if (msg_job_decode(data, size, &m, err) == 0) {
        same(buf, msg_job_encode(&m, buf), data, size);
    }
    msg_job_fini(&m);
}

static void fuzz_exit(const uint8_t *data, size_t size, struct buf *buf, struct err *err)
{
    struct msg_exit m = {0};

    if (msg_exit_decode(data, size, &m, err) == 0) {
        same(buf, msg_exit_encode(&m, buf), data, size);
    }
}

static void fuzz_ready(const uint8_t *data, size_t size, struct buf *buf, struct err *err)
{
    struct msg_ready m = {0};

    if (msg_ready_decode(data, size, &m, err) == 0) {
        same(buf, msg_ready_encode(&m, buf), data, size);
    }
}

static void fuzz_output_end(const uint8_t *data, size_t size, struct buf *buf, struct err *err)
{
    struct msg_output_end m = {0};

    if (msg_output_end_decode(data, size, &m, err) == 0) {
        same(buf, msg_output_end_encode(&m, buf), data, size);
    }
}

static void fuzz_failed(const uint8_t *data, size_t size, struct buf *buf, struct err *err)
{
    struct msg_failed m = {0};

    if (msg_failed_decode(data, size, &m, err) == 0) {
        same(buf, msg_failed_encode(&m, buf), data, size);
    }
}

static void fuzz_credit(const uint8_t *data, size_t size, struct buf *buf, struct err *err)
{
    uint32_t bytes = 0;

    if (msg_credit_decode(data, size, &bytes, err) == 0) {
        same(buf, msg_credit_encode(bytes, buf), data, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(const uint8_t *, size_t, struct buf *, struct err *) = {
        fuzz_job, fuzz_exit, fuzz_ready, fuzz_output_end, fuzz_failed, fuzz_credit,
    };
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct err err = ERR_INIT;

    if (size > 0) {
        targets[data[0] % ARRAY_LEN(targets)](data + 1, size - 1, &buf, &err);
    }
    buf_fini(&buf);
    return 0;
}
