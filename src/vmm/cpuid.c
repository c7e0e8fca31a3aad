/*
 * How it works: one table says which leaves a guest sees and which bits of each word. A word whose
 * mask is neither 0 nor all ones is a set of features: a saved machine may go on where there are
 * more of them. Every other word is a number, and must be the same. What depends on the processor's
 * index and on their count is left out of the base table and added by cpuid_for().
 *
 * Bits: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E; Linux Documentation/virt/kvm/x86/
 * cpuid.rst for 0x40000000.
 */
#include "vmm/cpuid.h"

#include <errno.h>

#define ALL UINT32_MAX

/* Features that KVM_GET_SUPPORTED_CPUID leaves to us, since its own interrupt controller has them. */
#define ECX1_X2APIC       (1u << 21)
#define ECX1_TSC_DEADLINE (1u << 24)
#define ECX1_HYPERVISOR   (1u << 31)
#define EDX1_HTT          (1u << 28)
#define ECX81_CMP_LEGACY  (1u << 1) /* AMD: what HTT counts are cores */
#define CACHE_OWN_BITS    0x3fffu   /* of leaf 4, without what says who shares it */
#define BASIC_MAX         0xdu
#define EXTENDED_MAX      0x80000008u
#define KVM_LEAF          0x40000000u
#define TOPOLOGY_LEAF     0xbu

#define XSAVE_LEGACY_SIZE 576u

static const struct rule {
    uint32_t first, last; /* leaves */
    uint32_t index, index_last;
    uint32_t mask[4]; /* EAX, EBX, ECX, EDX */
} rules[] = {
    {0x0, 0x0, 0, 0, {ALL, ALL, ALL, ALL}},
    /* No MONITOR, VMX, SMX, thermal, PDCM, DCA, OSXSAVE (KVM keeps it), MCE and MCA. */
    {0x1, 0x1, 0, 0, {ALL, 0x0000ff00, 0xf7fa3203, 0x0f8bbb7f}},
    {0x2, 0x2, 0, 0, {ALL, ALL, ALL, ALL}},
    {0x4, 0x4, 0, 3, {ALL, ALL, ALL, ALL}},
    {0x6, 0x6, 0, 0, {0x4, 0, 0, 0}}, /* the local timer never stops */
    /* No HLE, RTM, MPX, PT, RDT, SGX, PKU, LA57, WAITPKG, AMX, and no PMU. */
    {0x7, 0x7, 0, 0, {1, 0xf1bf07ab, 0x00405f46, 0xac804410}},
    {0x7, 0x7, 1, 1, {0x30, 0, 0, 0}},
    /* x87, SSE, AVX and AVX-512; the sizes are counted by cpuid_ask(). */
    {0xd, 0xd, 0, 0, {0xe7, 0, 0, 0}},
    {0xd, 0xd, 1, 1, {0xf, 0, 0, 0}},
    {0xd, 0xd, 2, 2, {ALL, ALL, ALL, ALL}},
    {0xd, 0xd, 5, 7, {ALL, ALL, ALL, ALL}},
    {KVM_LEAF, KVM_LEAF, 0, 0, {0, ALL, ALL, ALL}},
    /*
     * The clock, stable, and ends of interrupts by a byte in memory: else each costs an exit where the
     * interrupt controller is KVM's alone. No page faults, stolen time and wake-ups by KVM.
     */
    {KVM_LEAF + 1, KVM_LEAF + 1, 0, 0, {0x0100004b, 0, 0, 0}},
    {0x80000000, 0x80000000, 0, 0, {ALL, ALL, ALL, ALL}},
    /* No SVM, extended APIC space, OSVW, IBS, SKINIT, WDT, counters, topology extensions. */
    {0x80000001, 0x80000001, 0, 0, {ALL, 0, 0x000001f1, 0x2fd3bb7f}},
    {0x80000002, 0x80000006, 0, 0, {ALL, ALL, ALL, ALL}},
    {0x80000008, 0x80000008, 0, 0, {ALL, 0x0500d205, 0, 0}},
};

static const struct rule *rule_for(const struct kvm_cpuid_entry2 *e)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (e->function >= rules[i].first && e->function <= rules[i].last &&
            e->index >= rules[i].index && e->index <= rules[i].index_last) {
            return &rules[i];
        }
    }
    return NULL;
}

