/*
 * evil-init.c - pid 1 of a guest that was taken over: it boots like airlock-init and then does the
 * worst it can. tests/e2e/cases_guests.py packs it into an initramfs in airlock-init's place.
 *
 * What it does before READY is in the file /evil of the initramfs ("" nothing special); what it
 * does with a job is the last argument of the job's command.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evil.h"
#include "guest/boot.h"
#include "guest/file.h"

void evil_wait(void)
{
    for (;;) {
        (void)pause();
    }
}

void evil_raw(struct evil *e, const void *data, size_t len)
{
    const uint8_t *at = data;

    while (len > 0) {
        ssize_t n = write(e->port, at, len);

        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            evil_wait();
        }
    }
}

void evil_frame(struct evil *e, enum frame_type type, const void *data, size_t len)
{
    uint8_t header[FRAME_HEADER_SIZE];

    frame_header_encode(header, type, (uint32_t)len, e->seq++);
    evil_raw(e, header, sizeof(header));
    evil_raw(e, data, len);
}

static void frame_of(struct evil *e, enum frame_type type, struct buf *payload, int encoded)
{
    if (encoded < 0) {
        evil_wait();
    }
    evil_frame(e, type, payload->data, payload->len);
    buf_fini(payload);
}

void evil_exit(struct evil *e, bool signaled, uint32_t code, bool oom)
{
    const struct msg_exit m = {.signaled = signaled,
                               .code = code,
                               .oom_kills = oom ? 1 : 0,
                               .oom_killed_main = oom,
                               .memory_peak_bytes = UINT64_MAX,
                               .cpu_usec = UINT64_MAX,
                               .stdout_bytes = UINT64_MAX};
    struct buf buf = BUF_INIT(KIB);

    frame_of(e, FRAME_EXIT, &buf, msg_exit_encode(&m, &buf));
}

void evil_output_end(struct evil *e)
{
    const struct msg_output_end m = {.status = MSG_OUTPUT_COMPLETE};
    struct buf buf = BUF_INIT(KIB);

    frame_of(e, FRAME_OUTPUT_END, &buf, msg_output_end_encode(&m, &buf));
}

static void ready(struct evil *e)
{
    const struct msg_ready m = {.version = PROTO_VERSION, .memory_total_bytes = UINT64_MAX};
    struct buf buf = BUF_INIT(KIB);

    frame_of(e, FRAME_READY, &buf, msg_ready_encode(&m, &buf));
}

static void failed(struct evil *e, const char *phase)
{
    struct msg_failed m = {.errnum = UINT32_MAX,
                           .text = "\x1b]0;owned\x07\x1b[2J\xff\n\r{\"verdict\":0}"};
    struct buf buf = BUF_INIT(KIB);

    (void)snprintf(m.phase, sizeof(m.phase), "%s", phase);
    frame_of(e, FRAME_FAILED, &buf, msg_failed_encode(&m, &buf));
}

static void say(struct evil *e, const char *text)
{
    evil_frame(e, FRAME_STDOUT, text, strlen(text));
}

static void say_number(struct evil *e, const char *what, long long value)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%s=%lld\n", what, value);
    say(e, text);
}

/* ---- the machine itself ---- */

/* pid 1 ends: the kernel panics. */
static void panic_now(struct evil *e)
{
    (void)e;
    _exit(1);
}

static void sysrq_crash(struct evil *e)
{
    struct err ignored = ERR_INIT;

    (void)e;
    (void)!file_write(AT_FDCWD, "/proc/sysrq-trigger", "c", &ignored);
}

static void reset(struct evil *e)
{
    (void)e;
    (void)reboot(RB_AUTOBOOT);
}

static void power_off(struct evil *e)
{
    (void)e;
    (void)reboot(RB_POWER_OFF);
}

/* Every processor stops with its interrupts off, and nothing ever wakes it. */
static void halt(struct evil *e)
{
    (void)e;
    (void)reboot(RB_HALT_SYSTEM);
}

/* Busy on every processor before anything else of the guest, its own kernel threads included. */
static void spin(struct evil *e)
{
    const struct sched_param top = {.sched_priority = 99};
    struct err ignored = ERR_INIT;
    volatile unsigned long turns = 0;

    (void)e;
    (void)!file_write(AT_FDCWD, "/proc/sys/kernel/sched_rt_runtime_us", "-1", &ignored);
    for (long n = sysconf(_SC_NPROCESSORS_ONLN); n > 1; n--) {
        if (fork() == 0) {
            break;
        }
    }
    (void)sched_setscheduler(0, SCHED_FIFO, &top);
    for (;;) {
        turns++;
    }
}

