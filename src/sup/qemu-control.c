/*
 * How it works.  All commands are written at once: the monitor takes them in order, and each one
 * but the last only prepares.  The state's file travels as a descriptor with "getfd", since an
 * outgoing migration takes no other name for one.  x-ignore-shared leaves the guest's memory where
 * it is: in its file.  The answers are read for three words only; anything else is noise.
 */
#include "sup/qemu-control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/str.h"

#include "sys/fd.h"

#define HELLO "{\"execute\":\"qmp_capabilities\"}\n"
/* Not a -global in 7.2. "events": the end of a save is told, not asked for. */
#define CAPABILITIES                                                              \
    "{\"execute\":\"migrate-set-capabilities\",\"arguments\":{\"capabilities\":[" \
    "{\"capability\":\"x-ignore-shared\",\"state\":true},"                        \
    "{\"capability\":\"events\",\"state\":true}]}}\n"
#define GETFD   "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}\n"
#define SAVE    "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:state\"}}\n"
#define RESTORE "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"fd:state\"}}\n"

/* A few hundred bytes into an empty socket buffer: all or nothing. */
static int say(int sock, const char *text, int fd, struct err *err)
{
    size_t len = strlen(text);
    ssize_t n = fd_send(sock, text, len, fd, MSG_DONTWAIT);

    if (n != (ssize_t)len) {
        return err_sys_num(err, n < 0 ? (int)-n : EAGAIN, "write to the monitor's control socket");
    }
    return 0;
}

static int order(int sock, const char *what, int state_fd, struct err *err)
{
    int r = say(sock, HELLO, -1, err);

    if (r == 0) {
        r = say(sock, GETFD, state_fd, err);
    }
    if (r == 0) {
        r = say(sock, CAPABILITIES, -1, err);
    }
    return r < 0 ? r : say(sock, what, -1, err);
}

int qemu_control_open(int state_fd, int *ret_ours, int *ret_theirs, struct err *err)
{
    int pair[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return state_fd < 0 ? 0 : order(pair[0], RESTORE, state_fd, err);
}

int qemu_control_save(struct machine *m, int state_fd, struct err *err)
{
    return order(m->control_fd, SAVE, state_fd, err);
}

static bool heard(const struct buf *said, const char *word)
{
    return said->len > 0 && memmem(said->data, said->len, word, strlen(word)) != NULL;
}

static int complain(const struct buf *said, const char *word, struct err *err)
{
    auto_buf struct buf shown = BUF_INIT(4096);
    const char *at = memmem(said->data, said->len, word, strlen(word));
    size_t left = said->len - (size_t)(at - (const char *)said->data);
    const char *end = memchr(at, '\n', left);
    size_t len = end != NULL ? (size_t)(end - at) : left;

    (void)!str_escape(&shown, at, len < 300 ? len : 300, false);
    return err_set(err, ERR_HOST, EPROTO, "the monitor could not save or restore a machine: %s",
                   shown.data != NULL ? (const char *)shown.data : word);
}

int qemu_control_read(struct machine *m, struct err *err)
{
    char chunk[2048];
    ssize_t n = recv(m->control_fd, chunk, sizeof(chunk), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        return err_set(err, ERR_HOST, EPIPE,
                       "the monitor closed its control socket before its machine was ready");
    }
    if (buf_put(&m->control, chunk, (size_t)n) < 0) {
        return err_set(err, ERR_HOST, EMSGSIZE, "the monitor says more than it should");
    }
    if (heard(&m->control, "\"error\"")) {
        return complain(&m->control, "\"error\"", err);
    }
    if (heard(&m->control, "\"failed\"")) {
        return complain(&m->control, "\"failed\"", err);
    }
    if (heard(&m->control, "\"RESUME\"") || heard(&m->control, "\"completed\"")) {
        fd_close_p(&m->control_fd);
        buf_fini(&m->control);
        return 1;
    }
    return 0;
}
