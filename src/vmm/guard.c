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

static struct seccomp_filter filters[3]; /* by enum guard_kind; of the process, for its life */

int guard_prepare(bool may_save, struct err *err)
{
    struct seccomp_rule all[ARRAY_LEN(io_rules) + ARRAY_LEN(save_rules)];
    enum guard_kind io = may_save ? GUARD_IO_SAVE : GUARD_IO;
    size_t n = may_save ? ARRAY_LEN(all) : ARRAY_LEN(io_rules);
    int r = 0;

    /* A heap of its own would cost a thread calls that it has not. */
    (void)mallopt(M_ARENA_MAX, 1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return err_sys(err, "PR_SET_NO_NEW_PRIVS");
    }
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        seccomp_filter_fini(&filters[i]);
    }
    memcpy(all, io_rules, sizeof(io_rules));
    memcpy(all + ARRAY_LEN(io_rules), save_rules, sizeof(save_rules));
    r = seccomp_assemble(all, n, &filters[io], err);
    if (r == 0) {
        r = seccomp_assemble(vcpu_rules, ARRAY_LEN(vcpu_rules), &filters[GUARD_VCPU], err);
    }
    return r < 0 ? err_wrap(err, "the system call filters of the monitor's threads") : 0;
}

int guard_enter(enum guard_kind kind, struct err *err)
{
    int r = 0;

    if (filters[kind].code == NULL) {
        return err_set(err, ERR_HOST, ENOENT,
                       "no system call filter was prepared for thread kind %u", kind);
    }
    r = seccomp_load_filter(&filters[kind], NULL);
    return r < 0 ? err_sys_num(err, -r, "enter a system call filter") : 0;
}
