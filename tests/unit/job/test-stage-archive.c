/* What an archive adds to the input image, and which files are not taken as inputs at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/spec.h"
#include "job/stage.h"
#include "sys/fd.h"
#include "sys/proc.h"
#include "tarball.h"
#include "test.h"
#include "workdir.h"

#define STRANGER              54321u
#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static void put(const char *path, const char *data)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, &err), &err);
    assert_ok(fd_write_full(fd, data, strlen(data), &err), &err);
}

/* Stages "x" as an input. */
static int stage_x(struct err *err)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    auto_fd int tmp = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    spec_init(&spec);
    r = spec_add_input(&spec, "x", err);
    return r < 0 ? r : stage_build(&spec, NULL, tmp, NULL, &stage, err);
}

static void files_that_carry_rights_or_come_from_strangers_are_refused(void **state)
{
    static const struct {
        mode_t mode;
        bool foreign, linked;
        const char *part; /* NULL: taken */
    } cases[] = {
        {0644, false, false, NULL},
        {0666, false, false, NULL}, /* the caller's own: his choice */
        {0644, false, true, NULL},
        {04755, false, false, "setuid or setgid"},
        {02755, false, false, "setuid or setgid"},
        {0644, true, false, NULL},
        {0664, true, false, NULL},
        {0646, true, false, "everybody can write it"},
        {0644, true, true, "other names (hard links)"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;

        if (cases[i].foreign && geteuid() != 0) {
            continue; /* chown needs root */
        }
        put("x", "data");
        if (cases[i].foreign) {
            assert_int_equal(chown("x", STRANGER, STRANGER), 0);
        }
        if (cases[i].linked) {
            assert_int_equal(link("x", "y"), 0);
        }
        assert_int_equal(chmod("x", cases[i].mode), 0);
        if (cases[i].part == NULL) {
            assert_ok(stage_x(&err), &err);
        } else {
            assert_int_equal(stage_x(&err), -EINVAL);
            assert_int_equal(err.class, ERR_USAGE);
            assert_has(err, cases[i].part);
        }
        assert_int_equal(unlink("x"), 0);
        assert_int_equal(cases[i].linked ? unlink("y") : 0, 0);
    }
}

static void an_archive_is_opened_like_any_input(void **state)
{
    auto_spec struct spec spec;
    auto_fd int tmp = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int fd = -1;
    struct stat st;
    struct err err = ERR_INIT;

    (void)state;
    put("x", "data");
    assert_int_equal(symlink("x", "link"), 0);
    spec_init(&spec);
    assert_ok(spec_set_archive(&spec, "link", &err), &err);
    assert_int_equal(stage_open_archive(&spec, tmp, &fd, &st, &err), -ELOOP);
    assert_int_equal(err.class, ERR_USAGE);
    err = (struct err)ERR_INIT;
    assert_int_equal(spec_set_archive(&spec, "x", &err), -EINVAL);
    assert_has(err, "given twice");
    err = (struct err)ERR_INIT;
    memcpy(spec.archive_path, "x", 2);
    assert_ok(stage_open_archive(&spec, tmp, &fd, &st, &err), &err);
    assert_ok(stage_archive_unchanged(&spec, fd, &st, &err), &err);
    put("x", "other");
    assert_int_equal(stage_archive_unchanged(&spec, fd, &st, &err), -EINVAL);
    assert_has(err, "changed while it was read");
}

static void an_inline_archive_becomes_an_unnamed_file(void **state)
{
    auto_spec struct spec spec;
    auto_fd int tmp = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int fd = -1;
    struct stat st;
    struct err err = ERR_INIT;
    char text[8] = "";

    (void)state;
    spec_init(&spec);
    spec.archive_data = (uint8_t *)strdup("inline");
    spec.archive_len = 6;
    assert_ok(stage_open_archive(&spec, tmp, &fd, &st, &err), &err);
    assert_int_equal(st.st_nlink, 0);
    assert_int_equal(st.st_size, 6);
    assert_int_equal(pread(fd, text, 6, 0), 6);
    assert_string_equal(text, "inline");
    assert_int_equal(write(fd, "x", 1), -1); /* it can only be read */
}

/* spec with the input "x", and the tar's entries beside it. */
static int stage_both(struct spec *spec, const struct buf *tar, struct stage *ret, struct err *err)
{
    auto_unpacked struct unpacked u = {0};
    const struct unpack_budget budget = stage_archive_budget(spec);
    auto_fd int fd = archive_fd(tar);
    auto_fd int data = memfd_create("data", MFD_CLOEXEC);
    auto_fd int tmp = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct unpack_source source = {.fd = fd, .bytes = tar->len};

    put("x", "input");
    assert_ok(unpack_prepare(err), err);
    assert_ok(spec_add_input(spec, "x", err), err);
    assert_ok(unpack(&source, &budget, data, &u, err), err);
    return stage_build(spec, &(struct stage_archive){.entries = &u, .data_fd = data}, tmp, NULL,
                       ret, err);
}

/* rdsquashfs on the image: what it prints. */
static void look(int fd, const char *option, const char *path, struct buf *out)
{
    char program[PROC_PATH_MAX];
    char image[64];
    const char *argv[] = {program, option, image, NULL, NULL};
    struct err err = ERR_INIT;

    (void)snprintf(image, sizeof(image), "/proc/%d/fd/%d", (int)getpid(), fd);
    if (path != NULL) {
        argv[2] = path;
        argv[3] = image;
    }
    assert_ok(proc_find("rdsquashfs", "squashfs-tools-ng", program, &err), &err);
    assert_ok(proc_run(argv, NULL, 30 * NS_PER_S, out, &err), &err);
}

static void a_tree_comes_back_from_the_image(void **state)
{
    static const char *const lines[] = {
        "dir in 0555 0 0",           "file in/a 0444 0 0",        "file in/x 0444 0 0",
        "dir in/d 0555 0 0",         "dir in/d/e 0555 0 0",       "file in/d/e/f 0444 0 0",
        "dir in/d/e/empty 0555 0 0", "file in/d-before 0444 0 0", "file in/d/z 0444 0 0",
    };
    auto_buf struct buf tar = BUF_INIT(MIB);
    auto_buf struct buf listing = BUF_INIT(65536);
    auto_buf struct buf text = BUF_INIT(65536);
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    tar_file(&tar, "d/z", "zz");
    tar_file(&tar, "d-before", "");
    tar_file(&tar, "d/e/f", "deep");
    tar_dir(&tar, "d/e/empty/");
    tar_file(&tar, "a", "first");
    tar_end(&tar);
    spec_init(&spec);
    assert_ok(stage_both(&spec, &tar, &stage, &err), &err);
    assert_true(stage.input_bytes == 5 + 2 + 4 + 5);
    assert_int_equal(stage.n_inputs, 8); /* three directories among them */
    look(stage.input_fd, "-d", NULL, &listing);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (strstr((char *)listing.data, lines[i]) == NULL) {
            print_error("no '%s' in:\n%s\n", lines[i], (char *)listing.data);
            fail();
        }
    }
    look(stage.input_fd, "-c", "in/d/e/f", &text);
    assert_int_equal(text.len, 4);
    assert_memory_equal(text.data, "deep", 4);
    assert_int_equal(strlen(stage.inputs[1].digest.hex), 64);
}

static void what_both_bring_is_counted_together(void **state)
{
    static const struct {
        const char *name;
        uint64_t bytes, files;
        const char *part; /* NULL: taken */
    } cases[] = {
        {"y", 10, 2, NULL},
        {"y", 9, 2, "raise --in-bytes"},
        {"y", 10, 1, "--in-files allows 1"},
        {"x", 10, 2, "an input and an entry of the archive"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf tar = BUF_INIT(MIB);
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;
        struct err err = ERR_INIT;
        int r = 0;

        tar_file(&tar, cases[i].name, "tenth");
        tar_end(&tar);
        spec_init(&spec);
        spec.limits.input_bytes = cases[i].bytes;
        spec.limits.input_files = cases[i].files;
        r = stage_both(&spec, &tar, &stage, &err);
        if (cases[i].part == NULL) {
            assert_ok(r, &err);
            continue;
        }
        assert_int_equal(r, -EINVAL);
        assert_has(err, cases[i].part);
    }
}

TEST_MAIN(D(files_that_carry_rights_or_come_from_strangers_are_refused),
          D(an_archive_is_opened_like_any_input), D(an_inline_archive_becomes_an_unnamed_file),
          D(a_tree_comes_back_from_the_image), D(what_both_bring_is_counted_together))
