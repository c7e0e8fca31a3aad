#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job/base64.h"
#include "job/spec.h"
#include "test.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static int load(struct spec *spec, const char *text, struct err *err)
{
    spec_init(spec);
    return spec_from_json(spec, text, strlen(text), err);
}

static void a_whole_job_is_read(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(load(&spec,
                   "{\"language\":\"javascript\",\"image\":\"node-x\",\"code\":\"a\\u0000b\","
                   "\"args\":[\"x\",\"\"],\"env\":{\"K\":\"v=w\"},\"stdin_base64\":\"AP8=\","
                   "\"files\":[{\"name\":\"a.csv\",\"content\":\"\"},"
                   "{\"content_base64\":\"AAEC\",\"name\":\"b\"}],"
                   "\"limits\":{\"wall_ms\":1500,\"memory_bytes\":134217728,\"output_depth\":1},"
                   "\"archive_base64\":\"UEs=\",\"contract\":\"files:a,b\","
                   "\"engine\":\"tcg\",\"isolation\":\"hardware\",\"root\":true}",
                   &err),
              &err);
    assert_ok(spec_check(&spec, &err), &err);
    assert_true(spec.root);
    assert_int_equal(spec.language, SPEC_JAVASCRIPT);
    assert_string_equal(spec.program_name, "main.js");
    assert_string_equal(spec.image, "node-x");
    assert_int_equal(spec.program_len, 3);
    assert_memory_equal(spec.program_data, "a\0b", 3);
    assert_int_equal(spec.n_args, 2);
    assert_string_equal(spec.env[0], "K=v=w");
    assert_int_equal(spec.stdin_len, 2);
    assert_int_equal(spec.archive_len, 2);
    assert_memory_equal(spec.archive_data, "PK", 2);
    assert_int_equal(spec.contract.kind, CONTRACT_FILES);
    assert_int_equal(spec.contract.n_names, 2);
    assert_memory_equal(spec.stdin_data, "\0\xff", 2);
    assert_int_equal(spec.n_inputs, 2);
    assert_non_null(spec.inputs[0].data);
    assert_int_equal(spec.inputs[0].data_len, 0);
    assert_memory_equal(spec.inputs[1].data, "\0\1\2", 3);
    assert_true(spec.limits.wall_ns == 1500 * NS_PER_MS);
    assert_true(spec.limits.memory_bytes == 128 * MIB);
    assert_int_equal(spec.engine, SPEC_ENGINE_TCG);
    assert_int_equal(spec.isolation, SPEC_ISOLATION_HARDWARE);
}

static void a_javascript_program_may_be_named_a_module(void **state)
{
    static const char *const wrong[] = {
        "{\"language\":\"python\",\"code\":\"\",\"program_name\":\"main.js\"}",
        "{\"language\":\"javascript\",\"code\":\"\",\"program_name\":\"main.py\"}",
        "{\"language\":\"javascript\",\"code\":\"\",\"program_name\":\"../main.js\"}",
        "{\"language\":\"javascript\",\"code\":\"\",\"program_name\":1}",
        "{\"image\":\"x\",\"command\":[\"x\"],\"program_name\":\"main.py\"}",
    };

    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(load(&spec,
                   "{\"program_name\":\"main.mjs\",\"language\":\"javascript\",\"code\":\"\"}",
                   &err),
              &err);
    assert_ok(spec_check(&spec, &err), &err);
    assert_string_equal(spec.program_name, "main.mjs");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        auto_spec struct spec other;

        err = (struct err)ERR_INIT;
        assert_int_equal(load(&other, wrong[i], &err), -EINVAL);
        assert_has(err, "program_name");
    }
}

static void a_command_needs_an_image(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(load(&spec, "{\"image\":\"python\",\"command\":[\"ls\",\"/in\"]}", &err), &err);
    assert_ok(spec_check(&spec, &err), &err);
    assert_int_equal(spec.language, SPEC_COMMAND);
    assert_int_equal(spec.n_args, 2);
}

static void empty_stdin_is_a_stdin(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(load(&spec, "{\"language\":\"python\",\"code\":\"\",\"stdin\":\"\"}", &err), &err);
    assert_ok(spec_check(&spec, &err), &err);
    assert_non_null(spec.stdin_data);
    assert_non_null(spec.program_data);
    assert_int_equal(spec.stdin_len, 0);
}

#define PY "\"language\":\"python\",\"code\":\"\""

