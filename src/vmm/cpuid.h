/*
 * cpuid.h - what the guest may know of its processor: an allow-list over what KVM supports.
 *
 * No nested virtualization, no performance counters, no features that a clone on another run of the
 * same host could lack; the TSC frequency is told (leaf 0x15 or kvmclock), topology is one thread
 * for each core of one package, APIC id = index.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "vmm/kvm.h"

#define CPUID_ENTRIES_MAX 128u

struct cpuid_table {
    uint32_t n, padding; /* as struct kvm_cpuid2 */
    struct kvm_cpuid_entry2 entries[CPUID_ENTRIES_MAX];
};

/* KVM_GET_SUPPORTED_CPUID, filtered; the same for every processor but for its APIC id. */
must_use int cpuid_ask(const struct kvm_host *kvm, struct cpuid_table *ret,
                       struct err *err) nonnull_all;
/* The table for processor index of n. */
void cpuid_for(const struct cpuid_table *base, unsigned int index, unsigned int n,
               struct cpuid_table *ret) nonnull_all;
/*
 * True if a machine that saw `saved` can go on with `host`: no leaf that it saw has lost a bit or
 * changed. Else *ret_leaf is the first that differs.
 */
must_use bool cpuid_carries(const struct cpuid_table *host, const struct cpuid_table *saved,
                            uint32_t *ret_leaf) nonnull_all;
