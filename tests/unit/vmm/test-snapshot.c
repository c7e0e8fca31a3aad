#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake-kvm.h"
#include "sys/fd.h"
#include "test.h"
#include "vmm/snapshot.h"

#define MSR_TSC      0x10u
#define MSR_PAT      0x277u
#define MSR_MTRR     0x2ffu
#define MSR_LSTAR    0xc0000082u
#define MSR_DEADLINE 0x6e0u
#define MSR_KVMCLOCK 0x4b564d01u
#define MSR_WALL     0x4b564d00u
#define MSR_HYPERV   0x40000000u

#define HEADER    24u
#define KVM_FD    900
#define OLD       1000 /* descriptors of the machine that is saved */
#define NEW       2000 /* and of the one that goes on */
#define LIST_MAX  64u
#define ANY_VALUE 0x1122334455667788ull

/* A device with four bytes of its own. */
struct thing {
    struct virtio dev;
    uint32_t value;
};

static void thing_save(const struct virtio *dev, struct wire_out *out)
{
    wire_write_u32(out, ((const struct thing *)dev)->value);
}

static int thing_load(struct virtio *dev, struct wire_in *in, struct err *err)
{
    const uint8_t *at = wire_take(in, 4);

    if (at == NULL) {
        return err_usage(err, "no value");
    }
    ((struct thing *)dev)->value = wire_get_u32(at);
    return 0;
}

static int thing_kick(struct virtio *dev, unsigned int q, struct err *err)
{
    (void)dev;
    (void)q;
    (void)err;
    return 0;
}

static const struct virtio_ops thing_ops = {.device_id = 4,
                                            .n_queues = 1,
                                            .kick = thing_kick,
                                            .save = thing_save,
                                            .load = thing_load};

struct setup {
    struct machine m;
    struct thing things[2];
};

static void setup_fini(struct setup *s)
{
    gmem_fini(&s->m.mem);
}

#define auto_setup on_scope_exit(setup_fini)

static void make(struct setup *s, int fds, unsigned int vcpus)
{
    static const unsigned int slots[] = {LAYOUT_CONSOLE, LAYOUT_ENTROPY};
    struct err err = ERR_INIT;

    memset(s, 0, sizeof(*s));
    s->m.kvm = (struct kvm_host){.fd = KVM_FD,
                                 .xsave_size = sizeof(struct kvm_xsave),
                                 .has_tsc_deadline = true,
                                 .has_xcrs = true};
    s->m.vm_fd = fds;
    s->m.n_vcpus = vcpus;
    for (unsigned int i = 0; i < vcpus; i++) {
        s->m.vcpus[i].machine = &s->m;
        s->m.vcpus[i].index = i;
        s->m.vcpus[i].fd = fds + 1 + (int)i;
    }
    assert_ok(gmem_map(-1, false, LAYOUT_RAM_MIN, &s->m.mem, &err), &err);
    assert_ok(cpuid_ask(&s->m.kvm, &s->m.cpuid, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
        virtio_init(&s->things[i].dev, &thing_ops, &s->m.mem, slots[i], -1);
        s->m.devices[slots[i]] = &s->things[i].dev;
    }
}

/* Structures of a processor that KVM keeps, and what reads them. */
static const struct {
    unsigned long set, get;
} kept[] = {
    {KVM_SET_REGS, KVM_GET_REGS},           {KVM_SET_SREGS, KVM_GET_SREGS},
    {KVM_SET_XSAVE, KVM_GET_XSAVE},         {KVM_SET_XCRS, KVM_GET_XCRS},
    {KVM_SET_DEBUGREGS, KVM_GET_DEBUGREGS}, {KVM_SET_LAPIC, KVM_GET_LAPIC},
    {KVM_SET_MP_STATE, KVM_GET_MP_STATE},   {KVM_SET_VCPU_EVENTS, KVM_GET_VCPU_EVENTS},
};

static void tell(int fd, unsigned long request, void *arg)
{
    assert_true(kvm_call(fd, request, arg) >= 0);
}

/* A machine in the middle of something: every byte that is kept differs from every other machine's. */
static void live(struct setup *s)
{
    uint8_t bytes[8192];

    for (unsigned int v = 0; v < s->m.n_vcpus; v++) {
        for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
            memset(bytes, (int)(1 + v * 16 + i), sizeof(bytes));
            tell(s->m.vcpus[v].fd, kept[i].set, bytes);
        }
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_TSC, 0x123456789aull + v);
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_LSTAR, 0xffffffff81000000ull + v);
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_KVMCLOCK, 0x1001);
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_MTRR, 0x806);
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_WALL, 0x2000);
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_HYPERV, 0x3000);
        fake_kvm_set_msr(s->m.vcpus[v].fd, MSR_DEADLINE, v == 0 ? 0x123456ffffull : 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        struct kvm_irqchip chip;

        memset(&chip, (int)(0xa0 + i), sizeof(chip));
        chip.chip_id = i;
        tell(s->m.vm_fd, KVM_SET_IRQCHIP, &chip);
    }
    tell(s->m.vm_fd, KVM_SET_CLOCK,
         &(struct kvm_clock_data){.clock = 77777, .flags = 7, .realtime = 5, .host_tsc = 6});
    s->m.sleep_control = 0x14;
    s->things[0].value = 41;
    s->things[1].value = 42;
}

