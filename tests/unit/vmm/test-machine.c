/* The machine: how it is made, what the guest finds in it, how it is saved and ends. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake-kvm.h"
#include "proto/wire.h"
#include "rig.h"
#include "sys/fd.h"
#include "test.h"
#include "vmm/control.h"
#include "vmm/snapshot.h"

static struct rig rig;

static struct machine_options with(bool disks, bool memory_file)
{
    struct machine_options o = rig_plain;

    o.disks = disks;
    o.memory_file = memory_file;
    return o;
}

static void setup(const struct machine_options *o)
{
    fake_kvm_reset();
    rig_setup(&rig, o);
}

static uint32_t mmio_read(uint64_t gpa, unsigned int size)
{
    uint8_t data[8] = {0};

    machine_mmio(&rig.machine, gpa, false, data, size);
    return wire_get_u32(data);
}

static void mmio_write(uint64_t gpa, uint32_t value)
{
    uint8_t data[4];

    wire_put_u32(data, value);
    machine_mmio(&rig.machine, gpa, true, data, sizeof(data));
}

static uint8_t port_read(uint16_t port)
{
    uint8_t value = 0;

    machine_port(&rig.machine, port, false, &value, 1);
    return value;
}

static void port_write(uint16_t port, uint8_t value)
{
    machine_port(&rig.machine, port, true, &value, 1);
}

static void interrupt_controllers_come_before_processors(void **state)
{
    unsigned int chip = 0, processor = 0;

    setup(&rig_plain);
    for (unsigned int i = 0; i < fake_kvm_calls(); i++) {
        chip = fake_kvm_request(i) == KVM_CREATE_IRQCHIP ? i : chip;
        processor = fake_kvm_request(i) == KVM_CREATE_VCPU ? i : processor;
    }
    assert_true(chip > 0 && processor > chip);
    rig_close(&rig);
    (void)state;
}

static void a_call_that_fails_while_it_is_made_leaves_nothing(void **state)
{
    struct machine_options o = with(true, true);
    unsigned int made = 0, failed = 0;

    o.vcpus = 2;
    for (unsigned int nth = 1; made < 10; nth++) {
        struct err err = ERR_INIT;

        fake_kvm_reset();
        rig_open(&rig, &o);
        fake_kvm_fail(nth, EIO);
        int r = machine_make(&rig.options, &rig.machine, &err);
        if (r == 0) {
            made++; /* what it can do without, or beyond the last call */
        } else {
            failed++;
            assert_int_equal(err.class, ERR_HOST);
            assert_int_not_equal(err.msg[0], '\0');
            assert_null(rig.machine.options);
        }
        rig_close(&rig);
    }
    assert_true(failed > 25);
    (void)state;
}

static void a_kvm_without_what_a_machine_needs_is_refused_by_name(void **state)
{
    struct err err = ERR_INIT;

    fake_kvm_reset();
    rig_open(&rig, &rig_plain);
    fake_kvm_extension(KVM_CAP_IRQFD, 0);
    assert_int_equal(machine_make(&rig.options, &rig.machine, &err), -ENOTSUP);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "no irqfd"));
    rig_close(&rig);
    (void)state;
}

static void memory_beyond_three_gib_is_a_second_range(void **state)
{
    struct machine_options o = rig_plain;

    setup(&o);
    assert_int_equal(fake_kvm_count(KVM_SET_USER_MEMORY_REGION), 1);
    rig_close(&rig);
    o.memory_bytes = LAYOUT_LOW_MAX;
    setup(&o);
    assert_int_equal(fake_kvm_count(KVM_SET_USER_MEMORY_REGION), 1);
    rig_close(&rig);
    o.memory_bytes = LAYOUT_LOW_MAX + 4096;
    setup(&o);
    assert_int_equal(fake_kvm_count(KVM_SET_USER_MEMORY_REGION), 2);
    assert_int_equal(rig.machine.mem.low, LAYOUT_LOW_MAX);
    rig_close(&rig);
    (void)state;
}

static void a_restored_processor_is_told_nothing_before_its_state(void **state)
{
    struct machine_options o = with(false, true);

    o.restore = true;
    setup(&o);
    assert_int_equal(fake_kvm_count(KVM_SET_CPUID2), 0);
    assert_int_equal(fake_kvm_count(KVM_SET_MSRS), 0);
    rig_close(&rig);
    setup(&rig_plain);
    assert_int_equal(fake_kvm_count(KVM_SET_CPUID2), 1);
    assert_int_equal(fake_kvm_count(KVM_ENABLE_CAP), 1); /* KVM's features are those of CPUID */
    assert_int_equal(fake_kvm_count(KVM_SET_MSRS), 1);
    rig_close(&rig);
    (void)state;
}

