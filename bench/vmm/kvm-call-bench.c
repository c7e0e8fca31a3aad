/*
 * The monitor's kvm-call.c with a clock and a tape, for bench/vmm. It tells at its end the number of
 * KVM calls before the guest's first exit and the nanoseconds in them; and by the clock, when main()
 * was near, the last of them was done, KVM_RUN was entered, and was left. With TAPE=FD it writes
 * down every call with what was given to it (tape.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tape.h"
#include "vmm/kvm.h"
#include "vmm/start.h"

static int tape = -1;
static int vm_fd = -1;
static uint64_t main_ns, in_kvm_ns, done_ns, enter_ns, exit_ns;
static unsigned int n_calls;

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((constructor)) static void find_tape(void)
{
    const char *text = getenv("TAPE");

    main_ns = now_ns();
    tape = text == NULL ? -1 : (int)strtol(text, NULL, 10);
}

__attribute__((destructor)) static void tell(void)
{
    char line[192];
    int len = snprintf(line, sizeof(line), "kvm: %u %lu %lu %lu %lu %lu\n", n_calls, in_kvm_ns,
                       main_ns, done_ns, enter_ns, exit_ns);

    (void)!write(STDERR_FILENO, line, (size_t)len);
}

/* Bytes that arg points to. Two structures are followed by entries that their first word counts. */
static uint32_t length(unsigned long request, const void *arg)
{
    uint32_t count = 0;

    if (_IOC_DIR(request) == _IOC_NONE || arg == NULL) {
        return 0;
    }
    (void)memcpy(&count, arg, _IOC_SIZE(request) >= sizeof(count) ? sizeof(count) : 0);
    switch (request) {
    case KVM_SET_CPUID2:
    case KVM_GET_SUPPORTED_CPUID:
        return (uint32_t)(sizeof(struct kvm_cpuid2) + count * sizeof(struct kvm_cpuid_entry2));
    case KVM_SET_MSRS:
    case KVM_GET_MSRS:
        return (uint32_t)(sizeof(struct kvm_msrs) + count * sizeof(struct kvm_msr_entry));
    case KVM_GET_MSR_INDEX_LIST:
        return (uint32_t)(sizeof(struct kvm_msr_list) + count * sizeof(uint32_t));
    default:
        return _IOC_SIZE(request);
    }
}

static void record(int fd, unsigned long request, const void *arg)
{
    static const uint8_t padding[8];
    struct tape_record r = {
        .fd = fd == START_FD_KVM ? TAPE_KVM
              : fd == vm_fd      ? TAPE_VM
                                 : TAPE_VCPU,
        .len = length(request, arg),
        .request = request,
        .arg = (uintptr_t)arg,
    };

    (void)!write(tape, &r, sizeof(r));
    if (r.len > 0) {
        (void)!write(tape, arg, r.len);
        (void)!write(tape, padding, (8 - r.len % 8) % 8);
    }
}

int kvm_call(int fd, unsigned long request, void *arg)
{
    int r = 0;

    if (tape >= 0 && request != KVM_RUN) {
        record(fd, request, arg);
    }
    uint64_t begin = now_ns();
    do {
        r = ioctl(fd, request, arg);
    } while (r < 0 && errno == EINTR && request != KVM_RUN);
    uint64_t end = now_ns();
    if (exit_ns == 0) {
        if (request == KVM_RUN) {
            enter_ns = begin;
            exit_ns = end;
        } else {
            in_kvm_ns += end - begin;
            done_ns = end;
            n_calls++;
        }
    }
    if (request == KVM_CREATE_VM) {
        vm_fd = r;
    }
    return r < 0 ? -errno : r;
}
