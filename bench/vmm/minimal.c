/*
 * The least that a clone can cost: the KVM calls of airlock-vmm's clone, played from a tape, and nothing
 * else. bench/vmm/measure.py runs it beside the monitor.
 *
 *   minimal BYTES     descriptors as the monitor has them (start.h); 11 is the tape
 *
 * No check, no device, no second thread, no filter: what the monitor takes longer than this is what
 * it does beside KVM.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tape.h"

#define FD_MEMORY  10
#define FD_TAPE    11
#define FD_KVM     12
#define PORT_RESET 0x604

static uint8_t tape[1 << 20] __attribute__((aligned(8)));

static void patch(const struct tape_record *r, void *memory, void *arg)
{
    struct kvm_userspace_memory_region *region = arg;
    struct kvm_irqfd *irq = arg;
    struct kvm_ioeventfd *kick = arg;

    switch (r->request) {
    case KVM_SET_USER_MEMORY_REGION:
        /* One range, from the beginning of the file: a machine of less than 3 GiB. */
        region->userspace_addr = (uintptr_t)memory;
        break;
    case KVM_IRQFD:
        irq->fd = (uint32_t)eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        break;
    case KVM_IOEVENTFD:
        kick->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        break;
    default:
        break;
    }
}

/* Tells the clock at the first exit, as kvm-call-bench.c does. */
static int run(int vcpu, const struct kvm_run *state)
{
    struct timespec first = {0};

    for (;;) {
        if (ioctl(vcpu, KVM_RUN, 0) < 0 || state->exit_reason != KVM_EXIT_IO) {
            return 2;
        }
        if (first.tv_sec == 0) {
            (void)clock_gettime(CLOCK_MONOTONIC, &first);
        }
        const uint8_t *data = (const uint8_t *)state + state->io.data_offset;
        if (state->io.port == PORT_RESET) {
            (void)fprintf(stderr, "%lu\n",
                          (uint64_t)first.tv_sec * 1000000000u + (uint64_t)first.tv_nsec);
            return 0;
        }
        if (write(STDOUT_FILENO, data, state->io.size) < 0) {
            return 3;
        }
    }
}

int main(int argc, char **argv)
{
    size_t bytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, FD_MEMORY, 0);
    ssize_t len = read(FD_TAPE, tape, sizeof(tape));
    int fds[] = {[TAPE_KVM] = FD_KVM, [TAPE_VM] = -1, [TAPE_VCPU] = -1};
    int run_size = 0;

    if (memory == MAP_FAILED || len <= 0) {
        return 1;
    }
    for (ssize_t at = 0; at < len;) {
        struct tape_record *r = (struct tape_record *)(void *)(tape + at);
        void *data = tape + at + sizeof(*r);
        at += (ssize_t)(sizeof(*r) + (r->len + 7) / 8 * 8);
        patch(r, memory, data);
        int result = ioctl(fds[r->fd], r->request, r->len > 0 ? data : (void *)(uintptr_t)r->arg);
        if (r->request == KVM_CREATE_VM) {
            fds[TAPE_VM] = result;
        } else if (r->request == KVM_CREATE_VCPU) {
            fds[TAPE_VCPU] = result;
        } else if (r->request == KVM_GET_VCPU_MMAP_SIZE) {
            run_size = result;
        }
    }
    void *state =
        mmap(NULL, (size_t)run_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[TAPE_VCPU], 0);
    return state == MAP_FAILED ? 1 : run(fds[TAPE_VCPU], state);
}
