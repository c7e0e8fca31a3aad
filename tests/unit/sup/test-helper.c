/*
 * The helper as the kernel shows it while its work runs, and what becomes of work that does what a
 * taken over parser would. As root; without that the jail's own tests say what a user gets.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../job/stream.h"
#include "../job/tarball.h"
#include "job/contract.h"
#include "sup/helper.h"
#include "sup/inspector.h"
#include "sys/fd.h"
#include "test.h"

#define HELPER_ID             2123456789u
#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("# needs root\n");
        skip();
    }
}

static int run(int (*work)(void *ctx, struct buf *answer, struct err *err), void *ctx,
               struct buf *answer, struct err *err)
{
    auto_fd int in = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    struct helper_spec spec = {.name = "helper",
                               .work = work,
                               .ctx = ctx,
                               .in_fd = in,
                               .data_fd = -1,
                               .uid = HELPER_ID,
                               .answer_max = 65536,
                               .deadline_ns = 5 * NS_PER_S};

    return helper_run(&spec, answer, err);
}

static int echo(void *ctx, struct buf *answer, struct err *err)
{
    char head[4] = "";
    size_t got = 0;
    int r = fd_pread_full(HELPER_IN, head, sizeof(head), 0, &got, err);

    (void)ctx;
    return r < 0 ? r : buf_put(answer, head, got);
}

static int complain(void *ctx, struct buf *answer, struct err *err)
{
    (void)ctx;
    assert_int_equal(buf_put(answer, "half", 4), 0);
    return err_usage(err, "entry '%s' is bad", "x");
}

static void work_reads_and_its_answer_or_error_comes_back(void **state)
{
    auto_buf struct buf answer = BUF_INIT(65536);
    auto_buf struct buf none = BUF_INIT(65536);
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    assert_ok(run(echo, NULL, &answer, &err), &err);
    assert_int_equal(answer.len, 4);
    assert_memory_equal(answer.data, "root", 4);
    assert_int_equal(run(complain, NULL, &none, &err), -EINVAL);
    assert_int_equal(err.class, ERR_USAGE);
    assert_string_equal(err.msg, "entry 'x' is bad");
    assert_int_equal(none.len, 0);
}

/* What a parser bug would be used for, one thing each. */
static long bad_open(void)
{
    return open("/", O_RDONLY);
}

static long bad_openat(void)
{
    return openat(AT_FDCWD, "x", O_WRONLY | O_CREAT, 0600);
}

static long bad_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static long bad_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long bad_exec(void)
{
    return execl("/bin/true", "true", NULL);
}

static long bad_fork(void)
{
    return fork();
}

static long bad_kill(void)
{
    return kill(1, SIGTERM);
}

static long bad_prctl(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long bad_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long bad_executable_memory(void)
{
    return (long)(intptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                0);
}

static long bad_protect(void)
{
    return mprotect((void *)((uintptr_t)bad_protect & ~4095ul), 4096, PROT_READ | PROT_EXEC);
}

static long bad_map_file(void)
{
    return (long)(intptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, HELPER_IN, 0);
}

static long bad_write_at(void)
{
    return pwrite(HELPER_ANSWER, "", 1, 0);
}

static long bad_truncate(void)
{
    return ftruncate(HELPER_IN, 0);
}

static long bad_fcntl(void)
{
    return fcntl(HELPER_IN, F_GETFL);
}

static long bad_ioctl(void)
{
    return syscall(SYS_ioctl, HELPER_IN, 0, 0);
}

static long bad_namespace(void)
{
    return unshare(CLONE_NEWUSER);
}

static long bad_seccomp(void)
{
    return syscall(SYS_seccomp, 0, 0, NULL);
}

static long bad_memfd(void)
{
    return memfd_create("x", 0);
}

static long bad_uring(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL);
}

static long bad_i386(void)
{
    long r = 20; /* getpid there, writev here: an i386 call is another architecture */

    __asm__ volatile("int $0x80" : "+a"(r) : : "memory");
    return r;
}

static int do_bad(void *ctx, struct buf *answer, struct err *err)
{
    long (*const *bad)(void) = ctx;

    (void)answer;
    return err_usage(err, "it went on: %ld", (*bad)());
}

