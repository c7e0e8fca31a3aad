#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "proto/frame.h"
#include "sup/template-internal.h"

#define FORMAT    4
#define VCPUS_MAX 1024 /* more than any limit of a job */

int template_footer_encode(const struct template_footer *f, char ret[TEMPLATE_FOOTER_BYTES],
                           struct err *err)
{
    json_auto_t *root = json_pack(
        "{s:i, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:i, s:b, s:I, s:s, s:I, "
        "s:I}",
        "format", FORMAT, "key", f->key.hex, "memory_bytes", (json_int_t)f->memory_bytes,
        "state_bytes", (json_int_t)f->state_bytes, "state_sha256", f->state.hex, "memory_sha256",
        f->memory.hex, "built", (json_int_t)f->built, "vcpus", (json_int_t)f->vcpus, "engine",
        f->engine, "image", f->image, "root_sha256", f->root.hex, "boot_id", f->boot_id, "tsc_khz",
        (json_int_t)f->tsc_khz, "protocol", (int)PROTO_VERSION, "warm", (int)f->interpreter.waits,
        "warm_bytes", (json_int_t)f->interpreter.bytes, "cold_why", f->interpreter.why_not,
        "scratch_bytes", (json_int_t)f->scratch_bytes, "writes_bytes", (json_int_t)f->writes_bytes);
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
    return err_set(err, ERR_USAGE, EBADMSG, TEMPLATE_UNUSED "%s", what);
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

/* The numbers and texts of a footer, of any value. */
struct raw {
    int format, protocol, warm;
    json_int_t memory, state, built, vcpus, khz, warm_bytes, scratch, writes;
    const char *key, *state_digest, *memory_digest, *engine, *image, *root, *boot_id, *cold_why;
};

static int unpack(json_t *root, struct raw *w, struct err *err)
{
    /* The format first: another version has other parts. */
    if (json_unpack(root, "{s:i, s:i}", "format", &w->format, "protocol", &w->protocol) == 0 &&
        (w->format != FORMAT || w->protocol != (int)PROTO_VERSION)) {
        return bad(err, "another version of airlock made it");
    }
    if (json_unpack(
            root,
            "{s:i, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:i, s:b, s:I, s:s, s:I, "
            "s:I !}",
            "format", &w->format, "key", &w->key, "memory_bytes", &w->memory, "state_bytes",
            &w->state, "state_sha256", &w->state_digest, "memory_sha256", &w->memory_digest,
            "built", &w->built, "vcpus", &w->vcpus, "engine", &w->engine, "image", &w->image,
            "root_sha256", &w->root, "boot_id", &w->boot_id, "tsc_khz", &w->khz, "protocol",
            &w->protocol, "warm", &w->warm, "warm_bytes", &w->warm_bytes, "cold_why", &w->cold_why,
            "scratch_bytes", &w->scratch, "writes_bytes", &w->writes) < 0) {
        return bad(err, "its footer lacks a part, or has one too many");
    }
    if (!sizes_fit(w->memory, w->state) || w->khz <= 0 || w->built <= 0 || w->vcpus <= 0 ||
        w->vcpus > VCPUS_MAX || w->warm_bytes < 0 || w->warm_bytes > w->memory || w->scratch < 0 ||
        w->scratch >= w->state || w->writes < 0 || w->writes >= w->state - w->scratch) {
        return bad(err, "a number in its footer is out of range");
    }
    if (strlen(w->cold_why) >= sizeof(((struct msg_interpreter *)NULL)->why_not)) {
        return bad(err, "a text is too long");
    }
    return 0;
}

static int take_digests(const struct raw *w, struct template_footer *f, struct err *err)
{
    const struct {
        const char *text;
        struct digest *to;
    } each[] = {{w->key, &f->key},
                {w->state_digest, &f->state},
                {w->memory_digest, &f->memory},
                {w->root, &f->root}};

    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(each) && r == 0; i++) {
        r = take_digest(each[i].text, each[i].to, err);
    }
    return r;
}

int template_footer_decode(const char data[TEMPLATE_FOOTER_BYTES], struct template_footer *ret,
                           struct err *err)
{
    const size_t len = strnlen(data, TEMPLATE_FOOTER_BYTES);
    json_auto_t *root = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
    struct template_footer f = {.tsc_khz = 0};
    struct raw w = {.format = 0};
    int r = 0;

    if (root == NULL) {
        return bad(err, "its footer is no JSON");
    }
    r = unpack(root, &w, err);
    if (r == 0) {
        r = take_digests(&w, &f, err);
    }
    if (r == 0) {
        r = take_text(w.boot_id, f.boot_id, sizeof(f.boot_id), err);
    }
    if (r == 0) {
        r = take_text(w.engine, f.engine, sizeof(f.engine), err);
    }
    if (r == 0) {
        r = take_text(w.image, f.image, sizeof(f.image), err);
    }
    if (r == 0 && !image_name_is_valid(f.image)) {
        r = bad(err, "its footer names no image");
    }
    if (r < 0) {
        return r;
    }
    f.memory_bytes = (uint64_t)w.memory;
    f.state_bytes = (uint64_t)w.state;
    f.built = (uint64_t)w.built;
    f.vcpus = (uint64_t)w.vcpus;
    f.tsc_khz = (uint64_t)w.khz;
    f.scratch_bytes = (uint64_t)w.scratch;
    f.writes_bytes = (uint64_t)w.writes;
    f.interpreter.waits = w.warm != 0;
    f.interpreter.bytes = (uint64_t)w.warm_bytes;
    memcpy(f.interpreter.why_not, w.cold_why, strlen(w.cold_why) + 1); /* checked: unpack() */
    *ret = f;
    return 0;
}
