/* What a machine holds of the host: each limit bound by a group or otherwise, left-overs kept apart. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake-cgroup.h"
#include "store-dir.h"
#include "sup/hold.h"
#include "sys/cgroup-internal.h"
#include "sys/fd.h"
#include "test.h"

/* --- hosts made of plain files --- */

/* A kernel that does not let go: the directory stays full. */
static void keeps(int dir)
{
}

static const struct cgroup_fake stubborn = {.made = made, .gone = keeps};

static void make_base(const char *path, const char *controllers)
{
    struct err err = ERR_INIT;
    auto_fd int dir = -1;
    char full[600];

    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    assert_ok(fd_mkdir_parents(full, &err), &err);
    dir = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    put(dir, "cgroup.procs", "");
    if (controllers != NULL) {
        put(dir, "cgroup.controllers", controllers);
        put(dir, "cgroup.subtree_control", "");
    }
}

enum kind {
    NOTHING,
    V1_PIDS,
    V1_ALL,
    V2_CPU,
    V2_ALL,
    N_KINDS
};

static void make_host(struct hold *hold, enum kind kind)
{
    static const char v2[] = "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
    static const char v1_pids[] = "1 0 0:1 / /v1/pids rw - cgroup cgroup rw,pids\n";
    static const char v1_all[] = "1 0 0:1 / /v1/pids rw - cgroup cgroup rw,pids\n"
                                 "2 0 0:2 / /v1/memory rw - cgroup cgroup rw,memory\n"
                                 "3 0 0:3 / /v1/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "4 0 0:4 / /v1/blkio rw - cgroup cgroup rw,blkio\n"
                                 "5 0 0:5 / /v1/freezer rw - cgroup cgroup rw,freezer\n";
    static const char *const mounts[N_KINDS] = {
        [NOTHING] = "", [V1_PIDS] = v1_pids, [V1_ALL] = v1_all, [V2_CPU] = v2, [V2_ALL] = v2};

    make_base("/cg", kind == V2_CPU ? "cpu" : "cpu memory pids io");
    make_base("/v1/pids", NULL);
    make_base("/v1/memory", NULL);
    make_base("/v1/cpu", NULL);
    make_base("/v1/blkio", NULL);
    make_base("/v1/freezer", NULL);
    cgroup_parse(mounts[kind],
                 "5:freezer:/\n4:blkio:/\n3:cpu,cpuacct:/\n2:memory:/\n1:pids:/\n0::/\n",
                 &hold->host);
    cgroup_probe(&hold->host, root, 0);
    hold->host.fake = &fake;
}

static bool enforced(const struct hold *hold, enum cgroup_limit limit)
{
    return hold->report.state[limit] == CGROUP_ENFORCED;
}

static void every_limit_is_bound_by_a_group_or_told_with_what_binds_instead(void **state)
{
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        struct err err = ERR_INIT;
        auto_hold struct hold *hold = hold_new();

        assert_non_null(hold);
        make_host(hold, kind);
        hold->host.swap = true;
        (void)snprintf(hold->slot.group, sizeof(hold->slot.group), "m%d.0", (int)kind);
        assert_ok(hold_group(hold, 384 * MIB, 1, store, &err), &err);
        for (int i = 0; i < CGROUP_N_LIMITS; i++) {
            enum cgroup_limit limit = (enum cgroup_limit)i;

            assert_true(hold->report.state[limit] != CGROUP_NOT_ASKED);
            assert_true(strlen(hold_instead(limit)) > 10);
            if (hold->report.state[limit] == CGROUP_ABSENT) {
                assert_true(hold->report.why[limit][0] != '\0');
            }
        }
        assert_int_equal(enforced(hold, CGROUP_LIMIT_MEMORY), kind == V1_ALL || kind == V2_ALL);
        assert_int_equal(enforced(hold, CGROUP_LIMIT_SWAP), kind == V1_ALL || kind == V2_ALL);
        assert_int_equal(enforced(hold, CGROUP_LIMIT_OOM_GROUP), kind == V2_ALL);
        assert_int_equal(enforced(hold, CGROUP_LIMIT_PIDS),
                         kind == V1_PIDS || kind == V1_ALL || kind == V2_ALL);
        assert_int_equal(enforced(hold, CGROUP_LIMIT_CPU_QUOTA),
                         kind == V1_ALL || kind == V2_CPU || kind == V2_ALL);
        assert_int_equal(enforced(hold, CGROUP_LIMIT_IO_WEIGHT), kind == V1_ALL || kind == V2_ALL);
        /* Memory without a group is watched, and only then. */
        assert_int_equal(hold_must_watch(hold), kind != V1_ALL && kind != V2_ALL);
        assert_ok(hold_release_groups(hold, &err), &err);
    }
}

