/* What a guest may know of its processor. */
#include <errno.h>
#include <string.h>

#include "fake-kvm.h"
#include "test.h"
#include "vmm/cpuid.h"

#define INDEXED KVM_CPUID_FLAG_SIGNIFCANT_INDEX

static struct cpuid_table asked(void)
{
    struct kvm_host kvm = {.fd = 100};
    struct cpuid_table table = {.n = 0};
    struct err err = ERR_INIT;

    fake_kvm_reset();
    assert_ok(cpuid_ask(&kvm, &table, &err), &err);
    return table;
}

static const struct kvm_cpuid_entry2 *leaf(const struct cpuid_table *table, uint32_t function,
                                           uint32_t index)
{
    const struct kvm_cpuid_entry2 *found = NULL;

    for (uint32_t i = 0; i < table->n; i++) {
        if (table->entries[i].function == function && table->entries[i].index == index) {
            assert_null(found); /* each once */
            found = &table->entries[i];
        }
    }
    return found;
}

/* One that must be there. */
static struct kvm_cpuid_entry2 need(const struct cpuid_table *table, uint32_t function,
                                    uint32_t index)
{
    const struct kvm_cpuid_entry2 *e = leaf(table, function, index);

    if (e == NULL) {
        fail_msg("no leaf %x.%u", function, index);
    }
    return e == NULL ? (struct kvm_cpuid_entry2){.function = 0} : *e;
}

static void what_is_not_on_the_list_is_not_seen(void **state)
{
    static const struct kvm_cpuid_entry2 host[] = {
        {.function = 0, .eax = 0x20, .ebx = 1, .ecx = 2, .edx = 3},
        {.function = 1, .eax = 0x306c3, .ebx = ~0u, .ecx = ~0u, .edx = ~0u},
        {.function = 5, .eax = ~0u},
        {.function = 7, .flags = INDEXED, .eax = 5, .ebx = ~0u, .ecx = ~0u, .edx = ~0u},
        {.function = 0xa, .eax = ~0u},
        {.function = 0xb, .flags = INDEXED, .eax = ~0u},
        {.function = 0xd, .flags = INDEXED, .eax = ~0u, .ebx = 99, .ecx = ~0u, .edx = ~0u},
        {.function = 0xd, .index = 1, .flags = INDEXED, .eax = ~0u, .ecx = ~0u, .edx = ~0u},
        {.function = 0xd, .index = 2, .flags = INDEXED, .eax = 256, .ebx = 576},
        {.function = 0xd, .index = 9, .flags = INDEXED, .eax = 8, .ebx = 2688},
        {.function = 0xd, .index = 18, .flags = INDEXED, .eax = 8192, .ebx = 2816},
        {.function = 0x40000000, .eax = 0x40000010, .ebx = 7},
        {.function = 0x40000001, .eax = ~0u, .edx = ~0u},
        {.function = 0x80000000, .eax = 0x80000021},
        {.function = 0x80000001, .ecx = ~0u, .edx = ~0u},
        {.function = 0x80000008, .eax = 0x3030, .ebx = ~0u, .ecx = ~0u},
        {.function = 0x8000000a, .eax = ~0u},
        {.function = 0x8000001e, .eax = ~0u},
    };
    struct kvm_host kvm = {.fd = 100};
    struct cpuid_table t = {.n = 0};
    struct err err = ERR_INIT;

    fake_kvm_reset();
    fake_kvm_cpuid(host, ARRAY_LEN(host));
    assert_ok(cpuid_ask(&kvm, &t, &err), &err);
    assert_int_equal(need(&t, 0, 0).eax, 0xd);
    assert_int_equal(need(&t, 0x80000000, 0).eax, 0x80000008);
    assert_int_equal(need(&t, 0x40000000, 0).eax, 0x40000001);
    assert_null(leaf(&t, 5, 0));          /* MONITOR */
    assert_null(leaf(&t, 0xa, 0));        /* counters */
    assert_null(leaf(&t, 0x8000000a, 0)); /* SVM */
    assert_null(leaf(&t, 0x8000001e, 0)); /* the host's topology */
    assert_null(leaf(&t, 0xd, 9));        /* PKRU */
    assert_null(leaf(&t, 0xd, 18));       /* AMX */
    assert_int_equal(need(&t, 1, 0).ecx & (1u << 3 | 1u << 5 | 1u << 15 | 1u << 27), 0);
    assert_int_equal(need(&t, 1, 0).edx & (1u << 7 | 1u << 14 | 1u << 28), 0);
    assert_int_equal(need(&t, 1, 0).ebx, 0xff00);
    assert_int_equal(need(&t, 7, 0).eax, 1);
    assert_int_equal(need(&t, 7, 0).ebx & (1u << 4 | 1u << 11 | 1u << 14 | 1u << 2), 0);
    assert_int_equal(need(&t, 0x80000001, 0).ecx & (1u << 2 | 1u << 10 | 1u << 22 | 1u << 23), 0);
    assert_int_equal(need(&t, 0x40000001, 0).eax, 1u << 24 | 1u << 6 | 0xb);
    assert_int_equal(need(&t, 0xd, 0).eax, 0xe7);
    assert_int_equal(need(&t, 0xd, 0).ecx, 576 + 256); /* of what is left */
    assert_int_equal(need(&t, 0xd, 1).ecx, 0);
    (void)state;
}

static void the_interrupt_controllers_features_are_added(void **state)
{
    struct cpuid_table t = asked();
    uint32_t ecx = need(&t, 1, 0).ecx;

    assert_int_equal(ecx & (1u << 21 | 1u << 24 | 1u << 31), 1u << 21 | 1u << 24 | 1u << 31);
    (void)state;
}