static void what_is_not_in_the_contract_is_refused_by_its_path(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "too early"},
        {"[]", "must be a JSON object"},
        {"{" PY, "too early"},
        {"{" PY "} x", "something follows"},
        {"{" PY ",\"code\":\"\"}", "twice"},
        {"{" PY ",\"net\":true}", "'net': unknown key"},
        {"{" PY ",\"root\":1}", "root: true or false is needed"},
        {"{" PY ",\"contract\":\"file\"}", "contract: 'file' is not known"},
        {"{" PY ",\"contract\":{}}", "contract: must be a string"},
        {"{" PY ",\"archive_base64\":\"A\"}", "archive_base64: is not base64"},
        {"{" PY ",\"archive_base64\":7}", "archive_base64: must be a string"},
        {"{" PY ",\"code_base64\":\"\"}", "exclude each other"},
        {"{" PY ",\"command\":[\"x\"]}", "exclude each other"},
        {"{" PY ",\"args\":\"x\"}", "args: must be an array of strings, but is a string"},
        {"{" PY ",\"args\":[1]}", "args[0]: must be a string, but is an integer"},
        {"{" PY ",\"args\":[\"a\\u0000\"]}", "args[0]: has a NUL"},
        {"{" PY ",\"env\":{\"A B\":\"hush\"}}", "env: 'A B'"},
        {"{" PY ",\"env\":{\"A=hush\":\"\"}}", "env: a variable"},
        {"{" PY ",\"env\":{\"A\":null}}", "env.A: must be a string, but is null"},
        {"{" PY ",\"files\":[{\"name\":\"a\"}]}", "files[0]: has no content"},
        {"{" PY ",\"files\":[{\"content\":\"\"}]}", "files[0]: has no name"},
        {"{" PY ",\"files\":[{\"name\":\"../a\",\"content\":\"\"}]}", "files[0]: the name '../a'"},
        {"{" PY ",\"files\":[{\"name\":\"a\",\"path\":\"/x\"}]}", "files[0].path: unknown key"},
        {"{" PY ",\"files\":[{\"name\":\"a\",\"content\":\"\",\"content_base64\":\"\"}]}",
         "give one of them"},
        {"{" PY ",\"files\":[{\"name\":\"a\",\"content_base64\":\"A\"}]}",
         "files[0].content_base64: is not base64"},
        {"{" PY ",\"limits\":{\"wall_ms\":0}}", "limits.wall_ms: 0 is out of range; give an "
                                                "integer from 1 to 86400000"},
        {"{" PY ",\"limits\":{\"wall_ms\":-1}}", "limits.wall_ms: -1"},
        {"{" PY ",\"limits\":{\"wall_ms\":1.5}}", "must be an integer"},
        {"{" PY ",\"limits\":{\"wall_ms\":1e3}}", "must be an integer"},
        {"{" PY ",\"limits\":{\"wall_ms\":true}}", "must be an integer, but is a boolean"},
        {"{" PY ",\"limits\":{\"pids\":9223372036854775807}}", "out of range"},
        {"{" PY ",\"limits\":{\"pids\":9223372036854775808}}", "too large"},
        {"{" PY ",\"limits\":{\"wall\":1}}", "limits.wall: there is no such limit"},
        {"{\"language\":\"perl\",\"code\":\"\"}", "language: 'perl'"},
        {"{\"language\":\"python\"}", "'language' needs 'code'"},
        {"{\"image\":\"python\"}", "nothing to run"},
        {"{\"command\":[\"x\"]}", "'command' needs 'image'"},
        {"{" PY ",\"engine\":\"xen\"}", "engine: 'xen'"},
        {"{" PY ",\"isolation\":\"none\"}", "isolation: 'none'"},
        {"{" PY ",\"stdin\":{}}", "stdin: must be a string"},
        {"{" PY ",\"image\":\"X\"}", "image 'X'"},
        {"{" PY ",\"stdin\":\"\xff\"}", "UTF-8"},
        {"{" PY ",\"env\":{\"A\":\"hush\" \"hush\"}}", "line 1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        assert_int_equal(load(&spec, bad[i].text, &err), -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
        if (strstr(err.msg, bad[i].says) == NULL) {
            fail_msg("'%s' is not in '%s'", bad[i].says, err.msg);
        }
        assert_null(strstr(err.msg, "hush"));
    }
}

static void deep_nesting_never_reaches_the_parser(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;
    char text[4096];

    (void)state;
    memset(text, '[', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(load(&spec, text, &err), -EINVAL);
    assert_has(err, "levels");
}

static void brackets_inside_strings_do_not_count(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(
        load(&spec, "{\"language\":\"python\",\"code\":\"[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[\"}", &err),
        &err);
}

static void base64_is_strict(void **state)
{
    static const char *const bad[] = {"A",    "AA",       "AAA",  "AB==", "AAB=",  "A===",  "====",
                                      "AA=A", "AA==AA==", "AA A", "AA-_", "AA=\n", "AAAA\n"};

    static const struct {
        const char *text, *bytes;
    } good[] = {{"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYmFy", "foobar"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_free uint8_t *out = NULL;
        size_t len = 0;

        assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &out, &len), -EINVAL);
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        auto_free uint8_t *out = NULL;
        size_t len = 0;

        assert_int_equal(base64_decode(good[i].text, strlen(good[i].text), &out, &len), 0);
        assert_non_null(out);
        assert_int_equal(len, strlen(good[i].bytes));
        assert_memory_equal(out, good[i].bytes, len);
    }
}

TEST_MAIN(T(a_whole_job_is_read), T(a_javascript_program_may_be_named_a_module),
          T(a_command_needs_an_image), T(empty_stdin_is_a_stdin),
          T(what_is_not_in_the_contract_is_refused_by_its_path),
          T(deep_nesting_never_reaches_the_parser), T(brackets_inside_strings_do_not_count),
          T(base64_is_strict))
