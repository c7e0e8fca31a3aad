#include "guest/inject.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "sys/clock.h"

#define BEGIN_NS           (5 * NS_PER_S) /* for it to begin its sleep */
#define SYSCALL_INSN_BYTES 2              /* 0f 05 */
/* The kernel's own, of a call that a signal interrupted: ERESTARTSYS to ERESTARTNOHAND. */
#define RESTART_FIRST (-514)
#define RESTART_LAST  (-512)

static int await_stop(pid_t pid, struct err *err)
{
    int status = 0;
    pid_t r = 0;

    do {
        r = waitpid(pid, &status, __WALL);
    } while (r < 0 && errno == EINTR);
    if (r != pid || !WIFSTOPPED(status)) {
        return err_sys_num(err, r < 0 ? errno : ESRCH, "stop process %d", (int)pid);
    }
    return 0;
}

/* 1: stopped, in a call that can be begun again; 0: let go, it is busy. */
static int try_begin(struct inject *in, pid_t pid, struct err *err)
{
    int r = 0;

    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0) {
        return err_sys(err, "take hold of process %d", (int)pid);
    }
    in->pid = pid;
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0) {
        return err_sys(err, "interrupt process %d", (int)pid);
    }
    r = await_stop(pid, err);
    if (r < 0) {
        return r;
    }
    if (ptrace(PTRACE_GETREGS, pid, NULL, &in->saved) < 0) {
        return err_sys(err, "read the registers of process %d", (int)pid);
    }
    if ((long)in->saved.rax < RESTART_FIRST || (long)in->saved.rax > RESTART_LAST) {
        (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
        in->pid = 0;
        return 0;
    }
    /* As the kernel would restart it. */
    in->saved.rax = in->saved.orig_rax;
    in->saved.rip -= SYSCALL_INSN_BYTES;
    return 1;
}

int inject_begin(struct inject *in, pid_t pid, struct err *err)
{
    const uint64_t deadline = clock_mono_ns() + BEGIN_NS;
    int r = 0;

    while ((r = try_begin(in, pid, err)) == 0) {
        if (clock_mono_ns() > deadline) {
            return err_sys_num(err, ETIMEDOUT, "process %d does not sleep in a system call",
                               (int)pid);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    return r < 0 ? r : 0;
}

int inject_call(struct inject *in, long number, const unsigned long args[5], long *ret,
                struct err *err)
{
    struct user_regs_struct regs = in->saved;

    regs.rax = (unsigned long)number;
    regs.orig_rax = (unsigned long)-1; /* nothing to be restarted */
    regs.rdi = args[0];
    regs.rsi = args[1];
    regs.rdx = args[2];
    regs.r10 = args[3];
    regs.r8 = args[4];
    if (ptrace(PTRACE_SETREGS, in->pid, NULL, &regs) < 0) {
        return err_sys(err, "lend the registers of process %d", (int)in->pid);
    }
    for (int stop = 0; stop < 2; stop++) { /* its entry, its exit */
        int r = ptrace(PTRACE_SYSCALL, in->pid, NULL, NULL) < 0
                    ? err_sys(err, "continue process %d", (int)in->pid)
                    : await_stop(in->pid, err);

        if (r < 0) {
            return r;
        }
    }
    if (ptrace(PTRACE_GETREGS, in->pid, NULL, &regs) < 0) {
        return err_sys(err, "read the result of process %d", (int)in->pid);
    }
    *ret = (long)regs.rax;
    return 0;
}

void inject_end(struct inject *in)
{
    if (in->pid != 0) {
        (void)ptrace(PTRACE_SETREGS, in->pid, NULL, &in->saved);
        (void)ptrace(PTRACE_DETACH, in->pid, NULL, NULL);
        in->pid = 0;
    }
}
