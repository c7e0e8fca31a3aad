/*
 * Control groups for real, on whatever this host has. Needs root (or a delegated group) and skips
 * with the reason where a part has no controller.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/cgroup-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "test.h"

static struct cgroup_host host;
static char name[CGROUP_NAME_SIZE];
static unsigned int serial;

/* A group with the limits; removed by end(). Skips if one of the parts is nowhere. */
static void begin(unsigned int parts, const struct cgroup_limits *limits, struct cgroup *group,
                  struct cgroup_report *report)
{
    struct err err = ERR_INIT;

    assert_ok(cgroup_detect(&host, &err), &err);
    for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
        if ((parts & 1u << part) != 0 && host.where[part] < 0) {
            print_message("skip: no %s: %s\n", cgroup_part_name(part), host.why[part]);
            skip();
        }
    }
    (void)snprintf(name, sizeof(name), "test-%d-%u", (int)getpid(), serial++);
    assert_ok(cgroup_create(&host, name, limits, group, report, &err), &err);
}

static int find_name(void *arg, const char *found, struct err *err)
{
    return strcmp(found, arg) == 0 ? 1 : 0;
}

static void end(struct cgroup *group)
{
    struct err err = ERR_INIT;

    assert_ok(cgroup_kill(group, 5 * NS_PER_S, &err), &err);
    assert_ok(cgroup_remove(group, 5 * NS_PER_S, &err), &err);
    assert_int_equal(cgroup_list(&host, find_name, name, &err), 0); /* nothing of it stands */
}

/* A child in the group from its birth: v2 by clone3(), v1 by its own first writes. */
static pid_t child(const struct cgroup *group)
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    int v2 = cgroup_clone_fd(group);
    long pid = 0;

    if (v2 >= 0) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)v2;
    }
    pid = syscall(SYS_clone3, &args, sizeof(args));
    assert_true(pid >= 0);
    if (pid == 0 && cgroup_enter(group, v2 >= 0) < 0) {
        _exit(99);
    }
    return (pid_t)pid;
}

static int reap(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void memory_over_the_limit_is_killed_and_counted(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {.memory_bytes = 32 * MIB, .pids = 8};
    struct cgroup_report report;
    struct cgroup_stats stats = {0};
    struct err err = ERR_INIT;
    pid_t pid = 0;
    int status = 0;

    begin(1u << CGROUP_MEMORY, &limits, &group, &report);
    assert_int_equal(report.state[CGROUP_LIMIT_MEMORY], CGROUP_ENFORCED);
    assert_int_not_equal(report.state[CGROUP_LIMIT_SWAP], CGROUP_ABSENT);
    pid = child(&group);
    if (pid == 0) {
        char *p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (size_t i = 0; p != MAP_FAILED && i < 64 * MIB; i += 4096) {
            p[i] = 1;
        }
        _exit(0);
    }
    status = reap(pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_ok(cgroup_stats(&group, &stats, &err), &err);
    assert_in_range(stats.oom_kills, 1, 2); /* with v2's oom.group the victim counts twice */
    assert_true(stats.memory_peak_bytes > 30 * MIB && stats.memory_peak_bytes <= 32 * MIB);
    end(&group);
}

static void memory_under_the_limit_is_left_alone(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {.memory_bytes = 64 * MIB};
    struct cgroup_report report;
    struct cgroup_stats stats = {0};
    struct err err = ERR_INIT;
    pid_t pid = 0;

    begin(1u << CGROUP_MEMORY, &limits, &group, &report);
    pid = child(&group);
    if (pid == 0) {
        char *p = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        memset(p, 1, 32 * MIB);
        _exit(p[4096] - 1);
    }
    assert_int_equal(reap(pid), 0);
    assert_ok(cgroup_stats(&group, &stats, &err), &err);
    assert_int_equal(stats.oom_kills, 0);
    end(&group);
}

/* Forks until refused; exit code: how many children lived at once. */
static void fork_until_refused(void)
{
    int n = 0;

    while (n < 64) {
        pid_t pid = fork();

        if (pid < 0) {
            _exit(n);
        }
        if (pid == 0) {
            (void)pause();
            _exit(0);
        }
        n++;
    }
    _exit(64);
}

static void forks_over_the_limit_are_refused_and_counted(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {.pids = 8};
    struct cgroup_report report;
    struct cgroup_stats stats = {0};
    struct err err = ERR_INIT;
    bool populated = false;
    pid_t pid = 0;
    int status = 0;

    begin(1u << CGROUP_PIDS, &limits, &group, &report);
    assert_int_equal(report.state[CGROUP_LIMIT_PIDS], CGROUP_ENFORCED);
    pid = child(&group);
    if (pid == 0) {
        fork_until_refused();
    }
    status = reap(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7); /* and itself */
    assert_ok(cgroup_stats(&group, &stats, &err), &err);
    assert_int_not_equal(stats.pids_refused, 0);
    assert_true(stats.pids_peak == 8 || stats.pids_peak == CGROUP_UNKNOWN);
    assert_ok(cgroup_populated(&group, &populated, &err), &err);
    assert_true(populated); /* the seven that pause */
    end(&group);
}

/* Every process forks on and on: no list of it is ever current. */
static void fork_bomb(void)
{
    for (;;) {
        if (fork() < 0) {
            (void)sched_yield();
        }
    }
}

static void let_it_grow(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 100 * (long)NS_PER_MS}, NULL);
}

