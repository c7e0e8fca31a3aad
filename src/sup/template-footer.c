#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "proto/frame.h"
#include "sup/template.h"

#define FORMAT 2

int template_footer_encode(const struct template_footer *f, char ret[TEMPLATE_FOOTER_BYTES],
                           struct err *err)
{
    json_auto_t *root =
        json_pack("{s:i, s:s, s:I, s:I, s:s, s:s, s:I, s:i, s:b, s:I, s:s}", "format", FORMAT,
                  "key", f->key.hex, "memory_bytes", (json_int_t)f->memory_bytes, "state_bytes",
                  (json_int_t)f->state_bytes, "state_sha256", f->state.hex, "boot_id", f->boot_id,
                  "tsc_khz", (json_int_t)f->tsc_khz, "protocol", (int)PROTO_VERSION, "warm",
                  (int)f->warm, "warm_bytes", (json_int_t)f->warm_bytes, "cold_why", f->cold_why);
    size_t len = 0;

    memset(ret, 0, TEMPLATE_FOOTER_BYTES);
    len = root != NULL ? json_dumpb(root, ret, TEMPLATE_FOOTER_BYTES, JSON_COMPACT) : 0;
    if (len == 0 || len >= TEMPLATE_FOOTER_BYTES) {
        return err_set(err, ERR_HOST, ENOMEM, "no room for a template's footer");
    }
    return 0;
}

static int bad(struct err *err, const char *what)
{
    return err_set(err, ERR_USAGE, EBADMSG, "the template is damaged: %s", what);
}

/* The state begins where the memory ends, and a boot's memory is whole MiB. */
static bool sizes_fit(json_int_t memory, json_int_t state)
{
    return memory > 0 && memory <= (json_int_t)(1024 * GIB) && memory % (json_int_t)MIB == 0 &&
           state > 0 && state <= (json_int_t)(TEMPLATE_STATE_MAX - TEMPLATE_FOOTER_BYTES);
}

static int take_text(const char *text, char *ret, size_t size, struct err *err)
{
    int n = snprintf(ret, size, "%s", text);

    return n <= 0 || (size_t)n >= size ? bad(err, "a text is empty or too long") : 0;
}

static int take_digest(const char *text, struct digest *ret, struct err *err)
{
    return digest_is_hex(text) ? take_text(text, ret->hex, sizeof(ret->hex), err)
                               : bad(err, "a digest is not 64 lower-case hexadecimal digits");
}

int template_footer_decode(const char data[TEMPLATE_FOOTER_BYTES], struct template_footer *ret,
                           struct err *err)
{
    const size_t len = strnlen(data, TEMPLATE_FOOTER_BYTES);
    json_auto_t *root = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
    struct template_footer f = {.tsc_khz = 0};
    int format = 0;
    int protocol = 0;
    json_int_t memory = 0;
    json_int_t state = 0;
    json_int_t khz = 0;
    json_int_t warm_bytes = 0;
    int warm = 0;
    const char *texts[4] = {NULL};
    int r = 0;

    if (root == NULL) {
        return bad(err, "its footer is no JSON");
    }
    if (json_unpack(root, "{s:i, s:s, s:I, s:I, s:s, s:s, s:I, s:i, s:b, s:I, s:s !}", "format",
                    &format, "key", &texts[0], "memory_bytes", &memory, "state_bytes", &state,
                    "state_sha256", &texts[1], "boot_id", &texts[2], "tsc_khz", &khz, "protocol",
                    &protocol, "warm", &warm, "warm_bytes", &warm_bytes, "cold_why",
                    &texts[3]) < 0) {
        return bad(err, "its footer lacks a part, or has one too many");
    }
    if (format != FORMAT || protocol != (int)PROTO_VERSION) {
        return bad(err, "another version of airlock made it");
    }
    if (!sizes_fit(memory, state) || khz <= 0 || warm_bytes < 0 || warm_bytes > memory ||
        strlen(texts[3]) >= sizeof(f.cold_why)) {
        return bad(err, "a number in its footer is out of range");
    }
    r = take_digest(texts[0], &f.key, err);
    if (r == 0) {
        r = take_digest(texts[1], &f.state, err);
    }
    if (r == 0) {
        r = take_text(texts[2], f.boot_id, sizeof(f.boot_id), err);
    }
    if (r < 0) {
        return r;
    }
    f.memory_bytes = (uint64_t)memory;
    f.state_bytes = (uint64_t)state;
    f.tsc_khz = (uint64_t)khz;
    f.warm = warm != 0;
    f.warm_bytes = (uint64_t)warm_bytes;
    (void)snprintf(f.cold_why, sizeof(f.cold_why), "%s", texts[3]);
    *ret = f;
    return 0;
}
