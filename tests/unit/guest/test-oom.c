#include "guest/exec.h"
#include "guest/file.h"
#include "guest/oom.h"
#include "guest/pressure.h"
#include "test.h"

static void the_victim_is_taken_from_the_kernels_own_sentence(void **state)
{
    (void)state;
    assert_int_equal(
        oom_record_victim("3,412,9911,-;Memory cgroup out of memory: Killed process 57 "
                          "(python3) total-vm:1kB"),
        57);
    assert_int_equal(oom_record_victim("3,1,2,-;Out of memory: Killed process 8 (a)"), 8);
    assert_int_equal(oom_record_victim("6,1,2,-;python3 invoked oom-killer: gfp_mask=0x0"), 0);
}

static void a_process_name_cannot_pose_as_the_sentence(void **state)
{
    (void)state;
    assert_int_equal(oom_record_victim("6,1,2,-;x; Out of memory: Killed process 8 (a)"), 0);
    assert_int_equal(oom_record_victim("Out of memory: Killed process 8 (a)"), 0);
    assert_int_equal(oom_record_victim("3,1,2,-;Out of memory: Killed process 8x(a)"), 0);
    assert_int_equal(oom_record_victim("3,1,2,-;Out of memory: Killed process -8 (a)"), 0);
    assert_int_equal(oom_record_victim("3,1,2,-;Out of memory: Killed process 99999999999 (a)"), 0);
    assert_int_equal(oom_record_victim(""), 0);
}

static void keys_are_whole_words_at_the_start_of_a_line(void **state)
{
    const char *text = "low 0\noom 5\noom_kill 3\nmax 18446744073709551615\n";

    (void)state;
    assert_int_equal(file_key_u64(text, "oom_kill"), 3);
    assert_int_equal(file_key_u64(text, "oom"), 5);
    assert_true(file_key_u64(text, "max") == UINT64_MAX);
    assert_int_equal(file_key_u64(text, "kill"), 0);
    assert_int_equal(file_key_u64("", "oom"), 0);
}

static void the_environment_is_searched_by_whole_names(void **state)
{
    static char a[] = "XPATH=/x";
    static char b[] = "PATH=/usr/bin:/bin";
    char *envp[] = {a, b, NULL};

    (void)state;
    assert_string_equal(exec_env(envp, "PATH"), "/usr/bin:/bin");
    assert_null(exec_env(envp, "PAT"));
}

static void what_is_not_there_is_named(void **state)
{
    static char name[] = "no-such-program";
    static char path[] = "PATH=relative:/nonexistent";
    char *argv[] = {name, NULL};
    char *envp[] = {path, NULL};
    struct err err = ERR_INIT;

    (void)state;
    exec_search(argv, envp, &err);
    assert_int_equal(err.class, ERR_USAGE);
    assert_string_equal(err.msg, "execute 'no-such-program': No such file or directory");
}

static void only_the_second_stall_in_a_row_with_full_memory_counts(void **state)
{
    struct pressure p = {.fd = -1, .limit_bytes = 100 * MIB};

    (void)state;
    assert_false(pressure_counts(&p, 10 * NS_PER_S, 90 * MIB));
    assert_true(pressure_counts(&p, 11 * NS_PER_S, 90 * MIB));
    assert_false(pressure_counts(&p, 12 * NS_PER_S, 90 * MIB)); /* a new row */
    assert_false(pressure_counts(&p, 13 * NS_PER_S, 50 * MIB)); /* what can be evicted */
    assert_false(pressure_counts(&p, 14 * NS_PER_S, 90 * MIB));
    assert_false(pressure_counts(&p, 30 * NS_PER_S, 90 * MIB)); /* too far apart */
    assert_true(pressure_counts(&p, 31 * NS_PER_S, 90 * MIB));
}

TEST_MAIN(T(only_the_second_stall_in_a_row_with_full_memory_counts),
          T(the_victim_is_taken_from_the_kernels_own_sentence),
          T(a_process_name_cannot_pose_as_the_sentence),
          T(keys_are_whole_words_at_the_start_of_a_line),
          T(the_environment_is_searched_by_whole_names), T(what_is_not_there_is_named))
