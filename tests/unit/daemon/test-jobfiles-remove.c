#include <errno.h>
#include <poll.h>

#include "daemon/remover.h"
#include "jobs-dir.h"

static void make_outputs(int dirfd)
{
    auto_fd int out = -1;

    assert_int_equal(mkdirat(dirfd, "out", 0755), 0);
    out = openat(dirfd, "out", O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(out, "a", 0755), 0);
    assert_int_equal(mkdirat(out, "a/b", 0755), 0);
    put_at(out, "a/b/c.txt", "deep", 4, 0);
    put_at(out, "top", "t", 1, 0);
    put_at(out, "\xff\x01 odd", "odd", 3, 0);
    put_at(out, "...", "dots", 4, 0);
    assert_int_equal(symlinkat("/etc/passwd", out, "abs"), 0);
    assert_int_equal(symlinkat("top", out, "rel"), 0);
    assert_int_equal(symlinkat("a", out, "dirlink"), 0);
    assert_int_equal(symlinkat("..", out, "up"), 0);
    assert_int_equal(mkfifoat(out, "fifo", 0600), 0);
}

static void outputs_are_found_by_their_names_alone(void **state)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } good[] = {{"top", 1}, {"a/b/c.txt", 4}, {"\xff\x01 odd", 3}, {"...", 4}};

    static const char *const bad[] = {
        "",
        ".",
        "..",
        "../stdout",
        "a/../top",
        "a/./b/c.txt",
        "/etc/passwd",
        "a",
        "a/b",
        "a/b/",
        "/top",
        "top/",
        "a//b/c.txt",
        "abs",
        "rel",
        "up/stdout",
        "fifo",
        "missing",
        "dirlink/b/c.txt",
        "top/x",
        "../out/top",
        "a/b/c.txt/..",
    };
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    uint64_t bytes = 0;
    int fd = -1;

    (void)state;
    create(&f);
    assert_fails(jobfiles_output(f.dirfd, "top", &fd, &bytes, &err), ERR_USAGE, ENOENT, &err);
    make_outputs(f.dirfd);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_ok(jobfiles_output(f.dirfd, good[i].name, &fd, &bytes, &err), &err);
        assert_int_equal(bytes, good[i].bytes);
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        fd_close_p(&fd);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_fails(jobfiles_output(f.dirfd, bad[i], &fd, &bytes, &err), ERR_USAGE, ENOENT, &err);
        assert_int_equal(fd, -1);
    }
}

static void names_of_outputs_are_bounded(void **state)
{
    static char name[5000];
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    uint64_t bytes = 0;
    int fd = -1;

    (void)state;
    create(&f);
    make_outputs(f.dirfd);
    memset(name, 'a', sizeof(name) - 1);
    assert_fails(jobfiles_output(f.dirfd, name, &fd, &bytes, &err), ERR_USAGE, ENOENT, &err);
    for (size_t i = 1; i < sizeof(name) - 1; i += 2) {
        name[i] = '/';
    }
    assert_fails(jobfiles_output(f.dirfd, name, &fd, &bytes, &err), ERR_USAGE, ENOENT, &err);
    name[4095] = '\0';
    assert_fails(jobfiles_output(f.dirfd, name, &fd, &bytes, &err), ERR_USAGE, ENOENT, &err);
}

static void a_linked_output_directory_is_none(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    uint64_t bytes = 0;
    int fd = -1;

    (void)state;
    create(&f);
    assert_int_equal(symlinkat("/etc", f.dirfd, "out"), 0);
    assert_fails(jobfiles_output(f.dirfd, "passwd", &fd, &bytes, &err), ERR_USAGE, ENOENT, &err);
}

static void bytes_are_those_of_the_disk(void **state)
{
    static char block[100000];
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    auto_fd int sparse = -1;
    uint64_t bytes = 0;

    (void)state;
    memset(block, 'x', sizeof(block));
    create(&f);
    assert_int_equal(mkdirat(f.dirfd, "out", 0755), 0);
    put_at(f.dirfd, "out/file", block, sizeof(block), 0);
    sparse = openat(f.dirfd, "out/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(sparse, 1 << 30), 0);
    assert_ok(jobfiles_bytes(f.dirfd, &bytes, &err), &err);
    assert_true(bytes >= sizeof(block) && bytes < 3 * sizeof(block));
}

static void removal_leaves_nothing(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (int wipe = 0; wipe < 2; wipe++) {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;
        struct jobfiles_swept swept;

        create(&f);
        put(&f, JOBFILES_STDOUT, "secret");
        make_outputs(f.dirfd);
        assert_ok(jobfiles_remove(jobs_fd, id, wipe == 1, &err), &err);
        assert_false(there(jobs_fd, id));
        assert_ok(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), &err);
        assert_int_equal(swept.leftovers + swept.orphans + swept.foreign, 0);
        assert_ok(jobfiles_remove(jobs_fd, id, wipe == 1, &err), &err);
    }
}

