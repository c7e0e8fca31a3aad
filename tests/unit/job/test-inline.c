#include <errno.h>
#include <sys/stat.h>

#include "job/inline.h"
#include "workdir.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static void write_file(const char *name, const char *text)
{
    auto_fd int fd = -1;
    struct err err = ERR_INIT;

    assert_ok(fd_open(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, &err), &err);
    assert_ok(fd_write_full(fd, text, strlen(text), &err), &err);
}

static void base_spec(struct spec *spec)
{
    struct err err = ERR_INIT;

    spec_init(spec);
    write_file("p.py", "print(1)\n");
    assert_ok(spec_set_program(spec, "p.py", &err), &err);
}

static void whatever_was_a_path_becomes_its_bytes(void **state)
{
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    base_spec(&spec);
    write_file("in", "data");
    write_file("none", "");
    write_file("a.tar", "archive");
    assert_ok(spec_add_input(&spec, "in:name", &err), &err);
    assert_ok(spec_add_input(&spec, "none", &err), &err);
    assert_ok(spec_set_archive(&spec, "a.tar", &err), &err);
    spec.stdin_path = strdup("in");
    assert_ok(spec_inline(&spec, &err), &err);
    assert_null(spec.program_path);
    assert_int_equal(spec.program_len, 9);
    assert_memory_equal(spec.program_data, "print(1)\n", 9);
    assert_null(spec.inputs[0].path);
    assert_string_equal(spec.inputs[0].name, "name");
    assert_memory_equal(spec.inputs[0].data, "data", 4);
    assert_non_null(spec.inputs[1].data);
    assert_int_equal(spec.inputs[1].data_len, 0);
    assert_null(spec.archive_path);
    assert_memory_equal(spec.archive_data, "archive", 7);
    assert_null(spec.stdin_path);
    assert_memory_equal(spec.stdin_data, "data", 4);
    assert_ok(spec_check(&spec, &err), &err);
}

static void a_descriptor_is_read_to_its_end_within_the_limit(void **state)
{
    auto_spec struct spec spec;
    auto_spec struct spec small;
    struct err err = ERR_INIT;
    int fds[2] = {-1, -1};

    (void)state;
    base_spec(&spec);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "typed", 5), 5);
    (void)close(fds[1]);
    spec.stdin_fd = fds[0];
    assert_ok(spec_inline(&spec, &err), &err);
    assert_int_equal(spec.stdin_fd, -1);
    assert_int_equal(spec.stdin_len, 5);

    base_spec(&small);
    write_file("in", "data");
    small.limits.stdin_bytes = 3;
    assert_ok(fd_open(AT_FDCWD, "in", O_RDONLY, 0, &small.stdin_fd, &err), &err);
    assert_int_equal(spec_inline(&small, &err), -EINVAL);
    assert_has(err, "--stdin-bytes");
}

static void program_and_inputs_share_one_budget(void **state)
{
    auto_spec struct spec spec;
    auto_spec struct spec less;
    struct err err = ERR_INIT;

    (void)state;
    base_spec(&spec);
    write_file("in", "data");
    assert_ok(spec_add_input(&spec, "in", &err), &err);
    spec.limits.input_bytes = 9 + 4;
    assert_ok(spec_inline(&spec, &err), &err);

    base_spec(&less);
    assert_ok(spec_add_input(&less, "in", &err), &err);
    less.limits.input_bytes = 9 + 3;
    assert_int_equal(spec_inline(&less, &err), -EINVAL);
    assert_has(err, "--in-bytes");
}

static void what_staging_refuses_is_refused_here(void **state)
{
    static const struct {
        const char *name, *why;
    } cases[] = {
        {"link", "symbolic link"}, {"dir", "a directory"}, {"fifo", "a FIFO"}, {"suid", "setuid"}};

    (void)state;
    write_file("in", "data");
    write_file("suid", "data");
    assert_int_equal(symlink("in", "link"), 0);
    assert_int_equal(mkdir("dir", 0755), 0);
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(chmod("suid", 04755), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_spec struct spec spec;
        struct err err = ERR_INIT;

        base_spec(&spec);
        assert_ok(spec_add_input(&spec, cases[i].name, &err), &err);
        assert_true(spec_inline(&spec, &err) < 0);
        assert_int_equal(err.class, ERR_USAGE);
        assert_has(err, cases[i].why);
    }
}

TEST_MAIN(D(whatever_was_a_path_becomes_its_bytes),
          D(a_descriptor_is_read_to_its_end_within_the_limit),
          D(program_and_inputs_share_one_budget), D(what_staging_refuses_is_refused_here))