static int save(struct setup *s, int *ret_fd, struct err *err)
{
    *ret_fd = memfd_create("state", MFD_CLOEXEC);
    assert_true(*ret_fd >= 0);
    return snapshot_save(&s->m, *ret_fd, err);
}

static int restore(struct setup *s, int fd, struct err *err)
{
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return snapshot_restore(&s->m, fd, err);
}

/* A live machine's state in a file, and a machine made like it. */
static int saved(struct setup *old, struct setup *new, unsigned int vcpus)
{
    struct err err = ERR_INIT;
    int fd = -1;

    fake_kvm_reset();
    make(old, OLD, vcpus);
    make(new, NEW, vcpus);
    live(old);
    assert_ok(save(old, &fd, &err), &err);
    return fd;
}

static void check_same_processor(int old, int new)
{
    uint8_t a[8192];
    uint8_t b[8192];

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        memset(a, 0, sizeof(a));
        memset(b, 1, sizeof(b));
        tell(old, kept[i].get, a);
        tell(new, kept[i].get, b);
        assert_memory_equal(a, b, _IOC_SIZE(kept[i].set));
    }
    assert_int_equal(fake_kvm_msr(old, MSR_TSC), fake_kvm_msr(new, MSR_TSC));
    assert_int_equal(fake_kvm_msr(old, MSR_LSTAR), fake_kvm_msr(new, MSR_LSTAR));
    assert_int_equal(fake_kvm_msr(old, MSR_KVMCLOCK), fake_kvm_msr(new, MSR_KVMCLOCK));
    assert_int_equal(fake_kvm_msr(old, MSR_DEADLINE), fake_kvm_msr(new, MSR_DEADLINE));
    assert_int_equal(fake_kvm_msr(new, MSR_MTRR), 0x806);
}

static void check_same_chips(int old, int new)
{
    struct kvm_clock_data clock = {.clock = 0};

    for (uint32_t i = 0; i < 3; i++) {
        struct kvm_irqchip a = {.chip_id = i};
        struct kvm_irqchip b = {.chip_id = i};

        tell(old, KVM_GET_IRQCHIP, &a);
        tell(new, KVM_GET_IRQCHIP, &b);
        assert_memory_equal(&a, &b, sizeof(a));
    }
    tell(new, KVM_GET_CLOCK, &clock);
    assert_int_equal(clock.clock, 77777);
    assert_int_equal(clock.flags, 0); /* KVM_SET_CLOCK takes none of what KVM_GET_CLOCK tells */
}

static void a_machine_goes_on_as_it_was_saved(void **state)
{
    static const unsigned int counts[] = {1, 2, LAYOUT_VCPUS_MAX};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        auto_setup struct setup old;
        auto_setup struct setup new;
        auto_fd int fd = saved(&old, &new, counts[i]);
        struct err err = ERR_INIT;

        assert_ok(restore(&new, fd, &err), &err);
        for (unsigned int v = 0; v < counts[i]; v++) {
            check_same_processor(OLD + 1 + (int)v, NEW + 1 + (int)v);
        }
        check_same_chips(OLD, NEW);
        assert_int_equal(new.m.sleep_control, 0x14);
        assert_int_equal(new.things[0].value, 41);
        assert_int_equal(new.things[1].value, 42);
    }
}

static void a_state_can_be_restored_many_times(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    struct err err = ERR_INIT;

    (void)state;
    for (unsigned int i = 0; i < 3; i++) {
        auto_setup struct setup again;

        make(&again, NEW + 100 * (int)(i + 1), 1);
        assert_ok(restore(&again, fd, &err), &err);
        check_same_processor(OLD + 1, again.m.vcpus[0].fd);
    }
}