static void windows_are_where_devices_are_and_nowhere_else(void **state)
{
    struct machine_options o = with(true, false);

    setup(&o);
    for (unsigned int slot = 0; slot < LAYOUT_DEVICES; slot++) {
        assert_int_equal(mmio_read(layout_mmio(slot), 4), 0x74726976);
    }
    assert_int_equal(mmio_read(layout_mmio(LAYOUT_DEVICES), 4), UINT32_MAX);
    assert_int_equal(mmio_read(LAYOUT_MMIO_BASE - 4, 4), UINT32_MAX);
    assert_int_equal(mmio_read(0, 4), UINT32_MAX);
    assert_int_equal(mmio_read(UINT64_MAX, 4), UINT32_MAX);
    assert_int_equal(mmio_read(layout_mmio(1) - 2, 4), UINT32_MAX); /* across two windows */
    rig_close(&rig);
    setup(&rig_plain);
    assert_int_equal(mmio_read(layout_mmio(LAYOUT_SCRATCH), 4), UINT32_MAX);
    assert_int_equal(mmio_read(layout_mmio(LAYOUT_CONSOLE), 4), 0x74726976);
    mmio_write(layout_mmio(LAYOUT_SCRATCH) + 0x70, 1); /* to nowhere */
    rig_close(&rig);
    (void)state;
}

static void ports_that_are_none_read_as_ones(void **state)
{
    uint8_t wide[4] = {0};

    setup(&rig_plain);
    for (uint32_t port = 0; port <= UINT16_MAX; port++) {
        bool is_serial = port >= 0x3f8 && port < 0x400;
        if (!is_serial && port != LAYOUT_PORT_SLEEP && port != LAYOUT_PORT_SLEEP + 1) {
            assert_int_equal(port_read((uint16_t)port), 0xff);
        }
    }
    machine_port(&rig.machine, UINT16_MAX, false, wide, 4); /* the ports do not wrap */
    assert_int_equal(wire_get_u32(wide), UINT32_MAX);
    rig_close(&rig);
    setup(&rig_plain);
    fd_close_p(&rig.machine.serial.fd); /* no early console: no port either */
    assert_int_equal(port_read(0x3fd), 0xff);
    rig_close(&rig);
    (void)state;
}

static void only_the_right_values_switch_it_off(void **state)
{
    for (unsigned int value = 0; value < 256; value++) {
        setup(&rig_plain);
        port_write(LAYOUT_PORT_SLEEP, (uint8_t)value);
        assert_int_equal(rig.machine.end,
                         (value & 0x3c) == 0x34 ? MACHINE_OFF : MACHINE_RUNS); /* S5, enabled */
        assert_int_equal(port_read(LAYOUT_PORT_SLEEP), value & ~0x20u);
        rig.machine.end = MACHINE_RUNS;
        port_write(LAYOUT_PORT_RESET, (uint8_t)value);
        assert_int_equal(rig.machine.end, value == 0x42 ? MACHINE_OFF : MACHINE_RUNS);
        rig_close(&rig);
    }
    (void)state;
}

static void the_first_end_counts(void **state)
{
    struct err first = ERR_INIT, second = ERR_INIT;

    setup(&rig_plain);
    (void)err_guest(&first, "first");
    (void)err_guest(&second, "second");
    machine_stop(&rig.machine, MACHINE_GUEST, &first);
    machine_stop(&rig.machine, MACHINE_HOST, &second);
    machine_stop(&rig.machine, MACHINE_OFF, NULL);
    assert_int_equal(rig.machine.end, MACHINE_GUEST);
    assert_string_equal(rig.machine.why.msg, "first");
    rig_close(&rig);
    (void)state;
}

static int guest_idle(int fd)
{
    return rig_spin(rig_run(&rig, fd));
}

static void a_driver_that_lies_ends_the_run(void **state)
{
    struct err err = ERR_INIT;

    setup(&rig_plain);
    fake_kvm_on_run(guest_idle);
    mmio_write(layout_mmio(LAYOUT_ENTROPY) + 0x70, 0x100); /* a status that does not exist */
    assert_int_equal(rig_go(&rig, &err), -EPROTO);
    assert_int_equal(err.class, ERR_GUEST);
    assert_int_not_equal(err.msg[0], '\0');
    rig_close(&rig);
    (void)state;
}

