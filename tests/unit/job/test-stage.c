#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/spec.h"
#include "job/squash.h"
#include "job/stage.h"
#include "sys/fd.h"
#include "sys/proc.h"
#include "test.h"
#include "workdir.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static void put(const char *path, const void *data, size_t len)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd, &err), &err);
    assert_ok(fd_write_full(fd, data, len, &err), &err);
}

static int stage_here(const struct spec *spec, struct stage *ret, struct err *err)
{
    auto_fd int tmp = -1;
    int r = fd_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0, &tmp, err);

    return r < 0 ? r : stage_build(spec, NULL, tmp, NULL, ret, err);
}

static uint64_t size_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return (uint64_t)st.st_size;
}

/* Runs a tool on a copy of the image's descriptor; skips the case where the tool is missing. */
static void run_tool(int fd, const char *tool, const char *package, const char *const *args,
                     struct buf *out)
{
    char program[PROC_PATH_MAX];
    char image[64];
    const char *argv[8] = {program};
    struct err err = ERR_INIT;
    size_t n = 1;

    if (proc_find(tool, package, program, &err) < 0) {
        print_message("# %s is missing (package %s)\n", tool, package);
        skip();
    }
    for (; args[n - 1] != NULL; n++) {
        argv[n] = args[n - 1];
    }
    (void)snprintf(image, sizeof(image), "/proc/%d/fd/%d", (int)getpid(), fd);
    argv[n] = image;
    assert_ok(proc_run(argv, NULL, 30 * NS_PER_S, out, &err), &err);
}

static void assert_contents(int image_fd, const char *path, const void *data, size_t len)
{
    auto_buf struct buf out = BUF_INIT(8 * MIB);

    run_tool(image_fd, "rdsquashfs", "squashfs-tools-ng", (const char *const[]){"-c", path, NULL},
             &out);
    assert_int_equal(out.len, len);
    if (len > 0) {
        assert_memory_equal(out.data, data, len);
    }
}

static void program_and_inputs_come_back_byte_for_byte(void **state)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    auto_buf struct buf out = BUF_INIT(65536);
    struct err err = ERR_INIT;
    size_t len = 3 * 131072 + 77;
    auto_free uint8_t *large = malloc(len);

    (void)state;
    for (size_t i = 0; i < len; i++) {
        large[i] = (uint8_t)(i * 2654435761u >> 24);
    }
    put("script.py", "print('hi')\n", 12);
    put("large", large, len);
    put("block", large, 131072);
    put("empty", "", 0);
    spec_init(&spec);
    assert_ok(spec_set_program(&spec, "script.py", &err), &err);
    assert_ok(spec_add_input(&spec, "large:z large", &err), &err);
    assert_ok(spec_add_input(&spec, "empty", &err), &err);
    assert_ok(spec_add_input(&spec, "block:a\xc3\xa4", &err), &err);
    assert_ok(stage_here(&spec, &stage, &err), &err);
    assert_true(size_of(stage.input_fd) == STAGE_INPUT_DEVICE_BYTES);
    assert_true(size_of(stage.scratch_fd) == STAGE_SCRATCH_DEVICE_BYTES);
    assert_string_equal(stage.program.name, "main.py");
    assert_int_equal(stage.n_inputs, 3);
    assert_true(stage.input_bytes == 12 + len + 131072);
    assert_string_equal(stage.inputs[1].digest.hex,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_contents(stage.input_fd, "prog/main.py", "print('hi')\n", 12);
    assert_contents(stage.input_fd, "in/z large", large, len);
    assert_contents(stage.input_fd, "in/empty", "", 0);
    assert_contents(stage.input_fd, "in/a\xc3\xa4", large, 131072);
    run_tool(stage.input_fd, "rdsquashfs", "squashfs-tools-ng", (const char *const[]){"-d", NULL},
             &out);
    assert_non_null(strstr((char *)out.data, "in 0555 0 0"));
    assert_non_null(strstr((char *)out.data, "main.py 0444 0 0"));
}

/* The first len bytes of a file; the caller frees. */
static uint8_t *data_of(int fd, size_t len)
{
    struct err err = ERR_INIT;
    uint8_t *data = malloc(len);
    size_t got = 0;

    assert_non_null(data);
    assert_ok(fd_pread_full(fd, data, len, 0, &got, &err), &err);
    assert_int_equal(got, len);
    return data;
}