static void a_fork_bomb_dies_whole_by_one_kill(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {.pids = 64, .cpu_milli = 500};
    struct cgroup_report report;
    struct err err = ERR_INIT;
    bool populated = true;
    pid_t pid = 0;

    begin(1u << CGROUP_PIDS | 1u << CGROUP_KILL, &limits, &group, &report);
    pid = child(&group);
    if (pid == 0) {
        fork_bomb();
    }
    let_it_grow();
    assert_ok(cgroup_kill(&group, 10 * NS_PER_S, &err), &err);
    assert_ok(cgroup_populated(&group, &populated, &err), &err);
    assert_false(populated);
    assert_true(WIFSIGNALED(reap(pid)));
    end(&group);
}

static void without_v2_a_fork_bomb_dies_by_freezer_and_pidfds(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;
    pid_t pid = 0;

    assert_ok(cgroup_detect(&host, &err), &err);
    for (size_t i = 0; i < host.n_trees; i++) {
        host.trees[i].usable = host.trees[i].usable && !host.trees[i].v2;
    }
    cgroup_choose(&host);
    if (host.where[CGROUP_KILL] < 0 || host.where[CGROUP_PIDS] < 0) {
        print_message("skip: no v1 freezer and pids controllers here\n");
        skip();
    }
    (void)snprintf(name, sizeof(name), "test-%d-%u", (int)getpid(), serial++);
    {
        struct cgroup_limits limits = {.pids = 64, .cpu_milli = 500};
        struct cgroup_report report;

        assert_ok(cgroup_create(&host, name, &limits, &group, &report, &err), &err);
    }
    assert_int_equal(cgroup_clone_fd(&group), -1);
    pid = child(&group);
    if (pid == 0) {
        fork_bomb();
    }
    let_it_grow();
    assert_ok(cgroup_kill(&group, 10 * NS_PER_S, &err), &err);
    assert_true(WIFSIGNALED(reap(pid)));
    end(&group);
}

static void spin(uint64_t ns)
{
    uint64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
    }
}

static void cpu_time_counts_children_that_were_reaped(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {0};
    struct cgroup_report report;
    struct err err = ERR_INIT;
    uint64_t before = 0;
    uint64_t after = 0;
    pid_t pid = 0;

    begin(1u << CGROUP_CPUTIME, &limits, &group, &report);
    assert_ok(cgroup_cpu_ns(&group, &before, &err), &err);
    assert_true(before < 10 * NS_PER_MS);
    pid = child(&group);
    if (pid == 0) {
        for (int i = 0; i < 4; i++) {
            pid_t inner = fork();

            if (inner == 0) {
                spin(50 * NS_PER_MS);
                _exit(0);
            }
            if (inner < 0 || waitpid(inner, NULL, 0) != inner) {
                _exit(1);
            }
        }
        _exit(0);
    }
    assert_int_equal(reap(pid), 0);
    assert_ok(cgroup_cpu_ns(&group, &after, &err), &err);
    assert_in_range(after - before, 190 * NS_PER_MS, 600 * NS_PER_MS);
    end(&group);
}

