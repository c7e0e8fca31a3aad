/* Filters that are assembled without libseccomp. Each call is made for real in a child. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/filter.h"
#include "test.h"

#define TIMEOUT_S 20

#define PLAIN(call)                                      \
    {                                                    \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ALLOW \
    }

/* True if the call ends the process behind the rules and exit_group. */
static bool ends(const struct seccomp_rule *rule, long nr, const uint64_t args[3])
{
    const struct seccomp_rule rules[] = {*rule, PLAIN(exit_group)};
    struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    struct err err = ERR_INIT;
    int status = 0;

    assert_ok(seccomp_assemble(rules, ARRAY_LEN(rules), &filter, &err), &err);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(TIMEOUT_S);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_load_filter(&filter, NULL) < 0) {
            (void)kill(getpid(), SIGKILL);
        }
        (void)syscall(nr, args[0], args[1], args[2]);
        (void)syscall(SYS_exit_group, 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    seccomp_filter_fini(&filter);
    assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGSYS);
    return WIFSIGNALED(status);
}

static void what_no_rule_names_ends_the_process(void **state)
{
    const struct seccomp_rule rule = PLAIN(getppid);
    const uint64_t none[3] = {0};

    (void)state;
    assert_false(ends(&rule, SYS_getppid, none));
    assert_true(ends(&rule, SYS_getuid, none));
    /* The same number in the x32 architecture. */
    assert_true(ends(&rule, 0x40000000 | SYS_getppid, none));
}

static void all_64_bits_of_an_argument_are_compared(void **state)
{
    const uint64_t value = 0x1122334455667788ull;
    const struct seccomp_rule rule = {.nr = SCMP_SYS(getppid),
                                      .action = SECCOMP_DO_ALLOW,
                                      .n = 1,
                                      .cmp = {{1, SCMP_CMP_EQ, value, 0}}};

    (void)state;
    assert_false(ends(&rule, SYS_getppid, (const uint64_t[]){0, value, 0}));
    assert_true(ends(&rule, SYS_getppid, (const uint64_t[]){value, 0, value}));
    for (unsigned int bit = 0; bit < 64; bit += 7) {
        assert_true(ends(&rule, SYS_getppid, (const uint64_t[]){0, value ^ 1ull << bit, 0}));
    }
}

static void bits_outside_a_mask_do_not_count(void **state)
{
    const uint64_t mask = 0x00ff00000000ff00ull;
    const uint64_t value = 0x0012000000003400ull;
    const struct seccomp_rule rule = {.nr = SCMP_SYS(getppid),
                                      .action = SECCOMP_DO_ALLOW,
                                      .n = 1,
                                      .cmp = {{2, SCMP_CMP_MASKED_EQ, mask, value}}};

    (void)state;
    for (unsigned int bit = 0; bit < 64; bit += 5) {
        bool counts = (mask >> bit & 1) != 0;
        assert_int_equal(ends(&rule, SYS_getppid, (const uint64_t[]){0, 0, value ^ 1ull << bit}),
                         counts);
    }
}

static void every_comparison_of_a_rule_must_hold(void **state)
{
    const struct seccomp_rule rule = {
        .nr = SCMP_SYS(getppid),
        .action = SECCOMP_DO_ALLOW,
        .n = 3,
        .cmp = {{0, SCMP_CMP_EQ, 1, 0}, {1, SCMP_CMP_MASKED_EQ, 6, 2}, {2, SCMP_CMP_EQ, 3, 0}}};

    (void)state;
    assert_false(ends(&rule, SYS_getppid, (const uint64_t[]){1, 2, 3}));
    assert_true(ends(&rule, SYS_getppid, (const uint64_t[]){2, 2, 3}));
    assert_true(ends(&rule, SYS_getppid, (const uint64_t[]){1, 4, 3}));
    assert_true(ends(&rule, SYS_getppid, (const uint64_t[]){1, 2, 4}));
}

static void rules_of_another_kind_are_refused(void **state)
{
    const struct seccomp_rule rules[] = {
        {.nr = SCMP_SYS(getppid), .action = SECCOMP_DO_ERRNO, .errnum = EPERM},
        {.nr = SCMP_SYS(getppid), .action = SECCOMP_DO_ASK},
        {.nr = SCMP_SYS(getppid), .action = SECCOMP_DO_KILL},
        {.nr = -1, .action = SECCOMP_DO_ALLOW},
        {.nr = SCMP_SYS(getppid), .action = SECCOMP_DO_ALLOW, .n = SECCOMP_CMP_MAX + 1},
        {.nr = SCMP_SYS(getppid),
         .action = SECCOMP_DO_ALLOW,
         .n = 1,
         .cmp = {{0, SCMP_CMP_GT, 1, 0}}},
        {.nr = SCMP_SYS(getppid),
         .action = SECCOMP_DO_ALLOW,
         .n = 1,
         .cmp = {{6, SCMP_CMP_EQ, 1, 0}}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct seccomp_filter filter = SECCOMP_FILTER_INIT;
        struct err err = ERR_INIT;

        assert_true(seccomp_assemble(&rules[i], 1, &filter, &err) < 0);
        assert_int_equal(err.class, ERR_HOST);
        assert_null(filter.code);
    }
}

TEST_MAIN(T(what_no_rule_names_ends_the_process), T(all_64_bits_of_an_argument_are_compared),
          T(bits_outside_a_mask_do_not_count), T(every_comparison_of_a_rule_must_hold),
          T(rules_of_another_kind_are_refused))
