/* Control groups on texts of several kinds of hosts and on a fake tree of plain files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake-cgroup.h"
#include "sys/cgroup-internal.h"
#include "sys/fd.h"
#include "test.h"

static struct cgroup_host host; /* large */

/* Every hierarchy can be used where "own" says; what cgroup_probe() would find. */
static void make_usable(unsigned int v2_parts)
{
    for (size_t i = 0; i < host.n_trees; i++) {
        host.trees[i].usable = true;
        host.trees[i].parts |= host.trees[i].v2 ? v2_parts : 0;
    }
    cgroup_choose(&host);
}

#define ALL_V2 (1u << CGROUP_N_PARTS) - 1

static void a_pure_v2_host_serves_everything_from_one_mount(void **state)
{
    cgroup_parse("22 1 0:20 / /proc rw - proc proc rw\n"
                 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                 "0::/system.slice/ssh.service\n", &host);
    assert_int_equal(host.n_trees, 1);
    assert_true(host.trees[0].v2);
    assert_string_equal(host.trees[0].mount, "/sys/fs/cgroup");
    assert_string_equal(host.trees[0].own, "/sys/fs/cgroup/system.slice/ssh.service");
    make_usable(ALL_V2);
    for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
        assert_int_equal(host.where[part], 0);
    }
}

static const char hybrid_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
    "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n"
    "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid_self[] = "9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n"
                                  "5:devices:/\n4:memory:/api/ccdf\n3:cpuset:/\n2:cpuacct:/\n"
                                  "1:cpu:/\n0::/\n";

static void a_hybrid_host_kills_by_v2_and_limits_by_v1(void **state)
{
    cgroup_parse(hybrid_mounts, hybrid_self, &host);
    assert_int_equal(host.n_trees, 7); /* not tmpfs, cpuset, name=systemd */
    make_usable(1u << CGROUP_CPUTIME | 1u << CGROUP_KILL);
    assert_true(host.trees[host.where[CGROUP_KILL]].v2);
    assert_true(host.trees[host.where[CGROUP_CPUTIME]].v2);
    assert_string_equal(host.trees[host.where[CGROUP_MEMORY]].mount, "/sys/fs/cgroup/memory");
    assert_string_equal(host.trees[host.where[CGROUP_MEMORY]].own,
                        "/sys/fs/cgroup/memory/api/ccdf");
    assert_string_equal(host.trees[host.where[CGROUP_PIDS]].own, "/sys/fs/cgroup/pids");
    assert_string_equal(host.trees[host.where[CGROUP_CPU]].mount, "/sys/fs/cgroup/cpu");
    assert_string_equal(host.trees[host.where[CGROUP_IO]].mount, "/sys/fs/cgroup/blkio");
}

static void a_pure_v1_host_serves_joint_controllers_and_escaped_paths(void **state)
{
    cgroup_parse("1 0 0:1 / /cg/cpu\\040x rw - cgroup cgroup rw,cpu,cpuacct\n"
                 "2 0 0:2 / /cg/memory rw - cgroup cgroup rw,memory\n"
                 "3 0 0:3 / /cg/freezer rw - cgroup cgroup rw,freezer\n",
                 "3:freezer:/\n2:memory:/user:1\n1:cpu,cpuacct:/a\n", &host);
    make_usable(0);
    assert_int_equal(host.where[CGROUP_CPU], 0);
    assert_int_equal(host.where[CGROUP_CPUTIME], 0);
    assert_int_equal(host.where[CGROUP_KILL], 2);
    assert_int_equal(host.where[CGROUP_PIDS], -1);
    assert_non_null(strstr(host.why[CGROUP_PIDS], "no mounted cgroup hierarchy"));
    assert_string_equal(host.trees[0].own, "/cg/cpu x/a");
    assert_string_equal(host.trees[1].own, "/cg/memory/user:1"); /* a ':' is the path's own */
}