static void what_a_taken_over_parser_would_do_ends_it(void **state)
{
    static long (*const bads[])(void) = {
        bad_open,    bad_openat,    bad_socket,   bad_unix,     bad_exec,
        bad_fork,    bad_kill,      bad_prctl,    bad_ptrace,   bad_executable_memory,
        bad_protect, bad_map_file,  bad_write_at, bad_truncate, bad_fcntl,
        bad_ioctl,   bad_namespace, bad_seccomp,  bad_memfd,    bad_uring,
        bad_i386,
    };

    (void)state;
    need_root();
    for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
        auto_buf struct buf answer = BUF_INIT(65536);
        struct err err = ERR_INIT;
        long (*bad)(void) = bads[i];

        assert_int_equal(run(do_bad, (void *)&bad, &answer, &err), -ECHILD);
        assert_int_equal(err.class, ERR_HOST);
        assert_has(err, "it tried what it may not do");
        assert_int_equal(answer.len, 0);
    }
}

static int spin(void *ctx, struct buf *answer, struct err *err)
{
    volatile bool on = true;

    (void)ctx;
    (void)answer;
    (void)err;
    while (on) {
    }
    return 0;
}

#ifndef __SANITIZE_ADDRESS__ /* its shadow takes terabytes: there is no memory limit then */
static int hoard(void *ctx, struct buf *answer, struct err *err)
{
    (void)ctx;
    (void)answer;
    for (uint64_t got = 0; got < 4 * GIB; got += MIB) {
        uint8_t *more = malloc((size_t)MIB);

        if (more == NULL) {
            return err_usage(err, "no more after %llu MiB", (unsigned long long)(got / MIB));
        }
        memset(more, 1, (size_t)MIB); /* kept until the process ends */
    }
    return 0;
}
#endif

static int crash(void *ctx, struct buf *answer, struct err *err)
{
    (void)ctx;
    (void)answer;
    (void)err;
    __builtin_trap();
}

static int flood(void *ctx, struct buf *answer, struct err *err)
{
    static const uint8_t much[65536];

    (void)ctx;
    (void)answer;
    while (fd_write_full(HELPER_ANSWER, much, sizeof(much), err) == 0) {
    }
    return -EPIPE;
}

static int babble(void *ctx, struct buf *answer, struct err *err)
{
    (void)ctx;
    (void)answer;
    (void)!fd_write_full(HELPER_ANSWER, "no head at all, but long enough", 31, err);
    return 0;
}

static void time_memory_crashes_and_answers_are_bounded(void **state)
{
    static const struct {
        int (*work)(void *ctx, struct buf *answer, struct err *err);
        int errnum;
        const char *part;
    } cases[] = {
        {spin, ETIMEDOUT, "took too long"},       {crash, ECHILD, "a crash"},
        {flood, EPROTO, "longer than it may be"}, {babble, EPROTO, "no answer"},
#ifndef __SANITIZE_ADDRESS__
        {hoard, EINVAL, "no more after 7"}, /* 768 MiB, less what the heap itself takes */
#endif
    };

    (void)state;
    need_root();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf answer = BUF_INIT(65536);
        struct err err = ERR_INIT;

        assert_int_equal(run(cases[i].work, NULL, &answer, &err), -cases[i].errnum);
        assert_has(err, cases[i].part);
    }
}

/* A helper that waits for a byte, looked at from beside it. */
struct look {
    int pipe[2];
    char status[4096];
    char fds[512];
    char mounts[2048];
    pid_t pid;
};

static int wait_for_byte(void *ctx, struct buf *answer, struct err *err)
{
    char byte = 0;
    size_t got = 0;

    (void)ctx;
    (void)answer;
    return fd_read_full(HELPER_IN, &byte, 1, &got, err);
}

/* The child of our parent that is not ourselves. */
static pid_t find_sibling(void)
{
    char path[64];
    int pid = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
    for (int tries = 0; tries < 500 && pid == 0; tries++) {
        FILE *file = fopen(path, "re");
        int one = 0;

        while (file != NULL && fscanf(file, "%d", &one) == 1) { /* NOLINT(cert-err34-c) */
            pid = one != getpid() ? one : pid;
        }
        if (file != NULL) {
            (void)fclose(file);
        }
        (void)usleep(10000);
    }
    return pid;
}

static void slurp(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    auto_fd int fd = -1;
    ssize_t n = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[n < 0 ? 0 : n] = '\0';
}

static void list_fds(pid_t pid, char *text, size_t size)
{
    size_t len = 0;

    for (int fd = 0; fd < 256; fd++) {
        char path[64];
        char link[64];
        ssize_t n = 0;

        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
        n = readlink(path, link, sizeof(link) - 1);
        if (n > 0) {
            link[n] = '\0';
            len += (size_t)snprintf(text + len, size - len, "%d=%.*s ", fd, (int)strcspn(link, ":"),
                                    link);
        }
    }
}

