/* What the front half can still do after it dropped and confined itself; each in a child. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/launcher.h"
#include "sys/fd.h"
#include "test.h"

static int dropped(const char *user, struct err *err)
{
    int r = launcher_drop_privileges(user, err);

    if (r < 0) {
        return 1;
    }
    if (geteuid() == 0 || setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0) {
        return 2;
    }
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return 3;
    }
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0) {
            return 4;
        }
    }
    return access("/etc/shadow", R_OK) == 0 ? 5 : 0;
}

static int in_child(const char *first, const char *second)
{
    struct err err = ERR_INIT;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        int r = dropped(first, &err);

        if (r == 0 && second != NULL) {
            r = launcher_drop_privileges(second, &err) == 0 ? 0 : 10;
        }
        _exit(r);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void root_becomes_a_user_and_never_comes_back(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(in_child("nobody", NULL), 0);
    assert_int_equal(in_child("nobody", "nobody"), 0); /* who is it already stays it */
    assert_int_equal(in_child("nobody", "daemon"), 10);
}

static void *give_back(void *arg)
{
    return arg;
}

/* What one call in a child that was confined comes to: its exit code, or 1000 + its signal. */
static int confined(int (*fn)(void))
{
    struct err err = ERR_INIT;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (launcher_drop_privileges(geteuid() == 0 ? "nobody" : NULL, &err) < 0 ||
            launcher_confine(&err) < 0) {
            _exit(90);
        }
        _exit(fn());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int do_exec(void)
{
    return execl("/bin/true", "true", (char *)NULL) < 0 ? 1 : 2;
}

static int do_fork(void)
{
    return fork() < 0 ? 1 : 2;
}

static int do_vfork(void)
{
    return syscall(SYS_vfork) < 0 ? 1 : 2;
}

static int do_clone3(void)
{
    return syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS ? 0 : 1;
}

static int do_ptrace(void)
{
    return syscall(SYS_ptrace, 0, 0, 0, 0) < 0 ? 1 : 2;
}

static int do_mount(void)
{
    return mount("none", "/mnt", "tmpfs", 0, NULL) < 0 ? 1 : 2;
}

static int do_unshare(void)
{
    return unshare(CLONE_NEWUSER) < 0 ? 1 : 2;
}

static int do_keyctl(void)
{
    return syscall(SYS_keyctl, 0, 0, 0, 0, 0) < 0 && errno == EPERM ? 0 : 1;
}

static int do_uring(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL) < 0 && errno == ENOSYS ? 0 : 1;
}

static int do_sockets(void)
{
    static const int shut[] = {AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK, AF_AX25, AF_BLUETOOTH};

    for (size_t i = 0; i < ARRAY_LEN(shut); i++) {
        if (socket(shut[i], SOCK_RAW, 0) >= 0 || errno != EAFNOSUPPORT) {
            return 1;
        }
    }
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 && socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : 2;
}

/* What the daemon does all day, threads of a library included. */
static int do_work(void)
{
    char path[] = "/tmp/airlock-test-launcher.XXXXXX";
    int fd = mkstemp(path);
    pthread_t thread;
    void *got = NULL;

    if (fd < 0 || unlink(path) < 0 || ftruncate(fd, 4096) < 0 || flock(fd, LOCK_EX) < 0 ||
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) {
        return 1;
    }
    if (pthread_create(&thread, NULL, give_back, path) != 0 || pthread_join(thread, &got) != 0 ||
        got != path) {
        return 2;
    }
    return memfd_create("x", MFD_CLOEXEC) >= 0 && fdatasync(fd) == 0 ? 0 : 3;
}

static void who_serves_clients_makes_no_process_and_reaches_no_kernel_corner(void **state)
{
    (void)state;
    assert_int_equal(confined(do_work), 0);
    assert_int_equal(confined(do_exec), 1000 + SIGSYS);
    assert_int_equal(confined(do_fork), 1000 + SIGSYS);
    assert_int_equal(confined(do_vfork), 1000 + SIGSYS);
    assert_int_equal(confined(do_ptrace), 1000 + SIGSYS);
    assert_int_equal(confined(do_mount), 1000 + SIGSYS);
    assert_int_equal(confined(do_unshare), 1000 + SIGSYS);
    assert_int_equal(confined(do_clone3), 0);
    assert_int_equal(confined(do_keyctl), 0);
    assert_int_equal(confined(do_uring), 0);
    assert_int_equal(confined(do_sockets), 0);
}

static void root_and_unknown_users_are_refused(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(launcher_drop_privileges("root", &err), -EINVAL);
    assert_int_equal(err.class, ERR_USAGE);
    err = (struct err)ERR_INIT;
    assert_int_equal(launcher_drop_privileges("no-such-user-here", &err), -EINVAL);
    assert_non_null(strstr(err.msg, "useradd"));
}

TEST_MAIN(T(who_serves_clients_makes_no_process_and_reaches_no_kernel_corner),
          T(root_becomes_a_user_and_never_comes_back), T(root_and_unknown_users_are_refused))