static void containers_own_groups_are_found_below_their_mounts(void **state)
{
    /* own namespace: both see "/" */
    cgroup_parse("5 4 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/\n", &host);
    assert_string_equal(host.trees[0].own, "/sys/fs/cgroup");
    /* the host's namespace, the group bind-mounted */
    cgroup_parse("5 4 0:26 /docker/ab /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n",
                 "8:pids:/docker/ab/inner\n", &host);
    assert_string_equal(host.trees[0].own, "/sys/fs/cgroup/pids/inner");
    /* a mount of another part of the tree, and one outside of the namespace */
    cgroup_parse("5 4 0:26 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/ab\n",
                 &host);
    assert_string_equal(host.trees[0].own, "");
    cgroup_parse("5 4 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/../ab\n", &host);
    assert_string_equal(host.trees[0].own, "");
    cgroup_parse("5 4 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/ab (deleted)\n", &host);
    assert_string_equal(host.trees[0].own, "");
}

static void a_host_without_cgroups_and_broken_texts_give_reasons_and_no_crash(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "22 1 0:20 / /proc rw - proc proc rw\n",
        "22 1 0:20 / /sys rw cgroup2",
        "22 1 0:20 / /sys rw - cgroup2",
        "22 1 0:20 / relative rw - cgroup2 c rw\n",
        "22 1 0:20 / /nul\\000x rw - cgroup2 c rw\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        cgroup_parse(texts[i], "0:\n::::\nx\n0::\n", &host);
        assert_int_equal(host.n_trees, 0);
        for (unsigned int part = 0; part < CGROUP_N_PARTS; part++) {
            assert_int_equal(host.where[part], -1);
            assert_true(host.why[part][0] != '\0');
        }
    }
    assert_true(cgroup_parse_swaps("Filename Type\n/dev/sda2 partition 1 0 -2\n"));
    assert_false(cgroup_parse_swaps("Filename Type\n"));
    assert_false(cgroup_parse_swaps(""));
}

/* ---- the fake tree ---- */

static char root[] = "/tmp/airlock-test-cgroup-XXXXXX";

static void get(const char *path, char *text, size_t size)
{
    char full[600];

    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    assert_int_equal(cgroup_read(AT_FDCWD, full, text, size), 0);
}

static void assert_file(const char *path, const char *want)
{
    char text[256];

    get(path, text, sizeof(text));
    assert_string_equal(text, want);
}

static int make_root(void **state)
{
    (void)snprintf(root, sizeof(root), "/tmp/airlock-test-cgroup-XXXXXX");
    if (test_fds_before(state) != 0 || mkdtemp(root) == NULL) {
        return 1;
    }
    return 0;
}

static int drop_root(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int tmp = -1;

    if (fd_open(AT_FDCWD, "/tmp", O_RDONLY | O_DIRECTORY, 0, &tmp, &err) < 0 ||
        fd_remove_tree(tmp, root + sizeof("/tmp"), &err) < 0) {
        return 1;
    }
    fd_close_p(&tmp);
    return test_fds_after(state);
}

static void make_base(const char *path, const char *controllers, bool real_root)
{
    struct err err = ERR_INIT;
    auto_fd int dir = -1;
    char full[600];

    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    assert_ok(fd_mkdir_parents(full, &err), &err);
    assert_ok(fd_open(AT_FDCWD, full, O_RDONLY | O_DIRECTORY, 0, &dir, &err), &err);
    put(dir, "cgroup.procs", "");
    if (controllers != NULL) {
        put(dir, "cgroup.controllers", controllers);
        put(dir, "cgroup.subtree_control", "");
        if (!real_root) {
            put(dir, "cgroup.type", "domain\n");
        }
    }
}

static const struct cgroup_limits limits = {
    .memory_bytes = 64 * MIB,
    .pids = 32,
    .cpu_milli = 1250,
    .cpu_weight = 50,
    .io_weight = 25,
    .io_bytes_per_s = 10 * MIB,
    .io_device = 0x801, /* 8:1 */
};