/* The scratch disk and the footer of a template's file. */
static void what_lies_behind_a_state_is_not_its_own(void **state)
{
    static const uint8_t other[3 * KIB] = {0x5a};
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(write(fd, other, sizeof(other)), sizeof(other));
    assert_int_equal(ftruncate(fd, 64 * MIB), 0);
    assert_ok(restore(&new, fd, &err), &err);
    check_same_processor(OLD + 1, NEW + 1);
}

/* The last call of a request, counted from the reset. */
static unsigned int last(unsigned long request)
{
    for (unsigned int i = fake_kvm_calls(); i > 0; i--) {
        if (fake_kvm_request(i - 1) == request) {
            return i - 1;
        }
    }
    fail_msg("request 0x%lx was never made", request);
    return 0;
}

static void state_comes_back_in_the_order_that_kvm_needs(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(restore(&new, fd, &err), &err);
    assert_true(last(KVM_SET_CPUID2) < last(KVM_SET_SREGS));
    assert_true(last(KVM_SET_SREGS) < last(KVM_SET_XCRS));
    assert_true(last(KVM_SET_XCRS) < last(KVM_SET_LAPIC));
    assert_true(last(KVM_SET_SREGS) < last(KVM_SET_XSAVE));
    assert_true(last(KVM_SET_LAPIC) < last(KVM_SET_MSRS)); /* the deadline: the last MSR */
    assert_true(last(KVM_SET_REGS) < last(KVM_SET_VCPU_EVENTS));
    assert_true(last(KVM_SET_SREGS) < last(KVM_SET_MP_STATE));
    assert_true(last(KVM_SET_MP_STATE) < last(KVM_SET_IRQCHIP));
    assert_true(last(KVM_SET_IRQCHIP) < last(KVM_SET_CLOCK));
    assert_true(last(KVM_SET_LAPIC) < last(KVM_KVMCLOCK_CTRL));
}

static void msrs_that_are_commands_or_never_used_are_not_set(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(restore(&new, fd, &err), &err);
    assert_int_equal(fake_kvm_msr(NEW + 1, MSR_WALL), 0);
    assert_int_equal(fake_kvm_msr(NEW + 1, MSR_HYPERV), 0);
}

/* One that cannot be read, one that can be read and not set; those behind them are there. */
static void msrs_that_kvm_refuses_are_left_out(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = -1;
    struct err err = ERR_INIT;

    (void)state;
    fake_kvm_reset();
    make(&old, OLD, 1);
    make(&new, NEW, 1);
    live(&old);
    fake_kvm_set_msr(OLD + 1, MSR_PAT, ANY_VALUE);
    fake_kvm_refuse_msr(0x174, true, false);
    fake_kvm_refuse_msr(MSR_PAT, false, true);
    assert_ok(save(&old, &fd, &err), &err);
    assert_ok(restore(&new, fd, &err), &err);
    assert_int_equal(fake_kvm_msr(NEW + 1, MSR_PAT), 0);
    check_same_processor(OLD + 1, NEW + 1);
}

static void check_refused(struct setup *new, int fd, const char *why)
{
    struct err err = ERR_INIT;

    assert_true(restore(new, fd, &err) < 0);
    assert_int_equal(err.class, ERR_USAGE);
    if (strstr(err.msg, why) == NULL) {
        print_error("'%s' does not say '%s'\n", err.msg, why);
    }
    assert_non_null(strstr(err.msg, why));
}

static void an_msr_that_this_host_does_not_take_is_named(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    fake_kvm_refuse_msr(MSR_LSTAR, false, true);
    check_refused(&new, fd, "MSR 0xc0000082 = 0xffffffff81000000");
}

static void another_machine_is_refused(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 2);

    (void)state;
    new.m.mem.size += MIB;
    check_refused(&new, fd, "33554432 bytes of memory");
    new.m.mem.size -= MIB;
    new.m.n_vcpus = 1;
    check_refused(&new, fd, "2 processors");
    new.m.n_vcpus = 2;
    new.m.devices[LAYOUT_CONSOLE] = NULL;
    check_refused(&new, fd, "devices 0x18; this one 33554432, 2 and 0x10");
    assert_int_equal(fake_kvm_count(KVM_SET_SREGS), 2); /* those of live(): nothing was set */
}

