/*
 * Requests from a stranger, cut anywhere: what is accepted must be read alike whole and in pieces, and
 * a head that is accepted has none of what leaves room for two readings.
 */
#include <string.h>

#include "daemon/framing.h"
#include "fuzz.h"

#define HEAD_MAX 2048u

struct outcome {
    unsigned int status; /* of a refusal; 0: none */
    size_t used;         /* bytes of the request */
    enum framing_state state;
};

static struct outcome read_in_steps(const uint8_t *data, size_t size, size_t step)
{
    struct framing f = FRAMING_INIT;
    struct refusal refusal = {0};
    struct outcome o = {0};
    int head = 0;

    for (size_t n = step; head == 0; n += step) {
        size_t have = n < size ? n : size;

        head = framing_head(&f, data, have, HEAD_MAX, &refusal);
        if (head < 0) {
            fuzz_check(refusal.status >= 400 && refusal.type != NULL);
            o.status = refusal.status;
            return o;
        }
        fuzz_check((size_t)head <= have && (size_t)head <= HEAD_MAX);
        if (have == size) {
            break;
        }
    }
    o.used = (size_t)head;
    while (head > 0 && o.used < size && f.state != FRAMING_DONE) {
        size_t n = size - o.used < step ? size - o.used : step;
        size_t used = 0;

        if (framing_body(&f, data + o.used, n, &used, &refusal) < 0) {
            o.status = refusal.status;
            return o;
        }
        fuzz_check(used <= n && (used == n || f.state == FRAMING_DONE));
        o.used += used;
    }
    o.state = f.state;
    return o;
}

static void check_head(const uint8_t *data, size_t len)
{
    fuzz_check(memchr(data, '\0', len) == NULL);
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n') {
            fuzz_check(i > 0 && data[i - 1] == '\r');
            fuzz_check(i + 1 == len || (data[i + 1] != ' ' && data[i + 1] != '\t'));
        }
        if (data[i] == '\r') {
            fuzz_check(i + 1 < len && data[i + 1] == '\n');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = read_in_steps(data, size, size > 0 ? size : 1);
    struct outcome bytes = read_in_steps(data, size, 1);
    struct framing f = FRAMING_INIT;
    struct refusal refusal = {0};
    int head = framing_head(&f, data, size, HEAD_MAX, &refusal);

    fuzz_check(whole.status == bytes.status);
    fuzz_check(whole.status != 0 || (whole.used == bytes.used && whole.state == bytes.state));
    if (head > 0) {
        check_head(data, (size_t)head);
    }
    return 0;
}
