#include "sup/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/fd.h"

static int too_large(const struct spec *spec, struct err *err)
{
    return err_set(err, ERR_LIMIT, EFBIG,
                   "stdin is larger than %llu bytes; raise the limit with --stdin-bytes",
                   (unsigned long long)spec->limits.stdin_bytes);
}

/* What one copy works with. */
struct copy {
    const struct spec *spec;
    struct client *client;
    uint64_t deadline_ns;
    int from, to;
};

/* Waits until there is something to read; the caller may change its mind meanwhile. */
static int wait_readable(const struct copy *copy, struct err *err)
{
    struct client *client = copy->client;

    for (;;) {
        struct pollfd p[2] = {{.fd = copy->from, .events = POLLIN},
                              {.fd = client->fd, .events = POLLIN}};
        uint64_t now = clock_mono_ns();
        uint64_t left = copy->deadline_ns > now ? copy->deadline_ns - now : 0;
        struct timespec ts = {.tv_sec = (time_t)(left / NS_PER_S),
                              .tv_nsec = (long)(left % NS_PER_S)};

        if (left == 0) {
            return err_set(err, ERR_USAGE, ETIMEDOUT,
                           "stdin did not end in time; write it to a file and name that with "
                           "--stdin");
        }
        if (ppoll(p, 2, &ts, NULL) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return err_sys(err, "poll");
        }
        if (p[1].revents != 0) {
            client_listen(client);
            if (client->gone || client->canceled) {
                return err_set(err, ERR_HOST, ECANCELED, "canceled");
            }
        }
        if (p[0].revents != 0) {
            return 0;
        }
    }
}

static int copy_all(const struct copy *copy, uint64_t *ret_bytes, struct err *err)
{
    size_t chunk = 256 * KIB;
    auto_free char *data = malloc(chunk);
    uint64_t total = 0;

    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (;;) {
        ssize_t n = 0;
        int r = wait_readable(copy, err);

        if (r < 0) {
            return r;
        }
        n = read(copy->from, data, chunk);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, "read stdin");
        }
        if (n == 0) {
            *ret_bytes = total;
            return 0;
        }
        if ((uint64_t)n > copy->spec->limits.stdin_bytes - total) {
            return too_large(copy->spec, err);
        }
        r = fd_write_full(copy->to, data, (size_t)n, err);
        if (r < 0) {
            return err_wrap(err, "store stdin");
        }
        total += (uint64_t)n;
    }
}

static int open_source(const struct spec *spec, int *ret_fd, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st;
    int r =
        fd_open_nolink(AT_FDCWD, spec->stdin_path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);

    if (r < 0) {
        err->class = ERR_USAGE; /* the caller named it */
        return err_wrap(err, "--stdin");
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat '%s'", spec->stdin_path);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_usage(err,
                         "--stdin '%s' is not a regular file; pipe it in with --stdin - instead",
                         spec->stdin_path);
    }
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

bool spool_needed(const struct spec *spec)
{
    return spec->stdin_path != NULL || spec->stdin_data != NULL || spec->stdin_fd >= 0;
}

int spool_stdin(const struct spec *spec, int tmp_dirfd, struct client *client, uint64_t deadline_ns,
                struct spool *ret, struct err *err)
{
    auto_fd int source = -1;
    auto_fd int fd = -1;
    uint64_t bytes = 0;
    int r = 0;

    if (!spool_needed(spec)) {
        ret->fd = -1;
        ret->bytes = 0;
        return 0;
    }
    r = fd_open_tmp(tmp_dirfd, &fd, err);
    if (r < 0) {
        return r;
    }
    if (spec->stdin_data != NULL) {
        bytes = spec->stdin_len;
        r = bytes > spec->limits.stdin_bytes
                ? too_large(spec, err)
                : fd_write_full(fd, spec->stdin_data, spec->stdin_len, err);
    } else {
        if (spec->stdin_path != NULL) {
            r = open_source(spec, &source, err);
        }
        if (r == 0) {
            const struct copy copy = {
                .spec = spec,
                .client = client,
                .deadline_ns = deadline_ns,
                .from = source >= 0 ? source : spec->stdin_fd,
                .to = fd,
            };

            r = copy_all(&copy, &bytes, err);
        }
    }
    if (r < 0) {
        return r;
    }
    ret->fd = STEAL_FD(&fd);
    ret->bytes = bytes;
    return 0;
}
