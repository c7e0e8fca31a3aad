#include "sup/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "proto/frame.h"
#include "sup/engine-qemu.h"
#include "sup/host.h"
#include "sys/clock.h"
#include "sys/fd.h"

/*
 * Guest memory beside the job's own: kernel, page tables, agent, and what keeps the guest's global
 * OOM killer out of reach before the job cgroup's.
 */
#define MACHINE_BASE_BYTES (128 * MIB)
#define MACHINE_STEP_BYTES (64 * MIB)

/* A working KVM boots in a second or two, in a nested host in ten; a busy host emulates slowly. */
#define PROBE_KVM_DEADLINE_NS (20 * NS_PER_S)
#define PROBE_TCG_DEADLINE_NS (60 * NS_PER_S)
/*
 * A probe holds no slot of the ledger, whose number would give it a uid. This range belongs to
 * nobody (systemd's UIDS-GIDS.md), and a live process's number is its own.
 */
#define PROBE_UID_BASE 1879048192u

#define PROBE_CONSOLE_MAX 4096

void machine_fini(struct machine *m)
{
    proc_fini(&m->proc);
    fd_close_p(&m->channel_fd);
    fd_close_p(&m->console_fd);
    fd_close_p(&m->control_fd);
    buf_fini(&m->control);
}

void engine_last_words(const char *console, size_t len, char *ret, size_t size)
{
    auto_buf struct buf shown = BUF_INIT(4096);
    size_t start = 0;

    while (len > 0 && (console[len - 1] == '\n' || console[len - 1] == '\r')) {
        len--;
    }
    start = len;
    while (start > 0 && console[start - 1] != '\n' && len - start < 200) {
        start--;
    }
    ret[0] = '\0';
    if (len > start && str_escape(&shown, console + start, len - start, false) == 0) {
        (void)snprintf(ret, size, "%s", (const char *)shown.data);
    }
}

uint64_t engine_machine_bytes(uint64_t job_memory_bytes)
{
    uint64_t need = job_memory_bytes + MACHINE_BASE_BYTES;

    return (need + MACHINE_STEP_BYTES - 1) / MACHINE_STEP_BYTES * MACHINE_STEP_BYTES;
}

uint64_t engine_job_bytes(uint64_t machine_bytes)
{
    return machine_bytes > MACHINE_BASE_BYTES ? machine_bytes - MACHINE_BASE_BYTES : 0;
}

int engine_select(enum spec_engine wanted, enum spec_isolation weakest, const struct engine **ret,
                  struct err *err)
{
    if (wanted == SPEC_ENGINE_KVM || weakest == SPEC_ISOLATION_HARDWARE) {
        return err_set(err, ERR_USAGE, ENODEV,
                       "this version of airlock runs jobs on engine tcg (isolation 'emulated') "
                       "only; leave out %s to use it",
                       wanted == SPEC_ENGINE_KVM ? "--engine kvm" : "--isolation hardware");
    }
    *ret = &engine_tcg;
    return 0;
}

/* --- the functional probe --- */

struct probe {
    struct machine machine;
    struct frame_decoder dec;
    struct buf console;
    uint64_t deadline;
    bool answered;
};

static void take_console(struct probe *p)
{
    char chunk[1024];
    ssize_t n = read(p->machine.console_fd, chunk, sizeof(chunk));

    if (n > 0) {
        size_t room = p->console.max - p->console.len;

        (void)!buf_put(&p->console, chunk, (size_t)n < room ? (size_t)n : room);
    } else if (n == 0 || errno != EINTR) {
        fd_close_p(&p->machine.console_fd);
    }
}

/* Any well-formed frame of the agent proves that a guest was booted: READY, or FAILED (no disks). */
static int take_channel(struct probe *p, struct err *err)
{
    struct frame frame = {0};
    uint8_t *at = NULL;
    size_t room = 0;
    ssize_t n = 0;
    int r = frame_decoder_space(&p->dec, &at, &room, err);

    if (r < 0) {
        return r;
    }
    n = read(p->machine.channel_fd, at, room);
    if (n <= 0) {
        fd_close_p(&p->machine.channel_fd);
        return 0;
    }
    frame_decoder_fed(&p->dec, (size_t)n);
    r = frame_decoder_next(&p->dec, &frame, err);
    p->answered = r == 1;
    return r < 0 ? r : 0;
}