static void a_processor_that_lacks_something_is_refused(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    uint32_t leaf = 0;

    (void)state;
    for (uint32_t i = 0; i < new.m.cpuid.n; i++) {
        if (new.m.cpuid.entries[i].function == 1) {
            new.m.cpuid.entries[i].edx &= ~(1u << 26); /* SSE2 */
            leaf = 1;
        }
    }
    assert_int_equal(leaf, 1);
    check_refused(&new, fd, "CPUID leaf 0x1 ");
}

static void another_xsave_area_is_refused(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    new.m.kvm.xsave_size = 8192;
    check_refused(&new, fd, "XSAVE area has 4096 bytes (with XCRs), this host's 8192");
    new.m.kvm.xsave_size = sizeof(struct kvm_xsave);
    new.m.kvm.has_xcrs = false;
    check_refused(&new, fd, "(with XCRs), this host's 4096 (without)");
}

static void a_host_without_xsave_keeps_the_fpu(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = -1;
    struct err err = ERR_INIT;
    struct kvm_fpu fpu = {.fcw = 0x37f};

    (void)state;
    fake_kvm_reset();
    make(&old, OLD, 1);
    make(&new, NEW, 1);
    old.m.kvm.xsave_size = new.m.kvm.xsave_size = 0;
    old.m.kvm.has_xcrs = new.m.kvm.has_xcrs = false;
    tell(OLD + 1, KVM_SET_FPU, &fpu);
    assert_ok(save(&old, &fd, &err), &err);
    assert_ok(restore(&new, fd, &err), &err);
    fpu.fcw = 0;
    tell(NEW + 1, KVM_GET_FPU, &fpu);
    assert_int_equal(fpu.fcw, 0x37f);
    assert_int_equal(fake_kvm_count(KVM_SET_XSAVE) + fake_kvm_count(KVM_SET_XCRS), 0);
}

static void an_xsave_area_that_is_too_large_is_an_error_of_the_host(void **state)
{
    auto_setup struct setup old;
    auto_fd int fd = -1;
    struct err err = ERR_INIT;

    (void)state;
    fake_kvm_reset();
    make(&old, OLD, 1);
    old.m.kvm.xsave_size = 65536;
    assert_true(save(&old, &fd, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "65536"));
}

static void a_tsc_of_another_rate_is_scaled_or_refused(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    struct err err = ERR_INIT;

    (void)state;
    fake_kvm_tsc_khz(2000400); /* 200 ppm: measured twice */
    assert_ok(restore(&new, fd, &err), &err);
    assert_int_equal(fake_kvm_count(KVM_SET_TSC_KHZ), 0);
    fake_kvm_tsc_khz(2001000);
    check_refused(&new, fd, "TSC runs at 2000000 kHz, this host's at 2001000");
    fake_kvm_tsc_khz(1500000);
    check_refused(&new, fd, "TSC runs at");
    new.m.kvm.has_tsc_control = true;
    assert_ok(restore(&new, fd, &err), &err);
    assert_int_equal(fake_kvm_count(KVM_SET_TSC_KHZ), 1);
}

static void a_guest_without_kvm_s_clock_needs_none(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    struct err err = ERR_INIT;
    unsigned int before = fake_kvm_calls();
    unsigned int nth = 0;

    (void)state;
    assert_ok(restore(&new, fd, &err), &err);
    nth = last(KVM_KVMCLOCK_CTRL) - before + 1;
    fake_kvm_fail(nth, EINVAL);
    assert_ok(restore(&new, fd, &err), &err);
    fake_kvm_fail(nth, EIO);
    assert_int_equal(restore(&new, fd, &err), -EIO);
    assert_non_null(strstr(err.msg, "KVM_KVMCLOCK_CTRL"));
}

static void every_failed_call_of_a_save_is_named(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 2);
    struct err err = ERR_INIT;
    unsigned int before = fake_kvm_calls();
    unsigned int n = 0;

    (void)state;
    assert_ok(snapshot_save(&old.m, fd, &err), &err);
    n = fake_kvm_calls() - before;
    assert_true(n > 20);
    for (unsigned int i = 1; i <= n; i++) {
        auto_fd int broken = -1;
        struct err why = ERR_INIT;

        fake_kvm_fail(i, EIO);
        assert_int_equal(save(&old, &broken, &why), -EIO);
        assert_int_equal(why.class, ERR_HOST);
        assert_non_null(strstr(why.msg, "KVM_"));
        assert_int_equal(lseek(broken, 0, SEEK_END), 0); /* nothing, or all of it */
    }
}

