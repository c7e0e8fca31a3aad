#include "sup/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "proto/frame.h"
#include "sup/host.h"
#include "sup/monitor.h"
#include "sys/clock.h"
#include "sys/fd.h"

/*
 * Guest memory beside the job's own: kernel, page tables, agent, and what keeps the guest's global
 * OOM killer out of reach before the job cgroup's.
 */
#define MACHINE_BASE_BYTES (128 * MIB)
#define MACHINE_STEP_BYTES (64 * MIB)

/* A busy host emulates slowly, and so does one that is itself emulated, with a KVM of its own. */
#define PROBE_DEADLINE_NS (60 * NS_PER_S)
/*
 * Until "Linux version": 0.2 s on a CPU of its own, 4 s where KVM is itself emulated, and more than
 * 10 s if that host is busy. A restricted KVM that gets stuck before shows nothing new however long it is waited for.
 */
#define PROBE_FIRST_WORD_NS (20 * NS_PER_S)
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

uint64_t engine_group_bytes(const struct engine *engine, uint64_t machine_bytes)
{
    if (engine == NULL) {
        uint64_t tcg = engine_group_bytes(&engine_tcg, machine_bytes);
        uint64_t kvm = engine_group_bytes(&engine_kvm, machine_bytes);

        return tcg > kvm ? tcg : kvm;
    }
    return machine_bytes + engine->overhead_bytes +
           (engine->overhead_per > 0 ? machine_bytes / engine->overhead_per : 0);
}

/* --- the functional probe --- */

struct probe {
    const struct engine *engine;
    struct machine machine;
    struct frame_decoder dec;
    struct buf console;
    uint64_t deadline;
    uint64_t deadline_first; /* for the kernel's first word; UINT64_MAX: none */
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

static bool is_late(const struct probe *p)
{
    uint64_t now = clock_mono_ns();

    return now >= p->deadline || (now >= p->deadline_first && !said(p, "Linux version"));
}

static int probe_loop(struct probe *p, const struct engine_wish *wish, struct err *err)
{
    while (!p->answered && !is_late(p)) {
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
        if (wish->stop != NULL && wish->stop(wish->ctx)) {
            return err_set(err, ERR_LIMIT, ECANCELED, "stopped while an engine was tried");
        }
    }
    return 0;
}

/* What became of a monitor whose guest did not answer, and the last that was said. */
static void explain(struct probe *p, struct engine_probe *ret)
{
    char how[240] = "";
    char words[220] = "";

    ret->late = is_late(p);
    if (ret->late) {
        (void)snprintf(how, sizeof(how), "%s",
                       clock_mono_ns() >= p->deadline
                           ? "the guest did not answer in time"
                           : "the guest's kernel did not get as far as its first word: a "
                             "restricted nested virtualization that cannot boot an unmodified "
                             "Linux, or a host that has no time for it");
    } else {
        monitor_how_it_ended(p->engine, &p->machine.proc, how, sizeof(how));
    }
    if (p->console.len > 0) {
        engine_last_words((const char *)p->console.data, p->console.len, words, sizeof(words));
    }
    (void)snprintf(ret->why, sizeof(ret->why), "%s%s%s",
                   how[0] != '\0' ? how : "the monitor closed its console",
                   words[0] != '\0' ? "; last words on its console: " : "", words);
}

static int probe_with(const struct engine_wish *wish, const struct engine *engine,
                      const struct machine_config *config, struct engine_probe *ret,
                      struct err *err)
{
    struct probe p = {
        .engine = engine, .machine = MACHINE_INIT, .console = BUF_INIT(PROBE_CONSOLE_MAX)};
    uint64_t begun = clock_mono_ns();
    int r = engine->start(config, &p.machine, err);

    if (r < 0) {
        return r;
    }
    p.deadline = begun + PROBE_DEADLINE_NS;
    p.deadline_first = engine == &engine_kvm ? begun + PROBE_FIRST_WORD_NS : UINT64_MAX;
    frame_decoder_init(&p.dec, FRAME_TO_HOST);
    r = probe_loop(&p, wish, err);
    if (r == 0) {
        *ret = (struct engine_probe){.works = p.answered, .ns = clock_mono_ns() - begun};
        if (!p.answered) {
            explain(&p, ret);
        }
    }
    frame_decoder_fini(&p.dec);
    machine_fini(&p.machine);
    buf_fini(&p.console);
    return r;
}

int engine_probe(const struct engine_wish *wish, const struct engine *engine,
                 struct engine_probe *ret, struct err *err)
{
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    struct host_tsc tsc = host_tsc_now();
    struct machine_config config = MACHINE_CONFIG_INIT;
    int r = store_open_boot(wish->store, NULL, &boot, err);

    if (r < 0) {
        return r;
    }
    config.vcpus = 1;
    config.memory_bytes = engine_machine_bytes(64 * MIB);
    config.scratch_bytes = MIB;
    config.uid = PROBE_UID_BASE + (uid_t)getpid();
    config.kernel_fd = boot.kernel_fd;
    config.initramfs_fd = boot.initramfs_fd;
    config.tsc_khz = host_tsc_khz(wish->store->dirfd, tsc);
    config.is_probe = true;
    config.memo_dirfd = wish->store->dirfd;
    return probe_with(wish, engine, &config, ret, err);
}
