#include <string.h>

#include "sup/warm.h"
#include "test.h"

static const char *kind(enum spec_language language, const char *env, bool *ret_told)
{
    auto_spec struct spec spec;
    const char *why = NULL;
    const char *got = NULL;
    struct err err = ERR_INIT;

    spec_init(&spec);
    spec.language = language;
    if (env != NULL) {
        assert_ok(spec_add_env(&spec, env, &err), &err);
    }
    got = warm_for(&spec, &why);
    *ret_told = why != NULL;
    return got;
}

static void a_plain_program_can_have_the_interpreter_of_its_language(void **state)
{
    bool told = true;

    (void)state;
    assert_string_equal(kind(SPEC_PYTHON, NULL, &told), "main.py");
    assert_false(told);
    assert_string_equal(kind(SPEC_JAVASCRIPT, "MODE=fast", &told), "main.js");
    assert_false(told);
    assert_string_equal(kind(SPEC_PYTHON, "HOMEPAGE=x", &told), "main.py");
    assert_false(told);
}

static void a_command_has_none_and_that_needs_no_reason(void **state)
{
    bool told = true;

    (void)state;
    assert_null(kind(SPEC_COMMAND, NULL, &told));
    assert_false(told);
}

static void what_is_read_at_a_start_takes_a_fresh_one_with_the_reason(void **state)
{
    static const char *const env[] = {
        "PYTHONHASHSEED=0",
        "PYTHONUNBUFFERED=1",
        "NODE_OPTIONS=--no-warnings",
        "LD_PRELOAD=x",
        "LC_ALL=C",
        "LANG=C",
        "TZ=Asia/Tokyo",
        "PATH=/bin",
        "HOME=/tmp",
        "OPENSSL_CONF=x",
        "UV_THREADPOOL_SIZE=1",
        "MALLOC_ARENA_MAX=1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(env); i++) {
        bool told = false;

        assert_null(kind(SPEC_PYTHON, env[i], &told));
        assert_true(told);
    }
}

static void root_and_the_callers_word_take_a_fresh_one(void **state)
{
    auto_spec struct spec spec;
    const char *why = NULL;

    (void)state;
    spec_init(&spec);
    spec.language = SPEC_PYTHON;
    spec.root = true;
    assert_null(warm_for(&spec, &why));
    assert_non_null(why);
    spec.root = false;
    spec.cold_interpreter = true;
    assert_null(warm_for(&spec, &why));
    assert_non_null(why);
    spec.cold_interpreter = false;
    assert_string_equal(warm_for(&spec, &why), "main.py");
    assert_null(why);
}

static void node_waits_for_each_kind_of_program_by_its_name(void **state)
{
    static const char *const names[] = {"a.js", "a.mjs", "a.cjs"};
    static const char *const programs[] = {"main.js", "main.mjs", "main.cjs"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        auto_spec struct spec spec;
        const char *why = NULL;
        struct err err = ERR_INIT;

        spec_init(&spec);
        assert_ok(spec_set_program(&spec, names[i], &err), &err);
        assert_string_equal(warm_for(&spec, &why), programs[i]);
    }
}

static void strings_too_long_to_be_shown_take_a_fresh_one(void **state)
{
    char arg[4097];
    auto_spec struct spec spec;
    const char *why = NULL;
    struct err err = ERR_INIT;

    (void)state;
    memset(arg, 'a', sizeof(arg) - 1);
    arg[sizeof(arg) - 1] = '\0';
    spec_init(&spec);
    spec.language = SPEC_PYTHON;
    for (int i = 0; i < 3; i++) {
        assert_ok(spec_add_arg(&spec, arg, &err), &err);
    }
    assert_string_equal(warm_for(&spec, &why), "main.py");
    assert_ok(spec_add_arg(&spec, arg, &err), &err);
    assert_null(warm_for(&spec, &why));
    assert_string_equal(why, "its arguments and environment are long");
}

TEST_MAIN(T(strings_too_long_to_be_shown_take_a_fresh_one),
          T(a_plain_program_can_have_the_interpreter_of_its_language),
          T(a_command_has_none_and_that_needs_no_reason),
          T(what_is_read_at_a_start_takes_a_fresh_one_with_the_reason),
          T(node_waits_for_each_kind_of_program_by_its_name),
          T(root_and_the_callers_word_take_a_fresh_one))