static void a_wipe_overwrites_what_was_there(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    auto_fd int output = -1;
    auto_fd int sparse = -1;
    uint64_t bytes = 0;
    struct stat st;
    char data[8];

    (void)state;
    create(&f);
    put(&f, JOBFILES_STDOUT, "secret");
    make_outputs(f.dirfd);
    sparse = openat(f.dirfd, "out/a/sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(sparse, (off_t)1 << 42), 0);
    assert_int_equal(pwrite(sparse, "secret", 6, (off_t)1 << 41), 6);
    assert_ok(jobfiles_output(f.dirfd, "a/b/c.txt", &output, &bytes, &err), &err);
    assert_ok(jobfiles_remove(jobs_fd, id, true, &err), &err);
    assert_int_equal(pread(f.stdout_fd, data, 6, 0), 6);
    assert_memory_equal(data, "\0\0\0\0\0\0", 6);
    assert_int_equal(pread(output, data, 4, 0), 4);
    assert_memory_equal(data, "\0\0\0\0", 4);
    assert_int_equal(pread(sparse, data, 6, (off_t)1 << 41), 6);
    assert_memory_equal(data, "\0\0\0\0\0\0", 6);
    assert_int_equal(fstat(sparse, &st), 0);
    assert_true(st.st_blocks < 1000);
}

/* As the service does it: the disk's time is another thread's. */
static void a_thread_overwrites_and_removes_what_was_discarded(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    struct remover *remover = NULL;
    struct pollfd done = {.events = POLLIN};
    char data[8];

    (void)state;
    create(&f);
    put(&f, JOBFILES_STDOUT, "secret");
    assert_ok(remover_start(jobs_fd, &remover, &err), &err);
    assert_ok(jobfiles_discard(jobs_fd, id, true, &err), &err);
    assert_true(jobfiles_wiping(jobs_fd, id));
    done.fd = remover_fd(remover);
    assert_int_equal(poll(&done, 1, 100), 0); /* nobody asked */
    remover_ask(remover);
    assert_int_equal(poll(&done, 1, 10000), 1);
    assert_ok(remover_done(remover, &err), &err);
    assert_int_equal(poll(&done, 1, 0), 0);
    assert_false(jobfiles_wiping(jobs_fd, id));
    assert_int_equal(pread(f.stdout_fd, data, 6, 0), 6);
    assert_memory_equal(data, "\0\0\0\0\0\0", 6);
    remover_free(remover);
    remover_free(NULL);
}

static void a_half_made_directory_is_removed(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdirat(jobs_fd, id, 0700), 0);
    assert_fails(jobfiles_open(jobs_fd, id, &f, &err), ERR_HOST, ENOENT, &err);
    assert_ok(jobfiles_remove(jobs_fd, id, true, &err), &err);
    assert_false(there(jobs_fd, id));
}

/* Many more levels than there are descriptors, or a path has room for. */
static void a_deep_tree_is_removed(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    auto_fd int at = -1;
    uint64_t bytes = 0;

    (void)state;
    create(&f);
    at = openat(f.dirfd, ".", O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        int next = -1;

        assert_int_equal(mkdirat(at, "a-rather-long-name-of-a-directory", 0755), 0);
        next = openat(at, "a-rather-long-name-of-a-directory", O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        fd_close_p(&at);
        at = next;
    }
    /* Deeper than any output can be, so it was not looked through: said, not passed over. */
    assert_fails(jobfiles_bytes(f.dirfd, &bytes, &err), ERR_HOST, ENAMETOOLONG, &err);
    assert_fails(jobfiles_remove(jobs_fd, id, true, &err), ERR_HOST, ENAMETOOLONG, &err);
    assert_int_equal(renameat(jobs_fd, ".wipe-0123456789abcdef0123456789abcdef", jobs_fd, id), 0);
    assert_ok(jobfiles_remove(jobs_fd, id, false, &err), &err);
    assert_false(there(jobs_fd, id));
}

static int keep_even(void *ctx, const char *name, struct err *err)
{
    unsigned int *asked = ctx;

    (void)err;
    (*asked)++;
    return name[31] % 2 == 0;
}

static int keep_broken(void *ctx, const char *name, struct err *err)
{
    (void)ctx;
    (void)name;
    return err_set(err, ERR_HOST, EIO, "no store");
}

static void a_sweep_removes_what_nobody_knows_and_finishes_what_began(void **state)
{
    struct jobfiles_swept swept;
    struct err err = ERR_INIT;
    auto_fd int wiped = -1;
    unsigned int asked = 0;
    char data[6];

    (void)state;
    for (unsigned int i = 0; i < 10; i++) {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;
        char name[JOB_ID_SIZE];

        id_of(i, name);
        assert_ok(jobfiles_create(jobs_fd, name, &f, &err), &err);
        put(&f, JOBFILES_STDOUT, "secret");
        if (i == 4 || i == 5) {
            make_outputs(f.dirfd);
            assert_ok(jobfiles_discard(jobs_fd, name, i == 4, &err), &err);
            assert_false(there(jobs_fd, name));
        }
        if (i == 4) {
            wiped = openat(f.dirfd, "stdout", O_RDONLY | O_CLOEXEC);
        }
    }
    assert_int_equal(mkdirat(jobs_fd, ".rm-123-4", 0700), 0);
    put_at(jobs_fd, ".rm-123-4/x", "x", 1, 0);
    assert_int_equal(mkdirat(jobs_fd, "lost+found", 0700), 0);
    put_at(jobs_fd, ".gone-of-somebody", "x", 1, 0);

    assert_fails(jobfiles_sweep(jobs_fd, keep_broken, NULL, &swept, &err), ERR_HOST, EIO, &err);
    assert_ok(jobfiles_sweep(jobs_fd, keep_even, &asked, &swept, &err), &err);
    assert_int_equal(asked, 8);
    assert_int_equal(swept.orphans, 4);
    assert_int_equal(swept.foreign, 2);
    assert_false(there(jobs_fd, "00000000000000000000000000000003"));
    assert_int_equal(pread(wiped, data, 6, 0), 6);
    assert_memory_equal(data, "secret", 6); /* a start does not wait for that */
    assert_ok(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), &err);
    assert_int_equal(swept.leftovers, 7);
    assert_int_equal(swept.foreign, 2);
    assert_true(there(jobs_fd, "00000000000000000000000000000002"));
    assert_false(there(jobs_fd, "00000000000000000000000000000003"));
    assert_false(there(jobs_fd, ".rm-123-4"));
    assert_true(there(jobs_fd, "lost+found"));
    assert_true(there(jobs_fd, ".gone-of-somebody"));
    assert_int_equal(pread(wiped, data, 6, 0), 6);
    assert_memory_equal(data, "\0\0\0\0\0\0", 6);
}

