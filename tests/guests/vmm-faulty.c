/*
 * airlock-vmm whose system calls fail when a test wants it: linked in place of kvm-call.c and, by the
 * linker's --wrap, of the libc's wrappers that the monitor itself calls.
 *
 * FAULT=KIND:N fails the Nth call of a kind, once. At its end the program says how often each kind was
 * called and which call it was: "calls: ioctl=40 ... failed=0xae01".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "vmm/kvm.h"

/* The name, and the error with which it fails. */
#define KINDS(X)              \
    X(ioctl, EIO)             \
    X(run, EIO)               \
    X(mmap64, ENOMEM)         \
    X(madvise, ENOMEM)        \
    X(eventfd, EMFILE)        \
    X(poll, ENOMEM)           \
    X(pthread_create, EAGAIN) \
    X(pread64, EIO)           \
    X(preadv64, EIO)          \
    X(pwritev64, EIO)         \
    X(sendmsg, ENOBUFS)       \
    X(recvmsg, ENOMEM)        \
    X(getrandom, ENOSYS)      \
    X(fstat64, EIO)           \
    X(prctl, EINVAL)          \
    X(sigaction, EINVAL)      \
    X(seccomp, EINVAL)

#define ENUM(name, error) KIND_##name,

enum kind {
    KINDS(ENUM) KIND_COUNT
};

#define NAME(name, error) #name,
static const char *const names[] = {KINDS(NAME)};
#define ERROR(name, error) error,
static const int errors[] = {KINDS(ERROR)};

static enum kind fault_kind = KIND_COUNT;
static uint64_t fault_number;
static atomic_uint calls[KIND_COUNT];
static atomic_ulong failed;

__attribute__((constructor)) static void read_fault(void)
{
    const char *text = getenv("FAULT");
    const char *colon = text == NULL ? NULL : strchr(text, ':');

    for (unsigned int k = 0; colon != NULL && k < KIND_COUNT; k++) {
        if (strlen(names[k]) == (size_t)(colon - text) &&
            strncmp(names[k], text, (size_t)(colon - text)) == 0) {
            fault_kind = (enum kind)k;
            fault_number = strtoul(colon + 1, NULL, 10);
        }
    }
    if (text != NULL && (fault_kind == KIND_COUNT || fault_number == 0)) {
        (void)fprintf(stderr, "FAULT=%s: KIND:N\n", text);
        exit(1);
    }
}

/* The monitor's I/O thread ends it by exit(); its filter lets it write. */
__attribute__((destructor)) static void tell(void)
{
    char line[1024] = "calls:";
    size_t at = strlen(line);

    for (unsigned int k = 0; k < KIND_COUNT; k++) {
        at += (size_t)snprintf(line + at, sizeof(line) - at, " %s=%u", names[k],
                               atomic_load(&calls[k]));
    }
    at += (size_t)snprintf(line + at, sizeof(line) - at, " failed=0x%lx\n", atomic_load(&failed));
    (void)!write(STDERR_FILENO, line, at);
}

/* True if this call is the one; then errno is set. */
static bool fails(enum kind kind, unsigned long which)
{
    if (atomic_fetch_add(&calls[kind], 1) + 1 != fault_number || kind != fault_kind) {
        return false;
    }
    atomic_store(&failed, which);
    errno = errors[kind];
    return true;
}

int kvm_call(int fd, unsigned long request, void *arg)
{
    int r = 0;

    if (fails(request == KVM_RUN ? KIND_run : KIND_ioctl, request)) {
        return -errno;
    }
    do {
        r = ioctl(fd, request, arg);
    } while (r < 0 && errno == EINTR && request != KVM_RUN);
    return r < 0 ? -errno : r;
}

/* A function of the libc by its real name, and ours before it. */
#define WRAP(type, name, failure, parameters, arguments)                    \
    type __real_##name parameters;                                          \
    type __wrap_##name parameters;                                          \
    type __wrap_##name parameters                                           \
    {                                                                       \
        return fails(KIND_##name, 1) ? (failure) : __real_##name arguments; \
    }

WRAP(void *, mmap64, MAP_FAILED, (void *at, size_t len, int prot, int flags, int fd, off_t offset),
     (at, len, prot, flags, fd, offset))
WRAP(int, madvise, -1, (void *at, size_t len, int advice), (at, len, advice))
WRAP(int, eventfd, -1, (unsigned int count, int flags), (count, flags))
WRAP(int, poll, -1, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
WRAP(int, pthread_create, EAGAIN,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
     (thread, attr, run, arg))
WRAP(ssize_t, pread64, -1, (int fd, void *data, size_t len, off_t offset), (fd, data, len, offset))
WRAP(ssize_t, preadv64, -1, (int fd, const struct iovec *iov, int n, off_t offset),
     (fd, iov, n, offset))
WRAP(ssize_t, pwritev64, -1, (int fd, const struct iovec *iov, int n, off_t offset),
     (fd, iov, n, offset))
WRAP(ssize_t, sendmsg, -1, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WRAP(ssize_t, recvmsg, -1, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WRAP(ssize_t, getrandom, -1, (void *data, size_t len, unsigned int flags), (data, len, flags))
WRAP(int, fstat64, -1, (int fd, struct stat64 *st), (fd, st))
WRAP(int, prctl, -1, (int what, long a, long b, long c, long d), (what, a, b, c, d))
WRAP(int, sigaction, -1, (int number, const struct sigaction *new, struct sigaction *old),
     (number, new, old))

/* Filters are loaded by syscall(2); libseccomp also asks with it what there is, without one. */
long __real_syscall(long nr, long a, long b, void *c, long d, long e, long f);
long __wrap_syscall(long nr, long a, long b, void *c, long d, long e, long f);

long __wrap_syscall(long nr, long a, long b, void *c, long d, long e, long f)
{
    if (nr == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER && c != NULL && fails(KIND_seccomp, 1)) {
        return -1;
    }
    return __real_syscall(nr, a, b, c, d, e, f);
}