/* It goes with JOB; root finds a device that it can mount all the same. */
static void a_short_program_alone_makes_no_image(void **state)
{
    (void)state;
    put("script.py", "print('hi')\n", 12);
    for (int root = 0; root < 2; root++) {
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;
        struct err err = ERR_INIT;
        auto_free uint8_t *input = NULL;

        spec_init(&spec);
        spec.root = root == 1;
        assert_ok(spec_set_program(&spec, "script.py", &err), &err);
        assert_ok(stage_here(&spec, &stage, &err), &err);
        assert_int_equal(stage.program_data.len, 12);
        assert_true(stage_has_input(&stage, &spec) == (root == 1));
        input = data_of(stage.input_fd, 4096);
        assert_true((memcmp(input, "hsqs", 4) == 0) == (root == 1));
    }
}

static void the_same_job_gives_the_same_images(void **state)
{
    struct digest digests[4];

    (void)state;
    put("a.csv", "1,2\n", 4);
    for (size_t i = 0; i < 2; i++) {
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;
        struct err err = ERR_INIT;
        auto_free uint8_t *input = NULL;
        uint64_t bytes = 0;

        spec_init(&spec);
        spec.limits.disk_bytes = 4 * MIB;
        assert_ok(spec_add_input(&spec, "a.csv", &err), &err);
        assert_ok(stage_here(&spec, &stage, &err), &err);
        /* The rest of both devices is a hole; the input's descriptor cannot write. */
        assert_int_equal(ftruncate(stage.input_fd, MIB), -1);
        input = data_of(stage.input_fd, MIB);
        digest_of_data(input, MIB, &digests[2 * i]);
        assert_int_equal(ftruncate(stage.scratch_fd, 4 * MIB), 0);
        assert_ok(digest_of_fd(stage.scratch_fd, &digests[2 * i + 1], &bytes, &err), &err);
    }
    assert_true(digest_equal(&digests[0], &digests[2]));
    assert_true(digest_equal(&digests[1], &digests[3]));
}

static void a_thousand_inputs_fit(void **state)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    put("one", "1", 1);
    spec_init(&spec);
    for (int i = 0; i < 1024; i++) {
        char arg[300];

        (void)snprintf(arg, sizeof(arg), "one:%0200d", (i * 7919) % 1024);
        assert_ok(spec_add_input(&spec, arg, &err), &err);
    }
    assert_ok(stage_here(&spec, &stage, &err), &err);
    {
        char path[300];

        (void)snprintf(path, sizeof(path), "in/%0200d", 777);
        assert_contents(stage.input_fd, path, "1", 1);
    }
}

static void scratch_has_the_size_and_the_inodes_asked_for(void **state)
{
    static const struct {
        uint64_t disk, inodes;
    } cases[] = {{64 * MIB, 4096}, {4 * MIB, 4096}, {4 * MIB, 16}, {GIB, 100000}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;
        auto_buf struct buf out = BUF_INIT(65536);
        struct err err = ERR_INIT;
        const char *at = NULL;
        unsigned long long blocks = 0;
        unsigned long long free_inodes = 0;
        struct stat st;

        spec_init(&spec);
        spec.limits.disk_bytes = cases[i].disk;
        spec.limits.inodes = cases[i].inodes;
        assert_ok(stage_here(&spec, &stage, &err), &err);
        run_tool(stage.scratch_fd, "dumpe2fs", "e2fsprogs", (const char *const[]){"-h", NULL},
                 &out);
        assert_int_equal(fstat(stage.scratch_fd, &st), 0);
        assert_true((uint64_t)st.st_blocks * 512 >= cases[i].disk); /* reserved on the host */
        at = strstr((char *)out.data, "Block count:");
        assert_non_null(at);
        blocks = strtoull(at + strlen("Block count:"), NULL, 10);
        at = strstr((char *)out.data, "Free inodes:");
        assert_non_null(at);
        free_inodes = strtoull(at + strlen("Free inodes:"), NULL, 10);
        assert_true(blocks * 4096 == cases[i].disk);
        assert_true(free_inodes >= cases[i].inodes + STAGE_AGENT_INODES);
        /* mke2fs fills each group of 128 MiB up to whole blocks of 16 inodes. */
        assert_true(free_inodes <
                    cases[i].inodes + STAGE_AGENT_INODES + 16 * (cases[i].disk / (128 * MIB) + 1));
    }
}

static void refuse(const char *input, int errnum, const char *says)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    struct err err = ERR_INIT;

    spec_init(&spec);
    assert_ok(spec_add_input(&spec, input, &err), &err);
    assert_int_equal(stage_here(&spec, &stage, &err), -errnum);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, input);
    assert_has(err, says);
    assert_int_equal(stage.input_fd, -1);
}

