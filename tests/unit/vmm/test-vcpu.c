/* One processor: its exits, and that no order to it is lost or comes in the middle of an access. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake-kvm.h"
#include "rig.h"
#include "test.h"
#include "vmm/boot.h"

static struct rig rig;
static atomic_int step;

static void begin(int (*guest)(int fd))
{
    fake_kvm_reset();
    rig_setup(&rig, &rig_plain);
    fake_kvm_on_run(guest);
    atomic_store(&step, 0);
}

/* Runs it to its end, which must have this reason; its text is left in *ret. */
static void run_to_end(enum machine_end end, struct err *ret)
{
    struct err err = ERR_INIT;
    int r = rig_go(&rig, &err);

    assert_int_equal(rig.machine.end, end);
    assert_int_equal(r < 0, end != MACHINE_OFF);
    *ret = err;
    rig_close(&rig);
}

static int guest_triple_fault(int fd)
{
    return rig_exit(rig_run(&rig, fd), KVM_EXIT_SHUTDOWN);
}

static int guest_internal_error(int fd)
{
    struct kvm_run *run = rig_run(&rig, fd);

    run->internal.suberror = KVM_INTERNAL_ERROR_EMULATION;
    run->internal.ndata = 1000; /* more than the structure holds */
    run->internal.data[0] = 0xabc;
    return rig_exit(run, KVM_EXIT_INTERNAL_ERROR);
}

static int guest_fail_entry(int fd)
{
    rig_run(&rig, fd)->fail_entry.hardware_entry_failure_reason = 0x80000021;
    return rig_exit(rig_run(&rig, fd), KVM_EXIT_FAIL_ENTRY);
}

static int guest_hypercall(int fd)
{
    return rig_exit(rig_run(&rig, fd), KVM_EXIT_HYPERCALL);
}

static int guest_none(int fd)
{
    (void)fd;
    return -EFAULT;
}

static void a_triple_fault_is_a_restart(void **state)
{
    struct err err;

    begin(guest_triple_fault);
    run_to_end(MACHINE_OFF, &err);
    (void)state;
}

static void kvms_internal_error_begins_the_reason(void **state)
{
    static const char want[] = "KVM internal error: suberror 1, processor 0, data 0xabc";
    struct err err;

    begin(guest_internal_error);
    run_to_end(MACHINE_GUEST, &err);
    assert_int_equal(err.class, ERR_GUEST);
    assert_memory_equal(err.msg, want, sizeof(want) - 1);
    (void)state;
}

static void exits_that_none_may_cause_end_the_run_with_their_numbers(void **state)
{
    struct err err;

    begin(guest_fail_entry);
    run_to_end(MACHINE_GUEST, &err);
    assert_non_null(strstr(err.msg, "hardware reason 0x80000021"));
    begin(guest_hypercall);
    run_to_end(MACHINE_GUEST, &err);
    assert_non_null(strstr(err.msg, "KVM exit 3"));
    begin(guest_none);
    run_to_end(MACHINE_HOST, &err);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "KVM_RUN of processor 0"));
    (void)state;
}

/* A string instruction: three bytes in one exit; then two that KVM would never describe so. */
static int guest_string(int fd)
{
    struct kvm_run *run = rig_run(&rig, fd);

    switch (atomic_fetch_add(&step, 1)) {
    case 0:
        (void)rig_port(run, LAYOUT_PORT_SERIAL, 'a');
        memcpy((uint8_t *)run + 4096, "abc", 3);
        run->io.count = 3;
        return 0;
    case 1:
        (void)rig_port(run, LAYOUT_PORT_SERIAL, 'd');
        run->io.data_offset = FAKE_KVM_RUN_SIZE;
        return 0;
    case 2:
        (void)rig_port(run, LAYOUT_PORT_SERIAL, 'e');
        run->io.count = UINT32_MAX;
        return 0;
    case 3:
        run->mmio.phys_addr = LAYOUT_MMIO_BASE;
        run->mmio.len = 9;
        run->mmio.is_write = 0;
        return rig_exit(run, KVM_EXIT_MMIO);
    case 4:
        return rig_port(run, LAYOUT_PORT_RESET, LAYOUT_RESET_VALUE);
    default:
        return rig_spin(run); /* until it is told to end */
    }
}

static void a_string_instruction_is_an_access_for_each_element(void **state)
{
    struct err err = ERR_INIT;
    char said[8] = "";

    begin(guest_string);
    assert_ok(rig_go(&rig, &err), &err);
    assert_int_equal(read(rig.console, said, sizeof(said)), 3);
    assert_string_equal(said, "abc");
    rig_close(&rig);
    (void)state;
}

