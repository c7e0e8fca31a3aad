#include "proto/frame.h"

#include <assert.h>
#include <errno.h>

#include "proto/wire.h"

#define READ_SIZE ((size_t)128 * 1024)

/* Largest payloads, by type; everything that is not named has no such type. */
static int64_t len_max_to_guest(uint32_t type)
{
    switch (type) {
    case FRAME_JOB:
        return FRAME_JOB_MAX;
    case FRAME_STDIN:
        return FRAME_DATA_MAX;
    case FRAME_STDIN_EOF:
    case FRAME_STOP:
        return 0;
    default:
        return -1;
    }
}

static int64_t len_max_to_host(uint32_t type)
{
    switch (type) {
    case FRAME_STDOUT:
    case FRAME_STDERR:
    case FRAME_OUTPUT:
        return FRAME_DATA_MAX;
    case FRAME_STARTED:
        return 0;
    case FRAME_CREDIT:
        return 4;
    case FRAME_READY:
    case FRAME_EXIT:
    case FRAME_OUTPUT_END:
    case FRAME_FAILED:
        return 1024;
    default:
        return -1;
    }
}

int64_t frame_len_max(uint32_t type, enum frame_side side)
{
    return side == FRAME_TO_GUEST ? len_max_to_guest(type) : len_max_to_host(type);
}

void frame_header_encode(uint8_t out[FRAME_HEADER_SIZE], enum frame_type type, uint32_t len,
                         uint32_t seq)
{
    wire_put_u32(out, FRAME_MAGIC);
    wire_put_u16(out + 4, (uint16_t)type);
    wire_put_u16(out + 6, 0);
    wire_put_u32(out + 8, len);
    wire_put_u32(out + 12, seq);
}

void frame_decoder_init(struct frame_decoder *dec, enum frame_side side)
{
    size_t largest = side == FRAME_TO_GUEST ? FRAME_JOB_MAX : FRAME_DATA_MAX;

    *dec = (struct frame_decoder){
        .side = side,
        .buf = BUF_INIT(FRAME_HEADER_SIZE + largest + READ_SIZE),
    };
}

void frame_decoder_fini(struct frame_decoder *dec)
{
    buf_fini(&dec->buf);
    dec->taken = 0;
    dec->broken = true;
}

int frame_decoder_space(struct frame_decoder *dec, uint8_t **ret, size_t *ret_len, struct err *err)
{
    size_t room = 0;
    int r = 0;

    if (dec->broken) {
        return err_guest(err, "channel: read after a protocol error");
    }
    buf_consume(&dec->buf, dec->taken);
    dec->taken = 0;
    room = dec->buf.max - dec->buf.len;
    if (room == 0) {
        /* Unreachable while the caller takes every whole frame before it reads on. */
        dec->broken = true;
        return err_guest(err, "channel: %zu bytes wait undecoded", dec->buf.len);
    }
    if (room > READ_SIZE) {
        room = READ_SIZE;
    }
    r = buf_reserve(&dec->buf, room, ret);
    if (r < 0) {
        return err_sys_num(err, -r, "channel: make room for %zu bytes", room);
    }
    *ret_len = room;
    return 0;
}

void frame_decoder_fed(struct frame_decoder *dec, size_t len)
{
    assert(len <= dec->buf.max - dec->buf.len);
    dec->buf.len += len;
}

/* Checks a whole header at the front. 0, or the text says what is wrong. */
static int check_header(const struct frame_decoder *dec, const uint8_t *at, struct err *err)
{
    uint32_t type = wire_get_u16(at + 4);
    uint32_t len = wire_get_u32(at + 8);
    int64_t max = frame_len_max(type, dec->side);

    if (wire_get_u32(at) != FRAME_MAGIC) {
        return err_guest(err, "channel: frame %u has magic 0x%08x, not 0x%08x", dec->next_seq,
                         wire_get_u32(at), FRAME_MAGIC);
    }
    if (max < 0) {
        return err_guest(err, "channel: frame %u has unknown type %u", dec->next_seq, type);
    }
    if (wire_get_u16(at + 6) != 0) {
        return err_guest(err, "channel: frame %u has reserved bits 0x%04x set", dec->next_seq,
                         wire_get_u16(at + 6));
    }
    if (len > (uint64_t)max) {
        return err_guest(err, "channel: frame %u of type %u has %u bytes, the most is %lld",
                         dec->next_seq, type, len, (long long)max);
    }
    if (wire_get_u32(at + 12) != dec->next_seq) {
        return err_guest(err, "channel: frame %u has sequence number %u", dec->next_seq,
                         wire_get_u32(at + 12));
    }
    return 0;
}

int frame_decoder_next(struct frame_decoder *dec, struct frame *ret, struct err *err)
{
    const uint8_t *at = NULL;
    size_t have = 0;
    uint32_t len = 0;
    int r = 0;

    if (dec->broken) {
        return err_guest(err, "channel: read after a protocol error");
    }
    have = dec->buf.len - dec->taken;
    if (have < FRAME_HEADER_SIZE) {
        return 0;
    }
    at = dec->buf.data + dec->taken;
    r = check_header(dec, at, err);
    if (r < 0) {
        dec->broken = true;
        return r;
    }
    len = wire_get_u32(at + 8);
    if (have - FRAME_HEADER_SIZE < len) {
        return 0;
    }
    *ret = (struct frame){
        .type = (enum frame_type)wire_get_u16(at + 4),
        .len = len,
        .data = at + FRAME_HEADER_SIZE,
    };
    dec->taken += FRAME_HEADER_SIZE + (size_t)len;
    dec->next_seq++;
    return 1;
}