static void a_delegated_v2_group_gets_a_leaf_controllers_and_limits(void **state)
{
    struct err err = ERR_INIT;
    struct cgroup_report report;
    struct cgroup_stats stats = {0};
    auto_cgroup struct cgroup group = CGROUP_INIT;
    bool populated = true;

    make_base("/cg", "memory pids cpu io", true);
    make_base("/cg/user/run.scope", "cpuset cpu io memory pids\n", false);
    cgroup_parse("30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n", "0::/user/run.scope\n", &host);
    cgroup_probe(&host, root, 1000);
    host.fake = &fake;
    assert_true(host.trees[0].leaf_first);
    assert_int_equal(host.where[CGROUP_IO], 0);
    assert_ok(cgroup_create(&host, "m1.7", &limits, &group, &report, &err), &err);
    assert_file("cg/user/run.scope/airlock-self/cgroup.procs", "0");
    assert_file("cg/user/run.scope/cgroup.subtree_control", "+io"); /* the last of four writes */
    assert_file("cg/user/run.scope/airlock/cgroup.subtree_control", "+io");
    assert_file("cg/user/run.scope/airlock/m1.7/memory.max", "67108864");
    assert_file("cg/user/run.scope/airlock/m1.7/memory.swap.max", "0");
    assert_file("cg/user/run.scope/airlock/m1.7/memory.oom.group", "1");
    assert_file("cg/user/run.scope/airlock/m1.7/pids.max", "32");
    assert_file("cg/user/run.scope/airlock/m1.7/cpu.max", "125000 100000");
    assert_file("cg/user/run.scope/airlock/m1.7/cpu.weight", "50");
    assert_file("cg/user/run.scope/airlock/m1.7/io.weight", "default 25");
    assert_file("cg/user/run.scope/airlock/m1.7/io.max", "8:1 rbps=10485760 wbps=10485760");
    for (unsigned int i = 0; i < CGROUP_N_LIMITS; i++) {
        assert_int_equal(report.state[i], CGROUP_ENFORCED);
    }
    assert_ok(cgroup_stats(&group, &stats, &err), &err);
    assert_int_equal(stats.cpu_ns, 1500000);
    assert_int_equal(stats.memory_bytes, 4096);
    assert_int_equal(stats.memory_peak_bytes, 8192);
    assert_int_equal(stats.oom_kills, 2);
    assert_int_equal(stats.pids_peak, CGROUP_UNKNOWN); /* no such file here */
    assert_int_equal(stats.pids_refused, 7);
    assert_true(cgroup_clone_fd(&group) >= 0);
    assert_int_equal(cgroup_enter(&group, true), 0);
    assert_file("cg/user/run.scope/airlock/m1.7/cgroup.procs", "");
    assert_ok(cgroup_kill(&group, 0, &err), &err);
    assert_file("cg/user/run.scope/airlock/m1.7/cgroup.kill", "1");
    assert_ok(cgroup_populated(&group, &populated, &err), &err);
    assert_false(populated);
    assert_ok(cgroup_remove(&group, 0, &err), &err);
    cgroup_fini(&group);
    assert_int_equal(cgroup_open(&host, "m1.7", &group, &err), -ENOENT);
}

static void the_leaf_we_moved_into_is_not_nested_again(void **state)
{
    make_base("/cg/scope/airlock-self", "memory", false);
    make_base("/cg/scope", "memory", false);
    cgroup_parse("30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n", "0::/scope/airlock-self\n", &host);
    cgroup_probe(&host, root, 1000);
    assert_true(host.trees[0].usable);
    assert_string_equal(strrchr(host.trees[0].base, '/'), "/scope");
}

