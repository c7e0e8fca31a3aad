#include "proto/outar.h"

#include <errno.h>
#include <string.h>

#include "proto/wire.h"

void outar_header_encode(uint8_t out[OUTAR_HEADER_SIZE], const struct outar_header *h)
{
    wire_put_u32(out, OUTAR_MAGIC);
    out[4] = (uint8_t)h->kind;
    out[5] = 0;
    out[6] = 0;
    out[7] = 0;
    wire_put_u32(out + 8, h->mode);
    wire_put_u32(out + 12, h->name_len);
    wire_put_u64(out + 16, h->size);
}

static bool is_kind(uint8_t kind)
{
    return kind >= OUTAR_FILE && kind <= OUTAR_END;
}

int outar_header_decode(const uint8_t in[OUTAR_HEADER_SIZE], struct outar_header *ret,
                        struct err *err)
{
    struct outar_header h = {
        .mode = wire_get_u32(in + 8),
        .name_len = wire_get_u32(in + 12),
        .size = wire_get_u64(in + 16),
    };

    if (wire_get_u32(in) != OUTAR_MAGIC) {
        return err_guest(err, "output stream: record has magic 0x%08x, not 0x%08x",
                         wire_get_u32(in), OUTAR_MAGIC);
    }
    if (!is_kind(in[4])) {
        return err_guest(err, "output stream: record of unknown kind %u", in[4]);
    }
    if (in[5] != 0 || in[6] != 0 || in[7] != 0) {
        return err_guest(err, "output stream: reserved bytes of a record are not zero");
    }
    h.kind = (enum outar_kind)in[4];
    if ((h.mode & ~07777u) != 0) {
        return err_guest(err, "output stream: record has mode 0%o", h.mode);
    }
    if (h.kind != OUTAR_FILE && h.size != 0) {
        return err_guest(err, "output stream: record of kind %u has %llu bytes of data", in[4],
                         (unsigned long long)h.size);
    }
    if (h.kind == OUTAR_END) {
        if (h.name_len != 0 || h.mode != 0) {
            return err_guest(err, "output stream: the end record has a name or a mode");
        }
    } else if (h.name_len == 0 || h.name_len > OUTAR_PATH_MAX) {
        return err_guest(err, "output stream: name of %u bytes, it must be 1 to %u", h.name_len,
                         OUTAR_PATH_MAX);
    }
    *ret = h;
    return 0;
}

static bool component_ok(const uint8_t *name, size_t len)
{
    if (len == 0 || (len == 1 && name[0] == '.') ||
        (len == 2 && name[0] == '.' && name[1] == '.')) {
        return false;
    }
    return memchr(name, '\0', len) == NULL;
}

bool outar_name_ok(const uint8_t *name, size_t len, uint32_t *ret_depth)
{
    uint32_t depth = 0;
    size_t start = 0;

    if (len == 0 || len > OUTAR_PATH_MAX) {
        return false;
    }
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '/') {
            continue;
        }
        if (!component_ok(name + start, i - start)) {
            return false;
        }
        depth++;
        start = i + 1;
    }
    *ret_depth = depth;
    return true;
}
