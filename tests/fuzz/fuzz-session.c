/*
 * A lying agent against the supervisor's session: the input is a list of frames, each a type byte,
 * a length byte pair and the payload; headers are made well-formed so that the handlers are reached,
 * except for type 255, which sends its payload as it is.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "proto/frame.h"
#include "sup/session.h"
#include "sys/fd.h"

static int count(void *ctx, bool is_stderr, const uint8_t *data, size_t len)
{
    size_t *got = ctx;

    fuzz_touch(data, len);
    got[is_stderr] += len;
    return 0;
}

static void check(const struct session *s, const struct events *ev, const size_t got[2])
{
    for (int i = 0; i < 2; i++) {
        fuzz_check(s->streams[i].bytes == got[i] && got[i] <= s->streams[i].cap);
    }
    fuzz_check(s->output_bytes <= s->output_max);
    fuzz_check(ev->n <= EVENTS_MAX);
    fuzz_check(s->tail_len <= SESSION_TAIL && s->tail[s->tail_len] == '\0');
    (void)verdict_decide(ev);
}

static void feed(struct session *s, int agent, const uint8_t *data, size_t size)
{
    uint8_t frame[FRAME_HEADER_SIZE + 512];
    struct err err = ERR_INIT;
    uint32_t seq = 0;

    while (size >= 3) {
        size_t len = ((size_t)data[1] << 8 | data[2]) % 512;
        uint8_t type = data[0];
        size_t head = type == 255 ? 0 : FRAME_HEADER_SIZE;
        char junk[4096];

        data += 3;
        size -= 3;
        len = len < size ? len : size;
        if (head != 0) {
            if (frame_len_max(type, FRAME_TO_HOST) < (int64_t)len) {
                return;
            }
            frame_header_encode(frame, (enum frame_type)type, (uint32_t)len, seq++);
        }
        memcpy(frame + head, data, len);
        data += len;
        size -= len;
        if (send(agent, frame, head + len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ||
            session_read(s, seq + 1, &err) < 0 || session_write(s, &err) < 0) {
            return;
        }
        while (recv(agent, junk, sizeof(junk), MSG_DONTWAIT) > 0) {
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session s;
    struct spec spec;
    struct events ev = {0};
    struct err err = ERR_INIT;
    size_t got[2] = {0, 0};
    auto_fd int ours = -1;
    auto_fd int agent = -1;
    auto_fd int output = -1;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return 0;
    }
    ours = pair[0];
    agent = pair[1];
    output = memfd_create("output", MFD_CLOEXEC);
    spec_init(&spec);
    spec.limits.stdout_bytes = 100;
    spec.limits.stderr_bytes = 100;
    spec.limits.output_bytes = 1000;
    spec.limits.output_files = 4;
    if (output >= 0 && spec_set_program(&spec, "a.py", &err) == 0 &&
        session_init(&s, ours, &spec, &ev, &err) == 0) {
        s.sink = (struct session_sink){count, got};
        s.output_fd = output;
        feed(&s, agent, data, size);
        check(&s, &ev, got);
        session_fini(&s);
    }
    spec_fini(&spec);
    return 0;
}