static void v1_hierarchies_beside_an_empty_v2_share_the_limits(void **state)
{
    struct err err = ERR_INIT;
    struct err busy = ERR_INIT;
    struct cgroup_report report;
    struct cgroup_stats stats = {0};
    auto_cgroup struct cgroup group = CGROUP_INIT;
    static const char *const bases[] = {"/sys/fs/cgroup/cpu",    "/sys/fs/cgroup/cpuacct",
                                        "/sys/fs/cgroup/memory", "/sys/fs/cgroup/freezer",
                                        "/sys/fs/cgroup/blkio",  "/sys/fs/cgroup/pids"};

    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        make_base(bases[i], NULL, true);
    }
    make_base("/sys/fs/cgroup/unified", "hugetlb\n", true);
    cgroup_parse(hybrid_mounts, hybrid_self, &host);
    cgroup_probe(&host, root, 0);
    host.fake = &fake;
    assert_ok(cgroup_create(&host, "m2", &limits, &group, &report, &err), &err);
    assert_int_equal(group.n_members, 5); /* cpu memory blkio pids unified */
    assert_file("sys/fs/cgroup/memory/airlock/m2/memory.limit_in_bytes", "67108864");
    assert_file("sys/fs/cgroup/memory/airlock/m2/memory.memsw.limit_in_bytes", "67108864");
    assert_file("sys/fs/cgroup/pids/airlock/m2/pids.max", "32");
    assert_file("sys/fs/cgroup/cpu/airlock/m2/cpu.cfs_quota_us", "125000");
    assert_file("sys/fs/cgroup/cpu/airlock/m2/cpu.shares", "512");
    assert_file("sys/fs/cgroup/blkio/airlock/m2/blkio.bfq.weight", "25");
    assert_file("sys/fs/cgroup/blkio/airlock/m2/blkio.throttle.write_bps_device", "8:1 10485760");
    assert_int_equal(report.state[CGROUP_LIMIT_MEMORY], CGROUP_ENFORCED);
    assert_int_equal(report.state[CGROUP_LIMIT_OOM_GROUP], CGROUP_ABSENT);
    assert_ok(cgroup_stats(&group, &stats, &err), &err);
    assert_int_equal(stats.cpu_ns, 1500000);
    assert_int_equal(stats.memory_peak_bytes, 8193);
    assert_int_equal(stats.oom_kills, 5);
    assert_int_equal(cgroup_enter(&group, false), 0);
    assert_file("sys/fs/cgroup/unified/airlock/m2/cgroup.procs", "0");
    assert_file("sys/fs/cgroup/memory/airlock/m2/cgroup.procs", "0");
    assert_int_equal(cgroup_remove(&group, 0, &busy), -EBUSY);
    for (size_t i = 0; i < group.n_members; i++) {
        put(group.members[i].dir_fd, "cgroup.procs", "");
    }
    assert_ok(cgroup_remove(&group, 0, &err), &err);
}

static int count_name(void *arg, const char *name, struct err *err)
{
    size_t *counts = arg;

    counts[name[1] - '0']++;
    return 0;
}

static void leftovers_are_listed_once_and_opened_wherever_they_stand(void **state)
{
    struct err err = ERR_INIT;
    auto_cgroup struct cgroup group = CGROUP_INIT;
    size_t counts[10] = {0};

    make_base("/cg/memory/airlock/m1", NULL, true);
    make_base("/cg/memory/airlock", NULL, true);
    make_base("/cg/memory", NULL, true);
    make_base("/cg/pids/airlock/m1", NULL, true);
    make_base("/cg/pids/airlock/m2", NULL, true);
    make_base("/cg/pids/airlock/.hidden", NULL, true);
    make_base("/cg/pids", NULL, true);
    cgroup_parse("1 0 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n"
                 "2 0 0:2 / /cg/pids rw - cgroup cgroup rw,pids\n",
                 "2:pids:/\n1:memory:/\n", &host);
    cgroup_probe(&host, root, 0);
    host.fake = &fake;
    assert_ok(cgroup_list(&host, count_name, counts, &err), &err);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 1);
    assert_ok(cgroup_open(&host, "m2", &group, &err), &err);
    assert_int_equal(group.n_members, 1);
    assert_ok(cgroup_remove(&group, 0, &err), &err);
    assert_ok(cgroup_list(&host, count_name, counts, &err), &err);
    assert_int_equal(counts[2], 1);
}

