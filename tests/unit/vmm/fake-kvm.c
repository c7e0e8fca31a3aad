#include "fake-kvm.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vmm/kvm.h"

#define KEPT_MAX  256u
#define MSRS_KEPT 1024u
#define CALLS_MAX 4096u

/* What one descriptor was told with one request (sub: the interrupt controller). */
struct kept {
    int fd;
    unsigned long get;
    uint32_t sub;
    uint8_t bytes[8192];
};

struct kept_msr {
    int fd;
    uint32_t index;
    uint64_t value;
};

static struct fake {
    unsigned int calls, fail_in;
    int fail_errnum;
    unsigned long requests[CALLS_MAX];
    size_t n_kept, n_msrs;
    struct kept_msr msrs[MSRS_KEPT];
    uint32_t refused_reads[8], refused_writes[8];
    unsigned int n_refused_reads, n_refused_writes;
    int extensions[512]; /* value + 1 */
    unsigned int tsc_khz;
    int (*run)(int fd);
    const struct kvm_cpuid_entry2 *cpuid; /* NULL: the one below */
    size_t n_cpuid;
    struct kept kept[KEPT_MAX]; /* last, for fake_kvm_reset() */
} fake;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Requests that read back what another sets, whole structures of a fixed size. */
static const struct {
    unsigned long get, set;
} pairs[] = {
    {KVM_GET_REGS, KVM_SET_REGS},
    {KVM_GET_SREGS, KVM_SET_SREGS},
    {KVM_GET_FPU, KVM_SET_FPU},
    {KVM_GET_XSAVE, KVM_SET_XSAVE},
    {KVM_GET_XSAVE2, KVM_SET_XSAVE},
    {KVM_GET_XCRS, KVM_SET_XCRS},
    {KVM_GET_DEBUGREGS, KVM_SET_DEBUGREGS},
    {KVM_GET_LAPIC, KVM_SET_LAPIC},
    {KVM_GET_MP_STATE, KVM_SET_MP_STATE},
    {KVM_GET_VCPU_EVENTS, KVM_SET_VCPU_EVENTS},
    {KVM_GET_CLOCK, KVM_SET_CLOCK},
    {KVM_GET_IRQCHIP, KVM_SET_IRQCHIP},
    {KVM_GET_CPUID2, KVM_SET_CPUID2},
};

/* Of the kinds that matter: time, system calls, paging, KVM's clock, Hyper-V's, and one nobody has. */
static const uint32_t msr_list[] = {
    0x10,       0x174,      0x175,      0x176,      0x277,      0x6e0,      0x1a0,
    0xc0000081, 0xc0000082, 0xc0000083, 0xc0000084, 0xc0000102, 0xc0000103, 0x4b564d00,
    0x4b564d01, 0x11,       0x12,       0x40000000, 0x40000118, 0xdead,
};

void fake_kvm_reset(void)
{
    memset(fake.kept, 0, fake.n_kept * sizeof(fake.kept[0])); /* large, and mostly empty */
    memset(&fake, 0, offsetof(struct fake, kept));
    fake.tsc_khz = 2000000;
}

void fake_kvm_cpuid(const struct kvm_cpuid_entry2 *entries, size_t n)
{
    fake.cpuid = entries;
    fake.n_cpuid = n;
}

void fake_kvm_on_run(int (*run)(int fd))
{
    fake.run = run;
}

void fake_kvm_tsc_khz(unsigned int khz)
{
    fake.tsc_khz = khz;
}

unsigned int fake_kvm_calls(void)
{
    return fake.calls;
}

void fake_kvm_fail(unsigned int nth, int errnum)
{
    fake.fail_in = nth;
    fake.fail_errnum = errnum;
}

unsigned int fake_kvm_count(unsigned long request)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < fake.calls && i < CALLS_MAX; i++) {
        n += fake.requests[i] == request;
    }
    return n;
}

unsigned long fake_kvm_request(unsigned int nth)
{
    return nth < fake.calls && nth < CALLS_MAX ? fake.requests[nth] : 0;
}