static void without_a_group_the_monitors_memory_is_compared_with_its_bound(void **state)
{
    struct err err = ERR_INIT;
    auto_hold struct hold *hold = hold_new();
    bool over = true;

    assert_non_null(hold);
    make_host(hold, NOTHING);
    (void)snprintf(hold->slot.group, sizeof(hold->slot.group), "m.0");
    assert_ok(hold_group(hold, 2048 * MIB, 1, store, &err), &err);
    assert_ok(hold_over_memory(hold, getpid(), &over, &err), &err);
    assert_false(over);
    hold->memory_bytes = 64 * KIB;
    assert_ok(hold_over_memory(hold, getpid(), &over, &err), &err);
    assert_true(over);
    assert_int_equal(hold_over_memory(hold, 0x3fffffff, &over, &err), -ENOENT);
}

static void a_disk_without_a_device_leaves_the_rate_told_as_absent(void **state)
{
    struct err err = ERR_INIT;
    auto_hold struct hold *hold = hold_new();
    auto_fd int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (shm < 0) {
        skip();
    }
    assert_non_null(hold);
    make_host(hold, V2_ALL);
    (void)snprintf(hold->slot.group, sizeof(hold->slot.group), "m.0");
    assert_ok(hold_group(hold, 384 * MIB, 1, shm, &err), &err);
    assert_int_equal(hold->report.state[CGROUP_LIMIT_IO_MAX], CGROUP_ABSENT);
    assert_non_null(strstr(hold->report.why[CGROUP_LIMIT_IO_MAX], "block device"));
    assert_true(enforced(hold, CGROUP_LIMIT_IO_WEIGHT));
    assert_ok(hold_release_groups(hold, &err), &err);
}

/* --- left-overs --- */

static int take(struct hold *hold, const char *id, struct err *err)
{
    const struct store opened = {.dirfd = store};
    const struct ledger_need need = {
        .machine_id = id, .memory_bytes = MIB, .vcpus = 1, .disk_bytes = 1};

    hold->n_left_over = 0;
    return hold_take(hold, &opened, &need, err);
}

static void what_cannot_be_removed_keeps_its_slot_and_nobody_else_out(void **state)
{
    struct err err = ERR_INIT;
    auto_hold struct hold *crashed = hold_new();
    auto_hold struct hold *next = hold_new();
    uid_t uid = 0;

    assert_non_null(crashed);
    assert_non_null(next);
    make_host(crashed, V2_ALL);
    make_host(next, V2_ALL);
    assert_ok(take(crashed, "crashed", &err), &err);
    uid = crashed->slot.uid;
    assert_int_equal(crashed->slot.number, 0);
    assert_ok(hold_group(crashed, 384 * MIB, 1, store, &err), &err);
    ledger_drop(&crashed->slot); /* as its death does */

    next->host.fake = &stubborn;
    assert_ok(take(next, "next", &err), &err);
    assert_int_equal(next->slot.number, 1);
    assert_true(next->slot.uid != uid);
    assert_int_equal(next->n_left_over, 1);
    assert_non_null(strstr(next->left_over, "slot 0 stays out of use"));
    assert_non_null(strstr(next->left_over, "crashed"));
    ledger_release(&next->slot);

    next->host.fake = &fake; /* and now it goes */
    assert_ok(take(next, "later", &err), &err);
    assert_int_equal(next->n_left_over, 0);
    assert_int_equal(next->slot.number, 0);
    ledger_release(&next->slot);
}

static void a_release_that_fails_gives_the_slot_to_nobody(void **state)
{
    struct err err = ERR_INIT;
    struct err failed = ERR_INIT;
    auto_hold struct hold *hold = hold_new();
    auto_hold struct hold *next = hold_new();

    assert_non_null(hold);
    assert_non_null(next);
    make_host(hold, V1_ALL);
    make_host(next, V1_ALL);
    assert_ok(take(hold, "first", &err), &err);
    assert_ok(hold_group(hold, 384 * MIB, 1, store, &err), &err);
    hold->group.fake = &stubborn;
    assert_int_equal(hold_release_groups(hold, &failed), -ENOTEMPTY);
    assert_true(hold->slot.fd >= 0);
    ledger_drop(&hold->slot); /* the supervisor ends */
    next->host.fake = &stubborn;
    assert_ok(take(next, "next", &err), &err);
    assert_int_equal(next->slot.number, 1);
    ledger_release(&next->slot);
}

#define R(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(R(every_limit_is_bound_by_a_group_or_told_with_what_binds_instead),
          R(without_a_group_the_monitors_memory_is_compared_with_its_bound),
          R(a_disk_without_a_device_leaves_the_rate_told_as_absent),
          R(what_cannot_be_removed_keeps_its_slot_and_nobody_else_out),
          R(a_release_that_fails_gives_the_slot_to_nobody))
