#include "vmm/guard.h"

#include <errno.h>
#include <linux/kvm.h>
#include <malloc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sys/filter-rules.h"

/* A processor's thread: the guest, events, the machine's lock, its end. */
static const struct seccomp_rule vcpu_rules[] = {
    IOCTL(KVM_RUN),
    ALLOW_IF(write, 2, SCMP_CMP_EQ, sizeof(uint64_t)), /* of an eventfd */
    ALLOW(futex),
    ALLOW(rt_sigreturn),
    ALLOW(rt_sigprocmask),
    ALLOW(restart_syscall), /* by the kernel's own hand, after SIGSTOP and SIGCONT or a freezer */
    ALLOW_IF(madvise, 2, SCMP_CMP_EQ, MADV_DONTNEED), /* the stack of a thread that ends */
    ALLOW(exit),
    ALLOW(exit_group),
};

/*
 * The I/O thread: its descriptors as they are, waiting, telling processors (in the jail's namespace
 * there is no other process), its end. clock_gettime: where the vDSO cannot answer.
 */
static const struct seccomp_rule io_rules[] = {
    ALLOW(poll),           ALLOW(ppoll),   ALLOW(read),   ALLOW(readv),    ALLOW(pread64),
    ALLOW(preadv),         ALLOW(write),   ALLOW(writev), ALLOW(pwrite64), ALLOW(pwritev),
    ALLOW(recvfrom),       ALLOW(recvmsg), ALLOW(sendto), ALLOW(sendmsg),  ALLOW(getrandom),
    ALLOW(clock_gettime),  ALLOW(futex),   ALLOW(getpid), ALLOW(tgkill),   ALLOW(rt_sigreturn),
    ALLOW(rt_sigprocmask), ALLOW(close),   ALLOW(munmap), ALLOW(brk),      ALLOW(exit_group),
    ALLOW(restart_syscall)};

/* Beside these, what reads the state of a machine and writes it to a file. */
static const struct seccomp_rule save_rules[] = {
    {.nr = SCMP_SYS(mmap),
     .action = SECCOMP_DO_ALLOW,
     .n = 2,
     .cmp = {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0},
             {3, SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS}}},
    ALLOW(mremap),
    IOCTL(KVM_IRQFD), /* only to take them away: new ones need an eventfd, which none can make */
    IOCTL(KVM_GET_MSR_INDEX_LIST),
    IOCTL(KVM_GET_IRQCHIP),
    IOCTL(KVM_GET_CLOCK),
    IOCTL(KVM_GET_MP_STATE),
    IOCTL(KVM_GET_REGS),
    IOCTL(KVM_GET_SREGS),
    IOCTL(KVM_GET_FPU),
    IOCTL(KVM_GET_XSAVE),
    IOCTL(KVM_GET_XSAVE2),
    IOCTL(KVM_GET_XCRS),
    IOCTL(KVM_GET_DEBUGREGS),
    IOCTL(KVM_GET_LAPIC),
    IOCTL(KVM_GET_MSRS),
    IOCTL(KVM_SET_MSRS), /* to learn which can be set (vcpu-state.c) */
    IOCTL(KVM_GET_VCPU_EVENTS),
    IOCTL(KVM_GET_TSC_KHZ),
};

static int assemble(enum guard_kind kind, struct seccomp_filter *ret, struct err *err)
{
    struct seccomp_rule io[ARRAY_LEN(io_rules) + ARRAY_LEN(save_rules)];

    if (kind == GUARD_VCPU) {
        return seccomp_assemble(vcpu_rules, ARRAY_LEN(vcpu_rules), ret, err);
    }
    memcpy(io, io_rules, sizeof(io_rules));
    memcpy(io + ARRAY_LEN(io_rules), save_rules, sizeof(save_rules));
    return seccomp_assemble(io, kind == GUARD_IO ? ARRAY_LEN(io_rules) : ARRAY_LEN(io), ret, err);
}

void guard_prepare(void)
{
    (void)mallopt(M_ARENA_MAX, 1); /* NOLINT(concurrency-mt-unsafe): before the first thread */
}

int guard_enter(enum guard_kind kind, struct err *err)
{
    /* Not released: free() may want calls that the filter has not. */
    struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    int r = assemble(kind, &filter, err);

    if (r < 0) {
        return err_wrap(err, "the system call filter of a thread");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return err_sys(err, "PR_SET_NO_NEW_PRIVS");
    }
    r = seccomp_load_filter(&filter, NULL);
    return r < 0 ? err_sys_num(err, -r, "enter a system call filter") : 0;
}
