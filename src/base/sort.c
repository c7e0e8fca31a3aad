#include "base/sort.h"

#include <assert.h>
#include <string.h>

struct heap {
    uint8_t *base;
    size_t size;
    int (*compare)(const void *a, const void *b, void *ctx);
    void *ctx;
};

static void swap(uint8_t *a, uint8_t *b, size_t size)
{
    uint8_t held[SORT_SIZE_MAX];

    memcpy(held, a, size);
    memcpy(a, b, size);
    memcpy(b, held, size);
}

/* Lets element i of the first n sink until none below it is greater. */
static void sink(const struct heap *h, size_t i, size_t n)
{
    while (i < n / 2) {
        size_t child = 2 * i + 1;
        uint8_t *at = h->base + child * h->size;

        if (child + 1 < n && h->compare(at, at + h->size, h->ctx) < 0) {
            child++;
            at += h->size;
        }
        if (h->compare(h->base + i * h->size, at, h->ctx) >= 0) {
            return;
        }
        swap(h->base + i * h->size, at, h->size);
        i = child;
    }
}

void sort_array(void *base, size_t n, size_t size,
                int (*compare)(const void *a, const void *b, void *ctx), void *ctx)
{
    const struct heap h = {.base = base, .size = size, .compare = compare, .ctx = ctx};

    assert(size <= SORT_SIZE_MAX);
    for (size_t i = n / 2; i-- > 0;) {
        sink(&h, i, n);
    }
    for (size_t left = n; left > 1; left--) {
        swap(h.base, h.base + (left - 1) * size, size);
        sink(&h, 0, left - 1);
    }
}
