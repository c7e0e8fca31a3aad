/*
 * How it works: machine_make() asks KVM for everything in the order that KVM wants (interrupt
 * controllers before processors); nothing is asked twice and nothing that a restored machine does
 * not need, since this is what a clone waits for. For the same reason the thread that did so goes on as
 * processor 0: nothing is woken and nothing moves to another CPU before the guest's first instruction,
 * and the I/O thread comes up while the guest runs already. Whoever finds that the machine's end has
 * come says so with machine_stop(), which wakes the I/O thread; only that thread ends the others.
 */
#include "vmm/machine.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>

#include "sys/clock.h"
#include "sys/fd.h"
#include "vmm/control.h"
#include "vmm/guard.h"
#include "vmm/loop.h"

#define PAUSE_NS (10 * NS_PER_S)
/* Of a thread: it runs small functions of ours and no library that wants more. */
#define STACK_BYTES      (256 * KIB)
#define QUEUE_NOTIFY     0x50u       /* virtio 1.2, 4.2.2 */
#define VENDOR_INTEL_EBX 0x756e6547u /* "Genu" of leaf 0 */

#define MSR_MISC_ENABLE  0x1a0u
#define MISC_FAST_STRING 1u
#define MSR_MTRR_DEFAULT 0x2ffu
#define MTRR_ON_WB       0x806u

/* All else is zeros, which a clone does not write: most of its pages are not touched before it runs. */
static void set_empty(struct machine *m)
{
    m->vm_fd = -1;
    m->stop_fd = -1;
    serial_init(&m->serial, -1, -1);
    for (unsigned int i = 0; i < LAYOUT_VCPUS_MAX; i++) {
        m->vcpus[i].fd = -1;
    }
    for (unsigned int i = 0; i < LAYOUT_DEVICES; i++) {
        m->irq_fds[i] = -1;
        m->kick_fds[i] = -1;
    }
}

static bool is_intel(const struct machine *m)
{
    for (uint32_t i = 0; i < m->cpuid.n; i++) {
        if (m->cpuid.entries[i].function == 0) {
            return m->cpuid.entries[i].ebx == VENDOR_INTEL_EBX;
        }
    }
    return false;
}

/* Real mode on an Intel processor that cannot run it itself; an AMD processor can. */
static int set_real_mode(const struct machine *m, struct err *err)
{
    uint64_t identity = LAYOUT_IDENTITY_MAP;
    int r = KVM_DO(m->vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity, err);

    return r < 0 ? r : KVM_DO_NUM(m->vm_fd, KVM_SET_TSS_ADDR, LAYOUT_TSS, err);
}

static int set_memory(const struct machine *m, struct err *err)
{
    struct kvm_userspace_memory_region low = {
        .slot = 0,
        .guest_phys_addr = 0,
        .memory_size = m->mem.low,
        .userspace_addr = (uintptr_t)m->mem.base,
    };
    struct kvm_userspace_memory_region high = {
        .slot = 1,
        .guest_phys_addr = LAYOUT_HIGH_BASE,
        .memory_size = m->mem.size - m->mem.low,
        .userspace_addr = (uintptr_t)m->mem.base + m->mem.low,
    };
    int r = KVM_DO(m->vm_fd, KVM_SET_USER_MEMORY_REGION, &low, err);

    if (r == 0 && high.memory_size > 0) {
        r = KVM_DO(m->vm_fd, KVM_SET_USER_MEMORY_REGION, &high, err);
    }
    return r;
}

static int make_vm(struct machine *m, struct err *err)
{
    const struct machine_options *o = m->options;
    int r = gmem_map(o->memory_file ? START_FD_MEMORY : -1, o->memory_file && !o->restore,
                     o->memory_bytes, &m->mem, err);

    r = r == 0 && o->writes ? gmem_copy_ahead(&m->mem, START_FD_WRITES, err) : r;
    if (r < 0) {
        return r;
    }
    m->vm_fd = KVM_DO_NUM(m->kvm.fd, KVM_CREATE_VM, 0, err);
    if (m->vm_fd < 0) {
        return m->vm_fd;
    }
    r = is_intel(m) ? set_real_mode(m, err) : 0;
    r = r < 0 ? r : set_memory(m, err);
    return r < 0 ? r : KVM_DO(m->vm_fd, KVM_CREATE_IRQCHIP, NULL, err);
}

static int make_eventfd(int *ret, struct err *err)
{
    *ret = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *ret < 0 ? err_sys(err, "eventfd") : 0;
}

/* KVM's ends of a device: kicks arrive on one descriptor, interrupts leave by the other. */
static int connect_device(struct machine *m, unsigned int slot, struct err *err)
{
    int r = make_eventfd(&m->kick_fds[slot], err);

    r = r < 0 ? r : make_eventfd(&m->irq_fds[slot], err);
    if (r < 0) {
        return r;
    }
    struct kvm_irqfd irq = {.fd = (uint32_t)m->irq_fds[slot], .gsi = layout_gsi(slot)};
    struct kvm_ioeventfd kick = {
        .addr = layout_mmio(slot) + QUEUE_NOTIFY, .len = 4, .fd = m->kick_fds[slot]};

    r = KVM_DO(m->vm_fd, KVM_IRQFD, &irq, err);
    return r < 0 ? r : KVM_DO(m->vm_fd, KVM_IOEVENTFD, &kick, err);
}