static void the_cpu_quota_holds_two_spinners_back(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {.cpu_milli = 200, .cpu_weight = 50};
    struct cgroup_report report;
    struct err err = ERR_INIT;
    uint64_t began = 0;
    uint64_t used = 0;
    pid_t pids[2] = {0};

    begin(1u << CGROUP_CPU | 1u << CGROUP_CPUTIME, &limits, &group, &report);
    assert_int_equal(report.state[CGROUP_LIMIT_CPU_QUOTA], CGROUP_ENFORCED);
    assert_int_equal(report.state[CGROUP_LIMIT_CPU_WEIGHT], CGROUP_ENFORCED);
    began = clock_mono_ns();
    for (size_t i = 0; i < 2; i++) {
        pids[i] = child(&group);
        if (pids[i] == 0) {
            spin(UINT64_MAX / 2);
            _exit(0);
        }
    }
    (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    assert_ok(cgroup_cpu_ns(&group, &used, &err), &err);
    /* a fifth of the time, and two periods of slack */
    assert_true(used <= (clock_mono_ns() - began) / 5 + 40 * NS_PER_MS);
    assert_ok(cgroup_kill(&group, 5 * NS_PER_S, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        assert_true(WIFSIGNALED(reap(pids[i])));
    }
    end(&group);
}

static void another_process_can_take_over_what_was_left(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    auto_cgroup struct cgroup found = CGROUP_INIT;
    struct cgroup_limits limits = {.pids = 8};
    struct cgroup_report report;
    struct err err = ERR_INIT;
    pid_t pid = 0;

    begin(1u << CGROUP_KILL, &limits, &group, &report);
    pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_ok(cgroup_attach(&group, pid, &err), &err);
    cgroup_fini(&group); /* the owner dies; the group stands */
    assert_int_equal(cgroup_list(&host, find_name, name, &err), 1);
    assert_ok(cgroup_open(&host, name, &found, &err), &err);
    end(&found);
    assert_true(WIFSIGNALED(reap(pid)));
}

static void removing_a_group_with_a_living_process_says_so(void **state)
{
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_limits limits = {0};
    struct cgroup_report report;
    struct err err = ERR_INIT;
    struct err none = ERR_INIT;
    pid_t pid = 0;

    begin(1u << CGROUP_KILL, &limits, &group, &report);
    pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_ok(cgroup_attach(&group, pid, &err), &err); /* here, so that it surely is in */
    assert_int_equal(cgroup_remove(&group, 20 * NS_PER_MS, &err), -EBUSY);
    assert_int_equal(cgroup_list(&host, find_name, name, &none), 1); /* nothing went */
    end(&group);
    assert_true(WIFSIGNALED(reap(pid)));
}

/* Each removes an empty `airlock` under the others' feet. */
static void machines_that_come_and_go_at_once_do_not_disturb_each_other(void **state)
{
    pid_t pids[4] = {0};

    {
        auto_cgroup struct cgroup group = CGROUP_INIT;
        struct cgroup_limits limits = {0};
        struct cgroup_report report;

        begin(1u << CGROUP_KILL, &limits, &group, &report);
        end(&group);
    }
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        pids[i] = fork();
        if (pids[i] != 0) {
            continue;
        }
        for (int n = 0; n < 50; n++) {
            auto_cgroup struct cgroup group = CGROUP_INIT;
            struct cgroup_limits limits = {.memory_bytes = 16 * MIB, .pids = 8};
            struct cgroup_report report;
            struct err err = ERR_INIT;

            (void)snprintf(name, sizeof(name), "test-%d-%d", (int)getpid(), n);
            if (cgroup_create(&host, name, &limits, &group, &report, &err) < 0 ||
                cgroup_remove(&group, NS_PER_S, &err) < 0) {
                print_error("%s\n", err.msg);
                _exit(1);
            }
        }
        _exit(0);
    }
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        assert_int_equal(reap(pids[i]), 0);
    }
}

static void a_user_without_a_group_of_his_own_is_told_why(void **state)
{
    pid_t pid = 0;

    if (geteuid() != 0) {
        print_message("skip: needs root to become another user\n");
        skip();
    }
    pid = fork();
    if (pid == 0) {
        struct err err = ERR_INIT;

        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0 ||
            cgroup_detect(&host, &err) < 0) {
            _exit(1);
        }
        for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
            if (host.where[part] >= 0 || host.why[part][0] == '\0') {
                _exit(2 + (int)part);
            }
        }
        _exit(0);
    }
    assert_int_equal(reap(pid), 0);
}

TEST_MAIN(T(memory_over_the_limit_is_killed_and_counted), T(memory_under_the_limit_is_left_alone),
          T(forks_over_the_limit_are_refused_and_counted), T(a_fork_bomb_dies_whole_by_one_kill),
          T(without_v2_a_fork_bomb_dies_by_freezer_and_pidfds),
          T(cpu_time_counts_children_that_were_reaped), T(the_cpu_quota_holds_two_spinners_back),
          T(another_process_can_take_over_what_was_left),
          T(removing_a_group_with_a_living_process_says_so),
          T(machines_that_come_and_go_at_once_do_not_disturb_each_other),
          T(a_user_without_a_group_of_his_own_is_told_why))
