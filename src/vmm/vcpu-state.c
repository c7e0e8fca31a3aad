/*
 * How it works.  A processor's state is what KVM's own structures hold, kept as they are: their layout
 * is KVM's ABI.  What may differ between hosts (the size of the XSAVE area, XCRs, the rate of the TSC,
 * the MSRs) is told beside them and compared or tried before the guest runs.
 *
 * KVM's ioctls depend on each other (arch/x86/kvm/x86.c), hence the order, after CPUID:
 *   TSC rate      before the TSC's value, which is an offset in cycles of that rate
 *   SREGS         CR4, EFER and the APIC's base: what XSAVE, MSRs and LAPIC are checked against; wakes
 *                 a processor at the reset vector, so before MP_STATE
 *   XCRS, XSAVE
 *   REGS          drops a pending exception, so before VCPU_EVENTS
 *   MSRS          the clock's pages are in RAM, which is there
 *   LAPIC         with the mode that the APIC's base says
 *   TSC deadline  arms the timer that the LAPIC must have in that mode, from the TSC
 *   DEBUGREGS, VCPU_EVENTS, MP_STATE
 * Saving begins with MP_STATE: KVM first carries out an INIT or SIPI that waits.
 */
#include <asm/kvm_para.h>
#include <errno.h>
#include <string.h>

#include "vmm/snapshot.h"

#define MSR_TSC          0x10u
#define MSR_TSC_DEADLINE 0x6e0u
/* Hyper-V's: never told of in CPUID, so never used; setting one makes KVM allocate for it. */
#define MSR_HYPERV_FIRST 0x40000000u
#define MSR_HYPERV_LAST  0x4000ffffu

#define LISTED_MAX 512u               /* of KVM's list; Linux 6.1 has less than 200 */
#define MSRS_MAX   (LISTED_MAX + 32u) /* MTRRs, too */
#define XSAVE_MAX  16384u             /* bytes of an area; with AMX it is 11 KiB */

/* TSC rates this close are one: measured, not scaled (KVM's own tolerance, tsc_tolerance_ppm). */
#define TSC_TOLERANCE_PPM 250u

/* struct kvm_msrs, with room. */
struct msrs {
    uint32_t n, pad;
    struct kvm_msr_entry entries[MSRS_MAX];
};

struct one_msr {
    uint32_t n, pad;
    struct kvm_msr_entry entry;
};

/* struct kvm_msr_list, with room. */
struct msr_list {
    uint32_t n;
    uint32_t indices[LISTED_MAX];
};

/* The beginning of a VCPU section; xsave_bytes of XSAVE and n_msrs entries follow. */
struct image {
    uint32_t tsc_khz;
    uint32_t n_msrs;
    uint32_t xsave_bytes; /* 0: fpu holds it */
    uint32_t has_xcrs;
    struct kvm_sregs sregs;
    struct kvm_regs regs;
    struct kvm_fpu fpu;
    struct kvm_xcrs xcrs;
    struct kvm_debugregs debugregs;
    struct kvm_lapic_state lapic;
    struct kvm_vcpu_events events;
    struct kvm_mp_state mp_state;
    uint32_t pad;
};

/*
 * What has state of its own. KVM answers a write of the wall clock's by writing into the guest's RAM: a
 * command. The TSC deadline is asked for by itself, to be the last in the list.
 */
static bool is_state(uint32_t msr)
{
    return msr != MSR_KVM_WALL_CLOCK && msr != MSR_KVM_WALL_CLOCK_NEW && msr != MSR_TSC_DEADLINE &&
           (msr < MSR_HYPERV_FIRST || msr > MSR_HYPERV_LAST);
}

/* Gets or sets every entry; one that KVM refuses is taken out of the list. */
static int msrs_pass(const struct vcpu *v, unsigned long request, const char *name,
                     struct msrs *list, struct err *err)
{
    uint32_t done = 0;

    while (done < list->n) {
        struct msrs rest = {.n = list->n - done};
        uint32_t took = 0;
        int r = 0;

        memcpy(rest.entries, list->entries + done, rest.n * sizeof(rest.entries[0]));
        r = kvm_do(v->fd, request, &rest, name, err);
        if (r < 0) {
            return r;
        }
        took = (uint32_t)r < rest.n ? (uint32_t)r : rest.n;
        memcpy(list->entries + done, rest.entries, took * sizeof(rest.entries[0]));
        done += took;
        if (done < list->n) {
            list->n--;
            memmove(list->entries + done, list->entries + done + 1,
                    (list->n - done) * sizeof(list->entries[0]));
        }
    }
    return 0;
}

/* The MTRRs, which KVM keeps but does not list: variable, fixed, default. */
static const struct {
    uint32_t first, last;
} mtrrs[] = {{0x200, 0x20f}, {0x250, 0x250}, {0x258, 0x259}, {0x268, 0x26f}, {0x2ff, 0x2ff}};

static void msrs_add(struct msrs *list, uint32_t index)
{
    if (list->n < MSRS_MAX) {
        list->entries[list->n++] = (struct kvm_msr_entry){.index = index};
    }
}

