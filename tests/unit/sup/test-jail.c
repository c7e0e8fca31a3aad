/* The jail as a whole: a payload is started in it and looked at from outside. PAYLOAD: its path. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#include "posture.h"
#include "sup/jail-files.h"
#include "sup/jail-filter.h"
#include "sup/jail-internal.h"
#include "sys/fd.h"
#include "test.h"

#define JAIL_ID   1879000000u
#define NOBODY    65534u
#define TIMEOUT   (10 * NS_PER_S)
#define DATA_FILE "/data"

static const char *const inside[] = {PAYLOAD, "/lib*/*", DATA_FILE, "/dev/null", NULL};
static const char *const descriptors[] = {"rw /dev/null", "w pipe:*", NULL};

/* A jailed payload and everything it was made from. */
struct cell {
    struct jail_files files;
    struct seccomp_filter filter;
    struct proc proc;
    int out;       /* read end of its stdout */
    int cgroup_fd; /* where to put it, borrowed, or -1 */
    int procs_fd;
    bool is_vmm; /* our own monitor's filter, and a static program; else QEMU's */
    const int *open_fd;
};

#define CELL_INIT                                                     \
    {                                                                 \
        .proc = PROC_INIT, .out = -1, .cgroup_fd = -1, .procs_fd = -1 \
    }

static void cell_fini(struct cell *c)
{
    proc_fini(&c->proc);
    jail_files_fini(&c->files);
    seccomp_filter_fini(&c->filter);
    fd_close_p(&c->out);
}

#define auto_cell on_scope_exit(cell_fini)

