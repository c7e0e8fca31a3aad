/* An output stream from a stranger, inspected under small caps; what is kept must be exportable. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "job/outputs.h"
#include "sys/fd.h"

static void check_outputs(const struct outputs *o, const struct spec_limits *limits, size_t size)
{
    fuzz_check(o->n_items <= 2 * limits->output_files && o->n_dropped <= limits->output_files);
    fuzz_check(o->total_bytes <= limits->output_bytes);
    for (size_t i = 0; i < o->n_items; i++) {
        const struct output_item *item = &o->items[i];

        fuzz_check(item->name[item->name_len] == '\0' && item->name[0] != '/');
        fuzz_check(strlen((const char *)item->name) == item->name_len);
        fuzz_check(item->offset + item->bytes <= size);
        fuzz_check(item->is_dir == (item->digest.hex[0] == '\0'));
        for (size_t k = 0; k < i; k++) {
            fuzz_check(strcmp((const char *)item->name, (const char *)o->items[k].name) != 0);
        }
    }
}

/* What is kept survives the way through the helper's pipe. */
static void check_answer(const struct outputs *o, const struct spec_limits *limits, size_t size)
{
    auto_buf struct buf answer = BUF_INIT(outputs_encoded_max(limits));
    auto_outputs struct outputs back = {0};
    struct err err = ERR_INIT;

    fuzz_check(outputs_encode(o, &answer, &err) == 0);
    fuzz_check(outputs_decode(answer.data, answer.len, size, limits, &back, &err) == 0);
    fuzz_check(back.n_items == o->n_items && back.total_bytes == o->total_bytes);
}

/* The same bytes as the answer of a helper that was taken over. */
static void check_hostile_answer(const uint8_t *data, size_t size, const struct spec_limits *limits)
{
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    if (outputs_decode(data, size, size, limits, &o, &err) == 0) {
        for (size_t i = 0; i < o.n_items; i++) {
            fuzz_check(o.items[i].offset + o.items[i].bytes <= size);
        }
        fuzz_check(o.total_bytes <= limits->output_bytes);
    } else {
        fuzz_check(err.class == ERR_HOST);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_outputs struct outputs o = {0};
    auto_fd int fd = memfd_create("stream", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    struct spec spec;
    int r = 0;

    spec_init(&spec);
    spec.limits.output_bytes = 4096;
    spec.limits.output_files = 16;
    spec.limits.output_depth = 4;
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        return 0;
    }
    r = outputs_inspect(fd, size, &spec.limits, &o, &err);
    if (r == 0) {
        r = outputs_digest(fd, &o, &err);
    }
    if (r == 0) {
        check_outputs(&o, &spec.limits, size);
        check_answer(&o, &spec.limits, size);
    }
    check_hostile_answer(data, size, &spec.limits);
    fuzz_check((r < 0) == (err.class != ERR_NONE));
    fuzz_check(err.class != ERR_USAGE);
    return 0;
}