/* What the monitor says on the control socket, all of it. */
static size_t hear(char ret[256])
{
    ssize_t n = recv(rig.control, ret, 255, MSG_DONTWAIT);

    ret[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static void order_save(int state_fd)
{
    const char order = START_CONTROL_SAVE;

    assert_int_equal(fd_send(rig.control, &order, 1, state_fd, 0), 1);
}

static void a_machine_is_saved_and_another_goes_on(void **state)
{
    struct machine_options o = with(true, true);
    auto_fd int saved = rig_out_of_the_way(memfd_create("state", MFD_CLOEXEC));
    struct err err = ERR_INIT;
    char said[256];

    o.vcpus = 2;
    setup(&o);
    fake_kvm_on_run(guest_idle);
    rig.machine.sleep_control = 3;
    order_save(saved);
    assert_ok(rig_go(&rig, &err), &err);
    assert_int_equal(hear(said), 2);
    assert_string_equal(said, "D\n");
    rig_close(&rig);
    assert_true(lseek(saved, 0, SEEK_SET) == 0 && read(saved, said, 8) == 8);
    assert_memory_equal(said, "ALKVMST1", 8);

    o.restore = true;
    setup(&o);
    fake_kvm_on_run(guest_idle);
    assert_int_equal(lseek(saved, 0, SEEK_SET), 0);
    assert_ok(snapshot_restore(&rig.machine, saved, &err), &err);
    assert_int_equal(rig.machine.sleep_control, 3);
    machine_stop(&rig.machine, MACHINE_OFF, NULL);
    assert_ok(rig_go(&rig, &err), &err);
    assert_int_equal(hear(said), 2);
    assert_string_equal(said, "R\n");
    rig_close(&rig);
    (void)state;
}

static void a_state_that_cannot_be_written_is_told_and_ends_it(void **state)
{
    struct machine_options o = with(false, true);
    auto_fd int full = rig_out_of_the_way(open("/dev/full", O_WRONLY | O_CLOEXEC));
    struct err err = ERR_INIT;
    char said[256];

    setup(&o);
    fake_kvm_on_run(guest_idle);
    order_save(full);
    assert_int_equal(rig_go(&rig, &err), -ENOSPC);
    assert_int_equal(err.class, ERR_HOST);
    size_t n = hear(said);
    assert_true(n > 3 && said[0] == 'E' && said[n - 1] == '\n');
    assert_non_null(strstr(said, strerror(ENOSPC)));
    rig_close(&rig);
    (void)state;
}

/* Every call of KVM while it is saved fails once: never silent, never a state that is taken for one. */
static void no_failure_while_it_is_saved_is_silent(void **state)
{
    struct machine_options o = with(false, true);
    unsigned int calls = 0, failed = 0;

    for (unsigned int nth = 1; nth == 1 || nth <= calls; nth++) {
        auto_fd int saved = rig_out_of_the_way(memfd_create("state", MFD_CLOEXEC));
        struct err err = ERR_INIT;
        char said[256];

        setup(&o);
        unsigned int before = fake_kvm_calls();
        order_save(saved);
        fake_kvm_on_run(guest_idle);
        if (nth > 1) {
            fake_kvm_fail(nth, EIO);
        }
        int r = rig_go(&rig, &err);
        calls = nth == 1 ? fake_kvm_calls() - before : calls;
        (void)hear(said);
        assert_true(r < 0 ? said[0] != 'D' : said[0] == 'D');
        failed += r < 0;
        rig_close(&rig);
    }
    assert_true(failed > 10);
    (void)state;
}

static void an_order_that_is_none_ends_it(void **state)
{
    struct machine_options o = with(false, true);
    struct err err = ERR_INIT;

    setup(&o);
    fake_kvm_on_run(guest_idle);
    order_save(-1); /* without a descriptor */
    assert_int_equal(rig_go(&rig, &err), -EPROTO);
    assert_int_equal(err.class, ERR_HOST);
    rig_close(&rig);
    err = (struct err)ERR_INIT;
    o.restore = true; /* a clone is not saved */
    setup(&o);
    order_save(rig.channel);
    assert_int_equal(control_serve(&rig.machine, &err), -EPROTO);
    rig_close(&rig);
    (void)state;
}

static int guest_says_and_ends(int fd)
{
    struct kvm_run *run = rig_run(&rig, fd);
    static const char text[] = "panic\n";
    static unsigned int at;

    if (at == sizeof(text) - 1) {
        at = 0;
        return rig_exit(run, KVM_EXIT_SHUTDOWN);
    }
    return rig_port(run, LAYOUT_PORT_SERIAL, (uint8_t)text[at++]);
}

static void its_last_words_are_in_the_console_when_it_ends(void **state)
{
    struct machine_options o = with(false, true);

    for (unsigned int i = 0; i < 50; i++) {
        struct err err = ERR_INIT;
        char said[16] = "";

        setup(&o);
        fd_close_p(&rig.control); /* the supervisor wants nothing more of it */
        fake_kvm_on_run(guest_says_and_ends);
        assert_ok(rig_go(&rig, &err), &err);
        assert_int_equal(read(rig.console, said, sizeof(said)), 6);
        assert_string_equal(said, "panic\n");
        rig_close(&rig);
    }
    (void)state;
}

TEST_MAIN(T(interrupt_controllers_come_before_processors),
          T(a_call_that_fails_while_it_is_made_leaves_nothing),
          T(a_kvm_without_what_a_machine_needs_is_refused_by_name),
          T(memory_beyond_three_gib_is_a_second_range),
          T(a_restored_processor_is_told_nothing_before_its_state),
          T(windows_are_where_devices_are_and_nowhere_else), T(ports_that_are_none_read_as_ones),
          T(only_the_right_values_switch_it_off), T(the_first_end_counts),
          T(a_driver_that_lies_ends_the_run), T(a_machine_is_saved_and_another_goes_on),
          T(a_state_that_cannot_be_written_is_told_and_ends_it),
          T(no_failure_while_it_is_saved_is_silent), T(an_order_that_is_none_ends_it),
          T(its_last_words_are_in_the_console_when_it_ends))
