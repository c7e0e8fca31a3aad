#include "sup/warm.h"
#include "test.h"

static enum spec_language kind(enum spec_language language, const char *env, bool *ret_told)
{
    auto_spec struct spec spec;
    const char *why = NULL;
    enum spec_language got = SPEC_COMMAND;
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
    assert_int_equal(kind(SPEC_PYTHON, NULL, &told), SPEC_PYTHON);
    assert_false(told);
    assert_int_equal(kind(SPEC_JAVASCRIPT, "MODE=fast", &told), SPEC_JAVASCRIPT);
    assert_false(told);
    assert_int_equal(kind(SPEC_PYTHON, "HOMEPAGE=x", &told), SPEC_PYTHON);
    assert_false(told);
}

static void a_command_has_none_and_that_needs_no_reason(void **state)
{
    bool told = true;

    (void)state;
    assert_int_equal(kind(SPEC_COMMAND, NULL, &told), SPEC_COMMAND);
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

        assert_int_equal(kind(SPEC_PYTHON, env[i], &told), SPEC_COMMAND);
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
    assert_int_equal(warm_for(&spec, &why), SPEC_COMMAND);
    assert_non_null(why);
    spec.root = false;
    spec.cold_interpreter = true;
    assert_int_equal(warm_for(&spec, &why), SPEC_COMMAND);
    assert_non_null(why);
    spec.cold_interpreter = false;
    assert_int_equal(warm_for(&spec, &why), SPEC_PYTHON);
    assert_null(why);
}

TEST_MAIN(T(a_plain_program_can_have_the_interpreter_of_its_language),
          T(a_command_has_none_and_that_needs_no_reason),
          T(what_is_read_at_a_start_takes_a_fresh_one_with_the_reason),
          T(root_and_the_callers_word_take_a_fresh_one))