void fake_kvm_extension(unsigned int capability, int value)
{
    assert(capability < ARRAY_LEN(fake.extensions));
    fake.extensions[capability] = value + 1;
}

void fake_kvm_refuse_msr(uint32_t index, bool reads, bool writes)
{
    assert(fake.n_refused_reads < 8 && fake.n_refused_writes < 8);
    if (reads) {
        fake.refused_reads[fake.n_refused_reads++] = index;
    }
    if (writes) {
        fake.refused_writes[fake.n_refused_writes++] = index;
    }
}

static bool is_in(const uint32_t *list, unsigned int n, uint32_t index)
{
    for (unsigned int i = 0; i < n; i++) {
        if (list[i] == index) {
            return true;
        }
    }
    return false;
}

static struct kept_msr *find_msr(int fd, uint32_t index)
{
    for (size_t i = 0; i < fake.n_msrs; i++) {
        if (fake.msrs[i].fd == fd && fake.msrs[i].index == index) {
            return &fake.msrs[i];
        }
    }
    assert(fake.n_msrs < MSRS_KEPT);
    fake.msrs[fake.n_msrs] = (struct kept_msr){.fd = fd, .index = index};
    return &fake.msrs[fake.n_msrs++];
}

uint64_t fake_kvm_msr(int fd, uint32_t index)
{
    return find_msr(fd, index)->value;
}

void fake_kvm_set_msr(int fd, uint32_t index, uint64_t value)
{
    find_msr(fd, index)->value = value;
}

/* As KVM: it has MTRRs, but does not list them. */
static bool is_known(uint32_t index)
{
    return index == 0x2ff || (index >= 0x200 && index < 0x210) ||
           is_in(msr_list, ARRAY_LEN(msr_list), index);
}

/* As KVM: in order, up to the first that is refused; the number of those that were not. */
static int pass_msrs(int fd, struct kvm_msrs *msrs, bool writes)
{
    for (uint32_t i = 0; i < msrs->nmsrs; i++) {
        struct kvm_msr_entry *e = &msrs->entries[i];

        if (!is_known(e->index) ||
            (writes ? is_in(fake.refused_writes, fake.n_refused_writes, e->index)
                    : is_in(fake.refused_reads, fake.n_refused_reads, e->index))) {
            return (int)i;
        }
        if (writes) {
            find_msr(fd, e->index)->value = e->data;
        } else {
            e->data = find_msr(fd, e->index)->value;
        }
    }
    return (int)msrs->nmsrs;
}

static int list_msrs(struct kvm_msr_list *list)
{
    uint32_t room = list->nmsrs;

    list->nmsrs = ARRAY_LEN(msr_list);
    if (room < ARRAY_LEN(msr_list)) {
        return -E2BIG;
    }
    memcpy(list->indices, msr_list, sizeof(msr_list));
    return 0;
}

static struct kept *find_kept(int fd, unsigned long get, uint32_t sub)
{
    struct kept *k = fake.kept;

    for (; k < fake.kept + fake.n_kept; k++) {
        if (k->fd == fd && k->get == get && k->sub == sub) {
            return k;
        }
    }
    assert(fake.n_kept < KEPT_MAX);
    fake.n_kept++;
    k->fd = fd;
    k->get = get;
    k->sub = sub;
    return k;
}

static size_t size_of(unsigned long request, const void *arg)
{
    if (request == KVM_SET_CPUID2 || request == KVM_GET_CPUID2) {
        const struct kvm_cpuid2 *cpuid = arg;

        return sizeof(*cpuid) + cpuid->nent * sizeof(cpuid->entries[0]);
    }
    return request == KVM_GET_XSAVE2 ? sizeof(struct kvm_xsave) : _IOC_SIZE(request);
}

