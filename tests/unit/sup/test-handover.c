/* A job goes to a waiting supervisor whole, and nothing of it stays on the way. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/spec-wire.h"
#include "sup/handover.h"
#include "sys/fd.h"
#include "test.h"

static void make_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static void make_spec(struct spec *spec)
{
    struct err err = ERR_INIT;

    spec_init(spec);
    assert_ok(spec_set_program(spec, "dir/hello.py", &err), &err);
    assert_ok(spec_add_env(spec, "TOKEN=a secret", &err), &err);
}

static void a_job_arrives_with_stdin_and_working_directory(void **state)
{
    auto_spec struct spec spec;
    auto_handover struct handover got = HANDOVER_INIT;
    struct err err = ERR_INIT;
    struct stat here;
    struct stat there;
    int pair[2];
    char text[8] = "";

    (void)state;
    make_pair(pair);
    make_spec(&spec);
    spec.stdin_fd = memfd_create("stdin", MFD_CLOEXEC);
    assert_int_equal(pwrite(spec.stdin_fd, "input", 5, 0), 5);
    assert_ok(handover_send(pair[0], &spec, true, 12345, &err), &err);
    assert_ok(handover_receive(pair[1], &got, &err), &err);
    assert_true(got.streaming);
    assert_int_equal(got.submitted_ns, 12345);
    assert_string_equal(got.spec.program_path, "dir/hello.py");
    assert_string_equal(got.spec.env[0], "TOKEN=a secret");
    assert_int_equal(pread(got.spec.stdin_fd, text, sizeof(text), 0), 5);
    assert_string_equal(text, "input");
    assert_int_equal(stat(".", &here), 0);
    assert_int_equal(fstat(got.dir_fd, &there), 0);
    assert_true(here.st_ino == there.st_ino && here.st_dev == there.st_dev);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void a_caller_that_is_gone_is_told_from_a_broken_job(void **state)
{
    auto_spec struct spec spec;
    auto_handover struct handover got = HANDOVER_INIT;
    struct err err = ERR_INIT;
    int pair[2];

    (void)state;
    make_pair(pair);
    (void)close(pair[0]);
    assert_int_equal(handover_receive(pair[1], &got, &err), -EPIPE);
    (void)close(pair[1]);
    make_pair(pair);
    make_spec(&spec);
    (void)close(pair[1]);
    err = (struct err)ERR_INIT;
    assert_int_equal(handover_send(pair[0], &spec, false, 1, &err), -EPIPE);
    (void)close(pair[0]);
}

/* A message as handover.c makes it: kind, streaming, time. */
static void send_raw(int sock, uint32_t kind, int fd, size_t len)
{
    struct {
        uint32_t kind, streaming;
        uint64_t submitted_ns;
    } part = {.kind = kind};

    assert_int_equal(fd_send(sock, &part, len, fd, 0), len);
}

static void parts_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        uint32_t kinds[3];
        bool bare; /* the last comes without a descriptor */
        size_t len;
    } bad[] = {
        {.kinds = {3}, .len = 16},               /* a spec before the directory */
        {.kinds = {2, 2}, .len = 16},            /* twice */
        {.kinds = {1, 1}, .len = 16},            /* twice */
        {.kinds = {9}, .len = 16},               /* not known */
        {.kinds = {2}, .bare = true, .len = 16}, /* no file */
        {.kinds = {2, 3}, .bare = true, .len = 16},
        {.kinds = {2, 3}, .len = 16}, /* a directory is no spec */
        {.kinds = {2}, .len = 15},    /* short */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_handover struct handover got = HANDOVER_INIT;
        auto_fd int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct err err = ERR_INIT;
        int pair[2];

        make_pair(pair);
        for (size_t k = 0; k < 3 && bad[i].kinds[k] != 0; k++) {
            bool last = k == 2 || bad[i].kinds[k + 1] == 0;

            send_raw(pair[0], bad[i].kinds[k], last && bad[i].bare ? -1 : dir, bad[i].len);
        }
        assert_int_equal(handover_receive(pair[1], &got, &err), -EPROTO);
        (void)close(pair[0]);
        (void)close(pair[1]);
    }
}

static void the_file_of_a_spec_is_overwritten_once_it_was_read(void **state)
{
    auto_spec struct spec spec;
    auto_handover struct handover got = HANDOVER_INIT;
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    auto_fd int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int file = memfd_create("job", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    int pair[2];

    (void)state;
    make_pair(pair);
    make_spec(&spec);
    assert_ok(spec_encode(&spec, &text, &err), &err);
    assert_ok(fd_write_full(file, text.data, text.len, &err), &err);
    send_raw(pair[0], 2, dir, 16);
    send_raw(pair[0], 3, file, 16);
    assert_ok(handover_receive(pair[1], &got, &err), &err);
    assert_string_equal(got.spec.env[0], "TOKEN=a secret");
    for (size_t i = 0; i < text.len; i++) {
        char byte = 'x';

        assert_int_equal(pread(file, &byte, 1, (off_t)i), 1);
        assert_int_equal(byte, 0);
    }
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void a_spec_that_is_no_job_is_refused_on_arrival(void **state)
{
    auto_spec struct spec spec;
    auto_handover struct handover got = HANDOVER_INIT;
    struct err err = ERR_INIT;
    int pair[2];

    (void)state;
    make_pair(pair);
    spec_init(&spec); /* nothing to run */
    assert_ok(handover_send(pair[0], &spec, false, 1, &err), &err);
    assert_int_equal(handover_receive(pair[1], &got, &err), -EINVAL);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

TEST_MAIN(T(a_job_arrives_with_stdin_and_working_directory),
          T(a_caller_that_is_gone_is_told_from_a_broken_job), T(parts_that_do_not_fit_are_refused),
          T(the_file_of_a_spec_is_overwritten_once_it_was_read),
          T(a_spec_that_is_no_job_is_refused_on_arrival))