static void look_at_helper(struct look *l)
{
    l->pid = find_sibling();
    for (int tries = 0; tries < 500 && l->pid != 0; tries++) {
        slurp(l->pid, "status", l->status, sizeof(l->status));
        if (strstr(l->status, "Seccomp:\t2") != NULL) {
            break; /* the last step is done */
        }
        (void)usleep(10000);
    }
    (void)usleep(100000); /* until it has closed what it set up with */
    list_fds(l->pid, l->fds, sizeof(l->fds));
    slurp(l->pid, "mountinfo", l->mounts, sizeof(l->mounts));
    (void)!write(l->pipe[1], "x", 1);
}

static void its_posture_is_what_it_says(void **state)
{
    static const char *const lines[] = {
        "Seccomp:\t2\n",
        "NoNewPrivs:\t1\n",
        "CapInh:\t0000000000000000\n",
        "CapPrm:\t0000000000000000\n",
        "CapEff:\t0000000000000000\n",
        "CapBnd:\t0000000000000000\n",
        "CapAmb:\t0000000000000000\n",
        "Threads:\t1\n",
        "Uid:\t2123456789\t2123456789\t2123456789\t2123456789\n",
        "Gid:\t2123456789\t2123456789\t2123456789\t2123456789\n",
        "Groups:\t \n",
        "NSpid:\t",
    };
    auto_buf struct buf answer = BUF_INIT(65536);
    struct look l = {.pid = 0};
    struct err err = ERR_INIT;
    pid_t watcher = 0;
    int shared = memfd_create("look", MFD_CLOEXEC);
    struct look *seen = NULL;
    int status = 0;

    (void)state;
    need_root();
    /* The helper is cloned from a process of one thread: the look comes from a sibling of ours. */
    assert_int_equal(ftruncate(shared, sizeof(l)), 0);
    seen = mmap(NULL, sizeof(l), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    assert_true(seen != MAP_FAILED);
    assert_int_equal(pipe2(seen->pipe, O_CLOEXEC), 0);
    watcher = fork();
    if (watcher == 0) {
        look_at_helper(seen);
        _exit(0);
    }
    assert_ok(helper_run(&(struct helper_spec){.name = "helper",
                                               .work = wait_for_byte,
                                               .in_fd = seen->pipe[0],
                                               .data_fd = -1,
                                               .uid = HELPER_ID,
                                               .answer_max = 4096,
                                               .ctx = &l},
                         &answer, &err),
              &err);
    assert_int_equal(waitpid(watcher, &status, 0), watcher);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (strstr(seen->status, lines[i]) == NULL) {
            print_error("no '%s' in:\n%s\n", lines[i], seen->status);
            fail();
        }
    }
    /* The path of the null device is what is left of it from inside: /null. */
    if (fnmatch("0=*/null 1=*/null 2=*/null 3=pipe 4=pipe ", seen->fds, 0) != 0) {
        print_error("descriptors: %s\n", seen->fds);
        fail();
    }
    /* One mount: the empty root, read-only. */
    assert_non_null(strstr(seen->mounts, " / / ro,nosuid,nodev,noexec"));
    assert_ptr_equal(strchr(seen->mounts, '\n'), strrchr(seen->mounts, '\n'));
    (void)close(seen->pipe[0]);
    (void)close(seen->pipe[1]);
    (void)munmap(seen, sizeof(l));
    (void)close(shared);
}

static void outputs_are_inspected_in_it_contract_and_all(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_fd int fd = -1;
    struct spec spec;

    (void)state;
    need_root();
    spec_init(&spec);
    stream_put(&b, OUTAR_FILE, "a.json", "{\"a\":1}");
    stream_put(&b, OUTAR_OTHER, "link", "");
    stream_end(&b);
    fd = stream_fd(&b);
    for (int i = 0; i < 2; i++) {
        auto_inspection struct inspection in = {0};
        struct contract c = {.kind = i == 0 ? CONTRACT_NONE : CONTRACT_FILES};
        struct err err = ERR_INIT;

        assert_ok(inspect_outputs(&(struct inspect_job){.stream_fd = fd,
                                                        .stream_bytes = b.len,
                                                        .limits = &spec.limits,
                                                        .contract = &c,
                                                        .uid = HELPER_ID},
                                  &in, &err),
                  &err);
        assert_int_equal(in.outputs.n_items, 1);
        assert_int_equal(in.outputs.n_dropped, 1);
        assert_int_equal(strlen(in.outputs.items[0].digest.hex), 64);
        if (i == 0) {
            assert_null(in.rule);
        } else {
            assert_string_equal(in.rule, "dropped");
            assert_non_null(strstr(in.message, "'link'"));
        }
    }
}