/* 1 if the request is one of a pair. */
static int keep(int fd, unsigned long request, void *arg)
{
    uint32_t sub = 0;

    if (request == KVM_GET_IRQCHIP || request == KVM_SET_IRQCHIP) {
        sub = ((const struct kvm_irqchip *)arg)->chip_id;
    }
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        /* XSAVE and XSAVE2 are one area */
        unsigned long key = pairs[i].set;
        size_t size = size_of(request, arg);

        assert(size <= sizeof(fake.kept[0].bytes));
        if (request == pairs[i].set) {
            memcpy(find_kept(fd, key, sub)->bytes, arg, size);
            return 1;
        }
        if (request == pairs[i].get) {
            memcpy(arg, find_kept(fd, key, sub)->bytes, size);
            if (request == KVM_GET_IRQCHIP) {
                ((struct kvm_irqchip *)arg)->chip_id = sub;
            }
            return 1;
        }
    }
    return 0;
}

static int supported_cpuid(struct kvm_cpuid2 *cpuid)
{
    static const struct kvm_cpuid_entry2 entries[] = {
        {.function = 0, .eax = 0xd, .ebx = 0x756e6547, .ecx = 0x6c65746e, .edx = 0x49656e69},
        {.function = 1, .eax = 0x306c3, .ebx = 0, .ecx = 0x81202220, .edx = 0x0f8bfbff},
        {.function = 7, .flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX, .ebx = 0x209},
        {.function = 0x40000000,
         .eax = 0x40000001,
         .ebx = 0x4b4d564b,
         .ecx = 0x564b4d56,
         .edx = 0x4d},
        {.function = 0x40000001, .eax = 0x01007efb},
        {.function = 0x80000000, .eax = 0x80000008},
        {.function = 0x80000001, .ecx = 0x121, .edx = 0x2c100800},
        {.function = 0x80000008, .eax = 0x3028},
    };

    const struct kvm_cpuid_entry2 *from = fake.cpuid != NULL ? fake.cpuid : entries;
    size_t n = fake.cpuid != NULL ? fake.n_cpuid : ARRAY_LEN(entries);

    if (cpuid->nent < n) {
        return -E2BIG;
    }
    cpuid->nent = (uint32_t)n;
    memcpy(cpuid->entries, from, n * sizeof(*from));
    return 0;
}

static int make_fd(size_t size)
{
    int fd = memfd_create("fake-kvm", MFD_CLOEXEC);

    return fd >= 0 && ftruncate(fd, (off_t)size) == 0 ? fd : -errno;
}

static int answer(int fd, unsigned long request, void *arg)
{
    uintptr_t number = (uintptr_t)arg;

    switch (request) {
    case KVM_GET_API_VERSION:
        return KVM_API_VERSION;
    case KVM_CHECK_EXTENSION:
        return number >= ARRAY_LEN(fake.extensions) || fake.extensions[number] == 0
                   ? 1
                   : fake.extensions[number] - 1;
    case KVM_GET_VCPU_MMAP_SIZE:
        return (int)FAKE_KVM_RUN_SIZE;
    case KVM_CREATE_VM:
        return make_fd(0);
    case KVM_CREATE_VCPU:
        return make_fd(FAKE_KVM_RUN_SIZE);
    case KVM_GET_SUPPORTED_CPUID:
        return supported_cpuid(arg);
    case KVM_GET_MSR_INDEX_LIST:
        return list_msrs(arg);
    case KVM_GET_MSRS:
    case KVM_SET_MSRS:
        return pass_msrs(fd, arg, request == KVM_SET_MSRS);
    case KVM_GET_TSC_KHZ:
        return (int)fake.tsc_khz;
    default:
        (void)keep(fd, request, arg);
        return 0;
    }
}

int kvm_call(int fd, unsigned long request, void *arg)
{
    int (*run)(int fd) = NULL;
    int r = 0;

    (void)pthread_mutex_lock(&lock);
    if (fake.calls < CALLS_MAX) {
        fake.requests[fake.calls] = request;
    }
    fake.calls++;
    if (fake.fail_in > 0 && --fake.fail_in == 0) {
        r = -fake.fail_errnum;
    } else if (request == KVM_RUN) {
        r = -EINTR;
        run = fake.run;
    } else {
        r = answer(fd, request, arg);
    }
    (void)pthread_mutex_unlock(&lock);
    return run != NULL ? run(fd) : r;
}