static struct kvm_cpuid_entry2 *find(struct cpuid_table *table, uint32_t function, uint32_t index)
{
    for (uint32_t i = 0; i < table->n && i < CPUID_ENTRIES_MAX; i++) {
        struct kvm_cpuid_entry2 *e = &table->entries[i];
        if (e->function == function && e->index == index) {
            return e;
        }
    }
    return NULL;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The sizes of what XSAVE saves, for the states that are left. */
static void count_xsave(struct cpuid_table *table)
{
    struct kvm_cpuid_entry2 *head = find(table, 0xd, 0);

    if (head == NULL) {
        return;
    }
    head->ecx = XSAVE_LEGACY_SIZE;
    for (uint32_t bit = 2; bit < 8; bit++) {
        const struct kvm_cpuid_entry2 *e = find(table, 0xd, bit);
        if (e != NULL && (head->eax & (1u << bit)) != 0 && e->ebx + e->eax > head->ecx) {
            head->ecx = e->ebx + e->eax;
        }
    }
    head->ebx = head->ecx;
}

/* What the masks alone do not say. */
static void adjust(struct cpuid_table *table)
{
    for (uint32_t i = 0; i < table->n; i++) {
        struct kvm_cpuid_entry2 *e = &table->entries[i];

        switch (e->function) {
        case 0:
            e->eax = least(e->eax, BASIC_MAX);
            break;
        case 1:
            e->ecx |= ECX1_X2APIC | ECX1_TSC_DEADLINE | ECX1_HYPERVISOR;
            break;
        case 4:
            e->eax &= CACHE_OWN_BITS;
            break;
        case KVM_LEAF:
            e->eax = KVM_LEAF + 1;
            break;
        case 0x80000000:
            e->eax = least(e->eax, EXTENDED_MAX);
            break;
        default:
            break;
        }
    }
    count_xsave(table);
}

int cpuid_ask(const struct kvm_host *kvm, struct cpuid_table *ret, struct err *err)
{
    struct cpuid_table all = {.n = CPUID_ENTRIES_MAX};
    int r = KVM_DO(kvm->fd, KVM_GET_SUPPORTED_CPUID, &all, err);

    if (r < 0) {
        return r;
    }
    if (all.n > CPUID_ENTRIES_MAX) {
        return err_set(err, ERR_HOST, EPROTO, "KVM_GET_SUPPORTED_CPUID: %u entries in %u", all.n,
                       CPUID_ENTRIES_MAX);
    }
    *ret = (struct cpuid_table){.n = 0};
    for (uint32_t i = 0; i < all.n; i++) {
        struct kvm_cpuid_entry2 e = all.entries[i];
        const struct rule *rule = rule_for(&e);

        if (rule != NULL && find(ret, e.function, e.index) == NULL) {
            e.eax &= rule->mask[0];
            e.ebx &= rule->mask[1];
            e.ecx &= rule->mask[2];
            e.edx &= rule->mask[3];
            ret->entries[ret->n++] = e;
        }
    }
    adjust(ret);
    if (find(ret, 0, 0) == NULL || find(ret, 1, 0) == NULL || find(ret, KVM_LEAF + 1, 0) == NULL) {
        return err_set(err, ERR_HOST, EPROTO, "KVM_GET_SUPPORTED_CPUID: leaf 0, 1 or %#x missing",
                       KVM_LEAF + 1);
    }
    return 0;
}

static void add(struct cpuid_table *table, struct kvm_cpuid_entry2 entry)
{
    if (table->n < CPUID_ENTRIES_MAX) {
        table->entries[table->n++] = entry;
    }
}

/* One thread for each core, n cores in the package: Intel SDM, CPUID leaf 0BH. */
static void add_topology(struct cpuid_table *table, unsigned int index, unsigned int n,
                         unsigned int shift)
{
    add(table, (struct kvm_cpuid_entry2){.function = TOPOLOGY_LEAF,
                                         .index = 0,
                                         .flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX,
                                         .eax = 0,
                                         .ebx = 1,
                                         .ecx = 1u << 8, /* level 0: threads */
                                         .edx = index});
    add(table, (struct kvm_cpuid_entry2){.function = TOPOLOGY_LEAF,
                                         .index = 1,
                                         .flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX,
                                         .eax = shift,
                                         .ebx = n,
                                         .ecx = (2u << 8) | 1, /* level 1: cores */
                                         .edx = index});
}

void cpuid_for(const struct cpuid_table *base, unsigned int index, unsigned int n,
               struct cpuid_table *ret)
{
    unsigned int shift = 0; /* bits of an APIC id that number the cores */
    uint32_t max_basic = 0;

    while ((1u << shift) < n) {
        shift++;
    }
    *ret = *base;
    for (uint32_t i = 0; i < ret->n; i++) {
        struct kvm_cpuid_entry2 *e = &ret->entries[i];
        uint32_t level = (e->eax >> 5) & 7;

        if (e->function == 0) {
            max_basic = e->eax;
        } else if (e->function == 1) {
            e->ebx = (e->ebx & 0xffffu) | (n << 16) | (index << 24);
            e->edx |= n > 1 ? EDX1_HTT : 0;
        } else if (e->function == 4 && (e->eax & 0x1f) != 0) {
            e->eax |= (((1u << shift) - 1) << 26) | (level == 3 ? ((1u << shift) - 1) << 14 : 0);
        } else if (e->function == 0x80000001) {
            e->ecx |= n > 1 ? ECX81_CMP_LEGACY : 0;
        } else if (e->function == 0x80000008) {
            e->ecx = (n - 1) | (shift << 12);
        }
    }
    if (max_basic >= TOPOLOGY_LEAF) {
        add_topology(ret, index, n, shift);
    }
}

/* A word of a saved machine against this host's. */
static bool word_carries(uint32_t host, uint32_t saved, uint32_t mask)
{
    if (mask == 0) {
        return true; /* not the host's but counted from other words */
    }
    return mask == ALL ? host == saved : (saved & ~host) == 0;
}

bool cpuid_carries(const struct cpuid_table *host, const struct cpuid_table *saved,
                   uint32_t *ret_leaf)
{
    struct cpuid_table here = *host;

    for (uint32_t i = 0; i < saved->n && i < CPUID_ENTRIES_MAX; i++) {
        const struct kvm_cpuid_entry2 *s = &saved->entries[i];
        const struct kvm_cpuid_entry2 *h = find(&here, s->function, s->index);
        const struct rule *rule = rule_for(s);

        if (h == NULL || rule == NULL || !word_carries(h->eax, s->eax, rule->mask[0]) ||
            !word_carries(h->ebx, s->ebx, rule->mask[1]) ||
            !word_carries(h->ecx, s->ecx, rule->mask[2]) ||
            !word_carries(h->edx, s->edx, rule->mask[3])) {
            *ret_leaf = s->function;
            return false;
        }
    }
    return true;
}