static bool said(const struct probe *p, const char *text)
{
    return p->console.data != NULL && strstr((const char *)p->console.data, text) != NULL;
}

static int probe_loop(struct probe *p, struct err *err)
{
    /* "KVM internal error" stops QEMU without ending it: waiting longer shows nothing new. */
    while (!p->answered && !said(p, "KVM internal error") && clock_mono_ns() < p->deadline) {
        struct pollfd fds[3] = {
            {.fd = p->machine.channel_fd, .events = POLLIN},
            {.fd = p->machine.console_fd, .events = POLLIN},
            {.fd = p->machine.proc.pidfd, .events = POLLIN},
        };

        if (poll(fds, ARRAY_LEN(fds), 100) < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
        if (fds[1].revents != 0) {
            take_console(p);
        }
        if (fds[0].revents != 0) {
            int r = take_channel(p, err);

            if (r < 0) {
                return r;
            }
        } else if (fds[2].revents != 0 && fds[1].revents == 0) {
            return 0; /* it ended, and everything it said is read */
        }
    }
    return 0;
}

static void explain(const struct probe *p, struct engine_probe *ret)
{
    auto_buf struct buf shown = BUF_INIT(4 * PROBE_CONSOLE_MAX + 1);
    const char *text = p->console.data != NULL ? (const char *)p->console.data : "";

    if (said(p, "KVM internal error")) {
        const char *at = strstr(text, "Suberror");

        (void)snprintf(
            ret->why, sizeof(ret->why),
            "KVM could not run the guest's first instructions (KVM internal error%s%.*s): "
            "a restricted nested virtualization that cannot boot an unmodified Linux",
            at != NULL ? ", " : "", at != NULL ? (int)strcspn(at, "\r\n") : 0,
            at != NULL ? at : "");
        return;
    }
    text += strspn(text, "\r\n");
    (void)!str_escape(&shown, text, strcspn(text, "\r\n"), false);
    (void)snprintf(ret->why, sizeof(ret->why), "%s%s%s",
                   clock_mono_ns() >= p->deadline ? "the guest did not answer in time"
                                                  : "the monitor ended before the guest answered",
                   shown.len > 0 ? ": " : "", shown.len > 0 ? (const char *)shown.data : "");
}

static int probe_with(const struct machine_config *config, const char *accel,
                      struct engine_probe *ret, struct err *err)
{
    uint64_t deadline_ns =
        strcmp(accel, "kvm") == 0 ? PROBE_KVM_DEADLINE_NS : PROBE_TCG_DEADLINE_NS;
    struct probe p = {.machine = MACHINE_INIT, .console = BUF_INIT(PROBE_CONSOLE_MAX)};
    uint64_t begun = clock_mono_ns();
    int r = qemu_start(accel, config, &p.machine, err);

    if (r < 0) {
        return r;
    }
    p.deadline = begun + deadline_ns;
    frame_decoder_init(&p.dec, FRAME_TO_HOST);
    r = probe_loop(&p, err);
    if (r == 0) {
        ret->works = p.answered;
        ret->ns = clock_mono_ns() - begun;
        ret->why[0] = '\0';
        if (!p.answered) {
            explain(&p, ret);
        }
    }
    frame_decoder_fini(&p.dec);
    machine_fini(&p.machine);
    buf_fini(&p.console);
    return r;
}

int engine_probe(const struct store *store, enum spec_engine which, struct engine_probe *ret,
                 struct err *err)
{
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    struct host_tsc tsc = host_tsc_now();
    struct machine_config config = MACHINE_CONFIG_INIT;
    int r = store_open_boot(store, NULL, &boot, err);

    if (r < 0) {
        return r;
    }
    config.vcpus = 1;
    config.memory_bytes = engine_machine_bytes(64 * MIB);
    config.scratch_bytes = MIB;
    config.uid = PROBE_UID_BASE + (uid_t)getpid();
    config.kernel_fd = boot.kernel_fd;
    config.initramfs_fd = boot.initramfs_fd;
    config.tsc_khz = host_tsc_khz(tsc);
    config.memo_dirfd = store->dirfd;
    return probe_with(&config, which == SPEC_ENGINE_KVM ? "kvm" : "tcg", ret, err);
}