/*
 * KVM lists what it may have, not what this guest has: what cannot be read holds nothing, and what
 * cannot be set back (tried here, where it changes nothing) is the host's, not the guest's.
 */
static int msrs_get(const struct vcpu *v, struct msrs *ret, struct err *err)
{
    struct msr_list known = {.n = LISTED_MAX};
    int r = KVM_DO(v->machine->kvm.fd, KVM_GET_MSR_INDEX_LIST, &known, err);

    if (r < 0) {
        return r;
    }
    ret->n = 0;
    for (uint32_t i = 0; i < known.n && i < LISTED_MAX; i++) {
        if (is_state(known.indices[i])) {
            msrs_add(ret, known.indices[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(mtrrs); i++) {
        for (uint32_t msr = mtrrs[i].first; msr <= mtrrs[i].last; msr++) {
            msrs_add(ret, msr);
        }
    }
    msrs_add(ret, MSR_TSC_DEADLINE);
    r = msrs_pass(v, KVM_GET_MSRS, "KVM_GET_MSRS", ret, err);
    return r < 0 ? r : msrs_pass(v, KVM_SET_MSRS, "KVM_SET_MSRS", ret, err);
}

/* msrs: begins as struct kvm_msrs does. */
static int msrs_set(const struct vcpu *v, void *msrs, struct err *err)
{
    const struct kvm_msrs *list = msrs;
    int r = list->nmsrs == 0 ? 0 : KVM_DO(v->fd, KVM_SET_MSRS, msrs, err);

    if (r < 0) {
        return r;
    }
    if ((uint32_t)r < list->nmsrs) {
        return err_usage(err,
                         "this host's KVM does not take MSR 0x%x = 0x%llx of the saved machine",
                         list->entries[r].index, list->entries[r].data);
    }
    return 0;
}

static int get_xsave(const struct vcpu *v, uint8_t xsave[XSAVE_MAX], struct err *err)
{
    const struct kvm_host *kvm = &v->machine->kvm;

    if (kvm->xsave_size > XSAVE_MAX) {
        return err_set(err, ERR_HOST, E2BIG,
                       "this host's XSAVE area has %zu bytes, %u are the most that can be saved",
                       kvm->xsave_size, XSAVE_MAX);
    }
    return kvm->xsave_size > sizeof(struct kvm_xsave) ? KVM_DO(v->fd, KVM_GET_XSAVE2, xsave, err)
                                                      : KVM_DO(v->fd, KVM_GET_XSAVE, xsave, err);
}

int vcpu_save(const struct vcpu *v, struct wire_out *out, struct err *err)
{
    const struct kvm_host *kvm = &v->machine->kvm;
    struct image s = {.xsave_bytes = (uint32_t)kvm->xsave_size, .has_xcrs = kvm->has_xcrs};
    uint8_t xsave[XSAVE_MAX];
    struct msrs msrs;
    int r = 0;

    if (KVM_DO(v->fd, KVM_GET_MP_STATE, &s.mp_state, err) < 0 ||
        KVM_DO(v->fd, KVM_GET_REGS, &s.regs, err) < 0 ||
        KVM_DO(v->fd, KVM_GET_SREGS, &s.sregs, err) < 0 ||
        (s.has_xcrs && KVM_DO(v->fd, KVM_GET_XCRS, &s.xcrs, err) < 0) ||
        (s.xsave_bytes > 0 ? get_xsave(v, xsave, err) : KVM_DO(v->fd, KVM_GET_FPU, &s.fpu, err)) <
            0 ||
        KVM_DO(v->fd, KVM_GET_DEBUGREGS, &s.debugregs, err) < 0 ||
        KVM_DO(v->fd, KVM_GET_LAPIC, &s.lapic, err) < 0 || msrs_get(v, &msrs, err) < 0 ||
        KVM_DO(v->fd, KVM_GET_VCPU_EVENTS, &s.events, err) < 0) {
        return err_wrap(err, "save processor %u", v->index);
    }
    r = KVM_DO(v->fd, KVM_GET_TSC_KHZ, NULL, err);
    if (r < 0) {
        return err_wrap(err, "save processor %u", v->index);
    }
    s.tsc_khz = (uint32_t)r;
    s.n_msrs = msrs.n;
    wire_write(out, &s, sizeof(s));
    wire_write(out, xsave, s.xsave_bytes);
    wire_write(out, msrs.entries, msrs.n * sizeof(msrs.entries[0]));
    return 0;
}

static int set_tsc_rate(const struct vcpu *v, uint32_t khz, struct err *err)
{
    int here = KVM_DO(v->fd, KVM_GET_TSC_KHZ, NULL, err);
    uint64_t apart = 0;

    if (here < 0 || (uint32_t)here == khz) {
        return here;
    }
    apart = (uint32_t)here > khz ? (uint32_t)here - khz : khz - (uint32_t)here;
    if (v->machine->kvm.has_tsc_control) {
        return KVM_DO_NUM(v->fd, KVM_SET_TSC_KHZ, khz, err);
    }
    if (apart * 1000000u > (uint64_t)khz * TSC_TOLERANCE_PPM) {
        return err_usage(err,
                         "the saved machine's TSC runs at %u kHz, this host's at %d, and it cannot "
                         "scale: build the template again here",
                         khz, here);
    }
    return 0;
}

/*
 * Before Linux 6.8, KVM takes a TSC written within a second of what the processor has anyway for one
 * more processor to be brought in step, and keeps its own (kvm_synchronize_tsc()). A new machine
 * counts from 0, so a machine saved in its first second would go back: the first processor jumps far
 * away before. The others shall be brought in step with it.
 */
static int set_tsc_apart(const struct vcpu *v, const struct msrs *list, struct err *err)
{
    struct one_msr one = {.n = 0};

    for (uint32_t i = 0; v->index == 0 && i < list->n; i++) {
        if (list->entries[i].index == MSR_TSC) {
            one.n = 1;
            one.entry = list->entries[i];
            one.entry.data += 1ull << 40;
        }
    }
    return msrs_set(v, &one, err);
}

/* Tells a guest that has KVM's clock that it stood still, so that its watchdogs forgive it. */
static int tell_stopped(const struct vcpu *v, struct err *err)
{
    int r = kvm_call(v->fd, KVM_KVMCLOCK_CTRL, NULL);

    /* -EINVAL: it does not use that clock */
    return r < 0 && r != -EINVAL ? err_sys_num(err, -r, "KVM_KVMCLOCK_CTRL") : 0;
}

/* xsave: of s->xsave_bytes; KVM only reads it. */
static int set_all(const struct vcpu *v, struct image *s, const uint8_t *xsave, struct msrs *msrs,
                   struct err *err)
{
    struct one_msr late = {.n = 0};

    if (msrs->n > 0 && msrs->entries[msrs->n - 1].index == MSR_TSC_DEADLINE) {
        late.entry = msrs->entries[--msrs->n];
        late.n = 1;
    }
    if (set_tsc_rate(v, s->tsc_khz, err) < 0 || KVM_DO(v->fd, KVM_SET_SREGS, &s->sregs, err) < 0 ||
        (s->has_xcrs && KVM_DO(v->fd, KVM_SET_XCRS, &s->xcrs, err) < 0) ||
        (s->xsave_bytes > 0 ? KVM_DO(v->fd, KVM_SET_XSAVE, (void *)(uintptr_t)xsave, err)
                            : KVM_DO(v->fd, KVM_SET_FPU, &s->fpu, err)) < 0 ||
        KVM_DO(v->fd, KVM_SET_REGS, &s->regs, err) < 0 || set_tsc_apart(v, msrs, err) < 0 ||
        msrs_set(v, msrs, err) < 0 || KVM_DO(v->fd, KVM_SET_LAPIC, &s->lapic, err) < 0 ||
        msrs_set(v, &late, err) < 0 || KVM_DO(v->fd, KVM_SET_DEBUGREGS, &s->debugregs, err) < 0 ||
        KVM_DO(v->fd, KVM_SET_VCPU_EVENTS, &s->events, err) < 0 ||
        KVM_DO(v->fd, KVM_SET_MP_STATE, &s->mp_state, err) < 0) {
        return -err->errnum;
    }
    return tell_stopped(v, err);
}

int vcpu_restore(struct vcpu *v, struct wire_in *in, struct err *err)
{
    const struct kvm_host *kvm = &v->machine->kvm;
    const uint8_t *at = wire_take(in, sizeof(struct image));
    const uint8_t *xsave = NULL;
    struct msrs msrs = {.n = 0};
    struct image s;
    int r = 0;

    if (at == NULL) {
        return err_usage(err, "the state of processor %u is too short", v->index);
    }
    memcpy(&s, at, sizeof(s));
    if (s.xsave_bytes != kvm->xsave_size || s.xsave_bytes > XSAVE_MAX ||
        s.has_xcrs != kvm->has_xcrs) {
        return err_usage(err,
                         "the saved machine's XSAVE area has %u bytes (%s XCRs), this host's %zu "
                         "(%s): build the template again here",
                         s.xsave_bytes, s.has_xcrs != 0 ? "with" : "without", kvm->xsave_size,
                         kvm->has_xcrs ? "with" : "without");
    }
    xsave = wire_take(in, s.xsave_bytes);
    at = xsave;
    if (at != NULL && s.n_msrs <= MSRS_MAX) {
        msrs.n = s.n_msrs;
        at = wire_take(in, msrs.n * sizeof(msrs.entries[0]));
    }
    if (at == NULL || s.n_msrs > MSRS_MAX) {
        return err_usage(err, "the state of processor %u is too short", v->index);
    }
    memcpy(msrs.entries, at, msrs.n * sizeof(msrs.entries[0]));
    r = set_all(v, &s, xsave, &msrs, err);
    return r < 0 ? err_wrap(err, "go on with processor %u", v->index) : 0;
}