static void a_limit_that_the_host_lacks_is_reported_with_the_reason(void **state)
{
    struct err err = ERR_INIT;
    struct cgroup_report report;
    auto_cgroup struct cgroup group = CGROUP_INIT;

    make_base("/cg", "cpu", true);
    cgroup_parse("30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n", "0::/\n", &host);
    cgroup_probe(&host, root, 0);
    host.fake = &fake;
    assert_ok(cgroup_create(&host, "m3", &limits, &group, &report, &err), &err);
    assert_int_equal(report.state[CGROUP_LIMIT_CPU_QUOTA], CGROUP_ENFORCED);
    assert_int_equal(report.state[CGROUP_LIMIT_MEMORY], CGROUP_ABSENT);
    assert_int_equal(report.state[CGROUP_LIMIT_PIDS], CGROUP_ABSENT);
    assert_true(report.why[CGROUP_LIMIT_MEMORY][0] != '\0');
    assert_ok(cgroup_remove(&group, 0, &err), &err);
}

static void a_controller_that_cannot_be_enabled_is_lost_with_a_reason(void **state)
{
    struct err err = ERR_INIT;
    char path[600];

    make_base("/cg", "memory pids", true);
    (void)snprintf(path, sizeof(path), "%s/cg/cgroup.subtree_control", root);
    assert_int_equal(unlink(path), 0);
    cgroup_parse("30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n", "0::/\n", &host);
    cgroup_probe(&host, root, 0);
    host.fake = &fake;
    assert_int_equal(host.where[CGROUP_MEMORY], 0);
    assert_ok(cgroup_prepare(&host, &err), &err);
    assert_int_equal(host.where[CGROUP_MEMORY], -1);
    assert_non_null(strstr(host.why[CGROUP_MEMORY], "can't be enabled"));
    assert_int_equal(host.where[CGROUP_KILL], 0);
}

static void bad_names_numbers_and_second_uses_are_refused(void **state)
{
    static const char *const names[] = {"", ".", "..", "a/b", ".hidden", "-x", "a b", "\xc3\xa4"};
    struct cgroup_report report;
    auto_cgroup struct cgroup group = CGROUP_INIT;
    auto_cgroup struct cgroup again = CGROUP_INIT;

    make_base("/cg", "memory", true);
    cgroup_parse("30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n", "0::/\n", &host);
    cgroup_probe(&host, root, 0);
    host.fake = &fake;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(cgroup_create(&host, names[i], &limits, &group, &report, &err), -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
    }
    {
        struct err err = ERR_INIT;
        struct cgroup_limits bad = {.memory_bytes = 4096};

        assert_int_equal(cgroup_create(&host, "m", &bad, &group, &report, &err), -EINVAL);
    }
    {
        struct err err = ERR_INIT;

        assert_ok(cgroup_create(&host, "m", &limits, &group, &report, &err), &err);
        assert_int_equal(cgroup_create(&host, "m", &limits, &again, &report, &err), -EEXIST);
        assert_int_equal(again.n_members, 0); /* the other's group is not ours to remove */
    }
}

#define R(f) cmocka_unit_test_setup_teardown(f, make_root, drop_root)

TEST_MAIN(T(a_pure_v2_host_serves_everything_from_one_mount),
          T(a_hybrid_host_kills_by_v2_and_limits_by_v1),
          T(a_pure_v1_host_serves_joint_controllers_and_escaped_paths),
          T(containers_own_groups_are_found_below_their_mounts),
          T(a_host_without_cgroups_and_broken_texts_give_reasons_and_no_crash),
          R(a_delegated_v2_group_gets_a_leaf_controllers_and_limits),
          R(the_leaf_we_moved_into_is_not_nested_again),
          R(v1_hierarchies_beside_an_empty_v2_share_the_limits),
          R(leftovers_are_listed_once_and_opened_wherever_they_stand),
          R(a_limit_that_the_host_lacks_is_reported_with_the_reason),
          R(a_controller_that_cannot_be_enabled_is_lost_with_a_reason),
          R(bad_names_numbers_and_second_uses_are_refused))