#define SERIAL_PORT 0x3f8

/* A serial port that can only transmit has no driver: its register, then. */
static void flood_register(const char *text, size_t len)
{
    if (ioperm(SERIAL_PORT, 1, 1) < 0) {
        evil_wait();
    }
    for (size_t i = 0;; i = (i + 1) % len) {
        outb((unsigned char)text[i], SERIAL_PORT);
    }
}

static void flood_console(struct evil *e)
{
    static const char text[] =
        "Kernel panic \x1b[2J\x07 login: \xff\xfe 0123456789 0123456789 0123456789 0123456789\n";
    int fd = open("/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC);

    (void)e;
    for (;;) {
        if (write(fd, text, sizeof(text) - 1) < 0 && errno != EINTR) {
            flood_register(text, sizeof(text) - 1);
        }
    }
}

static void close_port(struct evil *e)
{
    (void)close(e->port);
    evil_wait();
}

/* The raw scratch device as far as it goes, past the filesystem in it: every machine's is of one
 * size, and --disk holds on the host. */
static void scratch(struct evil *e)
{
    static char block[65536] __attribute__((aligned(4096)));
    int fd = open(e->scratch, O_RDWR | O_DIRECT | O_CLOEXEC);
    uint64_t done = 0;
    ssize_t n = 0;

    memset(block, 'e', sizeof(block));
    while ((n = pwrite(fd, block, sizeof(block), (off_t)done)) > 0) {
        done += (uint64_t)n;
    }
    say_number(e, "written", (long long)done);
    say_number(e, "errno", errno);
    n = pwrite(fd, block, sizeof(block), (off_t)(done + GIB));
    say_number(e, "far", n < 0 ? errno : 0);
    n = pread(fd, block, sizeof(block), (off_t)(done - sizeof(block)));
    say_number(e, "last", n > 0 ? block[0] : -1);
    say(e, "done\n");
    (void)close(fd);
    evil_wait();
}

/* ---- what it says on the channel ---- */

static void flood(struct evil *e, enum frame_type type, uint32_t len)
{
    static uint8_t data[FRAME_DATA_MAX];

    memset(data, 'A', sizeof(data));
    for (;;) {
        evil_frame(e, type, data, len);
    }
}

static void flood_stdout(struct evil *e)
{
    flood(e, FRAME_STDOUT, FRAME_DATA_MAX);
}

static void flood_stderr(struct evil *e)
{
    flood(e, FRAME_STDERR, 1);
}

static void flood_empty(struct evil *e)
{
    flood(e, FRAME_STDOUT, 0);
}

static void flood_credit(struct evil *e)
{
    flood(e, FRAME_CREDIT, 4);
}

static void garbage(struct evil *e)
{
    uint8_t noise[4096];
    uint32_t x = 2463534242u;

    for (size_t i = 0; i < sizeof(noise); i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        noise[i] = (uint8_t)(x >> 8);
    }
    evil_raw(e, noise, sizeof(noise));
}

static void header_of(struct evil *e, enum frame_type type, uint32_t len, uint32_t seq)
{
    uint8_t header[FRAME_HEADER_SIZE];

    frame_header_encode(header, type, len, seq);
    evil_raw(e, header, sizeof(header));
}

static void giant(struct evil *e)
{
    static uint8_t data[FRAME_DATA_MAX];

    header_of(e, FRAME_STDOUT, UINT32_MAX, e->seq++);
    for (;;) {
        evil_raw(e, data, sizeof(data));
    }
}

static void one_over(struct evil *e)
{
    header_of(e, FRAME_STDOUT, FRAME_DATA_MAX + 1, e->seq++);
}

static void partial(struct evil *e)
{
    header_of(e, FRAME_STDOUT, FRAME_DATA_MAX, e->seq++);
    evil_raw(e, "half", 4);
}

static void replay(struct evil *e)
{
    header_of(e, FRAME_CREDIT, 0, 0);
}

static void to_guest(struct evil *e)
{
    header_of(e, FRAME_JOB, 0, e->seq++);
}

static void failed_at_run(struct evil *e)
{
    failed(e, "\x1b[31mrun");
}

static void failed_exec(struct evil *e)
{
    failed(e, "exec");
}

static void exit_only(struct evil *e)
{
    evil_exit(e, false, 0, false);
}

static void exit_and_end(struct evil *e)
{
    evil_exit(e, false, 0, false);
    evil_exit(e, false, 0, false);
    evil_output_end(e);
}

static void exit_and_panic(struct evil *e)
{
    evil_exit(e, false, 0, false);
    _exit(1);
}

static void exit_code(struct evil *e)
{
    const uint8_t bad[] = {0, 0, 1, 0, 0}; /* 256 is no exit code, and the rest is missing */

    evil_frame(e, FRAME_EXIT, bad, sizeof(bad));
}

static void exit_oom(struct evil *e)
{
    evil_exit(e, true, SIGKILL, true);
    evil_output_end(e);
}

static void output_early(struct evil *e)
{
    evil_frame(e, FRAME_OUTPUT, "data", 4);
}

static void started(struct evil *e)
{
    evil_frame(e, FRAME_STARTED, NULL, 0);
}

static void nothing(struct evil *e)
{
    (void)e;
}

static const struct mode {
    const char *name;
    bool is_started; /* STARTED is sent before */
    void (*act)(struct evil *e);
} modes[] = {
    {"never-starts", false, nothing},
    {"ready-again", false, ready},
    {"exit-before-start", false, exit_only},
    {"stdout-before-start", false, output_early},
    {"failed-exec", false, failed_exec},
    {"panic-before-start", false, panic_now},
    {"reset-before-start", false, reset},
    {"silent", true, nothing},
    {"panic", true, panic_now},
    {"crash", true, sysrq_crash},
    {"reset", true, reset},
    {"power-off", true, power_off},
    {"halt", true, halt},
    {"spin", true, spin},
    {"flood-console", true, flood_console},
    {"close-port", true, close_port},
    {"scratch", true, scratch},
    {"flood-stdout", true, flood_stdout},
    {"flood-stderr", true, flood_stderr},
    {"flood-empty", true, flood_empty},
    {"flood-credit", true, flood_credit},
    {"garbage", true, garbage},
    {"giant", true, giant},
    {"one-over", true, one_over},
    {"partial", true, partial},
    {"replay", true, replay},
    {"to-guest", true, to_guest},
    {"started-again", true, started},
    {"failed", true, failed_at_run},
    {"exit-only", true, exit_only},
    {"exit-again", true, exit_and_end},
    {"exit-panic", true, exit_and_panic},
    {"exit-code", true, exit_code},
    {"exit-oom", true, exit_oom},
    {"output-early", true, output_early},
};

/* Of the job only; a machine from a saved state continues here. */
static void wait_for_job(struct evil *e)
{
    struct frame frame = {0};
    struct err err = ERR_INIT;

    for (;;) {
        uint8_t *at = NULL;
        size_t room = 0;
        ssize_t n = 0;
        int r = frame_decoder_next(&e->in, &frame, &err);

        if (r == 1 && frame.type == FRAME_JOB) {
            if (msg_job_decode(frame.data, frame.len, &e->job, &err) < 0) {
                evil_wait();
            }
            return;
        }
        if (r < 0 || (r == 0 && frame_decoder_space(&e->in, &at, &room, &err) < 0)) {
            evil_wait();
        }
        if (r == 0) {
            n = read(e->port, at, room);
            if (n > 0) {
                frame_decoder_fed(&e->in, (size_t)n);
            } else if (n == 0) {
                (void)usleep(1000); /* nobody is connected: a state is being saved */
            } else if (errno != EINTR) {
                evil_wait();
            }
        }
    }
}

static void __attribute__((noreturn)) do_job(struct evil *e)
{
    const char *what = "";

    for (size_t i = 0; e->job.argv[i] != NULL; i++) {
        what = e->job.argv[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (strcmp(modes[i].name, what) == 0) {
            if (modes[i].is_started) {
                started(e);
            }
            modes[i].act(e);
            evil_wait();
        }
    }
    started(e);
    if (!evil_outputs(e, what)) {
        say(e, "evil-init knows no such mode\n");
    }
    evil_wait();
}

int main(void)
{
    static struct evil e;
    struct boot boot = {0};
    struct err err = ERR_INIT;
    char mode[32] = "";

    if (file_read(AT_FDCWD, "/evil", mode, sizeof(mode), &err) < 0 ||
        boot_early(&e.port, &err) < 0) {
        boot_complain(err.msg);
        evil_wait();
    }
    (void)fcntl(e.port, F_SETFL, O_RDWR); /* boot_early() leaves it non-blocking */
    frame_decoder_init(&e.in, FRAME_TO_GUEST);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (strcmp(modes[i].name, mode) == 0) {
            modes[i].act(&e);
            evil_wait();
        }
    }
    if (boot_root(&boot, &err) < 0) {
        boot_complain(err.msg);
        evil_wait();
    }
    (void)snprintf(e.scratch, sizeof(e.scratch), "%s", boot.scratch_dev);
    ready(&e);
    wait_for_job(&e);
    do_job(&e);
}
