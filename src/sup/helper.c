/*
 * How it works: the answer is a head (magic, class, errno, length of the text), the text of an
 * error, and behind it what the work put. It is complete when the pipe ends; then the process is
 * waited for, and only one that ended with 0 is heard.
 */
#include "sup/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/wire.h"
#include "sup/jail.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/filter-rules.h"

#define HEAD_MAGIC  0x706c6568u /* "help" */
#define HEAD_SIZE   16u
#define NOFILE      16u
#define OOM_SCORE   900
#define CHUNK_BYTES (64 * KIB)
#define END_NS      (5 * NS_PER_S) /* from the end of its answer to its own */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1 /* shadow memory takes terabytes of addresses */
#else
#    define SANITIZED 0
#endif

/* Not executable. */
#define NO_EXEC SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)

static const struct seccomp_rule rules[] = {
    /* descriptors that are open */
    ALLOW(read),
    ALLOW(write),
    ALLOW(pread64),
    ALLOW(lseek),
    ALLOW(close),
    /* memory of its own */
    ALLOW(brk),
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(madvise),
    {.nr = SCMP_SYS(mmap),
     .action = SECCOMP_DO_ALLOW,
     .n = 2,
     .cmp = {NO_EXEC, SCMP_CMP(3, SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS)}},
    {.nr = SCMP_SYS(mprotect), .action = SECCOMP_DO_ALLOW, .n = 1, .cmp = {NO_EXEC}},
    /* the end */
    ALLOW(exit_group),
#if SANITIZED
    ALLOW(sigaltstack), /* the sanitizer asks before each call that does not return */
#endif
};

/* In the helper, behind the filter. */
static int helper_main(void *arg)
{
    const struct helper_spec *spec = arg;
    struct buf answer = BUF_INIT(spec->answer_max);
    struct err err = ERR_INIT;
    struct err ignored = ERR_INIT;
    uint8_t head[HEAD_SIZE];
    size_t len = 0;

    if (spec->work(spec->ctx, &answer, &err) < 0) {
        answer.len = 0;
    }
    len = strlen(err.msg);
    wire_put_u32(head, HEAD_MAGIC);
    wire_put_u32(head + 4, (uint32_t)err.class);
    wire_put_u32(head + 8, (uint32_t)err.errnum);
    wire_put_u32(head + 12, (uint32_t)len);
    if (fd_write_full(HELPER_ANSWER, head, sizeof(head), &ignored) < 0 ||
        fd_write_full(HELPER_ANSWER, err.msg, len, &ignored) < 0 ||
        (answer.len > 0 && fd_write_full(HELPER_ANSWER, answer.data, answer.len, &ignored) < 0)) {
        return 1;
    }
    return 0;
}

/* Bytes of address space that the caller has and its copy starts with. */
static int own_address_space(uint64_t *ret, struct err *err)
{
    auto_fd int fd = -1;
    char text[64] = "";
    size_t got = 0;
    unsigned long pages = 0;
    int r = fd_open(AT_FDCWD, "/proc/self/statm", O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_full(fd, text, sizeof(text) - 1, &got, err);
    }
    if (r < 0) {
        return r;
    }
    pages = strtoul(text, NULL, 10);
    if (pages == 0) {
        return err_set(err, ERR_HOST, EINVAL, "/proc/self/statm does not say how large we are");
    }
    *ret = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static int start(const struct helper_spec *spec, int answer_fd, struct proc *ret, struct err *err)
{
    auto_seccomp_filter struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    const char *const argv[] = {spec->name, NULL};
    const struct proc_fd fds[] = {
        {spec->in_fd, HELPER_IN}, {answer_fd, HELPER_ANSWER}, {spec->data_fd, HELPER_DATA}};

    union {
        const void *in;
        void *out;
    } arg = {spec};

    struct jail_spec jail = {
        .argv = argv,
        .entry = helper_main,
        .entry_arg = arg.out,
        .fds = fds,
        .n_fds = spec->data_fd >= 0 ? 3 : 2,
        .uid = spec->uid,
        .gid = spec->uid,
        .nofile_max = NOFILE,
        .fsize_bytes = spec->fsize_bytes,
        .cpu_s = HELPER_CPU_S,
        .oom_score_adj = OOM_SCORE,
        .cgroup_fd = -1,
        .filter = &filter,
    };
    int r = seccomp_compile(rules, ARRAY_LEN(rules), &filter, err);

    if (r == 0 && !SANITIZED) {
        r = own_address_space(&jail.as_bytes, err);
        jail.as_bytes += HELPER_MEMORY_BYTES;
    }
    return r < 0 ? r : jail_spawn(&jail, ret, err);
}

/* Everything until the pipe ends. */
static int read_answer(int fd, uint64_t deadline, struct buf *raw, struct err *err)
{
    for (;;) {
        uint64_t now = clock_mono_ns();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint8_t *at = NULL;
        ssize_t n = 0;
        int ready = now >= deadline ? 0 : poll(&p, 1, (int)((deadline - now) / NS_PER_MS) + 1);

        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready < 0) {
            return err_sys(err, "poll");
        }
        if (ready == 0) {
            return err_set(err, ERR_HOST, ETIMEDOUT, "it took too long and was killed");
        }
        if (buf_reserve(raw, CHUNK_BYTES, &at) < 0) {
            return err_set(err, ERR_HOST, EPROTO, "its answer is longer than it may be");
        }
        n = read(fd, at, CHUNK_BYTES);
        if (n < 0 && errno != EINTR) {
            return err_sys(err, "read");
        }
        if (n == 0) {
            return 0;
        }
        raw->len += n > 0 ? (size_t)n : 0;
    }
}

