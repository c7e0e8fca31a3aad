/* Output streams that lie. The bytes themselves are what is hostile here; the frames are in order. */
#include <string.h>

#include "base/buf.h"

#include "evil.h"
#include "proto/outar.h"

struct record {
    enum outar_kind kind;
    const char *name;
    size_t name_len; /* 0: strlen(name) */
    uint64_t size;   /* announced */
    const char *data;
};

#define FILE_OF(text) OUTAR_FILE, text, 0, 4, "data"
#define DIR_OF(text)  OUTAR_DIR, text, 0, 0, ""
#define END_MARK      OUTAR_END, "", 0, 0, ""
#define RECORDS_MAX   6

static const struct lie {
    const char *name;
    struct record records[RECORDS_MAX];
} lies[] = {
    {"no-outputs", {{END_MARK}}},
    {"dotdot", {{FILE_OF("../escaped")}, {END_MARK}}},
    {"dotdot-inside", {{DIR_OF("d")}, {FILE_OF("d/../../escaped")}, {END_MARK}}},
    {"absolute", {{FILE_OF("/tmp/airlock-escaped")}, {END_MARK}}},
    {"nul", {{OUTAR_FILE, "a\0b", 3, 4, "data"}, {END_MARK}}},
    {"empty-component", {{DIR_OF("d")}, {FILE_OF("d//f")}, {END_MARK}}},
    {"size", {{OUTAR_FILE, "huge", 0, UINT64_MAX, "data"}, {END_MARK}}},
    {"short", {{OUTAR_FILE, "short", 0, 1000, "data"}, {END_MARK}}},
    {"no-end", {{FILE_OF("a")}}},
    {"after-end", {{FILE_OF("a")}, {END_MARK}, {FILE_OF("b")}, {END_MARK}}},
    {"kind", {{(enum outar_kind)77, "a", 0, 0, ""}, {END_MARK}}},
    {"nothing", {{0}}},
    {"duplicates", {{FILE_OF("a")}, {FILE_OF("a")}, {END_MARK}}},
    {"orphan", {{FILE_OF("no/parent")}, {END_MARK}}},
    {"below-a-link", {{OUTAR_OTHER, "l", 0, 0, ""}, {FILE_OF("l/f")}, {END_MARK}}},
    {"below-a-file", {{FILE_OF("f")}, {FILE_OF("f/g")}, {END_MARK}}},
};

static void put_record(struct buf *out, const struct record *r)
{
    struct outar_header h = {
        .kind = r->kind,
        .mode = 06777, /* setuid for everybody, if anybody took it */
        .name_len = (uint32_t)(r->name_len > 0 ? r->name_len : strlen(r->name)),
        .size = r->size,
    };
    uint8_t raw[OUTAR_HEADER_SIZE];

    if (r->kind == OUTAR_END) {
        h.mode = 0;
    }
    outar_header_encode(raw, &h);
    if (buf_put(out, raw, sizeof(raw)) < 0 || buf_put(out, r->name, h.name_len) < 0 ||
        buf_put(out, r->data, strlen(r->data)) < 0) {
        evil_wait();
    }
}

/* Directories beside each other, or each in the one before: one more than the caps allow. */
static void many(struct buf *out, size_t times, bool nested)
{
    char name[256] = "";
    size_t len = 0;

    for (size_t i = 0; i < times; i++) {
        if (nested) {
            name[len++] = 'd';
        } else {
            name[0] = (char)('a' + i / 26);
            name[1] = (char)('a' + i % 26);
        }
        put_record(out, &(struct record){.kind = OUTAR_DIR, .name = name, .data = ""});
        if (nested) {
            name[len++] = '/';
        }
    }
    put_record(out, &(struct record){END_MARK});
}

bool evil_outputs(struct evil *e, const char *name)
{
    struct buf out = BUF_INIT(MIB);
    static const uint8_t zeros[FRAME_DATA_MAX];
    bool known = true;

    if (strcmp(name, "flood") == 0) {
        evil_exit(e, false, 0, false);
        for (;;) {
            evil_frame(e, FRAME_OUTPUT, zeros, sizeof(zeros));
        }
    } else if (strcmp(name, "many") == 0) {
        many(&out, 65, false); /* --out-files is 64 */
    } else if (strcmp(name, "deep") == 0) {
        many(&out, 17, true); /* --out-depth is 16 */
    } else {
        known = false;
        for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
            if (strcmp(lies[i].name, name) != 0) {
                continue;
            }
            known = true;
            for (size_t n = 0; n < RECORDS_MAX && lies[i].records[n].name != NULL; n++) {
                put_record(&out, &lies[i].records[n]);
            }
        }
    }
    if (known) {
        evil_exit(e, false, 0, false);
        if (out.len > 0) {
            evil_frame(e, FRAME_OUTPUT, out.data, out.len);
        }
        evil_output_end(e);
    }
    buf_fini(&out);
    return known;
}