static void every_failed_call_of_a_restore_is_named(void **state)
{
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 2);
    struct err err = ERR_INIT;
    unsigned int before = fake_kvm_calls();
    unsigned int n = 0;

    (void)state;
    assert_ok(restore(&new, fd, &err), &err);
    n = fake_kvm_calls() - before;
    assert_true(n > 20);
    for (unsigned int i = 1; i <= n; i++) {
        struct err why = ERR_INIT;

        fake_kvm_fail(i, EIO);
        assert_int_equal(restore(&new, fd, &why), -EIO);
        assert_int_equal(why.class, ERR_HOST);
        assert_non_null(strstr(why.msg, "KVM_"));
    }
}

/* The file's bytes, for damage. */
struct bytes {
    uint8_t at[256 * 1024];
    size_t len;
};

static void bytes_read(int fd, struct bytes *ret)
{
    struct err err = ERR_INIT;

    assert_ok(fd_pread_full(fd, ret->at, sizeof(ret->at), 0, &ret->len, &err), &err);
    assert_in_range(ret->len, HEADER + 1, sizeof(ret->at) - 1);
}

/* Makes length and checksum right again, as one who forges would. */
static void seal(struct bytes *b)
{
    wire_put_u32(b->at + 12, (uint32_t)(b->len - HEADER));
    wire_put_u64(b->at + 16, snapshot_sum(b->at + HEADER, b->len - HEADER));
}

static int restore_bytes(struct setup *s, const struct bytes *b, struct err *err)
{
    auto_fd int fd = memfd_create("damaged", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_ok(fd_write_full(fd, b->at, b->len, err), err);
    return restore(s, fd, err);
}

static void check_damage(struct setup *s, const struct bytes *b, const char *why)
{
    struct err err = ERR_INIT;

    assert_true(restore_bytes(s, b, &err) < 0);
    assert_int_equal(err.class, ERR_USAGE);
    if (strstr(err.msg, why) == NULL) {
        print_error("'%s' does not say '%s'\n", err.msg, why);
    }
    assert_non_null(strstr(err.msg, why));
}

static void a_damaged_byte_is_found(void **state)
{
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    unsigned int before = 0;

    (void)state;
    bytes_read(fd, &b);
    before = fake_kvm_calls();
    for (size_t i = 0; i < b.len; i += i < 64 ? 1 : 97) {
        b.at[i] ^= 0x10;
        check_damage(&new, &b, "saved machine");
        b.at[i] ^= 0x10;
    }
    assert_int_equal(fake_kvm_calls(), before); /* KVM never saw any of it */
}

static void every_byte_and_the_length_are_in_the_sum(void **state)
{
    uint8_t data[20] = {0};

    (void)state;
    for (size_t len = 0; len < sizeof(data); len++) {
        uint64_t sum = snapshot_sum(data, len);

        assert_true(sum != snapshot_sum(data, len + 1));
        for (size_t i = 0; i < len; i++) {
            data[i] = 0x80;
            assert_true(sum != snapshot_sum(data, len));
            data[i] = 0;
        }
    }
}

static void a_cut_file_is_found(void **state)
{
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    size_t whole = 0;

    (void)state;
    bytes_read(fd, &b);
    whole = b.len;
    for (size_t i = 0; i < whole; i += i < 64 ? 1 : 97) {
        b.len = i;
        check_damage(&new, &b, "saved machine");
        if (i >= HEADER) {
            seal(&b);
            check_damage(&new, &b, "");
            b.len = whole;
            seal(&b);
        }
    }
    b.len = whole + 1;
    seal(&b);
    check_damage(&new, &b, "1 bytes behind its last section");
}

static void another_version_is_told_to_be_built_again(void **state)
{
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    bytes_read(fd, &b);
    wire_put_u32(b.at + 8, SNAPSHOT_VERSION + 1);
    check_damage(&new, &b, "of version 4, this monitor reads 3: build the template again");
}

static void a_state_that_says_it_is_too_large_is_refused(void **state)
{
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    bytes_read(fd, &b);
    wire_put_u32(b.at + 12, SNAPSHOT_BYTES_MAX);
    check_damage(&new, &b, "and should have");
    wire_put_u32(b.at + 12, UINT32_MAX);
    check_damage(&new, &b, "and should have");
}

/* Offset of the nth section's header. */
static size_t section_at(const struct bytes *b, unsigned int nth)
{
    size_t at = HEADER;

    for (unsigned int i = 0; i < nth; i++) {
        at += 8 + wire_get_u32(b->at + at + 4);
    }
    assert_in_range(at, HEADER, b->len - 8);
    return at;
}

/* Sections of a machine with one processor: MACH CPUI VCPU CHIP CLCK DEVI DEVI. */
static void a_section_out_of_its_place_is_refused(void **state)
{
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);
    unsigned int before = fake_kvm_count(KVM_SET_SREGS);

    (void)state;
    for (unsigned int nth = 0; nth < 7; nth++) {
        bytes_read(fd, &b);
        memcpy(b.at + section_at(&b, nth), "OOPS", 4);
        seal(&b);
        check_damage(&new, &b, "a section OOPS where");
    }
    assert_int_equal(fake_kvm_count(KVM_SET_SREGS), before + 4);
}

