/* Frames from a stranger: first byte the direction, the rest the bytes in pieces of odd sizes. */
#include <string.h>

#include "fuzz.h"
#include "proto/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_decoder dec;
    struct err err = ERR_INIT;
    struct frame frame = {0};
    size_t step = 1;
    int r = 0;

    if (size == 0) {
        return 0;
    }
    frame_decoder_init(&dec, (data[0] & 1) != 0 ? FRAME_TO_HOST : FRAME_TO_GUEST);
    data++;
    size--;
    while (size > 0 && r == 0) {
        uint8_t *at = NULL;
        size_t room = 0;

        if (frame_decoder_space(&dec, &at, &room, &err) < 0) {
            break;
        }
        step = step * 7 % 1021 + 1;
        room = room < step ? room : step;
        room = room < size ? room : size;
        memcpy(at, data, room);
        frame_decoder_fed(&dec, room);
        data += room;
        size -= room;
        while ((r = frame_decoder_next(&dec, &frame, &err)) == 1) {
            fuzz_check((int64_t)frame.len <= frame_len_max(frame.type, dec.side));
            fuzz_touch(frame.data, frame.len);
        }
    }
    frame_decoder_fini(&dec);
    return 0;
}
