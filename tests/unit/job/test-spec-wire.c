/* A spec as bytes: what is written is read, and nothing else is. */
#include <errno.h>
#include <string.h>

#include "job/spec-wire.h"
#include "test.h"

static char *copy_of(const char *s)
{
    char *copy = strdup(s);

    assert_non_null(copy);
    return copy;
}

/* Every field has a value that is not its default. */
static void fill(struct spec *spec)
{
    struct err err = ERR_INIT;
    struct spec_input *input = NULL;

    spec_init(spec);
    assert_ok(spec_set_program(spec, "a/b.mjs", &err), &err);
    assert_ok(spec_set_image(spec, "javascript", &err), &err);
    assert_ok(spec_add_arg(spec, "", &err), &err);
    assert_ok(spec_add_arg(spec, "\xff\xfe no UTF-8", &err), &err);
    assert_ok(spec_add_env(spec, "A=", &err), &err);
    assert_ok(spec_add_env(spec, "B=two=2", &err), &err);
    assert_ok(spec_add_input(spec, "x/y.csv:z.csv", &err), &err);
    assert_ok(spec_add_input(spec, "inline", &err), &err);
    input = &spec->inputs[1];
    free(input->path);
    input->path = NULL;
    input->data = (uint8_t *)copy_of("a_b");
    input->data[1] = 0;
    input->data_len = 3;
    assert_ok(spec_set_archive(spec, "files.zip", &err), &err);
    assert_ok(spec_set_contract(spec, "files:*.txt,a.csv", &err), &err);
    spec->engine = SPEC_ENGINE_TCG;
    spec->isolation = SPEC_ISOLATION_HARDWARE;
    spec->stdin_data = (uint8_t *)copy_of("");
    spec->stdin_len = 0;
    spec->out_dir = copy_of("/tmp/out");
    spec->root = true;
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];

        *(uint64_t *)(void *)((char *)&spec->limits + info->offset) = info->min + i % 2;
    }
    spec->outputs_given = true;
    spec->cold_interpreter = true;
    spec->out_as_owner = true;
}

static void encode(const struct spec *spec, struct buf *out)
{
    struct err err = ERR_INIT;

    assert_ok(spec_encode(spec, out, &err), &err);
}

static void everything_arrives(void **state)
{
    auto_spec struct spec spec;
    auto_spec struct spec got;
    auto_buf struct buf a = BUF_INIT(SPEC_WIRE_MAX);
    auto_buf struct buf b = BUF_INIT(SPEC_WIRE_MAX);
    struct err err = ERR_INIT;

    (void)state;
    fill(&spec);
    encode(&spec, &a);
    spec_init(&got);
    assert_ok(spec_decode(&got, a.data, a.len, &err), &err);
    assert_int_equal(got.language, SPEC_JAVASCRIPT);
    assert_int_equal(got.engine, SPEC_ENGINE_TCG);
    assert_int_equal(got.isolation, SPEC_ISOLATION_HARDWARE);
    assert_string_equal(got.image, "javascript");
    assert_string_equal(got.program_path, "a/b.mjs");
    assert_string_equal(got.program_name, "main.mjs");
    assert_null(got.program_data);
    assert_int_equal(got.n_args, 2);
    assert_string_equal(got.args[1], "\xff\xfe no UTF-8");
    assert_null(got.args[2]);
    assert_int_equal(got.n_env, 2);
    assert_string_equal(got.env[1], "B=two=2");
    assert_int_equal(got.n_inputs, 2);
    assert_string_equal(got.inputs[0].path, "x/y.csv");
    assert_string_equal(got.inputs[0].name, "z.csv");
    assert_null(got.inputs[1].path);
    assert_memory_equal(got.inputs[1].data, "a\0b", 3);
    assert_string_equal(got.archive_path, "files.zip");
    assert_int_equal(got.contract.kind, CONTRACT_FILES);
    assert_int_equal(got.contract.n_names, 2);
    assert_string_equal(got.contract.names[1], "a.csv");
    assert_non_null(got.stdin_data); /* empty is not none */
    assert_int_equal(got.stdin_len, 0);
    assert_int_equal(got.stdin_fd, -1);
    assert_string_equal(got.out_dir, "/tmp/out");
    assert_true(got.root && got.outputs_given && got.cold_interpreter && !got.cpu_given);
    assert_true(got.out_as_owner);
    assert_memory_equal(&got.limits, &spec.limits, sizeof(got.limits));
    encode(&got, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
}

static void defaults_stay_defaults(void **state)
{
    auto_spec struct spec spec;
    auto_spec struct spec got;
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    encode(&spec, &text);
    spec_init(&got);
    assert_ok(spec_decode(&got, text.data, text.len, &err), &err);
    assert_false(got.cpu_given || got.outputs_given || got.root || got.cold_interpreter ||
                 got.out_as_owner);
    assert_null(got.stdin_data);
    assert_null(got.args);
    assert_null(got.out_dir);
    assert_int_equal(got.contract.kind, CONTRACT_NONE);
}

static void a_text_that_is_cut_or_longer_is_refused(void **state)
{
    auto_spec struct spec spec;
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);

    (void)state;
    fill(&spec);
    encode(&spec, &text);
    assert_int_equal(buf_put(&text, "", 1), 0);
    for (size_t len = 0; len <= text.len; len++) {
        auto_spec struct spec got;
        struct err err = ERR_INIT;

        spec_init(&got);
        if (len == text.len - 1) {
            continue; /* whole */
        }
        assert_int_equal(spec_decode(&got, text.data, len, &err), -EPROTO);
        assert_int_equal(err.class, ERR_HOST);
    }
}