static void a_section_s_length_is_bounded_by_the_file(void **state)
{
    static const uint32_t lengths[] = {0, 1, 0x7fffffff, 0xfffffff8, 0xffffffff};
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    for (unsigned int nth = 0; nth < 7; nth++) {
        for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
            bytes_read(fd, &b);
            wire_put_u32(b.at + section_at(&b, nth) + 4, lengths[i]);
            seal(&b);
            check_damage(&new, &b, "");
        }
    }
}

/* One byte more inside the nth section than it needs. */
static void a_section_must_be_used_to_its_end(void **state)
{
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    for (unsigned int nth = 0; nth < 7; nth++) {
        size_t at = 0;
        size_t end = 0;

        bytes_read(fd, &b);
        at = section_at(&b, nth);
        end = at + 8 + wire_get_u32(b.at + at + 4);
        memmove(b.at + end + 1, b.at + end, b.len - end);
        b.len++;
        wire_put_u32(b.at + at + 4, wire_get_u32(b.at + at + 4) + 1);
        seal(&b);
        check_damage(&new, &b, nth == 0 ? "wrong length" : "too many");
    }
}

/* Counts inside sections: MSRs, XSAVE bytes, CPUID entries, chip numbers, slots. */
static void counts_are_bounded_before_they_are_used(void **state)
{
    static const uint32_t counts[] = {0x221, 0x10000, 0x7fffffff, 0xffffffff};
    static struct bytes b;
    auto_setup struct setup old;
    auto_setup struct setup new;
    auto_fd int fd = saved(&old, &new, 1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        bytes_read(fd, &b);
        wire_put_u32(b.at + section_at(&b, 2) + 8 + 4, counts[i]);
        seal(&b);
        check_damage(&new, &b, "processor 0 is too short");
        bytes_read(fd, &b);
        wire_put_u32(b.at + section_at(&b, 2) + 8 + 8, counts[i]);
        seal(&b);
        check_damage(&new, &b, "XSAVE");
        bytes_read(fd, &b);
        wire_put_u32(b.at + section_at(&b, 3) + 8, counts[i]);
        seal(&b);
        check_damage(&new, &b, "interrupt controller 0 is saved as");
        bytes_read(fd, &b);
        wire_put_u32(b.at + section_at(&b, 5) + 8, counts[i]);
        seal(&b);
        check_damage(&new, &b, "device");
        bytes_read(fd, &b);
        wire_put_u32(b.at + section_at(&b, 0) + 8 + 16, counts[i]);
        seal(&b);
        check_damage(&new, &b, "sleep register");
    }
}

TEST_MAIN(T(a_machine_goes_on_as_it_was_saved), T(a_state_can_be_restored_many_times),
          T(what_lies_behind_a_state_is_not_its_own),
          T(state_comes_back_in_the_order_that_kvm_needs),
          T(msrs_that_are_commands_or_never_used_are_not_set),
          T(msrs_that_kvm_refuses_are_left_out), T(an_msr_that_this_host_does_not_take_is_named),
          T(another_machine_is_refused), T(a_processor_that_lacks_something_is_refused),
          T(another_xsave_area_is_refused), T(a_host_without_xsave_keeps_the_fpu),
          T(an_xsave_area_that_is_too_large_is_an_error_of_the_host),
          T(a_tsc_of_another_rate_is_scaled_or_refused), T(a_guest_without_kvm_s_clock_needs_none),
          T(every_failed_call_of_a_save_is_named), T(every_failed_call_of_a_restore_is_named),
          T(a_damaged_byte_is_found), T(every_byte_and_the_length_are_in_the_sum),
          T(a_cut_file_is_found), T(another_version_is_told_to_be_built_again),
          T(a_state_that_says_it_is_too_large_is_refused), T(a_section_out_of_its_place_is_refused),
          T(a_section_s_length_is_bounded_by_the_file), T(a_section_must_be_used_to_its_end),
          T(counts_are_bounded_before_they_are_used))