static void only_regular_files_behind_no_link_are_inputs(void **state)
{
    (void)state;
    put("real", "x", 1);
    assert_int_equal(mkdir("sub", 0755), 0);
    put("sub/file", "x", 1);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(symlink("sub", "linkdir"), 0);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(mkfifo("fifo", 0644), 0);
    refuse("link", ELOOP, "symbolic link");
    refuse("linkdir/file", ELOOP, "symbolic link");
    refuse("dangling", ELOOP, "symbolic link");
    refuse("/proc/self/exe", ELOOP, "symbolic link");
    refuse("fifo", EINVAL, "a FIFO");
    refuse("sub", EINVAL, "a directory");
    refuse("/dev/null", EINVAL, "a device");
    refuse("missing", ENOENT, "No such file");
    refuse("real/x", ENOTDIR, "Not a directory");
}

static void a_script_follows_the_same_rules(void **state)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    put("real.py", "", 0);
    assert_int_equal(symlink("real.py", "link.py"), 0);
    spec_init(&spec);
    assert_ok(spec_set_program(&spec, "link.py", &err), &err);
    assert_int_equal(stage_here(&spec, &stage, &err), -ELOOP);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, "program");
    assert_has(err, "realpath");
}

static void a_file_that_is_not_what_it_was_is_refused(void **state)
{
    (void)state;
    /* Its size is 0 for fstat(), and yet there is something to read. */
    refuse("/proc/version", EINVAL, "grew");
}

static void unreadable_files_are_named(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        print_message("# root can read everything\n");
        skip();
    }
    put("secret", "x", 1);
    assert_int_equal(chmod("secret", 0), 0);
    refuse("secret", EACCES, "Permission denied");
}

static void bytes_over_the_input_limit_are_refused(void **state)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    put("s.py", "1234", 4);
    put("a", "12345", 5);
    put("b", "1", 1);
    spec_init(&spec);
    spec.limits.input_bytes = 10;
    assert_ok(spec_set_program(&spec, "s.py", &err), &err);
    assert_ok(spec_add_input(&spec, "a", &err), &err);
    assert_ok(spec_add_input(&spec, "b", &err), &err);
    assert_ok(stage_here(&spec, &stage, &err), &err);
    stage_fini(&stage);
    spec.limits.input_bytes = 9;
    assert_int_equal(stage_here(&spec, &stage, &err), -EINVAL);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, "'b'");
    assert_has(err, "--in-bytes");
}

static void a_sparse_giant_is_refused_by_its_size(void **state)
{
    (void)state;
    put("giant", "", 0);
    assert_int_equal(truncate("giant", 1ll << 40), 0);
    refuse("giant", EINVAL, "--in-bytes");
}

static void a_full_disk_is_a_limit_and_leaves_nothing(void **state)
{
    struct err err = ERR_INIT;
    auto_free uint8_t *data = calloc(1, 2 * MIB);
    int left = 0;

    (void)state;
    assert_int_equal(mkdir("small", 0700), 0);
    if (mount("airlock-test", "small", "tmpfs", 0, "size=1m") < 0) {
        print_message("# cannot mount a tmpfs: %s\n", strerrordesc_np(errno));
        skip();
    }
    put("input", data, 2 * MIB);
    {
        auto_fd int tmp = -1;
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;

        spec_init(&spec);
        assert_ok(fd_open(AT_FDCWD, "small", O_RDONLY | O_DIRECTORY, 0, &tmp, &err), &err);
        assert_ok(spec_add_input(&spec, "input", &err), &err);
        left = stage_build(&spec, NULL, tmp, NULL, &stage, &err);
    }
    assert_int_equal(umount("small"), 0); /* fails if anything is still open there */
    assert_int_equal(left, -ENOSPC);
    assert_int_equal(err.class, ERR_LIMIT);
    assert_has(err, "no space left in");
    assert_has(err, "/small");
}

/* Lets so many pieces pass. */
static int call_off(void *ctx, struct err *err)
{
    int *left = ctx;

    return (*left)-- > 0 ? 0 : err_set(err, ERR_USAGE, ETIMEDOUT, "called off");
}

static void a_staging_that_is_called_off_ends_between_two_pieces(void **state)
{
    uint8_t *data = calloc(1, MIB);
    int pieces = 0;

    (void)state;
    assert_non_null(data);
    put("input", data, MIB); /* four pieces, and the look past its end */
    free(data);
    for (int allowed = 0; allowed <= 5; allowed++) {
        struct err err = ERR_INIT;
        auto_fd int tmp = -1;
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;
        const struct stage_watch watch = {.check = call_off, .ctx = &pieces};
        int r = 0;

        pieces = allowed;
        spec_init(&spec);
        assert_ok(fd_open(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0, &tmp, &err), &err);
        assert_ok(spec_add_input(&spec, "input", &err), &err);
        r = stage_build(&spec, NULL, tmp, &watch, &stage, &err);
        assert_int_equal(r, allowed < 5 ? -ETIMEDOUT : 0);
        assert_int_equal(err.class, allowed < 5 ? ERR_USAGE : ERR_NONE);
        assert_int_equal(stage.input_fd >= 0, allowed == 5);
    }
}

