/* Every check of the cleanup proof, once with nothing left and once with something injected. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store-dir.h"
#include "sup/cleanup.h"
#include "sup/quarantine.h"
#include "sys/fd.h"
#include "test.h"

static void assert_failed(struct result_check check, const char *part)
{
    assert_false(check.ok);
    assert_non_null(strstr(check.detail, part));
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    return pid;
}

static void a_child_is_seen_dead_or_alive(void **state)
{
    siginfo_t info;
    pid_t one = 0;
    pid_t two = 0;
    char shown[40];

    (void)state;
    assert_true(cleanup_no_processes(0).ok);
    assert_true(cleanup_no_processes(1).ok);
    one = sleeper();
    (void)snprintf(shown, sizeof(shown), "process %d is", (int)one);
    assert_failed(cleanup_no_processes(0), shown);
    assert_true(cleanup_no_processes(one).ok);
    two = sleeper();
    assert_failed(cleanup_no_processes(two), shown);
    assert_int_equal(kill(one, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)one, &info, WEXITED | WNOWAIT), 0);
    assert_failed(cleanup_no_processes(two), shown);
    assert_int_equal(waitpid(one, NULL, 0), one);
    assert_true(cleanup_no_processes(two).ok);
    assert_int_equal(kill(two, SIGKILL), 0);
    assert_int_equal(waitpid(two, NULL, 0), two);
    assert_true(cleanup_no_processes(0).ok);
}

static void a_control_group_is_found_by_its_name(void **state)
{
    struct cgroup_host host;
    struct err err = ERR_INIT;
    auto_cgroup struct cgroup group = CGROUP_INIT;
    struct cgroup_report report;
    const struct cgroup_limits none = {0};
    char name[64];

    (void)state;
    (void)snprintf(name, sizeof(name), "test-cleanup-%d", (int)getpid());
    assert_ok(cgroup_detect(&host, &err), &err);
    if (geteuid() != 0 || host.n_trees == 0 || cgroup_prepare(&host, &err) < 0) {
        print_message("skipped: no control groups to make here\n");
        skip();
    }
    assert_true(cleanup_no_group(&host, "").ok);
    assert_true(cleanup_no_group(&host, name).ok);
    assert_ok(cgroup_create(&host, name, &none, &group, &report, &err), &err);
    assert_failed(cleanup_no_group(&host, name), "still stands, empty");
    assert_ok(cgroup_remove(&group, NS_PER_S, &err), &err);
    assert_true(cleanup_no_group(&host, name).ok);
}

/* In a process of its own, with a mount namespace that this test may fill. 0, or where it failed. */
static int leak_a_mount(void)
{
    struct err err = ERR_INIT;
    unsigned int before = 0;
    char place[80];

    (void)snprintf(place, sizeof(place), "%s/left", root);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        return 77;
    }
    if (mkdir(place, 0700) < 0 || cleanup_count_mounts(root, &before, &err) < 0 || before < 1) {
        return 1;
    }
    if (!cleanup_no_mounts(root, before).ok || mount("none", place, "tmpfs", 0, NULL) < 0 ||
        cleanup_no_mounts(root, before).ok) {
        return 2;
    }
    if (umount(place) < 0 || !cleanup_no_mounts(root, before).ok) {
        return 3;
    }
    if (mount("none", "/", "tmpfs", 0, NULL) < 0) {
        return 4;
    }
    return strstr(cleanup_no_mounts(root, before).detail, "mounts at '/'") != NULL ? 0 : 5;
}

