#include "sup/inspector.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "job/contract-check.h"
#include "proto/wire.h"
#include "sup/helper.h"
#include "sys/fd.h"

#define VERDICT_SIZE 8u /* u32 number of the broken rule, 0 = none; u32 length of the text behind */

void inspection_fini(struct inspection *in)
{
    outputs_fini(&in->outputs);
}

static int no_room(int r, struct err *err)
{
    return err_set(err, ERR_HOST, -r, "no memory for the inspector's answer");
}

static uint32_t rule_number(const char *rule)
{
    uint32_t i = 0;

    while (contract_rule(i) != NULL && strcmp(contract_rule(i), rule) != 0) {
        i++;
    }
    return i + 1;
}

/* In the helper. */
static int outputs_work(void *ctx, struct buf *answer, struct err *err)
{
    const struct inspect_job *job = ctx;
    auto_outputs struct outputs outputs = {0};
    struct err broken = ERR_INIT;
    const char *rule = NULL;
    uint8_t head[VERDICT_SIZE] = {0};
    int r = outputs_inspect(HELPER_IN, job->stream_bytes, job->limits, &outputs, err);

    if (r < 0) {
        return r;
    }
    r = contract_check(job->contract, HELPER_IN, &outputs, job->limits, &rule, &broken);
    if (r < 0 && broken.class != ERR_GUEST) {
        *err = broken;
        return r;
    }
    if (r < 0) {
        wire_put_u32(head, rule_number(rule));
        wire_put_u32(head + 4, (uint32_t)strlen(broken.msg));
    }
    r = buf_put(answer, head, sizeof(head));
    if (r == 0) {
        r = buf_put(answer, broken.msg, strlen(broken.msg));
    }
    return r < 0 ? no_room(r, err) : outputs_encode(&outputs, answer, err);
}

static int decode_outputs(const struct inspect_job *job, const struct buf *answer,
                          struct inspection *ret, struct err *err)
{
    uint32_t number = 0;
    uint32_t len = 0;

    if (answer->len < VERDICT_SIZE) {
        return err_set(err, ERR_HOST, EPROTO, "the inspector's answer is cut short");
    }
    number = wire_get_u32(answer->data);
    len = wire_get_u32(answer->data + 4);
    if (len >= sizeof(ret->message) || len > answer->len - VERDICT_SIZE ||
        (number != 0 && contract_rule(number - 1) == NULL) ||
        (number != 0 && job->contract->kind == CONTRACT_NONE)) {
        return err_set(err, ERR_HOST, EPROTO, "the inspector's answer is malformed: a rule");
    }
    memcpy(ret->message, answer->data + VERDICT_SIZE, len);
    ret->message[len] = '\0';
    ret->rule = number == 0 ? NULL : contract_rule(number - 1);
    return outputs_decode(answer->data + VERDICT_SIZE + len, answer->len - VERDICT_SIZE - len,
                          job->stream_bytes, job->limits, &ret->outputs, err);
}

int inspect_outputs(const struct inspect_job *job, struct inspection *ret, struct err *err)
{
    on_scope_exit(inspection_fini) struct inspection in = {0};
    auto_fd int fd = -1;
    size_t max = VERDICT_SIZE + ERR_MSG_MAX + outputs_encoded_max(job->limits);
    auto_buf struct buf answer = BUF_INIT(max);
    int r = 0;

    union {
        const void *in;
        void *out;
    } ctx = {job};

    /* The end record alone takes no parser. */
    if (job->contract->kind == CONTRACT_NONE && outputs_none(job->stream_fd, job->stream_bytes)) {
        *ret = in;
        return 0;
    }
    r = job->contract->kind == CONTRACT_ARCHIVE ? unpack_prepare(err) : 0;
    if (r == 0) {
        r = fd_reopen(job->stream_fd, O_RDONLY, &fd, err);
    }
    if (r == 0) {
        r = helper_run(&(struct helper_spec){.name = "inspector",
                                             .work = outputs_work,
                                             .ctx = ctx.out,
                                             .in_fd = fd,
                                             .data_fd = -1,
                                             .uid = job->uid,
                                             .answer_max = max},
                       &answer, err);
    }
    if (r == 0) {
        r = decode_outputs(job, &answer, &in, err);
    }
    if (r == 0) {
        r = outputs_digest(fd, &in.outputs, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = in;
    in = (struct inspection){0};
    return 0;
}

/* In the helper. */
static int unpack_work(void *ctx, struct buf *answer, struct err *err)
{
    const struct unpack_job *job = ctx;
    const struct unpack_source source = {.fd = HELPER_IN, .bytes = job->archive_bytes};
    auto_unpacked struct unpacked u = {0};
    int r = unpack(&source, job->budget, HELPER_DATA, &u, err);

    return r < 0 ? r : unpacked_encode(&u, answer, err);
}

/* A helper that the archive brought to its limits: trying again would end the same. */
static int explain(struct err *err)
{
    if (err->class == ERR_HOST && (err->errnum == ECHILD || err->errnum == ETIMEDOUT ||
                                   err->errnum == EPROTO || err->errnum == ENOMEM)) {
        err->class = ERR_USAGE;
    }
    return -err->errnum;
}

int inspect_unpack(const struct unpack_job *job, struct unpacked *ret, int *ret_data_fd,
                   struct err *err)
{
    auto_fd int data = -1;
    size_t max = unpacked_encoded_max(job->budget);
    auto_buf struct buf answer = BUF_INIT(max);
    struct stat st = {0};
    int r = unpack_prepare(err);

    union {
        const void *in;
        void *out;
    } ctx = {job};

    if (r == 0) {
        r = fd_open_tmp(job->tmp_dirfd, &data, err);
    }
    if (r < 0) {
        return r;
    }
    r = helper_run(&(struct helper_spec){.name = "unpacker",
                                         .work = unpack_work,
                                         .ctx = ctx.out,
                                         .in_fd = job->archive_fd,
                                         .data_fd = data,
                                         .uid = job->uid,
                                         .fsize_bytes = job->budget->bytes,
                                         .answer_max = max},
                   &answer, err);
    if (r == 0 && fstat(data, &st) < 0) {
        return err_sys(err, "examine the unpacked data");
    }
    if (r == 0) {
        r = unpacked_decode(answer.data, answer.len, (uint64_t)st.st_size, job->budget, ret, err);
    }
    if (r < 0) {
        return explain(err);
    }
    *ret_data_fd = STEAL_FD(&data);
    return 0;
}
