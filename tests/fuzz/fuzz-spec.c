/* The JSON form of a job from a stranger; what is accepted must keep the promises of spec.h. */
#include <string.h>

#include "fuzz.h"
#include "job/spec.h"

static void check_spec(const struct spec *spec)
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        uint64_t v = spec_limit_get(&spec->limits, &spec_limit_infos[i]);

        fuzz_check(v >= spec_limit_infos[i].min && v <= spec_limit_infos[i].max);
    }
    for (size_t i = 0; i < spec->n_inputs; i++) {
        const struct spec_input *input = &spec->inputs[i];

        fuzz_check(input->path == NULL && input->data != NULL);
        fuzz_check(strchr(input->name, '/') == NULL && strcmp(input->name, "..") != 0);
        fuzz_touch(input->data, input->data_len);
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        fuzz_check(strchr(spec->env[i], '=') != NULL);
    }
    fuzz_check(spec->n_args == 0 || spec->args[spec->n_args] == NULL);
    fuzz_check(spec->language == SPEC_COMMAND ? spec->n_args > 0 : spec->program_data != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;
    int r = 0;

    spec_init(&spec);
    r = spec_from_json(&spec, (const char *)data, size, &err);
    if (r == 0) {
        r = spec_check(&spec, &err);
    }
    if (r == 0) {
        check_spec(&spec);
    }
    fuzz_check((r < 0) == (err.class != ERR_NONE));
    return 0;
}