static void processors_differ_in_their_apic_id_alone(void **state)
{
    struct cpuid_table base = asked();
    struct cpuid_table a, b;

    cpuid_for(&base, 0, 3, &a);
    cpuid_for(&base, 2, 3, &b);
    assert_int_equal(a.n, b.n);
    assert_int_equal(need(&a, 1, 0).ebx >> 16, 3);
    assert_int_equal(need(&b, 1, 0).ebx >> 16, 0x203);
    assert_int_not_equal(need(&a, 1, 0).edx & (1u << 28), 0);
    assert_int_equal(need(&b, 0xb, 0).ebx, 1); /* threads of a core */
    assert_int_equal(need(&b, 0xb, 0).ecx, 0x100);
    assert_int_equal(need(&b, 0xb, 1).eax, 2); /* bits of an id */
    assert_int_equal(need(&b, 0xb, 1).ebx, 3); /* cores */
    assert_int_equal(need(&b, 0xb, 1).ecx, 0x201);
    assert_int_equal(need(&b, 0xb, 1).edx, 2);
    assert_int_equal(need(&b, 0x80000008, 0).ecx, 2u << 12 | 2);
    for (uint32_t i = 0; i < a.n; i++) {
        struct kvm_cpuid_entry2 x = a.entries[i], y = b.entries[i];
        if (x.function == 1) {
            x.ebx &= 0xffffffu;
            y.ebx &= 0xffffffu;
        } else if (x.function == 0xb) {
            x.edx = y.edx;
        }
        assert_memory_equal(&x, &y, sizeof(x));
    }
    cpuid_for(&base, 0, 1, &a);
    assert_int_equal(need(&a, 1, 0).edx & (1u << 28), 0);
    assert_int_equal(need(&a, 0x80000001, 0).ecx & 2, 0);
    (void)state;
}

static void a_full_table_takes_no_more(void **state)
{
    struct cpuid_table base = {.n = CPUID_ENTRIES_MAX}, t;

    for (uint32_t i = 0; i < base.n; i++) {
        base.entries[i] = (struct kvm_cpuid_entry2){.function = i == 0 ? 0 : 100 + i, .eax = 0xd};
    }
    cpuid_for(&base, 0, 1, &t);
    assert_int_equal(t.n, CPUID_ENTRIES_MAX);
    (void)state;
}

static void a_saved_machine_goes_on_where_nothing_is_missing(void **state)
{
    struct cpuid_table saved = asked();
    struct cpuid_table host = saved;
    uint32_t which = 7777;

    assert_true(cpuid_carries(&host, &saved, &which));
    assert_int_equal(which, 7777);
    for (uint32_t i = 0; i < host.n; i++) {
        if (host.entries[i].function == 7) {
            host.entries[i].ebx |= 1u << 5; /* more than it saw */
        }
    }
    assert_true(cpuid_carries(&host, &saved, &which));
    assert_false(cpuid_carries(&saved, &host, &which)); /* the other way round */
    assert_int_equal(which, 7);
    host = saved;
    for (uint32_t i = 0; i < host.n; i++) {
        if (host.entries[i].function == 0) {
            host.entries[i].edx++; /* another maker */
        }
    }
    assert_false(cpuid_carries(&host, &saved, &which));
    assert_int_equal(which, 0);
    host = saved;
    host.n--;
    assert_false(cpuid_carries(&host, &saved, &which));
    assert_int_equal(which, saved.entries[saved.n - 1].function);
    (void)state;
}

static void a_leaf_of_no_machine_of_ours_is_not_carried(void **state)
{
    struct cpuid_table host = asked();
    struct cpuid_table saved = host;
    uint32_t which = 0;

    host.entries[host.n++] = (struct kvm_cpuid_entry2){.function = 0x8000000a, .eax = 1};
    saved.entries[saved.n++] = (struct kvm_cpuid_entry2){.function = 0x8000000a, .eax = 1};
    assert_false(cpuid_carries(&host, &saved, &which));
    assert_int_equal(which, 0x8000000a);
    saved.n = CPUID_ENTRIES_MAX + 1000; /* a count that lies reads nothing behind the table */
    assert_false(cpuid_carries(&host, &saved, &which));
    (void)state;
}

static void a_kvm_that_says_too_little_is_refused(void **state)
{
    static const struct kvm_cpuid_entry2 host[] = {{.function = 0, .eax = 1}, {.function = 1}};
    struct kvm_host kvm = {.fd = 100};
    struct cpuid_table t = {.n = 0};
    struct err err = ERR_INIT;

    fake_kvm_reset();
    fake_kvm_cpuid(host, ARRAY_LEN(host));
    assert_int_equal(cpuid_ask(&kvm, &t, &err), -EPROTO);
    assert_int_equal(err.class, ERR_HOST);
    err = (struct err)ERR_INIT;
    fake_kvm_fail(1, E2BIG);
    assert_int_equal(cpuid_ask(&kvm, &t, &err), -E2BIG);
    assert_non_null(strstr(err.msg, "KVM_GET_SUPPORTED_CPUID"));
    (void)state;
}

TEST_MAIN(T(what_is_not_on_the_list_is_not_seen), T(the_interrupt_controllers_features_are_added),
          T(processors_differ_in_their_apic_id_alone), T(a_full_table_takes_no_more),
          T(a_saved_machine_goes_on_where_nothing_is_missing),
          T(a_leaf_of_no_machine_of_ours_is_not_carried), T(a_kvm_that_says_too_little_is_refused))