static int make_disks(struct machine *m, struct err *err)
{
    const struct {
        struct blk *blk;
        struct blk_disk disk;
    } disks[] = {
        [LAYOUT_ROOT] = {&m->root, {START_FD_ROOT, true, "airlock-root"}},
        [LAYOUT_INPUT] = {&m->input, {START_FD_INPUT, true, "airlock-input"}},
        [LAYOUT_SCRATCH] = {&m->scratch, {START_FD_SCRATCH, false, "airlock-scratch"}},
    };

    for (unsigned int slot = 0; slot < ARRAY_LEN(disks); slot++) {
        int r = connect_device(m, slot, err);

        r = r < 0 ? r
                  : blk_init(disks[slot].blk, &m->mem, slot, m->irq_fds[slot], &disks[slot].disk,
                             err);
        if (r < 0) {
            return err_wrap(err, "disk %s", disks[slot].disk.id);
        }
        m->devices[slot] = &disks[slot].blk->dev;
    }
    return 0;
}

static int make_devices(struct machine *m, struct err *err)
{
    int r = make_eventfd(&m->stop_fd, err);

    r = r == 0 && m->options->disks ? make_disks(m, err) : r;
    r = r < 0 ? r : connect_device(m, LAYOUT_CONSOLE, err);
    r = r < 0 ? r : connect_device(m, LAYOUT_ENTROPY, err);
    if (r < 0) {
        return r;
    }
    console_init(&m->console, &m->mem, LAYOUT_CONSOLE, m->irq_fds[LAYOUT_CONSOLE],
                 START_FD_CHANNEL);
    m->devices[LAYOUT_CONSOLE] = &m->console.dev;
    rng_init(&m->rng, &m->mem, LAYOUT_ENTROPY, m->irq_fds[LAYOUT_ENTROPY]);
    m->devices[LAYOUT_ENTROPY] = &m->rng.dev;
    serial_init(&m->serial, m->options->console ? START_FD_CONSOLE : -1, m->stop_fd);
    return 0;
}

/* What firmware would have done: caches on for all memory, and string instructions at full speed. */
static int set_firmware_msrs(const struct vcpu *v, struct err *err)
{
    struct {
        uint32_t n, padding; /* as struct kvm_msrs */
        struct kvm_msr_entry entries[2];
    } msrs = {
        .n = 2,
        .entries = {{.index = MSR_MISC_ENABLE, .data = MISC_FAST_STRING},
                    {.index = MSR_MTRR_DEFAULT, .data = MTRR_ON_WB}},
    };

    int r = KVM_DO(v->fd, KVM_SET_MSRS, &msrs, err);

    if (r >= 0 && r != 2) {
        return err_set(err, ERR_HOST, EPROTO, "KVM_SET_MSRS took %d of 2", r);
    }
    return r < 0 ? r : 0;
}

static int make_vcpus(struct machine *m, struct err *err)
{
    int r = 0;

    for (unsigned int i = 0; r == 0 && i < m->options->vcpus; i++) {
        r = vcpu_make(m, i, &m->vcpus[i], err);
        m->n_vcpus += r == 0 ? 1 : 0;
    }
    /* A processor that is restored is told all of this from the state. */
    for (unsigned int i = 0; r == 0 && i < m->n_vcpus && !m->options->restore; i++) {
        r = vcpu_set_cpuid(&m->vcpus[i], err);
        r = r < 0 ? r : set_firmware_msrs(&m->vcpus[i], err);
    }
    return r;
}

int machine_make(const struct machine_options *options, struct machine *ret, struct err *err)
{
    pthread_condattr_t attr;

    set_empty(ret);
    ret->options = options;
    (void)pthread_mutex_init(&ret->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&ret->turn, &attr);

    int r = kvm_host_ask(START_FD_KVM, &ret->kvm, err);
    r = r < 0 ? r : cpuid_ask(&ret->kvm, &ret->cpuid, err);
    r = r < 0 ? r : make_vm(ret, err);
    r = r < 0 ? r : make_devices(ret, err);
    r = r < 0 ? r : make_vcpus(ret, err);
    if (r < 0) {
        machine_free(ret);
    }
    return r;
}

uint32_t machine_slots(const struct machine *m)
{
    uint32_t slots = 0;

    for (unsigned int i = 0; i < LAYOUT_DEVICES; i++) {
        slots |= m->devices[i] != NULL ? 1u << i : 0;
    }
    return slots;
}