/* Whatever byte is changed: refused, or a spec within its ranges. */
static void no_changed_byte_makes_a_spec_out_of_range(void **state)
{
    auto_spec struct spec spec;
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    size_t refused = 0;

    (void)state;
    fill(&spec);
    encode(&spec, &text);
    for (size_t at = 0; at < text.len; at++) {
        auto_spec struct spec got;
        struct err err = ERR_INIT;
        int r = 0;

        text.data[at] ^= 0x81;
        spec_init(&got);
        r = spec_decode(&got, text.data, text.len, &err);
        text.data[at] ^= 0x81;
        refused += r < 0;
        for (size_t i = 0; r == 0 && i < spec_limit_infos_len; i++) {
            uint64_t v = spec_limit_get(&got.limits, &spec_limit_infos[i]);

            assert_true(v >= spec_limit_infos[i].min && v <= spec_limit_infos[i].max);
        }
        assert_true(r < 0 || (got.n_inputs == 2 && got.inputs[0].path != NULL));
    }
    assert_true(refused > text.len / 2);
}

/* Whatever stands behind it, and however little of that is there. */
static void the_beginning_alone_has_the_limits(void **state)
{
    auto_spec struct spec spec;
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    struct err err = ERR_INIT;
    size_t enough = 0;

    (void)state;
    fill(&spec);
    encode(&spec, &text);
    for (size_t len = 0; len <= text.len; len++) {
        auto_spec struct spec got;
        int r = 0;

        spec_init(&got);
        err = (struct err)ERR_INIT;
        r = spec_decode_head(&got, text.data, len, &err);
        enough = r == 0 && enough == 0 ? len : enough;
        assert_int_equal(r, enough == 0 ? -EPROTO : 0);
        if (r == 0) {
            assert_memory_equal(&got.limits, &spec.limits, sizeof(got.limits));
            assert_int_equal(got.language, SPEC_JAVASCRIPT);
            assert_true(got.root && got.out_as_owner);
            assert_null(got.image);
            assert_null(got.n_args > 0 ? got.args : NULL);
        }
    }
    assert_true(enough > 0 && enough < SPEC_WIRE_HEAD_MAX);
}

static void what_does_not_fit_is_told_and_leaves_nothing(void **state)
{
    auto_spec struct spec spec;
    auto_buf struct buf text = BUF_INIT(40);
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_int_equal(buf_put(&text, "before", 6), 0);
    assert_int_equal(spec_encode(&spec, &text, &err), -EFBIG);
    assert_int_equal(err.class, ERR_USAGE);
    assert_int_equal(text.len, 6);
}

TEST_MAIN(T(everything_arrives), T(defaults_stay_defaults),
          T(a_text_that_is_cut_or_longer_is_refused), T(no_changed_byte_makes_a_spec_out_of_range),
          T(the_beginning_alone_has_the_limits), T(what_does_not_fit_is_told_and_leaves_nothing))
