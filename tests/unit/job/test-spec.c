#include <errno.h>
#include <string.h>

#include "job/spec.h"
#include "proto/msg.h"
#include "test.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static const struct spec_limit_info *limit(const char *option)
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        if (strcmp(spec_limit_infos[i].option, option) == 0) {
            return &spec_limit_infos[i];
        }
    }
    fail_msg("no limit %s", option);
    return NULL;
}

static void every_limit_has_its_default_and_it_is_in_range(void **state)
{
    auto_spec struct spec spec;

    (void)state;
    spec_init(&spec);
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];

        assert_true(spec_limit_get(&spec.limits, info) == info->def);
        assert_true(info->min > 0 && info->min <= info->def && info->def <= info->max);
    }
    assert_true(spec.limits.wall_ns == 10 * NS_PER_S);
    assert_true(spec.limits.memory_bytes == 256 * MIB);
    assert_true(spec_limit_infos_len * sizeof(uint64_t) == sizeof(struct spec_limits));
}

static void limits_outside_what_can_be_enforced_are_refused(void **state)
{
    static const struct {
        const char *option, *text, *says;
    } bad[] = {
        {"wall", "0", "zero"},           {"wall", "-5", "negative"},
        {"wall", "nan", "not a time"},   {"wall", "25000m", "more than"},
        {"wall", "1ns", "not a time"},   {"wall", "10s ", "not a time"},
        {"wall", "0.0005", "too small"}, {"memory", "1M", "too small"},
        {"memory", "inf", "not a size"}, {"memory", "99999999999999999999G", "more than"},
        {"memory", "", "not a size"},    {"pids", "1K", "not a whole number"},
        {"vcpus", "9", "from 1 to 8"},   {"disk", "16G", "from 4M to 15G"},
        {"stdout", "65M", "to 64M"},     {"wall", "0ms", "from 1ms to 1440m"},
        {"inodes", "-", "not a whole"},  {"out-depth", "65", "more than"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        spec_init(&spec);
        assert_int_equal(spec_set_limit(&spec, limit(bad[i].option), bad[i].text, &err), -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
        assert_has(err, bad[i].option);
        assert_has(err, bad[i].text);
        assert_has(err, bad[i].says);
        assert_true(spec_limit_get(&spec.limits, limit(bad[i].option)) ==
                    limit(bad[i].option)->def);
    }
}

static void limits_at_their_bounds_are_taken(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_ok(spec_set_limit(&spec, limit("wall"), "1ms", &err), &err);
    assert_true(spec.limits.wall_ns == NS_PER_MS);
    assert_ok(spec_set_limit(&spec, limit("wall"), "1440m", &err), &err);
    assert_ok(spec_set_limit(&spec, limit("disk"), "15G", &err), &err);
    assert_ok(spec_set_limit(&spec, limit("stdout"), "1", &err), &err);
    assert_true(spec.limits.stdout_bytes == 1);
}

static void the_suffix_of_a_script_is_its_language(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_ok(spec_set_program(&spec, "a/b.py", &err), &err);
    assert_int_equal(spec.language, SPEC_PYTHON);
    assert_string_equal(spec.program_name, "main.py");
    assert_ok(spec_set_program(&spec, "x.mjs", &err), &err);
    assert_int_equal(spec.language, SPEC_JAVASCRIPT);
    assert_string_equal(spec.program_name, "main.mjs");
    assert_ok(spec_set_program(&spec, "x.cjs", &err), &err);
    assert_string_equal(spec.program_name, "main.cjs");
    assert_ok(spec_set_program(&spec, "x.js", &err), &err);
    assert_string_equal(spec.program_name, "main.js");
    assert_ok(spec_check(&spec, &err), &err);
    assert_int_equal(spec_set_program(&spec, "run.sh", &err), -EINVAL);
    assert_has(err, "run.sh");
    err = (struct err)ERR_INIT;
    assert_int_equal(spec_set_program(&spec, ".py", &err), -EINVAL);
}

static void an_input_is_named_by_the_last_colon_or_its_base_name(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_ok(spec_add_input(&spec, "/data/a.csv", &err), &err);
    assert_ok(spec_add_input(&spec, "/da:ta/b.csv:c.csv", &err), &err);
    assert_string_equal(spec.inputs[0].name, "a.csv");
    assert_string_equal(spec.inputs[0].path, "/data/a.csv");
    assert_string_equal(spec.inputs[1].name, "c.csv");
    assert_string_equal(spec.inputs[1].path, "/da:ta/b.csv");
}

static void names_that_could_leave_the_input_directory_are_refused(void **state)
{
    static const char *const bad[] = {
        "f:",    "f:.",     "f:..",   "f:a/b", "f:/etc/passwd", "dir/",
        "f:a\n", "f:\x7f.", "f:\xff", "",      ":name",         "a:b/c.csv",
    };
    char longest[SPEC_NAME_MAX + 4];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        spec_init(&spec);
        assert_int_equal(spec_add_input(&spec, bad[i], &err), -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
        assert_has(err, "--in");
        assert_int_equal(spec.n_inputs, 0);
    }
    for (size_t n = SPEC_NAME_MAX; n <= SPEC_NAME_MAX + 1; n++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        spec_init(&spec);
        memset(longest, 'a', sizeof(longest));
        memcpy(longest, "f:", 2);
        longest[2 + n] = '\0';
        assert_int_equal(spec_add_input(&spec, longest, &err), n == SPEC_NAME_MAX ? 0 : -EINVAL);
    }
}

static void two_inputs_of_one_name_are_both_pointed_at(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_ok(spec_set_program(&spec, "x.py", &err), &err);
    assert_ok(spec_add_input(&spec, "one/data.csv", &err), &err);
    assert_ok(spec_add_input(&spec, "two/data.csv", &err), &err);
    assert_int_equal(spec_check(&spec, &err), -EINVAL);
    assert_has(err, "one/data.csv");
    assert_has(err, "two/data.csv");
}

static void environment_values_never_reach_a_message(void **state)
{
    static const char *const bad[] = {"1A=hush", "A-B=hush", "=hush", "hush", "A B=hush"};
    auto_free char *large = calloc(1, 200000);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        spec_init(&spec);
        assert_int_equal(spec_add_env(&spec, bad[i], &err), -EINVAL);
        assert_null(strstr(err.msg, "hush"));
    }
    {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        spec_init(&spec);
        assert_ok(spec_add_env(&spec, "TOKEN=hush", &err), &err);
        assert_ok(spec_add_env(&spec, "TOKEN2=", &err), &err);
        assert_int_equal(spec_add_env(&spec, "TOKEN=hush2", &err), -EINVAL);
        assert_has(err, "TOKEN");
        assert_null(strstr(err.msg, "hush"));
        err = (struct err)ERR_INIT;
        memset(large, 'h', 199999);
        memcpy(large, "L=", 2);
        assert_int_equal(spec_add_env(&spec, large, &err), -EINVAL);
        assert_null(strstr(err.msg, "hhh"));
        assert_int_equal(spec.n_env, 2);
        assert_null(spec.env[2]);
    }
}

static void arguments_and_environment_fit_one_job_message(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;
    auto_free char *arg = calloc(1, 131073);

    (void)state;
    spec_init(&spec);
    memset(arg, 'a', 131072);
    assert_int_equal(spec_add_arg(&spec, arg, &err), -EINVAL);
    err = (struct err)ERR_INIT;
    arg[131071] = '\0';
    assert_ok(spec_set_program(&spec, "x.py", &err), &err);
    for (int i = 0; i < 5; i++) {
        assert_ok(spec_add_arg(&spec, arg, &err), &err);
    }
    assert_ok(spec_check(&spec, &err), &err);
    assert_ok(spec_add_arg(&spec, arg, &err), &err);
    assert_int_equal(spec_check(&spec, &err), -EINVAL);
    assert_has(err, "786432");
}

static void too_many_arguments_are_refused(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;
    int r = 0;

    (void)state;
    spec_init(&spec);
    for (unsigned int i = 0; i < MSG_ARGS_MAX && r == 0; i++) {
        r = spec_add_arg(&spec, "", &err);
    }
    assert_int_equal(r, -EINVAL);
    assert_true(spec.n_args < MSG_ARGS_MAX);
}

static void image_names_are_plain_or_pinned(void **state)
{
    static const char *const good[] = {
        "python", "py3.11-data_x",
        "p@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
    static const char *const bad[] = {
        "",          "../x", "Python", "-x", "p@", "p@sha256:", "a b", "p@sha256:0123456789ABCDEF",
        "p@md5:abc", "a/b",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good) + ARRAY_LEN(bad); i++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;
        bool ok = i < ARRAY_LEN(good);

        spec_init(&spec);
        assert_int_equal(spec_set_image(&spec, ok ? good[i] : bad[i - ARRAY_LEN(good)], &err),
                         ok ? 0 : -EINVAL);
    }
}

static void a_job_without_anything_to_run_is_refused(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_int_equal(spec_check(&spec, &err), -EINVAL);
    assert_has(err, "nothing to run");
    err = (struct err)ERR_INIT;
    assert_ok(spec_add_arg(&spec, "ls", &err), &err);
    assert_int_equal(spec_check(&spec, &err), -EINVAL);
    assert_has(err, "--image");
    err = (struct err)ERR_INIT;
    assert_ok(spec_set_image(&spec, "python", &err), &err);
    assert_ok(spec_check(&spec, &err), &err);
}

static void inodes_that_do_not_fit_the_disk_are_refused(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&spec);
    assert_ok(spec_set_program(&spec, "x.py", &err), &err);
    assert_ok(spec_set_limit(&spec, limit("disk"), "4M", &err), &err);
    assert_ok(spec_check(&spec, &err), &err);
    assert_ok(spec_set_limit(&spec, limit("inodes"), "4097", &err), &err);
    assert_int_equal(spec_check(&spec, &err), -EINVAL);
    assert_has(err, "--disk");
}

TEST_MAIN(T(every_limit_has_its_default_and_it_is_in_range),
          T(limits_outside_what_can_be_enforced_are_refused), T(limits_at_their_bounds_are_taken),
          T(the_suffix_of_a_script_is_its_language),
          T(an_input_is_named_by_the_last_colon_or_its_base_name),
          T(names_that_could_leave_the_input_directory_are_refused),
          T(two_inputs_of_one_name_are_both_pointed_at),
          T(environment_values_never_reach_a_message),
          T(arguments_and_environment_fit_one_job_message), T(too_many_arguments_are_refused),
          T(image_names_are_plain_or_pinned), T(a_job_without_anything_to_run_is_refused),
          T(inodes_that_do_not_fit_the_disk_are_refused))
