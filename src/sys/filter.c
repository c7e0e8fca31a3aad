#include "sys/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/fd.h"

static void ctx_release_p(scmp_filter_ctx *ctx)
{
    if (*ctx != NULL) {
        seccomp_release(*ctx);
    }
}

static uint32_t action_of(const struct seccomp_rule *rule)
{
    switch (rule->action) {
    case SECCOMP_DO_ALLOW:
        return SCMP_ACT_ALLOW;
    case SECCOMP_DO_ERRNO:
        return SCMP_ACT_ERRNO((uint32_t)rule->errnum);
    case SECCOMP_DO_ASK:
        return SCMP_ACT_NOTIFY;
    case SECCOMP_DO_KILL:
        break;
    }
    return SCMP_ACT_KILL_PROCESS;
}

static int export_code(scmp_filter_ctx ctx, struct seccomp_filter *ret, struct err *err)
{
    auto_fd int fd = memfd_create("seccomp", MFD_CLOEXEC);
    auto_free struct sock_filter *code = NULL;
    struct stat st = {0};
    size_t got = 0;
    size_t len = 0;
    int r = 0;

    if (fd < 0) {
        return err_sys(err, "memfd_create");
    }
    r = seccomp_export_bpf(ctx, fd);
    if (r < 0) {
        return err_sys_num(err, -r, "seccomp_export_bpf");
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "fstat");
    }
    len = (size_t)st.st_size / sizeof(*code);
    if (len == 0 || len > BPF_MAXINSNS) {
        return err_set(err, ERR_HOST, E2BIG, "a seccomp filter of %zu instructions", len);
    }
    code = malloc(len * sizeof(*code));
    if (code == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = fd_pread_full(fd, code, len * sizeof(*code), 0, &got, err);
    if (r < 0) {
        return r;
    }
    if (got != len * sizeof(*code)) {
        return err_set(err, ERR_HOST, EIO, "the seccomp filter was cut short");
    }
    ret->code = STEAL_PTR(&code);
    ret->len = (unsigned short)len;
    return 0;
}

static int compile(uint32_t otherwise, const struct seccomp_rule *rules, size_t n,
                   struct seccomp_filter *ret, struct err *err)
{
    scmp_filter_ctx ctx on_scope_exit(ctx_release_p) = seccomp_init(otherwise);
    int r = 0;

    if (ctx == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "seccomp_init failed");
    }
    r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0) {
        /* A binary tree: the common calls are not behind a hundred comparisons. */
        r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    }
    if (r < 0) {
        return err_sys_num(err, -r, "seccomp_attr_set");
    }
    for (size_t i = 0; i < n; i++) {
        r = seccomp_rule_add_exact_array(ctx, action_of(&rules[i]), rules[i].nr, rules[i].n,
                                         rules[i].cmp);
        if (r < 0) {
            return err_sys_num(err, -r, "seccomp rule %zu (system call %d)", i, rules[i].nr);
        }
    }
    return export_code(ctx, ret, err);
}

int seccomp_compile(const struct seccomp_rule *rules, size_t n, struct seccomp_filter *ret,
                    struct err *err)
{
    return compile(SCMP_ACT_KILL_PROCESS, rules, n, ret, err);
}

int seccomp_compile_denials(const struct seccomp_rule *rules, size_t n, struct seccomp_filter *ret,
                            struct err *err)
{
    return compile(SCMP_ACT_ALLOW, rules, n, ret, err);
}

/* Waits for the call that is asked about; it must be nr. */
static int take_question(int listener, int nr, uint64_t timeout_ns, uint64_t *ret_id,
                         struct err *err)
{
    /* The kernel may know a longer struct than this header: it gets room, and wants it zeroed. */
    union {
        struct seccomp_notif notif;
        uint8_t room[1024];
    } in;
    struct pollfd p = {.fd = listener, .events = POLLIN};
    int n = 0;

    memset(&in, 0, sizeof(in));
    do {
        n = poll(&p, 1, (int)(timeout_ns / NS_PER_MS));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return err_set(err, ERR_HOST, ETIMEDOUT, "the filtered process asked nothing in time");
    }
    if ((p.revents & POLLIN) == 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in.notif) < 0) {
        return err_set(err, ERR_HOST, ESRCH, "the filtered process is gone");
    }
    if (in.notif.data.nr != nr) {
        return err_set(err, ERR_HOST, EPERM, "the filtered process made system call %d, not %d",
                       in.notif.data.nr, nr);
    }
    *ret_id = in.notif.id;
    return 0;
}

static int send_answer(int listener, struct seccomp_notif_resp *resp, struct err *err)
{
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, resp) < 0) {
        return err_sys(err, "answer a filtered system call");
    }
    return 0;
}

static int go_on(int listener, uint64_t id, struct err *err)
{
    struct seccomp_notif_resp resp = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

    return send_answer(listener, &resp, err);
}

int seccomp_answer(int listener, int nr, uint64_t timeout_ns, struct err *err)
{
    uint64_t id = 0;
    int r = take_question(listener, nr, timeout_ns, &id, err);

    return r < 0 ? r : go_on(listener, id, err);
}

static int give_fd(int listener, uint64_t id, int fd, struct err *err)
{
    struct seccomp_notif_addfd add = {.id = id, .srcfd = (uint32_t)fd, .newfd_flags = O_CLOEXEC};
    struct seccomp_notif_resp resp = {.id = id};
    int theirs = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

    if (theirs < 0) {
        return err_sys(err, "give a filtered process a descriptor");
    }
    resp.val = theirs;
    return send_answer(listener, &resp, err);
}

int seccomp_answer_open(int listener, int fd, uint64_t timeout_ns, struct err *err)
{
    uint64_t id = 0;
    int r = take_question(listener, SYS_openat, timeout_ns, &id, err);

    return r < 0 ? r : give_fd(listener, id, fd, err);
}
