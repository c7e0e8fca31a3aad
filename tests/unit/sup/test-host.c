/* What is read of the host: disks in a made-up /sys, and the memory of processes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sup/host.h"
#include "sys/fd.h"
#include "test.h"

static char root[] = "/tmp/airlock-test-host-XXXXXX";

static int make_root(void **state)
{
    (void)snprintf(root, sizeof(root), "/tmp/airlock-test-host-XXXXXX");
    return test_fds_before(state) != 0 || mkdtemp(root) == NULL;
}

static int drop_root(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd_remove_tree(tmp, root + sizeof("/tmp"), &err);

    fd_close_p(&tmp);
    return r < 0 || test_fds_after(state) != 0;
}

static void put(const char *path, const char *text)
{
    struct err err = ERR_INIT;
    char full[300];
    auto_fd int fd = -1;

    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    *strrchr(full, '/') = '\0';
    assert_ok(fd_mkdir_parents(full, &err), &err);
    (void)snprintf(full, sizeof(full), "%s/%s", root, path);
    fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void add_device(const char *number, const char *device)
{
    struct err err = ERR_INIT;
    char path[300];
    char target[300];

    (void)snprintf(path, sizeof(path), "%s/dev/block", root);
    assert_ok(fd_mkdir_parents(path, &err), &err);
    (void)snprintf(path, sizeof(path), "%s/dev/block/%s", root, number);
    (void)snprintf(target, sizeof(target), "../../devices/%s", device);
    assert_int_equal(symlink(target, path), 0);
}

static void a_partition_leads_to_its_disk_and_a_disk_to_itself(void **state)
{
    struct err err = ERR_INIT;
    dev_t disk = 0;

    put("devices/pci0/block/sda/dev", "8:0\n");
    put("devices/pci0/block/sda/sda3/dev", "8:3\n");
    put("devices/pci0/block/sda/sda3/partition", "3\n");
    put("devices/pci0/block/nvme0n1/dev", "259:0\n");
    put("devices/pci0/block/nvme0n1/nvme0n1p17/dev", "259:17\n");
    put("devices/pci0/block/nvme0n1/nvme0n1p17/partition", "17\n");
    put("devices/virtual/block/dm-0/dev", "253:0\n");
    add_device("8:0", "pci0/block/sda");
    add_device("8:3", "pci0/block/sda/sda3");
    add_device("259:17", "pci0/block/nvme0n1/nvme0n1p17");
    add_device("253:0", "virtual/block/dm-0");
    assert_ok(host_whole_disk(makedev(8, 3), root, &disk, &err), &err);
    assert_int_equal(disk, makedev(8, 0));
    assert_ok(host_whole_disk(makedev(8, 0), root, &disk, &err), &err);
    assert_int_equal(disk, makedev(8, 0));
    assert_ok(host_whole_disk(makedev(259, 17), root, &disk, &err), &err);
    assert_int_equal(disk, makedev(259, 0));
    assert_ok(host_whole_disk(makedev(253, 0), root, &disk, &err), &err);
    assert_int_equal(disk, makedev(253, 0));
}

static void without_a_block_device_there_is_a_reason_and_no_disk(void **state)
{
    auto_fd int fd = memfd_create("x", MFD_CLOEXEC);
    dev_t disk = makedev(1, 2);

    {
        struct err err = ERR_INIT;

        assert_int_equal(host_disk_of(fd, root, &disk, &err), -ENODEV);
        assert_non_null(strstr(err.msg, "tmpfs"));
    }
    {
        struct err err = ERR_INIT;

        assert_int_equal(host_whole_disk(makedev(8, 9), root, &disk, &err), -ENODEV);
        assert_non_null(strstr(err.msg, "8:9"));
    }
    put("devices/sdb/dev", "not a device\n");
    put("devices/sdb/sdb1/dev", "8:17\n");
    put("devices/sdb/sdb1/partition", "1\n");
    add_device("8:17", "sdb/sdb1");
    {
        struct err err = ERR_INIT;

        assert_int_equal(host_whole_disk(makedev(8, 17), root, &disk, &err), -ENODATA);
    }
    assert_int_equal(disk, makedev(1, 2));
}

static void memory_of_a_process_is_what_it_touched(void **state)
{
    struct err err = ERR_INIT;
    uint64_t before = 0;
    uint64_t after = 0;
    char *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    assert_ok(host_process_memory(getpid(), &before, &err), &err);
    memset(memory, 1, 64 * MIB);
    assert_ok(host_process_memory(getpid(), &after, &err), &err);
    assert_true(after >= before + 60 * MIB);
    assert_int_equal(munmap(memory, 64 * MIB), 0);
}

static void memory_of_a_process_that_ended_is_an_error_and_not_zero(void **state)
{
    struct err err = ERR_INIT;
    siginfo_t info = {0};
    uint64_t bytes = 7;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0); /* a zombie */
    assert_true(host_process_memory(pid, &bytes, &err) < 0);
    assert_int_equal(bytes, 7);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define R(f) cmocka_unit_test_setup_teardown(f, make_root, drop_root)

TEST_MAIN(R(a_partition_leads_to_its_disk_and_a_disk_to_itself),
          R(without_a_block_device_there_is_a_reason_and_no_disk),
          T(memory_of_a_process_is_what_it_touched),
          T(memory_of_a_process_that_ended_is_an_error_and_not_zero))