static int cell_start(struct cell *c, const char *what, uint64_t skip, struct err *err)
{
    const char *const argv[] = {PAYLOAD, what, NULL};
    int pair[2] = {-1, -1};
    auto_fd int wr = -1;
    auto_fd int data = -1;
    auto_fd int scratch = -1;
    struct jail_spec spec = {
        .argv = argv,
        .uid = JAIL_ID,
        .gid = JAIL_ID + 1,
        .nofile_max = 64,
        .fsize_bytes = 1 << 20,
        .threads_max = 16,
        .oom_score_adj = 700,
        .cgroup_fd = c->cgroup_fd,
        .procs_fds = &c->procs_fd,
        .n_procs_fds = c->procs_fd >= 0,
        .filter = &c->filter,
    };
    struct proc_fd fds[2];
    int r = 0;

    spec.open_fd = c->open_fd;
    r = c->is_vmm ? jail_files_add(&c->files, JAIL_PROGRAM, STATIC_PAYLOAD, PAYLOAD, err)
                  : jail_files_add_program(&c->files, PAYLOAD, NULL, -1, err);

    if (r == 0) {
        r = jail_files_add(&c->files, JAIL_DEVICE, "/dev/null", "/dev/null", err);
    }
    if (r == 0) {
        r = fd_open(AT_FDCWD, "/etc/passwd", O_RDONLY, 0, &data, err);
    }
    if (r == 0) {
        r = jail_files_add_fd(&c->files, data, DATA_FILE, err);
    }
    if (r == 0) {
        r = (c->is_vmm ? jail_filter_vmm : jail_filter_qemu)(&c->filter, err);
    }
    if (r < 0) {
        return r;
    }
    if (pipe2(pair, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    c->out = pair[0];
    wr = pair[1];
    fds[0] = (struct proc_fd){wr, 1};
    spec.fds = fds;
    spec.n_fds = 1;
    if (strcmp(what, "fill") == 0) {
        scratch = memfd_create("scratch", MFD_CLOEXEC);
        fds[spec.n_fds++] = (struct proc_fd){scratch, 3};
    }
    spec.binds = c->files.binds;
    spec.n_binds = c->files.n;
    return skip == 0 ? jail_spawn(&spec, &c->proc, err)
                     : jail_spawn_steps(&spec, skip, &c->proc, err);
}

/* True once the waiting payload has its second thread. */
static bool is_waiting(struct cell *c)
{
    char byte = 0;
    struct pollfd p = {.fd = c->out, .events = POLLIN};

    return poll(&p, 1, 10000) == 1 && read(c->out, &byte, 1) == 1 && byte == 'R';
}

static struct posture expected(const struct cell *c, bool rootless)
{
    return (struct posture){
        .pid = c->proc.pid,
        .uid = rootless ? NOBODY : JAIL_ID,
        .gid = rootless ? NOBODY : JAIL_ID + 1,
        .rootless = rootless,
        .files = inside,
        .n_files = c->files.n,
        .fds = descriptors,
        .program = PAYLOAD,
        .nofile = "64 64",
        .nproc = "16 16",
        .fsize = "1048576 1048576",
        .oom_score_adj = "700",
    };
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("needs root: own uid per machine\n");
        skip();
    }
}

static void a_jailed_process_has_the_posture_of_the_table(void **state)
{
    auto_cell struct cell c = CELL_INIT;
    auto_buf struct buf report = BUF_INIT(65536);
    struct err err = ERR_INIT;
    struct posture want = {0};

    (void)state;
    need_root();
    assert_ok(cell_start(&c, "wait", 0, &err), &err);
    assert_true(is_waiting(&c));
    want = expected(&c, false);
    if (posture_check(&want, &report) != 0) {
        fail_msg("%s", (const char *)report.data);
    }
}

/* Each step that shows from outside, taken out: what the posture then says. */
static const struct {
    enum jail_step step;
    const char *says;
} taken_out[] = {
    {JAIL_STEP_NS_PID, "NSpid"},
    {JAIL_STEP_NS_NET, "ns/net"},
    {JAIL_STEP_NS_IPC, "ns/ipc"},
    {JAIL_STEP_NS_UTS, "ns/uts"},
    {JAIL_STEP_NS_CGROUP, "ns/cgroup"},
    {JAIL_STEP_SESSION, "NSsid"},
    {JAIL_STEP_OOM, "oom_score_adj"},
    {JAIL_STEP_NO_CORE, "coredump_filter"},
    {JAIL_STEP_FDS, "/etc/passwd"},
    {JAIL_STEP_PIVOT, "not there"},
    {JAIL_STEP_READONLY, "must be 'ro'"},
    {JAIL_STEP_LIMITS, "limits Max"},
    {JAIL_STEP_BOUNDING, "CapBnd"},
    {JAIL_STEP_GROUPS, "Groups"},
    {JAIL_STEP_IDS, "Uid"},
    {JAIL_STEP_UMASK, "Umask"},
    {JAIL_STEP_SECCOMP, "Seccomp"},
};

static void each_step_taken_out_is_seen(void **state)
{
    (void)state;
    need_root();
    for (size_t i = 0; i < ARRAY_LEN(taken_out); i++) {
        auto_cell struct cell c = CELL_INIT;
        auto_buf struct buf report = BUF_INIT(65536);
        /* what a careless caller leaves inheritable */
        auto_fd int leak = open("/etc/passwd", O_RDONLY);
        bool still = taken_out[i].step == JAIL_STEP_FDS; /* its stdout is the test's own */
        gid_t group = 4;
        struct err err = ERR_INIT;
        struct posture want = {0};

        assert_int_equal(setgroups(1, &group), 0);
        assert_ok(cell_start(&c, still ? "still" : "wait", JAIL_SKIP(taken_out[i].step), &err),
                  &err);
        assert_int_equal(setgroups(0, NULL), 0);
        want = expected(&c, false);
        assert_true(leak >= 0 && (still || is_waiting(&c)));
        if (posture_check(&want, &report) <= 0 ||
            strstr((const char *)report.data, taken_out[i].says) == NULL) {
            fail_msg("without '%s' the posture says: %s", jail_step_text(taken_out[i].step),
                     report.data != NULL ? (const char *)report.data : "nothing");
        }
    }
}

/* no_new_privs and capabilities hold each other up: without the first the filter is refused. */
static void without_no_new_privs_nothing_starts(void **state)
{
    auto_cell struct cell c = CELL_INIT;
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    assert_int_equal(cell_start(&c, "wait", JAIL_SKIP(JAIL_STEP_NO_NEW_PRIVS), &err), -EACCES);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, jail_step_text(JAIL_STEP_SECCOMP)));
    assert_int_equal(c.proc.pid, 0);
}

static void end_of(const char *what, bool is_vmm, bool signaled, int code)
{
    auto_cell struct cell c = CELL_INIT;
    struct proc_end end = {0};
    struct err err = ERR_INIT;

    c.is_vmm = is_vmm;
    assert_ok(cell_start(&c, what, 0, &err), &err);
    assert_ok(proc_wait(&c.proc, TIMEOUT, &end, &err), &err);
    if (end.signaled != signaled || end.code != code) {
        fail_msg("'%s' ended with %s %d", what, end.signaled ? "signal" : "code", end.code);
    }
}