static void a_scratch_that_does_not_fit_is_a_limit(void **state)
{
    struct err err = ERR_INIT;
    int r = 0;

    (void)state;
    assert_int_equal(mkdir("small", 0700), 0);
    if (mount("airlock-test", "small", "tmpfs", 0, "size=16k") < 0) {
        print_message("# cannot mount a tmpfs: %s\n", strerrordesc_np(errno));
        skip();
    }
    {
        auto_fd int tmp = -1;
        auto_spec struct spec spec;
        auto_stage struct stage stage = STAGE_INIT;

        spec_init(&spec);
        assert_ok(fd_open(AT_FDCWD, "small", O_RDONLY | O_DIRECTORY, 0, &tmp, &err), &err);
        r = stage_build(&spec, NULL, tmp, NULL, &stage, &err);
    }
    assert_int_equal(umount("small"), 0);
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(err.class, ERR_LIMIT);
}

static void an_image_larger_than_its_device_is_refused(void **state)
{
    auto_squash struct squash squash;
    auto_fd int fd = -1;
    struct err err = ERR_INIT;
    uint8_t data[200] = {0};

    (void)state;
    assert_ok(fd_open(AT_FDCWD, "image", O_RDWR | O_CREAT, 0600, &fd, &err), &err);
    squash_init(&squash, fd, 100);
    assert_int_equal(squash_write(&squash, data, sizeof(data), &err), -EFBIG);
    assert_int_equal(err.class, ERR_LIMIT);
    err = (struct err)ERR_INIT;
    assert_int_equal(squash_finish(&squash, &err), -EFBIG);
}

static void the_host_kernel_mounts_both(void **state)
{
    auto_spec struct spec spec;
    auto_stage struct stage stage = STAGE_INIT;
    struct err err = ERR_INIT;
    auto_buf struct buf out = BUF_INIT(65536);
    char image[64];
    char program[PROC_PATH_MAX];

    (void)state;
    if (geteuid() != 0 || access("/dev/loop-control", R_OK | W_OK) < 0 ||
        proc_find("mount", "mount", program, &err) < 0) {
        print_message("# needs root and loop devices\n");
        skip();
    }
    put("a.csv", "1,2\n", 4);
    assert_int_equal(mkdir("m", 0700), 0);
    spec_init(&spec);
    assert_ok(spec_add_input(&spec, "a.csv", &err), &err);
    assert_ok(stage_here(&spec, &stage, &err), &err);
    for (int i = 0; i < 2; i++) {
        const char *argv[] = {program, "-t", i == 0 ? "squashfs" : "ext4", "-o", "loop", image,
                              "m",     NULL};

        (void)snprintf(image, sizeof(image), "/proc/%d/fd/%d", (int)getpid(),
                       i == 0 ? stage.input_fd : stage.scratch_fd);
        if (proc_run(argv, NULL, 30 * NS_PER_S, &out, &err) < 0) {
            print_message("# this kernel cannot: %s\n", err.msg);
            skip();
        }
        if (i == 0) {
            auto_fd int fd = -1;
            char text[8] = {0};

            assert_ok(fd_open(AT_FDCWD, "m/in/a.csv", O_RDONLY, 0, &fd, &err), &err);
            assert_int_equal(read(fd, text, sizeof(text)), 4);
            assert_string_equal(text, "1,2\n");
        } else {
            put("m/new", "x", 1);
        }
        assert_int_equal(umount("m"), 0);
    }
}

TEST_MAIN(D(program_and_inputs_come_back_byte_for_byte), D(a_short_program_alone_makes_no_image),
          D(the_same_job_gives_the_same_images), D(a_thousand_inputs_fit),
          D(scratch_has_the_size_and_the_inodes_asked_for),
          D(only_regular_files_behind_no_link_are_inputs), D(a_script_follows_the_same_rules),
          D(a_file_that_is_not_what_it_was_is_refused), D(unreadable_files_are_named),
          D(bytes_over_the_input_limit_are_refused), D(a_sparse_giant_is_refused_by_its_size),
          D(a_full_disk_is_a_limit_and_leaves_nothing), D(a_scratch_that_does_not_fit_is_a_limit),
          D(a_staging_that_is_called_off_ends_between_two_pieces),
          D(an_image_larger_than_its_device_is_refused), D(the_host_kernel_mounts_both))
