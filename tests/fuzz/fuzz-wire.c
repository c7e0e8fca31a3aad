/* The bytes of a job on its way to a supervisor that waits; what is accepted keeps spec.h. */
#include <string.h>

#include "fuzz.h"
#include "job/spec-wire.h"

static void check_spec(const struct spec *spec)
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        uint64_t v = spec_limit_get(&spec->limits, &spec_limit_infos[i]);

        fuzz_check(v >= spec_limit_infos[i].min && v <= spec_limit_infos[i].max);
    }
    for (size_t i = 0; i < spec->n_inputs; i++) {
        const struct spec_input *input = &spec->inputs[i];

        fuzz_check((input->path == NULL) != (input->data == NULL));
        fuzz_check(strchr(input->name, '/') == NULL && strcmp(input->name, "..") != 0);
        fuzz_touch(input->data, input->data_len);
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        fuzz_check(strchr(spec->env[i], '=') != NULL);
    }
    fuzz_check(spec->n_args == 0 || spec->args[spec->n_args] == NULL);
    fuzz_check(spec->stdin_fd == -1);
    for (size_t i = 0; i < spec->contract.n_names; i++) {
        fuzz_check(spec->contract.names[i] != NULL);
    }
}

/* What was accepted is written as it was read. */
static void check_again(const struct spec *spec, const uint8_t *data, size_t size)
{
    auto_buf struct buf again = BUF_INIT(SPEC_WIRE_MAX);
    struct err err = ERR_INIT;

    fuzz_check(spec_encode(spec, &again, &err) == 0);
    fuzz_check(again.len == size && memcmp(again.data, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;
    int r = 0;

    spec_init(&spec);
    r = spec_decode(&spec, data, size, &err);
    if (r == 0) {
        check_spec(&spec);
        check_again(&spec, data, size);
    }
    fuzz_check((r < 0) == (err.class != ERR_NONE));
    return 0;
}
