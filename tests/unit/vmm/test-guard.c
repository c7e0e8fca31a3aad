/* Every call is made for real in a child, which the filter ends with SIGSYS or leaves alone. */
#include <errno.h>
#include <linux/kvm.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"
#include "test.h"
#include "vmm/guard.h"

#define CALLS     452u /* of Linux 6.1, and one that it does not know */
#define X32_BIT   0x40000000
#define TIMEOUT_S 20u

/* Its allocator and the end of its threads make calls that the filters forbid. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#else
#    define SANITIZED 0
#endif

struct args {
    long nr;
    unsigned long a[6];
};

/*
 * Does not return. Not _exit(), and no function that is known not to return: a sanitizer does then what
 * the filter forbids.
 */
static void leave(int code)
{
    (void)syscall(SYS_exit_group, code);
}

struct work {
    enum guard_kind kind;
    void (*body)(const void *);
    const void *arg;
};

static void *thread_of_work(void *arg)
{
    const struct work *work = arg;
    struct err err = ERR_INIT;

    if (guard_enter(work->kind, &err) < 0) {
        leave(100);
    }
    work->body(work->arg);
    leave(0);
    return NULL;
}

/* Does body in a child's second thread, behind the filter; the child's wait status. */
static int status_of(enum guard_kind kind, void (*body)(const void *), const void *arg)
{
    struct work work = {kind, body, arg};
    pthread_t thread;
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(TIMEOUT_S);
        guard_prepare();
        if (pthread_create(&thread, NULL, thread_of_work, &work) == 0) {
            (void)pthread_join(thread, NULL);
        }
        leave(101);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void call(const void *arg)
{
    const struct args *c = arg;

    (void)syscall(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static bool ends(enum guard_kind kind, const struct args *c)
{
    int status = status_of(kind, call, c);

    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static bool is_in(const long *list, size_t n, long nr)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == nr) {
            return true;
        }
    }
    return false;
}

/*
 * What a kernel may let pass by every filter: uretprobe and uprobe (kernel/seccomp.c of Linux 6.14 and on),
 * which do nothing but from the kernel's own trampoline; and sigreturn, which wants a signal's frame.
 */
static bool is_testable(long nr)
{
    return nr != 335 && nr != 336 && nr != SYS_rt_sigreturn;
}

/* All calls with arguments that no condition allows: only those in the list come back. */
static void check_all(enum guard_kind kind, const long *allowed, size_t n)
{
    unsigned int wrong = 0;

    for (long nr = 0; nr < (long)CALLS; nr++) {
        struct args c = {.nr = nr};

        memset(c.a, 0xff, sizeof(c.a));
        if (is_testable(nr) && ends(kind, &c) == is_in(allowed, n, nr)) {
            print_error("system call %ld: %s\n", nr,
                        is_in(allowed, n, nr) ? "ends the process" : "is allowed");
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void a_processor_s_thread_has_but_these_calls(void **state)
{
    static const long allowed[] = {SYS_futex, SYS_rt_sigprocmask, SYS_exit, SYS_exit_group,
                                   SYS_restart_syscall};

    (void)state;
    check_all(GUARD_VCPU, allowed, ARRAY_LEN(allowed));
}

/* What both I/O threads have. */
#define IO_CALLS                                                                                 \
    SYS_poll, SYS_ppoll, SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_write, SYS_writev,    \
        SYS_pwrite64, SYS_pwritev, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg,           \
        SYS_getrandom, SYS_clock_gettime, SYS_futex, SYS_getpid, SYS_tgkill, SYS_rt_sigprocmask, \
        SYS_close, SYS_munmap, SYS_brk, SYS_exit_group, SYS_restart_syscall

static void the_io_thread_has_but_these_calls(void **state)
{
    static const long allowed[] = {IO_CALLS};

    (void)state;
    check_all(GUARD_IO, allowed, ARRAY_LEN(allowed));
}

static void the_io_thread_that_may_save_has_but_these_calls(void **state)
{
    static const long allowed[] = {IO_CALLS, SYS_mremap};

    (void)state;
    check_all(GUARD_IO_SAVE, allowed, ARRAY_LEN(allowed));
}

static const unsigned long reading[] = {
    KVM_IRQFD,           KVM_GET_MSR_INDEX_LIST, KVM_GET_IRQCHIP, KVM_GET_CLOCK, KVM_GET_MP_STATE,
    KVM_GET_REGS,        KVM_GET_SREGS,          KVM_GET_FPU,     KVM_GET_XSAVE, KVM_GET_XSAVE2,
    KVM_GET_XCRS,        KVM_GET_DEBUGREGS,      KVM_GET_LAPIC,   KVM_GET_MSRS,  KVM_SET_MSRS,
    KVM_GET_VCPU_EVENTS, KVM_GET_TSC_KHZ,
};

static const unsigned long never[] = {
    KVM_CREATE_VM,
    KVM_CREATE_VCPU,
    KVM_SET_USER_MEMORY_REGION,
    KVM_SET_REGS,
    KVM_SET_SREGS,
    KVM_SET_CPUID2,
    KVM_SET_LAPIC,
    KVM_SET_IRQCHIP,
    KVM_SET_CLOCK,
    KVM_IOEVENTFD,
    KVM_CREATE_DEVICE,
    KVM_SET_GSI_ROUTING,
    KVM_ENABLE_CAP,
    KVM_SET_MP_STATE,
    KVM_SIGNAL_MSI,
    TIOCSTI,
    FIONBIO,
    KVM_SET_XSAVE,
    KVM_SET_VCPU_EVENTS,
    KVM_SET_TSC_KHZ,
    KVM_RUN + 1,
    KVM_RUN - 1,
    0,
};

static void an_ioctl_is_allowed_by_its_number_alone(void **state)
{
    static const enum guard_kind kinds[] = {GUARD_VCPU, GUARD_IO, GUARD_IO_SAVE};
    struct args c = {.nr = SYS_ioctl, .a = {(unsigned long)-1}};

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (size_t i = 0; i < ARRAY_LEN(never); i++) {
            c.a[1] = never[i];
            assert_true(ends(kinds[k], &c));
        }
        for (size_t i = 0; i < ARRAY_LEN(reading); i++) {
            c.a[1] = reading[i];
            assert_int_equal(ends(kinds[k], &c), kinds[k] != GUARD_IO_SAVE);
        }
        c.a[1] = KVM_RUN;
        assert_int_equal(ends(kinds[k], &c), kinds[k] != GUARD_VCPU);
    }
}

/* A libc whose ioctl() takes an int extends the sign of a number like KVM_GET_REGS. */
static void an_ioctl_s_high_half_is_not_looked_at(void **state)
{
    struct args c = {.nr = SYS_ioctl,
                     .a = {(unsigned long)-1, KVM_GET_REGS | 0xffffffff00000000ul}};

    (void)state;
    assert_true((uint32_t)KVM_GET_REGS > INT32_MAX);
    assert_false(ends(GUARD_IO_SAVE, &c));
    c.a[1] = KVM_SET_REGS | 0xffffffff00000000ul;
    assert_true(ends(GUARD_IO_SAVE, &c));
}

static void other_architectures_calls_end_the_process(void **state)
{
    struct args c = {.nr = X32_BIT | SYS_read};

    (void)state;
    assert_true(ends(GUARD_IO, &c));
    c.nr = X32_BIT | SYS_futex;
    assert_true(ends(GUARD_VCPU, &c));
}

static void executable_memory_and_file_mappings_end_the_process(void **state)
{
    struct args c = {.nr = SYS_mmap,
                     .a = {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, (unsigned long)-1, 0}};

    (void)state;
    assert_false(ends(GUARD_IO_SAVE, &c));
    c.a[2] = PROT_READ | PROT_EXEC;
    assert_true(ends(GUARD_IO_SAVE, &c));
    c.a[2] = PROT_READ;
    c.a[3] = MAP_PRIVATE;
    assert_true(ends(GUARD_IO_SAVE, &c));
}

static atomic_bool signalled;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&signalled, true);
}

static void need(bool holds, int code)
{
    if (!holds) {
        leave(code);
    }
}

/* An event, a kick while it waits, the stack's release: all that its thread does beside the guest. */
static void vcpu_work(const void *arg)
{
    const int *event = arg;
    const uint64_t one = 1;
    int word = 0;

    need(write(*event, &one, sizeof(one)) == (ssize_t)sizeof(one), 1);
    while (!atomic_load(&signalled)) {
        (void)syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, NULL, NULL, 0);
    }
    need(madvise(NULL, 0, MADV_DONTNEED) == 0, 2);
    need(ioctl(-1, KVM_RUN, 0) < 0 && errno == EBADF, 3);
}