void machine_free(struct machine *m)
{
    for (unsigned int i = 0; i < LAYOUT_VCPUS_MAX; i++) {
        vcpu_fini(&m->vcpus[i]);
    }
    for (unsigned int i = 0; i < LAYOUT_DEVICES; i++) {
        fd_close_p(&m->irq_fds[i]);
        fd_close_p(&m->kick_fds[i]);
    }
    fd_close_p(&m->stop_fd);
    fd_close_p(&m->vm_fd);
    gmem_fini(&m->mem);
    (void)pthread_cond_destroy(&m->turn);
    (void)pthread_mutex_destroy(&m->lock);
    *m = (struct machine){.options = NULL};
    set_empty(m);
}

void machine_stop(struct machine *m, enum machine_end end, const struct err *why)
{
    (void)pthread_mutex_lock(&m->lock);
    if (m->end == MACHINE_RUNS) {
        m->end = end;
        if (why != NULL) {
            m->why = *why;
        }
    }
    (void)pthread_mutex_unlock(&m->lock);
    (void)eventfd_write(m->stop_fd, 1);
}

int machine_pause(struct machine *m, struct err *err)
{
    uint64_t end_ns = clock_mono_ns() + PAUSE_NS;
    struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_S),
                           .tv_nsec = (long)(end_ns % NS_PER_S)};
    unsigned int standing = 0;
    int r = 0;

    for (unsigned int i = 0; i < m->n_vcpus; i++) {
        vcpu_kick(&m->vcpus[i], VCPU_PAUSE);
    }
    (void)pthread_mutex_lock(&m->lock);
    while (standing < m->n_vcpus && r == 0) {
        if (m->vcpus[standing].paused) {
            standing++;
        } else {
            r = pthread_cond_timedwait(&m->turn, &m->lock, &end);
        }
    }
    bool ended = m->end != MACHINE_RUNS;
    (void)pthread_mutex_unlock(&m->lock);
    if (r != 0) {
        return err_sys_num(err, r, "processor %u does not stand still", standing);
    }
    return ended ? err_set(err, ERR_HOST, ESRCH, "the machine came to its end first") : 0;
}

int machine_mute(struct machine *m, struct err *err)
{
    int r = 0;

    for (unsigned int slot = 0; r == 0 && slot < LAYOUT_DEVICES; slot++) {
        struct kvm_irqfd irq = {.fd = (uint32_t)m->irq_fds[slot],
                                .gsi = layout_gsi(slot),
                                .flags = KVM_IRQFD_FLAG_DEASSIGN};
        if (m->devices[slot] != NULL) {
            r = KVM_DO(m->vm_fd, KVM_IRQFD, &irq, err);
        }
    }
    return r;
}

/* The order, and until each has seen it. */
static void end_vcpus(struct machine *m)
{
    for (unsigned int i = 0; i < m->n_vcpus; i++) {
        vcpu_kick(&m->vcpus[i], VCPU_END);
    }
    (void)pthread_mutex_lock(&m->lock);
    (void)pthread_cond_broadcast(&m->turn);
    for (unsigned int i = 0; i < m->n_vcpus; i++) {
        while (m->vcpus[i].started && !m->vcpus[i].paused) {
            (void)pthread_cond_wait(&m->turn, &m->lock);
        }
    }
    (void)pthread_mutex_unlock(&m->lock);
}

static bool may_save(const struct machine_options *o)
{
    return o->memory_file && !o->restore;
}

int machine_serve(struct machine *m, struct err *err)
{
    int r = guard_enter(may_save(m->options) ? GUARD_IO_SAVE : GUARD_IO, err);

    r = r == 0 && m->options->restore ? control_tell(START_CONTROL_GOES, NULL, err) : r;
    r = r < 0 ? r : loop_run(m, err);
    end_vcpus(m);
    if (r < 0 || m->end == MACHINE_OFF) {
        return r;
    }
    *err = m->why;
    return -err->errnum;
}

int machine_thread(void *(*run)(void *), void *arg, pthread_t *ret, struct err *err)
{
    pthread_attr_t attr;
    int r = pthread_attr_init(&attr);

    if (r == 0) {
        r = pthread_attr_setstacksize(&attr, STACK_BYTES);
        r = r == 0 ? pthread_create(ret, &attr, run, arg) : r;
        (void)pthread_attr_destroy(&attr);
    }
    return r != 0 ? err_sys_num(err, r, "start a thread") : 0;
}

int machine_run(struct machine *m, void *(*io)(void *), struct err *err)
{
    pthread_t thread;
    int r = vcpu_prepare(err);

    guard_prepare();
    for (unsigned int i = 1; r == 0 && i < m->n_vcpus; i++) {
        r = vcpu_start(&m->vcpus[i], err);
    }
    if (r == 0) {
        vcpu_adopt(&m->vcpus[0]);
        r = machine_thread(io, m, &thread, err);
    }
    if (r == 0) {
        vcpu_run(&m->vcpus[0]);
        (void)pthread_join(thread, NULL);
    } else {
        m->vcpus[0].started = false;
        end_vcpus(m);
    }
    for (unsigned int i = 1; i < m->n_vcpus; i++) {
        vcpu_join(&m->vcpus[i]);
    }
    return r;
}
