/* stdin that comes from a pipe: in time, late, or from a caller that gave up. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sup/spool.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "test.h"

struct rig {
    struct spec spec;
    struct client client;
    struct spool spool;
    int tmp;
    int caller; /* the other end of client.fd */
    int writer; /* of the pipe that is stdin */
};

static void rig_init(struct rig *rig)
{
    int ends[2];
    int pair[2];

    memset(rig, 0, sizeof(*rig));
    spec_init(&rig->spec);
    rig->spool.fd = -1;
    rig->tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(rig->tmp >= 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    rig->spec.stdin_fd = ends[0];
    rig->writer = ends[1];
    rig->caller = pair[0];
    client_init(&rig->client, pair[1], 1000);
}

static void rig_fini(struct rig *rig)
{
    fd_close_p(&rig->spec.stdin_fd);
    spec_fini(&rig->spec);
    client_fini(&rig->client);
    fd_close_p(&rig->spool.fd);
    fd_close_p(&rig->tmp);
    fd_close_p(&rig->caller);
    fd_close_p(&rig->writer);
}

static int spool(struct rig *rig, uint64_t in_ns, struct err *err)
{
    return spool_stdin(&rig->spec, rig->tmp, &rig->client, clock_mono_ns() + in_ns, &rig->spool,
                       err);
}

static void a_pipe_that_ends_in_time_is_stored_whole(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;
    char got[8] = "";

    rig_init(&rig);
    assert_int_equal(write(rig.writer, "hello", 5), 5);
    fd_close_p(&rig.writer);
    assert_ok(spool(&rig, 60 * NS_PER_S, &err), &err);
    assert_int_equal(rig.spool.bytes, 5);
    assert_int_equal(pread(rig.spool.fd, got, sizeof(got), 0), 5);
    assert_string_equal(got, "hello");
    rig_fini(&rig);
}

static void a_pipe_that_does_not_end_is_refused_at_the_deadline(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;
    uint64_t begin = clock_mono_ns();

    rig_init(&rig);
    assert_int_equal(write(rig.writer, "hello", 5), 5);
    assert_int_equal(spool(&rig, 30 * NS_PER_MS, &err), -ETIMEDOUT);
    assert_int_equal(err.class, ERR_USAGE);
    assert_non_null(strstr(err.msg, "--stdin"));
    assert_true(clock_mono_ns() - begin >= 30 * NS_PER_MS);
    assert_int_equal(rig.spool.fd, -1);
    rig_fini(&rig);
}

static void a_pipe_that_never_pauses_is_refused_at_the_deadline_too(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;

    rig_init(&rig);
    fd_close_p(&rig.spec.stdin_fd);
    rig.spec.stdin_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    rig.spec.limits.stdin_bytes = 16 * GIB;
    assert_int_equal(spool(&rig, 30 * NS_PER_MS, &err), -ETIMEDOUT);
    rig_fini(&rig);
}

static void a_caller_that_cancels_or_goes_ends_the_waiting(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;
    struct err again = ERR_INIT;

    rig_init(&rig);
    assert_int_equal(write(rig.caller, "c", 1), 1);
    assert_int_equal(spool(&rig, 60 * NS_PER_S, &err), -ECANCELED);
    assert_true(rig.client.canceled);
    rig_fini(&rig);
    rig_init(&rig);
    fd_close_p(&rig.caller);
    assert_int_equal(spool(&rig, 60 * NS_PER_S, &again), -ECANCELED);
    assert_true(rig.client.gone);
    rig_fini(&rig);
}

TEST_MAIN(T(a_pipe_that_ends_in_time_is_stored_whole),
          T(a_pipe_that_does_not_end_is_refused_at_the_deadline),
          T(a_pipe_that_never_pauses_is_refused_at_the_deadline_too),
          T(a_caller_that_cancels_or_goes_ends_the_waiting))
