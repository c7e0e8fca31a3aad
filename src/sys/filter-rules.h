/* filter-rules.h - words for the tables of system calls, for the files that hold one. */
#pragma once

#include "sys/filter.h"

#define ALLOW(call)                                      \
    {                                                    \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ALLOW \
    }
#define ALLOW_IF(call, arg, op, ...)                                       \
    {                                                                      \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ALLOW, .n = 1, .cmp = { \
            {(arg), (op), __VA_ARGS__}                                     \
        }                                                                  \
    }
/* The kernel looks at the low half alone; a libc may extend the sign into the other. */
#define IOCTL(request) ALLOW_IF(ioctl, 1, SCMP_CMP_MASKED_EQ, UINT32_MAX, (request))
#define FAIL(call, e)                                                   \
    {                                                                   \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ERRNO, .errnum = (e) \
    }
