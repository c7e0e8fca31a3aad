/* The output stream from a stranger: records one after the other, as the inspector walks them. */
#include "fuzz.h"
#include "proto/outar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    while (size >= OUTAR_HEADER_SIZE) {
        struct outar_header h = {0};
        struct err err = ERR_INIT;
        uint32_t depth = 0;

        if (outar_header_decode(data, &h, &err) < 0 || h.kind == OUTAR_END) {
            break;
        }
        data += OUTAR_HEADER_SIZE;
        size -= OUTAR_HEADER_SIZE;
        fuzz_check(h.name_len > 0 && h.name_len <= OUTAR_PATH_MAX);
        if (size < h.name_len || !outar_name_ok(data, h.name_len, &depth)) {
            break;
        }
        fuzz_check(depth > 0 && depth <= (OUTAR_PATH_MAX + 1) / 2);
        fuzz_check(data[0] != '/' && data[h.name_len - 1] != '/');
        data += h.name_len;
        size -= h.name_len;
        if (size < h.size) {
            break;
        }
        data += h.size;
        size -= (size_t)h.size;
    }
    return 0;
}