static void run_and_expect(const char *what, bool signaled, int code)
{
    end_of(what, false, signaled, code);
}

/* A file of one byte, open for reading alone. */
static int file_of(const char *byte)
{
    auto_fd int fd = memfd_create("answer", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    int ret = -1;

    assert_int_equal(write(fd, byte, 1), 1);
    assert_ok(fd_reopen(fd, O_RDONLY, &ret, &err), &err);
    return ret;
}

static void an_open_is_answered_once_and_no_other_is(void **state)
{
    auto_fd int file = file_of("1");
    auto_cell struct cell c = CELL_INIT;
    struct proc_end end = {0};
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    c.open_fd = &file;
    assert_ok(cell_start(&c, "open", 0, &err), &err);
    assert_ok(proc_wait(&c.proc, TIMEOUT, &end, &err), &err);
    assert_false(end.signaled);
    assert_int_equal(end.code, 0);
}

static void a_program_that_does_not_ask_for_its_file_is_not_started(void **state)
{
    auto_fd int file = file_of("1");
    auto_cell struct cell c = CELL_INIT;
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    c.open_fd = &file;
    assert_true(cell_start(&c, "name", 0, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    assert_int_equal(c.proc.pid, 0);
}

static void only_named_requests_to_kvm_pass_and_only_for_our_monitor(void **state)
{
    (void)state;
    need_root();
    end_of("kvm-version", true, false, ENOTTY); /* /dev/null's answer */
    end_of("kvm-device", true, true, SIGSYS);
    end_of("kvm-debug", true, true, SIGSYS);
    end_of("kvm-version", false, true, SIGSYS);
}

static void our_monitor_opens_forks_connects_and_maps_nothing(void **state)
{
    static const char *const tried[] = {"read",   "create",      "socket", "executable",
                                        "setuid", "memory-file", "name"};

    (void)state;
    need_root();
    for (size_t i = 0; i < ARRAY_LEN(tried); i++) {
        end_of(tried[i], true, true, SIGSYS);
    }
    end_of("executable", false, false, 0); /* an emulator's translator needs it */
    end_of("exec", true, false, ENOSYS);
    end_of("fork", true, true, SIGSYS);
}

static void a_second_exec_does_not_exist(void **state)
{
    (void)state;
    need_root();
    run_and_expect("exec", false, ENOSYS);
}

static void denied_calls_kill_the_process(void **state)
{
    (void)state;
    need_root();
    run_and_expect("fork", true, SIGSYS);
    run_and_expect("socket", true, SIGSYS);
    run_and_expect("create", true, SIGSYS);
    run_and_expect("setuid", true, SIGSYS);
}

/* Not SIGXFSZ: pid 1 of a namespace takes no signal of its own without a handler. */
static void a_write_past_the_file_limit_fails(void **state)
{
    (void)state;
    need_root();
    run_and_expect("fill", false, EFBIG);
}

static void the_host_name_is_not_the_hosts(void **state)
{
    (void)state;
    need_root();
    run_and_expect("name", false, 0);
}

static void a_missing_file_is_named_with_its_step(void **state)
{
    auto_cell struct cell c = CELL_INIT;
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    assert_ok(jail_files_add(&c.files, JAIL_DATA, "/no/such", "/x", &err), &err);
    assert_int_equal(cell_start(&c, "wait", 0, &err), -ENOENT);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "'bind'"));
    assert_non_null(strstr(err.msg, "/no/such"));
}

static void a_descriptor_whose_name_is_another_files_now_is_refused(void **state)
{
    auto_cell struct cell c = CELL_INIT;
    char path[] = "/tmp/airlock-jail-XXXXXX";
    int fd = mkstemp(path);
    int other = -1;
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_ok(jail_files_add_fd(&c.files, fd, "/x", &err), &err);
    assert_int_equal(unlink(path), 0);
    /* While the first is open its inode number is taken: this one is another file. */
    other = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
    assert_true(cell_start(&c, "wait", 0, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    (void)unlink(path);
    (void)close(fd);
    (void)close(other);
}

static bool make_cgroup(const char *root, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/airlock-jail-test-%d", root, (int)getpid());
    return mkdir(path, 0755) == 0;
}

static void it_is_born_in_its_cgroups(void **state)
{
    static const char *const v2_roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char v1[128];
    char v2[128];
    char procs[160];
    bool have_v1 = false;
    bool have_v2 = false;

    (void)state;
    need_root();
    have_v1 = make_cgroup("/sys/fs/cgroup/pids", v1, sizeof(v1));
    have_v2 = make_cgroup(v2_roots[access("/sys/fs/cgroup/unified", F_OK) == 0], v2, sizeof(v2));
    {
        auto_cell struct cell c = CELL_INIT;
        auto_buf struct buf report = BUF_INIT(65536);
        auto_fd int dir = have_v2 ? open(v2, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        auto_fd int file = -1;
        struct err err = ERR_INIT;
        struct posture want = {0};
        char text[200];

        (void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", v1);
        file = have_v1 ? open(procs, O_WRONLY | O_CLOEXEC) : -1;
        c.cgroup_fd = dir;
        c.procs_fd = file;
        assert_ok(cell_start(&c, "wait", 0, &err), &err);
        assert_true(is_waiting(&c));
        want = expected(&c, false);
        (void)snprintf(text, sizeof(text), ":/airlock-jail-test-%d\n", (int)getpid());
        want.cgroup = have_v1 || have_v2 ? text : NULL;
        want.n_cgroups = (size_t)have_v1 + have_v2;
        if (posture_check(&want, &report) != 0) {
            fail_msg("%s", (const char *)report.data);
        }
    }
    assert_int_equal(have_v1 ? rmdir(v1) : 0, 0);
    assert_int_equal(have_v2 ? rmdir(v2) : 0, 0);
    if (!have_v1 && !have_v2) {
        print_message("no cgroup can be made here\n");
        skip();
    }
}

static void a_cgroup_that_does_not_take_it_ends_it(void **state)
{
    auto_cell struct cell c = CELL_INIT;
    auto_fd int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    c.procs_fd = closed;
    assert_int_equal(cell_start(&c, "wait", 0, &err), -EBADF);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "cgroup"));
    assert_int_equal(c.proc.pid, 0);
}

static void uid_zero_is_refused(void **state)
{
    const char *const argv[] = {PAYLOAD, NULL};
    struct proc proc = PROC_INIT;
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    assert_int_equal(jail_spawn(&(struct jail_spec){.argv = argv, .cgroup_fd = -1}, &proc, &err),
                     -EINVAL);
}

/* In a child: start one, tell its pid, wait for the word, die without a goodbye. */
_Noreturn static void parent_that_dies(int tell, int word)
{
    struct cell c = CELL_INIT;
    struct err err = ERR_INIT;
    char byte = 0;

    if (cell_start(&c, "wait", 0, &err) < 0 || !is_waiting(&c) ||
        write(tell, &c.proc.pid, sizeof(c.proc.pid)) < 0) {
        _exit(1);
    }
    (void)!read(word, &byte, 1);
    (void)kill(getpid(), SIGKILL);
    _exit(1);
}

static void the_jail_dies_with_its_parent(void **state)
{
    int tell[2] = {-1, -1};
    int word[2] = {-1, -1};
    pid_t jailed = 0;
    pid_t parent = 0;
    auto_fd int pidfd = -1;
    struct pollfd p = {.events = POLLIN};

    (void)state;
    need_root();
    assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
    assert_int_equal(pipe2(word, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0) {
        (void)close(word[1]);
        parent_that_dies(tell[1], word[0]);
    }
    (void)close(tell[1]);
    (void)close(word[0]);
    assert_int_equal(read(tell[0], &jailed, sizeof(jailed)), sizeof(jailed));
    pidfd = (int)syscall(SYS_pidfd_open, jailed, 0);
    assert_true(pidfd >= 0);
    p.fd = pidfd;
    assert_int_equal(poll(&p, 1, 0), 0);
    (void)close(word[1]);
    assert_int_equal(poll(&p, 1, 5000), 1);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    (void)close(tell[0]);
}

static void become_nobody(void)
{
    if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) { /* as after an exec: /proc/self is ours again */
        _exit(2);
    }
}

/* Runs body in a child as nobody; its exit code must be 0. What it writes to stderr is shown. */
static void as_nobody(int (*body)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        become_nobody();
        _exit(body());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("needs a build directory that nobody can read\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int rootless_body(void)
{
    struct cell c = CELL_INIT;
    struct buf report = BUF_INIT(65536);
    struct err err = ERR_INIT;
    struct posture want = {0};
    int n = 0;

    if (access(PAYLOAD, X_OK) < 0) {
        return 77;
    }
    if (cell_start(&c, "wait", 0, &err) < 0 || !is_waiting(&c)) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    want = expected(&c, true);
    n = posture_check(&want, &report);
    if (n != 0) {
        (void)fprintf(stderr, "%s\n", report.data != NULL ? (const char *)report.data : "gone");
    }
    cell_fini(&c);
    buf_fini(&report);
    return n != 0;
}

static void without_privilege_the_jail_is_the_same_in_a_user_namespace(void **state)
{
    (void)state;
    need_root();
    as_nobody(rootless_body);
}

static int rootless_open_body(void)
{
    struct cell c = CELL_INIT;
    int file = file_of("1");
    struct proc_end end = {0};
    struct err err = ERR_INIT;
    int r = 0;

    if (access(PAYLOAD, X_OK) < 0) {
        return 77;
    }
    c.open_fd = &file;
    r = cell_start(&c, "open", 0, &err);
    if (r == 0) {
        r = proc_wait(&c.proc, TIMEOUT, &end, &err);
    }
    if (r < 0 || end.signaled || end.code != 0) {
        (void)fprintf(stderr, "%d, code %d: %s\n", r, end.code, err.msg);
        return 1;
    }
    cell_fini(&c);
    return 0;
}

static void without_privilege_an_open_is_answered_all_the_same(void **state)
{
    (void)state;
    need_root();
    as_nobody(rootless_open_body);
}

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

    (void)close(fd);
    return n < 0 ? -1 : 0;
}

static int no_userns_body(void)
{
    struct cell c = CELL_INIT;
    struct err err = ERR_INIT;
    int r = 0;

    if (access(PAYLOAD, X_OK) < 0) {
        return 77;
    }
    /* The sysctl is per user namespace: turned off in one of our own, not on the host. */
    if (unshare(CLONE_NEWUSER) < 0 || write_text("/proc/self/setgroups", "deny") < 0 ||
        write_text("/proc/self/uid_map", "65534 65534 1") < 0 ||
        write_text("/proc/self/gid_map", "65534 65534 1") < 0 ||
        write_text("/proc/sys/user/max_user_namespaces", "0") < 0) {
        return 3;
    }
    r = cell_start(&c, "wait", 0, &err);
    if (r >= 0 || c.proc.pid != 0 || strstr(err.msg, "user.max_user_namespaces") == NULL) {
        (void)fprintf(stderr, "%d: %s\n", r, err.msg);
        return 4;
    }
    cell_fini(&c);
    return err.class == ERR_HOST ? 0 : 5;
}

static void without_user_namespaces_it_refuses_and_names_the_sysctl(void **state)
{
    (void)state;
    need_root();
    as_nobody(no_userns_body);
}

TEST_MAIN(T(an_open_is_answered_once_and_no_other_is),
          T(a_program_that_does_not_ask_for_its_file_is_not_started),
          T(only_named_requests_to_kvm_pass_and_only_for_our_monitor),
          T(our_monitor_opens_forks_connects_and_maps_nothing),
          T(a_jailed_process_has_the_posture_of_the_table), T(each_step_taken_out_is_seen),
          T(without_no_new_privs_nothing_starts), T(a_second_exec_does_not_exist),
          T(denied_calls_kill_the_process), T(a_write_past_the_file_limit_fails),
          T(the_host_name_is_not_the_hosts), T(a_missing_file_is_named_with_its_step),
          T(a_descriptor_whose_name_is_another_files_now_is_refused), T(it_is_born_in_its_cgroups),
          T(a_cgroup_that_does_not_take_it_ends_it), T(uid_zero_is_refused),
          T(the_jail_dies_with_its_parent),
          T(without_privilege_the_jail_is_the_same_in_a_user_namespace),
          T(without_privilege_an_open_is_answered_all_the_same),
          T(without_user_namespaces_it_refuses_and_names_the_sysctl))
