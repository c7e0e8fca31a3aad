/*
 * fake.c - stands in for supervisor, images and result, so that the command line is tested alone.
 *
 * The "supervisor" is a child that acts a scene chosen by the script's name and speaks a trivial
 * framing: one byte of kind, four of length, the bytes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cmd-run.h"
#include "image/build.h"
#include "image/store.h"
#include "job/outputs.h"
#include "job/result.h"
#include "job/verdict.h"
#include "sup/sup.h"
#include "sys/fd.h"

#define HEAD 5u

int main(int argc, char **argv)
{
    return cmd_run(argc, argv);
}

static void send_event(int fd, enum sup_event_kind kind, const char *data, size_t len)
{
    uint8_t head[HEAD] = {(uint8_t)kind};
    uint32_t n = (uint32_t)len;
    struct err err = ERR_INIT;

    memcpy(head + 1, &n, sizeof(n));
    if (fd_write_full(fd, head, HEAD, &err) < 0 || fd_write_full(fd, data, len, &err) < 0) {
        _exit(1);
    }
}

static void send_text(int fd, enum sup_event_kind kind, const char *text)
{
    send_event(fd, kind, text, strlen(text));
}

static const char success[] =
    "{\"verdict\":\"success\",\"reason\":null,\"message\":\"fine\",\"exit_code\":0,"
    "\"signal\":null,\"outputs\":[{},{}],\"dropped\":[],"
    "\"phases\":{\"spawned_ns\":100000000,\"ready_ns\":3200000000,"
    "\"started_ns\":3200000000,\"exited_ns\":3500000000,\"cleaned_ns\":3900000000}}";
static const char failed[] = "{\"verdict\":\"user_exception\",\"message\":\"exit code 7\","
                             "\"exit_code\":7,\"signal\":null}";
static const char crashed[] = "{\"verdict\":\"user_exception\",\"message\":\"SIGSEGV\","
                              "\"exit_code\":null,\"signal\":\"SIGSEGV\"}";
static const char canceled[] = "{\"verdict\":\"canceled\",\"message\":\"the caller canceled\","
                               "\"exit_code\":null,\"signal\":null}";

/* Until the caller says so, or is gone. */
static void await_cancel(int fd)
{
    char byte = 0;

    if (read(fd, &byte, 1) == 1) {
        send_text(fd, SUP_RESULT, canceled);
    }
}

/* Writes without end, as a program does, until canceled. */
static void flood(int fd)
{
    static char data[65536];
    char byte = 0;

    memset(data, 'x', sizeof(data));
    while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
        send_event(fd, SUP_STDOUT, data, sizeof(data));
    }
    send_text(fd, SUP_RESULT, canceled);
}

static void act(const struct spec *spec, int fd)
{
    char inline_scene[64];
    const char *scene = inline_scene;
    const char *slash = NULL;

    (void)snprintf(inline_scene, sizeof(inline_scene), "%.*s", (int)spec->program_len,
                   spec->program_data != NULL ? (const char *)spec->program_data : "");
    if (spec->program_path != NULL) {
        slash = strrchr(spec->program_path, '/');
        scene = slash != NULL ? slash + 1 : spec->program_path;
    }
    if (strcmp(scene, "hello.py") == 0) {
        send_text(fd, SUP_PHASE, "run");
        send_text(fd, SUP_STDOUT, "hi \033[31m\xe2\x82");
        send_text(fd, SUP_STDERR, "oops\n");
        send_text(fd, SUP_STDOUT, "\xac\n");
        send_text(fd, SUP_RESULT, success);
    } else if (strcmp(scene, "args.py") == 0) {
        for (size_t i = 0; i < spec->n_args; i++) {
            send_text(fd, SUP_STDOUT, spec->args[i]);
            send_text(fd, SUP_STDOUT, "\n");
        }
        for (size_t i = 0; i < spec->n_env; i++) {
            send_text(fd, SUP_STDOUT, spec->env[i]);
            send_text(fd, SUP_STDOUT, "\n");
        }
        send_text(fd, SUP_RESULT, success);
    } else if (strcmp(scene, "seven.py") == 0) {
        send_text(fd, SUP_RESULT, failed);
    } else if (strcmp(scene, "crash.py") == 0) {
        send_text(fd, SUP_RESULT, crashed);
    } else if (strcmp(scene, "wait.py") == 0) {
        send_text(fd, SUP_STDOUT, "waiting\n");
        await_cancel(fd);
    } else if (strcmp(scene, "flood.py") == 0) {
        flood(fd);
    }
    _exit(0); /* any other scene: dies without a result */
}

int sup_start(const struct spec *spec, const struct store *store, bool streaming, struct sup *ret,
              struct err *err)
{
    int fds[2];
    pid_t pid = 0;

    (void)store;
    (void)streaming;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        return err_sys(err, "socketpair");
    }
    pid = fork();
    if (pid < 0) {
        return err_sys(err, "fork");
    }
    if (pid == 0) {
        (void)close(fds[0]);
        (void)setsid();
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        act(spec, fds[1]);
    }
    (void)close(fds[1]);
    *ret = (struct sup){.proc = {.pid = pid, .pidfd = -1}, .fd = fds[0], .in = BUF_INIT(MIB)};
    return 0;
}

int sup_next(struct sup *sup, struct sup_event *ret, struct err *err)
{
    uint8_t head[HEAD];
    uint32_t n = 0;
    uint8_t *at = NULL;
    size_t got = 0;

    if (fd_read_full(sup->fd, head, HEAD, &got, err) < 0) {
        return -EIO;
    }
    if (got < HEAD) {
        return err_set(err, ERR_HOST, EPIPE, "the supervisor died");
    }
    memcpy(&n, head + 1, sizeof(n));
    sup->in.len = 0;
    if (buf_reserve(&sup->in, n, &at) < 0 || fd_read_full(sup->fd, at, n, &got, err) < 0) {
        return -EIO;
    }
    *ret = (struct sup_event){.kind = (enum sup_event_kind)head[0], .data = at, .len = got};
    return 1;
}

void sup_cancel(struct sup *sup)
{
    (void)send(sup->fd, "c", 1, MSG_NOSIGNAL);
}

void sup_fini(struct sup *sup)
{
    fd_close_p(&sup->fd);
    proc_fini(&sup->proc);
    buf_fini(&sup->in);
}

int store_open(const char *path, struct store *ret, struct err *err)
{
    (void)ret;
    if (path != NULL && strcmp(path, "/full") == 0) {
        return err_set(err, ERR_HOST, ENOSPC, "no room in '/full'");
    }
    return 0;
}

void store_fini(struct store *store)
{
    (void)store;
}

int build_ensure(struct store *store, const char *image, const struct build_progress *progress,
                 struct err *err)
{
    (void)store;
    progress->step(progress->ctx, "building image");
    if (strcmp(image, "slow") == 0) {
        (void)pause();
    }
    if (strcmp(image, "missing") == 0) {
        return err_usage(err, "no image 'missing'");
    }
    return 0;
}

int outputs_check_dir(const char *dir, struct err *err)
{
    return strcmp(dir, "/dev/null") == 0 ? err_usage(err, "'%s' is not a directory", dir) : 0;
}

int result_rejected_json(const struct spec_limits *limits, enum airlock_verdict v,
                         const char *reason, const char *message, struct buf *out)
{
    return buf_printf(out, "{\"verdict\":\"%s\",\"reason\":\"%s\",\"message\":\"%s\"}",
                      verdict_name(v), reason, message);
}
