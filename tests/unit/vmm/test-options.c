/* The arguments of the monitor, taken whole or refused with their name. */
#include <errno.h>
#include <string.h>

#include "test.h"
#include "vmm/options.h"

#define PARSE(ret, err, ...)                                                              \
    ({                                                                                    \
        const char *const argv[] = {"airlock-vmm", __VA_ARGS__, NULL};                    \
        options_parse(ARRAY_LEN(argv) - 1, (char *const *)(uintptr_t)argv, (ret), (err)); \
    })

#define REFUSED(word, ...)                                       \
    do {                                                         \
        struct machine_options o = {.vcpus = 77};                \
        struct err err = ERR_INIT;                               \
        assert_int_equal(PARSE(&o, &err, __VA_ARGS__), -EINVAL); \
        assert_int_equal(err.class, ERR_USAGE);                  \
        assert_non_null(strstr(err.msg, (word)));                \
        assert_int_equal(o.vcpus, 77);                           \
    } while (0)

static void a_machine_is_what_its_arguments_say(void **state)
{
    struct machine_options o = {.vcpus = 0};
    struct err err = ERR_INIT;

    assert_ok(PARSE(&o, &err, "--memory", "33554432", "--vcpus", "8", "--disks", "--console",
                    "--cmdline", "quiet panic=-1"),
              &err);
    assert_int_equal(o.memory_bytes, 32 * MIB);
    assert_int_equal(o.vcpus, 8);
    assert_true(o.disks && o.console && !o.restore && !o.memory_file);
    assert_string_equal(o.cmdline, "quiet panic=-1");
    assert_ok(PARSE(&o, &err, "--restore", "--memory", "274877906944", "--vcpus", "1"), &err);
    assert_int_equal(o.memory_bytes, 256 * GIB);
    assert_true(o.restore && !o.disks && !o.console);
    assert_string_equal(o.cmdline, "");
    (void)state;
}

static void amounts_outside_their_range_are_refused(void **state)
{
    REFUSED("--memory", "--memory", "33550336", "--vcpus", "1");
    REFUSED("--memory", "--memory", "33554433", "--vcpus", "1");
    REFUSED("--memory", "--memory", "274877910528", "--vcpus", "1");
    REFUSED("--memory", "--memory", "18446744073709551616", "--vcpus", "1");
    REFUSED("--memory", "--memory", "-1", "--vcpus", "1");
    REFUSED("--memory", "--memory", "32M", "--vcpus", "1");
    REFUSED("--vcpus", "--memory", "33554432", "--vcpus", "0");
    REFUSED("--vcpus", "--memory", "33554432", "--vcpus", "9");
    REFUSED("--vcpus", "--memory", "33554432", "--vcpus", "");
    (void)state;
}

static void what_is_missing_or_unknown_is_named(void **state)
{
    char text[LAYOUT_CMDLINE_MAX + 1];

    REFUSED("needed", "--memory", "33554432");
    REFUSED("needed", "--vcpus", "1");
    REFUSED("'--vcpus'", "--memory", "33554432", "--vcpus");
    REFUSED("'--nothing'", "--nothing", "1");
    REFUSED("'x'", "x");
    REFUSED("--cmdline", "--memory", "33554432", "--vcpus", "1", "--restore", "--cmdline", "x");
    memset(text, 'a', sizeof(text));
    text[LAYOUT_CMDLINE_MAX] = '\0';
    REFUSED("--cmdline", "--memory", "33554432", "--vcpus", "1", "--cmdline", text);
    (void)state;
}

static void a_command_line_of_the_greatest_length_is_taken(void **state)
{
    struct machine_options o = {.vcpus = 0};
    struct err err = ERR_INIT;
    char text[LAYOUT_CMDLINE_MAX];

    memset(text, 'a', sizeof(text));
    text[LAYOUT_CMDLINE_MAX - 1] = '\0';
    assert_ok(PARSE(&o, &err, "--memory", "33554432", "--vcpus", "1", "--cmdline", text), &err);
    assert_ptr_equal(o.cmdline, text);
    (void)state;
}

TEST_MAIN(T(a_machine_is_what_its_arguments_say), T(amounts_outside_their_range_are_refused),
          T(what_is_missing_or_unknown_is_named), T(a_command_line_of_the_greatest_length_is_taken))
