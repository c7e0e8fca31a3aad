/* base.h - attributes and small macros every file may use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define must_use          __attribute__((warn_unused_result))
#define nonnull_all       __attribute__((nonnull))
#define nonnull_args(...) __attribute__((nonnull(__VA_ARGS__)))
#define printf_like(f, a) __attribute__((format(printf, f, a)))
#define on_scope_exit(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define KIB (1024ull)
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

static inline void free_p(void *p)
{
    free(*(void **)p);
}

#define auto_free on_scope_exit(free_p)

/* Give up ownership: returns the value and leaves the empty value behind. */
#define STEAL(p, empty)                    \
    ({                                     \
        __typeof__(*(p)) steal_tmp = *(p); \
        *(p) = (empty);                    \
        steal_tmp;                         \
    })
#define STEAL_PTR(p) STEAL((p), NULL)