static int check_end(const struct proc_end *end, struct err *err)
{
    if (end->signaled) {
        return err_set(err, ERR_HOST, ECHILD, "it was ended by signal %d (%s)", end->code,
                       end->code == SIGSYS    ? "it tried what it may not do"
                       : end->code == SIGKILL ? "a limit of CPU or memory"
                                              : "a crash");
    }
    if (end->code != 0) {
        return err_set(err, ERR_HOST, ECHILD, "it failed with exit code %d", end->code);
    }
    return 0;
}

/* The head and a reported error; what is behind them moves to answer. */
static int decode(const struct buf *raw, struct buf *answer, struct err *err)
{
    uint32_t class = 0;
    uint32_t errnum = 0;
    uint32_t len = 0;
    char msg[ERR_MSG_MAX] = "";

    if (raw->len < HEAD_SIZE || wire_get_u32(raw->data) != HEAD_MAGIC) {
        return err_set(err, ERR_HOST, EPROTO, "it gave no answer");
    }
    class = wire_get_u32(raw->data + 4);
    errnum = wire_get_u32(raw->data + 8);
    len = wire_get_u32(raw->data + 12);
    if (class > ERR_HOST || len >= sizeof(msg) || len > raw->len - HEAD_SIZE ||
        (class != ERR_NONE && (errnum == 0 || errnum > 4095))) {
        return err_set(err, ERR_HOST, EPROTO, "its answer is malformed");
    }
    memcpy(msg, raw->data + HEAD_SIZE, len);
    if (class != ERR_NONE) {
        return err_set(err, (enum err_class) class, (int)errnum, "%s", msg);
    }
    if (buf_put(answer, raw->data + HEAD_SIZE + len, raw->len - HEAD_SIZE - len) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for its answer");
    }
    return 0;
}

int helper_run(const struct helper_spec *spec, struct buf *answer, struct err *err)
{
    uint64_t deadline =
        clock_mono_ns() + (spec->deadline_ns != 0 ? spec->deadline_ns : HELPER_DEADLINE_NS);
    auto_buf struct buf raw = BUF_INIT(HEAD_SIZE + ERR_MSG_MAX + spec->answer_max + CHUNK_BYTES);
    auto_proc struct proc proc = PROC_INIT;
    auto_fd int rd = -1;
    auto_fd int wr = -1;
    struct proc_end end = {0};
    int pipe_fds[2] = {-1, -1};
    int r = 0;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    rd = pipe_fds[0];
    wr = pipe_fds[1];
    r = start(spec, wr, &proc, err);
    if (r < 0) {
        return r;
    }
    fd_close_p(&wr);
    r = read_answer(rd, deadline, &raw, err);
    if (r == 0) {
        r = proc_wait(&proc, END_NS, &end, err);
    }
    if (r == 0) {
        r = check_end(&end, err);
    }
    if (r < 0) {
        return err_wrap(err, "the %s", spec->name);
    }
    return decode(&raw, answer, err);
}
