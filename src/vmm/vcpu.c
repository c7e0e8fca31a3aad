#include "vmm/vcpu.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/fd.h"
#include "vmm/guard.h"
#include "vmm/machine.h"

static void nothing(int signal)
{
    (void)signal; /* that the system call ended is all it is for */
}

int vcpu_prepare(struct err *err)
{
    struct sigaction sa = {.sa_handler = nothing};

    if (sigaction(VCPU_SIGNAL, &sa, NULL) < 0) {
        return err_sys(err, "signal of the processors");
    }
    return 0;
}

int vcpu_make(struct machine *m, unsigned int index, struct vcpu *ret, struct err *err)
{
    *ret = (struct vcpu){.machine = m, .index = index, .fd = -1};
    ret->fd = KVM_DO_NUM(m->vm_fd, KVM_CREATE_VCPU, index, err);
    if (ret->fd < 0) {
        return ret->fd;
    }
    void *run = mmap(NULL, m->kvm.run_size, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
    if (run == MAP_FAILED) {
        int r = err_sys(err, "map the run page of processor %u", index);
        vcpu_fini(ret);
        return r;
    }
    ret->run = run;
    ret->run_size = m->kvm.run_size;
    return 0;
}

int vcpu_set_cpuid(struct vcpu *v, struct err *err)
{
    struct cpuid_table table = {.n = 0};

    /* KVM's own features, too, are those of the table alone: its other MSRs and hypercalls fail. */
    struct kvm_enable_cap enforce = {.cap = KVM_CAP_ENFORCE_PV_FEATURE_CPUID, .args = {1}};

    cpuid_for(&v->machine->cpuid, v->index, v->machine->n_vcpus, &table);
    int r = KVM_DO(v->fd, KVM_SET_CPUID2, &table, err);
    return r < 0 ? r : KVM_DO(v->fd, KVM_ENABLE_CAP, &enforce, err);
}

void vcpu_fini(struct vcpu *v)
{
    if (v->run != NULL) {
        (void)munmap(v->run, v->run_size);
        v->run = NULL;
    }
    fd_close_p(&v->fd);
}

static void exit_mmio(struct vcpu *v)
{
    struct kvm_run *run = v->run;
    uint32_t len = run->mmio.len;

    if (len <= sizeof(run->mmio.data)) {
        machine_mmio(v->machine, run->mmio.phys_addr, run->mmio.is_write != 0, run->mmio.data, len);
    }
}

static void exit_port(struct vcpu *v)
{
    struct kvm_run *run = v->run;
    uint64_t at = run->io.data_offset;
    uint64_t bytes = (uint64_t)run->io.size * run->io.count; /* a string instruction's at once */

    if (at > v->run_size || bytes > v->run_size - at) {
        return;
    }
    for (uint32_t i = 0; i < run->io.count; i++) {
        machine_port(v->machine, run->io.port, run->io.direction == KVM_EXIT_IO_OUT,
                     (uint8_t *)run + at + (uint64_t)i * run->io.size, run->io.size);
    }
}

static void stop_guest(struct vcpu *v, struct err *why)
{
    (void)err_wrap(why, "processor %u", v->index);
    machine_stop(v->machine, MACHINE_GUEST, why);
}

/* KVM's words begin the text: who reads it looks for them. */
static void exit_internal_error(struct vcpu *v)
{
    const struct kvm_run *run = v->run;
    struct err why = ERR_INIT;
    char data[4 * 19 + 1] = "";
    size_t at = 0;

    for (uint32_t i = 0; i < run->internal.ndata && i < 4; i++) {
        at += (size_t)snprintf(data + at, sizeof(data) - at, " 0x%llx", run->internal.data[i]);
    }
    (void)err_guest(&why, "KVM internal error: suberror %u, processor %u%s%s",
                    run->internal.suberror, v->index, at > 0 ? ", data" : "", data);
    machine_stop(v->machine, MACHINE_GUEST, &why);
}

/* False if it is the processor's last. */
static bool handle_exit(struct vcpu *v)
{
    const struct kvm_run *run = v->run;
    struct err why = ERR_INIT;

    switch (run->exit_reason) {
    case KVM_EXIT_IO:
        exit_port(v);
        return true;
    case KVM_EXIT_MMIO:
        exit_mmio(v);
        return true;
    case KVM_EXIT_INTR:
    case KVM_EXIT_IRQ_WINDOW_OPEN:
        return true;
    case KVM_EXIT_SHUTDOWN: /* a triple fault; how Linux restarts with reboot=t */
        machine_stop(v->machine, MACHINE_OFF, NULL);
        return false;
    case KVM_EXIT_INTERNAL_ERROR:
        exit_internal_error(v);
        return false;
    case KVM_EXIT_FAIL_ENTRY:
        (void)err_guest(&why, "KVM entry failed: hardware reason 0x%llx",
                        run->fail_entry.hardware_entry_failure_reason);
        stop_guest(v, &why);
        return false;
    default:
        (void)err_guest(&why, "KVM exit %u, which no guest of this machine may cause",
                        run->exit_reason);
        stop_guest(v, &why);
        return false;
    }
}

/*
 * Nothing that the guest began is half done: KVM_RUN finishes an access to a port or a device only
 * when it is called again, so a processor stands still only after a call that ended with -EINTR.
 * False if it shall end.
 */
static bool obey(struct vcpu *v)
{
    struct machine *m = v->machine;

    if (atomic_load(&v->order) == VCPU_GO) {
        return true; /* some other signal */
    }
    (void)pthread_mutex_lock(&m->lock);
    v->paused = true;
    (void)pthread_cond_broadcast(&m->turn);
    while (atomic_load(&v->order) == VCPU_PAUSE) {
        (void)pthread_cond_wait(&m->turn, &m->lock);
    }
    v->paused = false;
    (void)pthread_mutex_unlock(&m->lock);
    return atomic_load(&v->order) != VCPU_END;
}

/*
 * No order is lost: vcpu_kick() writes the order, then immediate_exit, then sends the signal. Either
 * we see the order here, or our zero was there before its one.
 */
static int enter_guest(struct vcpu *v)
{
    __atomic_store_n(&v->run->immediate_exit, 0, __ATOMIC_SEQ_CST);
    if (atomic_load(&v->order) != VCPU_GO) {
        __atomic_store_n(&v->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
    }
    return kvm_call(v->fd, KVM_RUN, NULL);
}

static void run_guest(struct vcpu *v)
{
    for (;;) {
        int r = enter_guest(v);

        if (r == -EINTR) {
            if (!obey(v)) {
                return;
            }
        } else if (r < 0 && r != -EAGAIN) { /* EAGAIN: woken by its INIT, to be run again */
            struct err why = ERR_INIT;
            (void)err_sys_num(&why, -r, "KVM_RUN of processor %u", v->index);
            machine_stop(v->machine, MACHINE_HOST, &why);
            return;
        } else if (r >= 0 && !handle_exit(v)) {
            return;
        }
    }
}

void vcpu_run(struct vcpu *v)
{
    struct machine *m = v->machine;
    struct err err = ERR_INIT;

    if (guard_enter(GUARD_VCPU, &err) < 0) {
        machine_stop(m, MACHINE_HOST, &err);
    } else {
        run_guest(v);
    }
    (void)pthread_mutex_lock(&m->lock);
    v->paused = true;
    (void)pthread_cond_broadcast(&m->turn);
    (void)pthread_mutex_unlock(&m->lock);
}

static void *vcpu_main(void *arg)
{
    vcpu_run(arg);
    return NULL;
}

int vcpu_start(struct vcpu *v, struct err *err)
{
    int r = machine_thread(vcpu_main, v, &v->thread, err);

    v->started = r == 0;
    return r < 0 ? err_wrap(err, "processor %u", v->index) : 0;
}

void vcpu_adopt(struct vcpu *v)
{
    v->thread = pthread_self();
    v->started = true;
}

void vcpu_kick(struct vcpu *v, enum vcpu_order order)
{
    atomic_store(&v->order, order);
    __atomic_store_n(&v->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
    if (v->started) {
        (void)pthread_kill(v->thread, VCPU_SIGNAL);
    }
}

void vcpu_join(struct vcpu *v)
{
    if (v->started) {
        (void)pthread_join(v->thread, NULL);
        v->started = false;
    }
}