static void the_specification_is_overwritten_as_the_other_files_are(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct jobfiles_swept swept;
    struct err err = ERR_INIT;
    auto_fd int spec = -1;
    uint64_t bytes = 0;
    char data[6];

    (void)state;
    create(&f);
    assert_ok(jobfiles_put_spec(&f, "secret", 6, &err), &err);
    spec = openat(f.dirfd, "spec", O_RDONLY | O_CLOEXEC);
    assert_ok(jobfiles_drop_spec(jobs_fd, id, &bytes, &err), &err);
    assert_false(there(f.dirfd, "spec"));
    assert_true(jobfiles_wiping(jobs_fd, id)); /* also where its directory was removed before */
    assert_ok(jobfiles_remove(jobs_fd, id, true, &err), &err);
    assert_true(jobfiles_wiping(jobs_fd, id));
    assert_ok(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), &err);
    assert_int_equal(swept.leftovers, 1);
    assert_false(jobfiles_wiping(jobs_fd, id));
    assert_int_equal(pread(spec, data, 6, 0), 6);
    assert_memory_equal(data, "\0\0\0\0\0\0", 6);
    assert_ok(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), &err);
    assert_int_equal(swept.leftovers, 0);
}

/* One that can't be removed keeps none of the others, wherever it stands among them. */
static void what_cannot_be_removed_keeps_nothing_else(void **state)
{
    struct jobfiles_swept swept;
    struct err err = ERR_INIT;

    (void)state;
    for (unsigned int i = 0; i < 9; i++) {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;
        char name[JOB_ID_SIZE];

        id_of(i, name);
        assert_ok(jobfiles_create(jobs_fd, name, &f, &err), &err);
        assert_ok(jobfiles_discard(jobs_fd, name, i % 2 == 0, &err), &err);
    }
    put_at(jobs_fd, ".wipe-0123456789abcdef0123456789abcdef", "x", 1, 0); /* no directory */
    assert_fails(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), ERR_HOST, ENOTDIR, &err);
    assert_int_equal(swept.leftovers, 10);
    assert_fails(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), ERR_HOST, ENOTDIR, &err);
    assert_int_equal(swept.leftovers, 1);
}

static void a_discarded_id_may_be_discarded_again(void **state)
{
    struct jobfiles_swept swept;
    struct err err = ERR_INIT;

    (void)state;
    for (int i = 0; i < 2; i++) {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;

        create(&f);
        assert_ok(jobfiles_discard(jobs_fd, id, true, &err), &err);
    }
    assert_ok(jobfiles_sweep(jobs_fd, NULL, NULL, &swept, &err), &err);
    assert_int_equal(swept.leftovers, 1);
}

TEST_MAIN(J(outputs_are_found_by_their_names_alone), J(names_of_outputs_are_bounded),
          J(a_linked_output_directory_is_none), J(bytes_are_those_of_the_disk),
          J(removal_leaves_nothing), J(a_wipe_overwrites_what_was_there),
          J(a_thread_overwrites_and_removes_what_was_discarded),
          J(a_half_made_directory_is_removed), J(a_deep_tree_is_removed),
          J(a_sweep_removes_what_nobody_knows_and_finishes_what_began),
          J(the_specification_is_overwritten_as_the_other_files_are),
          J(what_cannot_be_removed_keeps_nothing_else), J(a_discarded_id_may_be_discarded_again))
