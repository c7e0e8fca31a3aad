/* A stream of events from a stranger, whole and in odd pieces: both must tell the same. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"

#include "cli/sse.h"
#include "fuzz.h"

struct told {
    size_t events;
    uint64_t sum;
};

static int take(void *ctx, const struct sse_event *event, struct err *err)
{
    struct told *told = ctx;

    (void)err;
    fuzz_check(memchr(event->name, '\0', sizeof(event->name)) != NULL && event->name[0] != '\0');
    fuzz_check(event->len <= SSE_DATA_MAX);
    fuzz_touch(event->data, event->len);
    told->events++;
    told->sum = told->sum * 31 + event->id + event->len;
    return 0;
}

static int feed(const uint8_t *data, size_t size, size_t first, struct told *told)
{
    struct sse sse;
    struct err err = ERR_INIT;
    size_t step = first;
    int r = 0;

    sse_init(&sse, 0, take, told);
    while (size > 0 && r == 0) {
        size_t n = step < size ? step : size;

        r = sse_feed(&sse, data, n, &err);
        data += n;
        size -= n;
        step = first == SIZE_MAX ? first : step * 7 % 61 + 1;
    }
    fuzz_check(r == 0 || (r == -EPROTO && err.class == ERR_HOST));
    sse_fini(&sse);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told whole = {0};
    struct told pieces = {0};
    int r = feed(data, size, SIZE_MAX, &whole);

    fuzz_check(feed(data, size, 1, &pieces) == r);
    fuzz_check(whole.events == pieces.events && whole.sum == pieces.sum);
    return 0;
}