static void a_processor_s_thread_can_work(void **state)
{
    struct sigaction action = {.sa_handler = on_signal};
    auto_fd int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct err err = ERR_INIT;
    uint64_t count = 0;
    int status = 0;
    pid_t pid = 0;

    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct itimerval often = {.it_interval = {.tv_usec = 2000}, .it_value = {.tv_usec = 2000}};

        need(sigaction(SIGALRM, &action, NULL) == 0, 101);
        need(setitimer(ITIMER_REAL, &often, NULL) == 0, 102);
        need(guard_enter(GUARD_VCPU, &err) == 0, 100);
        vcpu_work(&event);
        leave(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(event, &count, sizeof(count)), sizeof(count));
    assert_int_equal(count, 1);
}

static void *guarded_thread(void *arg)
{
    struct err err = ERR_INIT;

    (void)arg;
    return guard_enter(GUARD_VCPU, &err) == 0 ? arg : NULL;
}

/* Its thread ends without a forbidden call, and its filter is its own: the main thread has none. */
static void a_filter_is_one_thread_s(void **state)
{
    auto_fd int event = -1;
    pthread_t thread;
    void *result = NULL;
    int status = 0;
    pid_t pid = 0;

    (void)state;
    if (SANITIZED) {
        skip();
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        need(pthread_create(&thread, NULL, guarded_thread, &event) == 0, 1);
        need(pthread_join(thread, &result) == 0 && result == &event, 2);
        event = eventfd(0, EFD_CLOEXEC);
        need(event >= 0, 3);
        leave(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

struct io_fds {
    int file, pair[2];
};

/* More than a heap has at first: a sanitizer's grows by calls that the filter has not. */
static void grow_heap(void)
{
    for (unsigned int i = 0; i < 1000 && !SANITIZED; i++) {
        need(malloc(1000) != NULL, 7); /* released with the process */
    }
}

static void io_work(const void *arg)
{
    const struct io_fds *fds = arg;
    struct pollfd wait = {.fd = fds->pair[1], .events = POLLIN};
    char text[4] = "abc";
    struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
    char got[4] = "";

    need(pwritev(fds->file, &iov, 1, 0) == 4, 1);
    need(pread(fds->file, got, 4, 0) == 4 && memcmp(got, text, 4) == 0, 2);
    need(send(fds->pair[0], text, 4, MSG_NOSIGNAL) == 4 && poll(&wait, 1, 1000) == 1, 3);
    need(recv(fds->pair[1], got, 4, 0) == 4, 4);
    need(syscall(SYS_getrandom, got, 4, 0) == 4, 5);
    need(syscall(SYS_tgkill, getpid(), getpid(), 0) == 0, 6);
    grow_heap();
}

static void save_work(const void *arg)
{
    const struct io_fds *fds = arg;
    struct err err = ERR_INIT;
    struct buf buf = BUF_INIT(4 * MIB);
    static const uint8_t chunk[64 * 1024];

    io_work(arg);
    for (unsigned int i = 0; i < 32; i++) {
        need(buf_put(&buf, chunk, sizeof(chunk)) == 0, 20);
    }
    need(fd_write_full(fds->file, buf.data, buf.len, &err) == 0, 21);
    buf_fini(&buf);
}

static void the_io_thread_can_serve_and_save(void **state)
{
    auto_fd int file = memfd_create("disk", MFD_CLOEXEC);
    struct io_fds fds = {.file = file};
    bool can_serve = false;
    bool can_save = false;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.pair), 0);
    can_serve = status_of(GUARD_IO, io_work, &fds) == 0;
    can_save = status_of(GUARD_IO_SAVE, SANITIZED ? io_work : save_work, &fds) == 0;
    (void)close(fds.pair[0]);
    (void)close(fds.pair[1]);
    assert_true(can_serve);
    assert_true(can_save);
}

TEST_MAIN(T(a_processor_s_thread_has_but_these_calls), T(the_io_thread_has_but_these_calls),
          T(the_io_thread_that_may_save_has_but_these_calls),
          T(an_ioctl_is_allowed_by_its_number_alone), T(an_ioctl_s_high_half_is_not_looked_at),
          T(other_architectures_calls_end_the_process),
          T(executable_memory_and_file_mappings_end_the_process), T(a_processor_s_thread_can_work),
          T(a_filter_is_one_thread_s), T(the_io_thread_can_serve_and_save))
