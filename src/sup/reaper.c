#include "sup/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "job/outputs.h"
#include "sys/fd.h"
#include "sys/fsuser.h"

#define DONE       'd'
#define DISMISS_NS (2 * NS_PER_S)
#define KEEP_FDS   4

/* Only SIGKILL ends it early: whatever is sent to the session's terminal or group is not for it. */
static void ignore_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    for (int s = 1; s < NSIG; s++) {
        (void)sigaction(s, &ignore, NULL);
    }
}

/* Everything but the pipe, the slot and the store goes, the caller's socket above all. */
static void keep_only(struct hold *hold, int pipe_fd, int store_fd)
{
    const int keep[KEEP_FDS] = {pipe_fd, hold->slot.fd, hold->slot.slots_fd, store_fd};

    fd_keep_only(keep, KEEP_FDS);
}

/* True if the supervisor said that it cleaned up; false if it died. */
static bool wait_for_word(int fd)
{
    for (;;) {
        char word = 0;
        ssize_t n = read(fd, &word, 1);

        if (n == 1 && word == DONE) {
            return true;
        }
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
    }
}

static void sweep_outputs(const struct reaper_work *work)
{
    auto_fsuser struct fsuser user = FSUSER_INIT;
    struct err ignored = ERR_INIT;

    if (work->out_dir != NULL && (!work->out_as_owner || fsuser_enter(&user, &ignored) == 0)) {
        outputs_export_sweep(work->out_dir, work->machine_id);
    }
}

_Noreturn static void reaper_main(struct hold *hold, const struct reaper_work *work, int fd)
{
    struct err err = ERR_INIT;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "airlock-reap");
    ignore_signals();
    keep_only(hold, fd, work->store_fd);
    if (wait_for_word(fd)) {
        _exit(0);
    }
    work->lost(work->ctx, false);
    sweep_outputs(work);
    /* If this fails the slot's file stays, unlocked, for the next start to find. */
    if (hold_sweep(hold, &err) < 0) {
        _exit(1);
    }
    work->lost(work->ctx, true);
    _exit(0);
}

int reaper_start(struct hold *hold, const struct reaper_work *work, struct reaper *ret,
                 struct err *err)
{
    int pipe_fds[2] = {-1, -1};
    auto_fd int rd = -1;
    auto_fd int wr = -1;
    int r = 0;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    rd = pipe_fds[0];
    wr = pipe_fds[1];
    r = proc_fork(&ret->proc, err);
    if (r < 0) {
        return err_wrap(err, "start the reaper");
    }
    if (r == 1) {
        (void)close(wr);
        reaper_main(hold, work, rd);
    }
    ret->fd = STEAL_FD(&wr);
    return 0;
}

void reaper_excuse(const struct reaper *reaper)
{
    const char word = DONE;

    if (reaper->proc.pid > 0) {
        (void)!write(reaper->fd, &word, 1); /* EPIPE: somebody killed it; nothing is lost */
    }
}

void reaper_dismiss(struct reaper *reaper)
{
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;

    if (reaper->proc.pid > 0) {
        reaper_excuse(reaper);
        (void)!proc_wait(&reaper->proc, DISMISS_NS, &end, &ignored);
    }
    proc_fini(&reaper->proc);
    fd_close_p(&reaper->fd);
}
