/*
 * tape.h - the KVM calls of a clone, as the monitor made them: written by kvm-call-bench.c, played
 * again by minimal.c. Records one after the other, each padded to 8 bytes.
 */
#pragma once

#include <stdint.h>

enum tape_fd {
    TAPE_KVM,
    TAPE_VM,
    TAPE_VCPU
};

struct tape_record {
    uint32_t fd;  /* enum tape_fd */
    uint32_t len; /* of what arg points to; 0: arg is a number */
    uint64_t request, arg;
};
