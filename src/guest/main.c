/*
 * main.c - airlock-init: pid 1 of the machine and the host's agent in it, one process.
 *
 * It must not end (the kernel panics when pid 1 does), so whatever goes wrong before there is a
 * channel is said on the console, and the machine is switched off.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "guest/agent.h"
#include "guest/cgroup.h"
#include "guest/job.h"
#include "sys/clock.h"

static void __attribute__((noreturn)) power_off(void)
{
    for (;;) {
        (void)reboot(RB_AUTOBOOT); /* the machine ends on a reset; it has no other power switch */
        (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
}

/* The host may connect after the machine started; nothing can be said before. */
static void wait_for_host(int port)
{
    for (;;) {
        struct pollfd pfd = {.fd = port, .events = POLLOUT};

        if (poll(&pfd, 1, 100) > 0 && (pfd.revents & POLLHUP) == 0) {
            return;
        }
        if ((pfd.revents & POLLHUP) != 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
        }
    }
}

static int send_ready(struct agent *a, const char *why_not, struct err *err)
{
    struct sysinfo info = {0};
    struct buf buf = BUF_INIT(512);
    int r = 0;
    struct msg_ready m = {.version = PROTO_VERSION,
                          .boot_ns = clock_ns(CLOCK_BOOTTIME),
                          .interpreter = {.waits = a->warm.go_fd >= 0}};
    struct msg_interpreter *i = &m.interpreter;

    if (sysinfo(&info) < 0) {
        return err_sys(err, "sysinfo");
    }
    m.memory_total_bytes = (uint64_t)info.totalram * info.mem_unit;
    (void)snprintf(i->why_not, sizeof(i->why_not), "%.*s", (int)sizeof(i->why_not) - 1, why_not);
    r = i->waits ? cgroup_unevictable(&i->bytes, err) : 0;
    if (r < 0) {
        return r;
    }
    r = msg_ready_encode(&m, &buf);
    if (r < 0) {
        r = err_sys_num(err, -r, "encode ready");
    } else {
        r = channel_send(&a->ch, FRAME_READY, buf.data, buf.len, err);
    }
    buf_fini(&buf);
    return r;
}

int main(void)
{
    static struct agent agent = {.io = STREAMS_INIT,
                                 .child = CHILD_INIT,
                                 .exits = EXITS_INIT,
                                 .oom = OOM_LOG_INIT,
                                 .pressure = PRESSURE_INIT,
                                 .warm = WARM_INIT};
    struct err err = ERR_INIT;
    struct err cold = ERR_INIT;
    int port = -1;

    (void)umask(0);
    (void)signal(SIGPIPE, SIG_IGN);
    if (boot_early(&port, &err) < 0) {
        boot_complain(err.msg);
        power_off();
    }
    channel_init(&agent.ch, port);
    if (boot_root(&agent.boot, &err) < 0 || job_make_ahead(&agent.boot, &err) < 0) {
        agent_fail(&agent, "boot", &err);
    } else {
        if (exits_open(&agent.exits, &err) < 0) {
            boot_complain(err.msg); /* then the reaper tells */
            err = (struct err)ERR_INIT;
        }
        (void)!warm_boot(&agent.warm, &agent.io, &agent.child, &cold);
        if (agent.warm.go_fd >= 0 && exits_watch(&agent.exits, agent.warm.pid, &err) < 0) {
            boot_complain(err.msg);
            err = (struct err)ERR_INIT;
        }
        if (oom_log_open(&agent.oom, &err) < 0 || pressure_open(&agent.pressure, &err) < 0 ||
            send_ready(&agent, cold.msg, &err) < 0) {
            agent_fail(&agent, "boot", &err);
        }
    }
    wait_for_host(port);
    agent_run(&agent);
    power_off();
}
