#include <errno.h>
#include <string.h>

#include "proto/frame.h"
#include "test.h"

static const uint8_t hello[] = {'h', 'e', 'l', 'l', 'o'};
static const uint8_t abc[] = {'a', 'b', 'c'};

static void feed(struct frame_decoder *dec, const uint8_t *data, size_t len)
{
    struct err err = ERR_INIT;

    while (len > 0) {
        uint8_t *at = NULL;
        size_t room = 0;

        assert_ok(frame_decoder_space(dec, &at, &room, &err), &err);
        room = room < len ? room : len;
        memcpy(at, data, room);
        frame_decoder_fed(dec, room);
        data += room;
        len -= room;
    }
}

static void frames_come_out_as_they_went_in(void **state)
{
    struct frame_decoder dec;
    struct frame frame = {0};
    struct err err = ERR_INIT;
    uint8_t raw[2 * FRAME_HEADER_SIZE + 5];

    (void)state;
    frame_header_encode(raw, FRAME_STDIN, 5, 0);
    memcpy(raw + FRAME_HEADER_SIZE, hello, sizeof(hello));
    frame_header_encode(raw + FRAME_HEADER_SIZE + 5, FRAME_STDIN_EOF, 0, 1);
    frame_decoder_init(&dec, FRAME_TO_GUEST);
    feed(&dec, raw, sizeof(raw));
    assert_int_equal(frame_decoder_next(&dec, &frame, &err), 1);
    assert_int_equal(frame.type, FRAME_STDIN);
    assert_int_equal(frame.len, 5);
    assert_memory_equal(frame.data, "hello", 5);
    assert_int_equal(frame_decoder_next(&dec, &frame, &err), 1);
    assert_int_equal(frame.type, FRAME_STDIN_EOF);
    assert_int_equal(frame.len, 0);
    assert_int_equal(frame_decoder_next(&dec, &frame, &err), 0);
    frame_decoder_fini(&dec);
}

static void a_frame_may_come_byte_by_byte(void **state)
{
    struct frame_decoder dec;
    struct frame frame = {0};
    struct err err = ERR_INIT;
    uint8_t raw[FRAME_HEADER_SIZE + 3];

    (void)state;
    frame_header_encode(raw, FRAME_STDOUT, 3, 0);
    memcpy(raw + FRAME_HEADER_SIZE, abc, sizeof(abc));
    frame_decoder_init(&dec, FRAME_TO_HOST);
    for (size_t i = 0; i < sizeof(raw); i++) {
        assert_int_equal(frame_decoder_next(&dec, &frame, &err), 0);
        feed(&dec, raw + i, 1);
    }
    assert_int_equal(frame_decoder_next(&dec, &frame, &err), 1);
    assert_memory_equal(frame.data, "abc", 3);
    frame_decoder_fini(&dec);
}

static void the_largest_job_frame_fits(void **state)
{
    struct frame_decoder dec;
    struct frame frame = {0};
    struct err err = ERR_INIT;
    uint8_t head[FRAME_HEADER_SIZE];
    uint8_t *body = calloc(1, FRAME_JOB_MAX);

    (void)state;
    assert_non_null(body);
    frame_header_encode(head, FRAME_JOB, FRAME_JOB_MAX, 0);
    frame_decoder_init(&dec, FRAME_TO_GUEST);
    feed(&dec, head, sizeof(head));
    feed(&dec, body, FRAME_JOB_MAX);
    assert_int_equal(frame_decoder_next(&dec, &frame, &err), 1);
    assert_int_equal(frame.len, FRAME_JOB_MAX);
    frame_decoder_fini(&dec);
    free(body);
}

/* Feeds one header after XOR-ing byte `at` with `bits`; it must be refused, and for good. */
static void refused(enum frame_side side, enum frame_type type, uint32_t len, uint32_t seq,
                    size_t at, uint8_t bits)
{
    struct frame_decoder dec;
    struct frame frame = {0};
    struct err err = ERR_INIT;
    struct err again = ERR_INIT;
    struct err space = ERR_INIT;
    uint8_t raw[FRAME_HEADER_SIZE];
    uint8_t *p = NULL;
    size_t room = 0;

    frame_header_encode(raw, type, len, seq);
    raw[at] ^= bits;
    frame_decoder_init(&dec, side);
    feed(&dec, raw, sizeof(raw));
    assert_int_equal(frame_decoder_next(&dec, &frame, &err), -EPROTO);
    assert_int_equal(err.class, ERR_GUEST);
    assert_int_equal(frame_decoder_next(&dec, &frame, &again), -EPROTO);
    assert_int_equal(frame_decoder_space(&dec, &p, &room, &space), -EPROTO);
    frame_decoder_fini(&dec);
}

static void a_bad_header_breaks_the_channel_for_good(void **state)
{
    (void)state;
    refused(FRAME_TO_HOST, FRAME_STDOUT, 1, 0, 0, 1);                  /* magic */
    refused(FRAME_TO_HOST, FRAME_STDOUT, 1, 0, 6, 1);                  /* reserved */
    refused(FRAME_TO_HOST, FRAME_STDOUT, 1, 0, 5, 1);                  /* type, high byte */
    refused(FRAME_TO_HOST, FRAME_STDIN, 1, 0, 0, 0);                   /* other direction */
    refused(FRAME_TO_GUEST, FRAME_STDOUT, 1, 0, 0, 0);                 /* other direction */
    refused(FRAME_TO_HOST, FRAME_STDOUT, FRAME_DATA_MAX + 1, 0, 0, 0); /* too long */
    refused(FRAME_TO_HOST, FRAME_STDOUT, UINT32_MAX, 0, 0, 0);
    refused(FRAME_TO_HOST, FRAME_STARTED, 1, 0, 0, 0); /* must be empty */
    refused(FRAME_TO_GUEST, FRAME_JOB, FRAME_JOB_MAX + 1, 0, 0, 0);
    refused(FRAME_TO_HOST, FRAME_STDOUT, 1, 1, 0, 0); /* sequence */
}

static void every_type_belongs_to_one_direction(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < 70000; type++) {
        assert_true(frame_len_max(type, FRAME_TO_HOST) < 0 ||
                    frame_len_max(type, FRAME_TO_GUEST) < 0);
    }
    assert_true(frame_len_max(FRAME_JOB, FRAME_TO_GUEST) == FRAME_JOB_MAX);
    assert_true(frame_len_max(FRAME_OUTPUT, FRAME_TO_HOST) == FRAME_DATA_MAX);
    assert_true(frame_len_max(FRAME_CREDIT, FRAME_TO_HOST) == 4);
}

TEST_MAIN(T(frames_come_out_as_they_went_in), T(a_frame_may_come_byte_by_byte),
          T(the_largest_job_frame_fits), T(a_bad_header_breaks_the_channel_for_good),
          T(every_type_belongs_to_one_direction))