static void a_mount_that_was_left_is_seen(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(leak_a_mount());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: no mount namespace to be had\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_file_with_a_name_is_seen(void **state)
{
    auto_fd int unnamed = -1;
    auto_fd int named = openat(store, "named", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct err err = ERR_INIT;
    char path[40];

    (void)state;
    assert_ok(fd_open_tmp(store, &unnamed, &err), &err);
    {
        const int good[] = {-1, unnamed};
        const int bad[] = {unnamed, named};

        assert_true(cleanup_no_names(good, 2).ok);
        assert_failed(cleanup_no_names(bad, 2), "1 names");
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", unnamed);
        assert_int_equal(linkat(AT_FDCWD, path, store, "linked", AT_SYMLINK_FOLLOW), 0);
        assert_failed(cleanup_no_names(good, 2), "1 names");
    }
}

static void an_open_socket_memory_file_or_temporary_file_is_seen(void **state)
{
    const int none = -1;
    struct err err = ERR_INIT;
    int fd = -1;

    (void)state;
    assert_true(cleanup_no_descriptors(&none, 1, store).ok);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_failed(cleanup_no_descriptors(&none, 1, store), "a socket");
    assert_true(cleanup_no_descriptors(&fd, 1, store).ok);
    fd_close_p(&fd);
    fd = memfd_create("left", MFD_CLOEXEC);
    assert_failed(cleanup_no_descriptors(&none, 1, store), "a memory file");
    fd_close_p(&fd);
    assert_ok(fd_open_tmp(store, &fd, &err), &err);
    assert_failed(cleanup_no_descriptors(&none, 1, store), "a temporary file");
    fd_close_p(&fd);
    assert_true(cleanup_no_descriptors(&none, 1, store).ok);
}

static void the_staging_directory_of_an_export_is_seen(void **state)
{
    (void)state;
    assert_true(cleanup_no_staging(NULL, "id").ok);
    assert_true(cleanup_no_staging("/nowhere/at/all", "id").ok);
    assert_true(cleanup_no_staging(root, "id").ok);
    assert_int_equal(mkdirat(store, ".airlock-id", 0700), 0);
    assert_failed(cleanup_no_staging(root, "id"), ".airlock-id");
    assert_true(cleanup_no_staging(root, "other").ok);
}

static const struct ledger_capacity roomy = {
    .machines = 8,
    .memory_total_bytes = 1000 * MIB,
    .memory_available_bytes = 1000 * MIB,
    .memory_reserve_bytes = MIB,
    .vcpus = 8,
    .disk_free_bytes = 1000 * MIB,
    .disk_reserve_bytes = MIB,
};

static void admit(const char *id, struct ledger_slot *ret)
{
    const struct ledger_need need = {
        .machine_id = id, .memory_bytes = MIB, .vcpus = 1, .disk_bytes = MIB};
    struct err err = ERR_INIT;

    assert_ok(ledger_admit(store, &need, &roomy, ret, &err), &err);
}

static int clear(void *arg, const struct ledger_entry *entry, struct err *err)
{
    int *n = arg;

    (*n)++;
    return ledger_clear(store, entry, err);
}

static void a_slot_that_stays_is_seen(void **state)
{
    struct ledger_slot slot = LEDGER_SLOT_INIT;
    auto_fd int kept = -1;

    (void)state;
    assert_true(cleanup_slot_released(-1, 0).ok);
    admit("one", &slot);
    kept = fcntl(slot.fd, F_DUPFD_CLOEXEC, 0);
    assert_failed(cleanup_slot_released(kept, slot.number), "stays out of use");
    ledger_release(&slot);
    assert_true(cleanup_slot_released(kept, 0).ok);
}

static void a_slot_given_back_by_one_holder_is_not_taken_from_the_next_by_the_other(void **state)
{
    struct ledger_slot slot = LEDGER_SLOT_INIT;
    struct ledger_slot shared = LEDGER_SLOT_INIT;
    struct ledger_slot next = LEDGER_SLOT_INIT;
    struct stat st = {0};

    (void)state;
    admit("one", &slot);
    shared = slot;
    shared.fd = fcntl(slot.fd, F_DUPFD_CLOEXEC, 0);
    shared.slots_fd = fcntl(slot.slots_fd, F_DUPFD_CLOEXEC, 0);
    ledger_release(&slot);
    admit("two", &next);
    assert_int_equal(next.number, 0);
    ledger_release(&shared);
    assert_int_equal(fstatat(store, "slots/0", &st, 0), 0);
    assert_true(st.st_size > 0);
    ledger_release(&next);
}

static void a_slot_in_quarantine_is_given_to_nobody_until_it_is_released(void **state)
{
    struct ledger_slot slot = LEDGER_SLOT_INIT;
    struct ledger_slot other = LEDGER_SLOT_INIT;
    struct quarantine_entry entry;
    struct err err = ERR_INIT;
    size_t n = 0;
    int stale = 0;

    (void)state;
    admit("one", &slot);
    assert_ok(quarantine_put(&slot, "one", "a test", &err), &err);
    ledger_release(&slot);
    assert_int_equal(ledger_stale(store, clear, &stale, &err), -EPERM);
    assert_non_null(strstr(err.msg, "records release 0"));
    err = (struct err)ERR_INIT;
    admit("two", &other);
    assert_int_equal(other.number, 1);
    ledger_release(&other);
    assert_ok(quarantine_list(store, &entry, 1, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(entry.number, 0);
    assert_string_equal(entry.text, "one\na test\n");
    assert_int_equal(quarantine_release(store, 1, &err), -ENOENT);
    err = (struct err)ERR_INIT;
    assert_ok(quarantine_release(store, 0, &err), &err);
    stale = 0;
    assert_ok(ledger_stale(store, clear, &stale, &err), &err);
    assert_int_equal(stale, 1);
    admit("three", &other);
    assert_int_equal(other.number, 0);
    ledger_release(&other);
}

#define D(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(D(a_child_is_seen_dead_or_alive), D(a_control_group_is_found_by_its_name),
          D(a_mount_that_was_left_is_seen), D(a_file_with_a_name_is_seen),
          D(an_open_socket_memory_file_or_temporary_file_is_seen),
          D(the_staging_directory_of_an_export_is_seen), D(a_slot_that_stays_is_seen),
          D(a_slot_given_back_by_one_holder_is_not_taken_from_the_next_by_the_other),
          D(a_slot_in_quarantine_is_given_to_nobody_until_it_is_released))