static void archives_are_unpacked_in_it(void **state)
{
    static const struct unpack_budget budget = {.bytes = 65536, .entries = 8, .depth = 4};
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_unpacked struct unpacked u = {0};
    auto_unpacked struct unpacked none = {0};
    auto_fd int archive = -1;
    auto_fd int bad = -1;
    auto_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int data = -1;
    struct err err = ERR_INIT;
    char text[6] = "";
    struct unpack_job job = {.budget = &budget, .tmp_dirfd = tmp, .uid = HELPER_ID};

    (void)state;
    need_root();
    tar_file(&b, "d/a", "hello");
    archive = archive_fd(&b);
    job.archive_fd = archive;
    job.archive_bytes = b.len;
    assert_ok(inspect_unpack(&job, &u, &data, &err), &err);
    assert_int_equal(u.n, 2);
    assert_int_equal(pread(data, text, 5, (off_t)u.entries[1].offset), 5);
    assert_string_equal(text, "hello");
    tar_header(&b, '2', "l", 0);
    bad = archive_fd(&b);
    job.archive_fd = bad;
    job.archive_bytes = b.len;
    assert_int_equal(inspect_unpack(&job, &none, &data, &err), -EINVAL);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, "'l' is a symbolic link");
}

/* A stream of a thousand files under a contract, the first of them with the text given. */
static void inspect_many(struct contract *c, const char *text, size_t n)
{
    auto_buf struct buf b = BUF_INIT(2 * MIB);
    auto_inspection struct inspection in = {0};
    auto_fd int stream = -1;
    struct err err = ERR_INIT;
    struct spec spec;

    for (size_t i = 0; i < n; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "%zu", i * 7919 % 1000);
        stream_put(&b, OUTAR_FILE, name, i == 0 ? text : "");
    }
    stream_end(&b);
    stream = stream_fd(&b);
    spec_init(&spec);
    spec.limits.output_files = 1000;
    assert_ok(inspect_outputs(&(struct inspect_job){.stream_fd = stream,
                                                    .stream_bytes = b.len,
                                                    .limits = &spec.limits,
                                                    .contract = c,
                                                    .uid = HELPER_ID},
                              &in, &err),
              &err);
    assert_int_equal(in.outputs.n_items, n);
    assert_null(in.rule);
}

/* The C library makes other calls for much data than for little: none that the filter ends. */
static void a_thousand_of_everything_pass_the_filter(void **state)
{
    static const struct unpack_budget budget = {.bytes = 65536, .entries = 1024, .depth = 4};
    auto_buf struct buf tar = BUF_INIT(2 * MIB);
    auto_buf struct buf json = BUF_INIT(MIB);
    auto_unpacked struct unpacked u = {0};
    auto_fd int archive = -1;
    auto_fd int data = -1;
    auto_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct contract files = {.kind = CONTRACT_FILES};
    char *name = (char[]){"0"};
    struct contract one = {.kind = CONTRACT_JSON, .names = &name, .n_names = 1};
    struct err err = ERR_INIT;

    (void)state;
    need_root();
    for (unsigned i = 0; i < 1000; i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "d%u/%u", i * 7919 % 1000, i);
        tar_file(&tar, path, "x");
        assert_int_equal(buf_printf(&json, "%c\"%u\":0", i == 0 ? '{' : ',', i * 7919 % 1009), 0);
    }
    assert_int_equal(buf_put(&json, "}", 1), 0);
    tar_end(&tar);
    archive = archive_fd(&tar);
    assert_ok(inspect_unpack(&(struct unpack_job){.archive_fd = archive,
                                                  .archive_bytes = tar.len,
                                                  .budget = &budget,
                                                  .tmp_dirfd = tmp,
                                                  .uid = HELPER_ID},
                             &u, &data, &err),
              &err);
    assert_int_equal(u.n, 2000);
    inspect_many(&files, "", 1000);
    inspect_many(&one, (const char *)json.data, 1);
}

TEST_MAIN(T(a_thousand_of_everything_pass_the_filter),
          T(work_reads_and_its_answer_or_error_comes_back),
          T(what_a_taken_over_parser_would_do_ends_it),
          T(time_memory_crashes_and_answers_are_bounded), T(its_posture_is_what_it_says),
          T(outputs_are_inspected_in_it_contract_and_all), T(archives_are_unpacked_in_it))