/* Reads the magic of the console's window, twice; then reports what it got. */
static int guest_reads_window(int fd)
{
    struct kvm_run *run = rig_run(&rig, fd);
    int at = atomic_fetch_add(&step, 1);

    if (at == 0) {
        run->mmio.phys_addr = layout_mmio(LAYOUT_CONSOLE);
        run->mmio.len = 4;
        run->mmio.is_write = 0;
        return rig_exit(run, KVM_EXIT_MMIO);
    }
    if (at <= 4) {
        return rig_port(run, LAYOUT_PORT_SERIAL, run->mmio.data[at - 1]);
    }
    return rig_exit(run, KVM_EXIT_SHUTDOWN);
}

static void what_a_window_reads_is_in_the_run_page(void **state)
{
    struct err err = ERR_INIT;
    char said[8] = "";

    begin(guest_reads_window);
    assert_ok(rig_go(&rig, &err), &err);
    assert_int_equal(read(rig.console, said, sizeof(said)), 4);
    assert_int_equal(said[0], 'v'); /* the port's exit overwrites the rest */
    rig_close(&rig);
    (void)state;
}

/*
 * It leaves for a port again and again. An access is complete only when KVM_RUN was called once more:
 * what a processor that stands still must have done.
 */
static atomic_bool is_open;

static int guest_restless(int fd)
{
    struct kvm_run *run = rig_run(&rig, fd);

    atomic_store(&is_open, false); /* the last access is complete */
    if (__atomic_load_n(&run->immediate_exit, __ATOMIC_SEQ_CST) != 0) {
        return -EINTR;
    }
    atomic_store(&is_open, true);
    return rig_port(run, 0x80, 0);
}

static void a_processor_stands_still_only_between_two_accesses(void **state)
{
    struct err err = ERR_INIT;

    for (unsigned int i = 0; i < 200; i++) {
        begin(guest_restless);
        assert_ok(vcpu_prepare(&err), &err);
        assert_ok(vcpu_start(&rig.machine.vcpus[0], &err), &err);
        if (i % 2 == 0) {
            usleep(i);
        }
        assert_ok(machine_pause(&rig.machine, &err), &err);
        assert_false(atomic_load(&is_open));
        vcpu_kick(&rig.machine.vcpus[0], VCPU_END);
        (void)pthread_mutex_lock(&rig.machine.lock);
        (void)pthread_cond_broadcast(&rig.machine.turn);
        (void)pthread_mutex_unlock(&rig.machine.lock);
        vcpu_join(&rig.machine.vcpus[0]);
        rig_close(&rig);
    }
    (void)state;
}

static int guest_idle(int fd)
{
    return rig_spin(rig_run(&rig, fd));
}

static void no_order_is_lost_however_early_it_comes(void **state)
{
    struct err err = ERR_INIT;

    for (unsigned int i = 0; i < 200; i++) {
        begin(guest_idle);
        assert_ok(vcpu_prepare(&err), &err);
        assert_ok(vcpu_start(&rig.machine.vcpus[0], &err), &err);
        vcpu_kick(&rig.machine.vcpus[0], VCPU_END);
        vcpu_join(&rig.machine.vcpus[0]); /* would hang */
        assert_true(rig.machine.vcpus[0].paused);
        rig_close(&rig);
    }
    (void)state;
}

/* Woken by its INIT, KVM says -EAGAIN; a signal that is no order is none. */
static int guest_woken(int fd)
{
    switch (atomic_fetch_add(&step, 1)) {
    case 0:
        return -EAGAIN;
    case 1:
        return -EINTR;
    case 2:
        return rig_exit(rig_run(&rig, fd), KVM_EXIT_INTR);
    default:
        return rig_exit(rig_run(&rig, fd), KVM_EXIT_SHUTDOWN);
    }
}

static void what_is_no_end_makes_it_run_again(void **state)
{
    struct err err;

    begin(guest_woken);
    run_to_end(MACHINE_OFF, &err);
    assert_int_equal(atomic_load(&step), 4);
    (void)state;
}

TEST_MAIN(T(a_triple_fault_is_a_restart), T(kvms_internal_error_begins_the_reason),
          T(exits_that_none_may_cause_end_the_run_with_their_numbers),
          T(a_string_instruction_is_an_access_for_each_element),
          T(what_a_window_reads_is_in_the_run_page),
          T(a_processor_stands_still_only_between_two_accesses),
          T(no_order_is_lost_however_early_it_comes), T(what_is_no_end_makes_it_run_again))
