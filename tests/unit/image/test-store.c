#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/store.h"
#include "image/upkeep.h"
#include "store-objects.h"
#include "sys/fd.h"
#include "sys/memo.h"
#include "test.h"

struct fixture {
    char dir[64];
    struct store store;
};

static void fixture_init(struct fixture *f)
{
    struct err err = ERR_INIT;

    *f = (struct fixture){.dir = "/tmp/airlock-test-XXXXXX", .store = STORE_INIT};
    assert_non_null(mkdtemp(f->dir));
    assert_ok(store_open(f->dir, &f->store, &err), &err);
}

static void fixture_fini(struct fixture *f)
{
    struct err err = ERR_INIT;

    store_fini(&f->store);
    assert_ok(fd_remove_tree(AT_FDCWD, f->dir, &err), &err);
}

#define auto_fixture on_scope_exit(fixture_fini)

static struct object root_of(const struct store *store, const char *name)
{
    auto_image_manifest struct image_manifest m = {0};
    struct err err = ERR_INIT;

    assert_ok(store_read_image(store, name, &m, &err), &err);
    return m.root;
}

/* A store with a kernel and the image "python"; returns the image's root. */
static struct object fixture_with_root(struct fixture *f)
{
    fixture_init(f);
    add_kernel(&f->store, "kernel");
    add_image(&f->store, "python", "root");
    return root_of(&f->store, "python");
}

static bool has_object(const struct store *store, const struct object *object)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "objects/%s", object->digest.hex);
    return faccessat(store->dirfd, path, F_OK, 0) == 0;
}

static void overwrite(const struct store *store, const char *path, const char *text)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_int_equal(fchmodat(store->dirfd, path, 0600, 0), 0);
    assert_ok(fd_open_nolink(store->dirfd, path, O_WRONLY, 0, &fd, &err), &err);
    assert_ok(fd_write_full(fd, text, strlen(text), &err), &err);
}

static void corrupt(const struct store *store, const struct object *object)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "objects/%s", object->digest.hex);
    overwrite(store, path, "X");
}

/* The boot must fail with this error and its message must hold text. */
static void expect_no_boot(const struct store *store, const char *image, int r, const char *text)
{
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(store_open_boot(store, image, &boot, &err), r);
    assert_int_equal(err.class, ERR_USAGE);
    if (strstr(err.msg, text) == NULL) {
        fail_msg("'%s' does not say '%s'", err.msg, text);
    }
}

static void what_was_stored_boots(void **state)
{
    auto_fixture struct fixture f;
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    auto_store_boot struct store_boot pinned = STORE_BOOT_INIT;
    struct err err = ERR_INIT;
    char reference[128];
    struct stat st;

    (void)state;
    fixture_init(&f);
    add_kernel(&f.store, "kernel");
    add_image(&f.store, "python", "root");
    assert_ok(store_open_boot(&f.store, "python", &boot, &err), &err);
    assert_string_equal(boot.image, "python");
    assert_string_equal(boot.kernel_version, "6.1-3");
    assert_int_equal(fstat(boot.root_fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0444);
    (void)snprintf(reference, sizeof(reference), "python@sha256:%s", boot.root.hex);
    assert_ok(store_open_boot(&f.store, reference, &pinned, &err), &err);
}

static void the_kernel_opens_without_an_image(void **state)
{
    auto_fixture struct fixture f;
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    struct err err = ERR_INIT;

    (void)state;
    fixture_init(&f);
    add_kernel(&f.store, "kernel");
    assert_ok(store_open_boot(&f.store, NULL, &boot, &err), &err);
    assert_true(boot.kernel_fd >= 0 && boot.initramfs_fd >= 0);
    assert_int_equal(boot.root_fd, -1);
}

static void what_was_never_built_says_how_to_build_it(void **state)
{
    auto_fixture struct fixture f;

    (void)state;
    fixture_init(&f);
    expect_no_boot(&f.store, "python", -ENOENT, "airlock image build python");
    add_image(&f.store, "python", "root");
    expect_no_boot(&f.store, "python", -ENOENT, "airlock image build kernel");
    expect_no_boot(&f.store, "mine", -ENOENT, "airlock image build mine --from");
}

static void references_are_strict(void **state)
{
    auto_fixture struct fixture f;

    (void)state;
    fixture_init(&f);
    add_kernel(&f.store, "kernel");
    add_image(&f.store, "python", "root");
    expect_no_boot(&f.store, "../kernel", -EINVAL, "not a name");
    expect_no_boot(&f.store, "", -EINVAL, "not a name");
    expect_no_boot(&f.store, "python@", -EINVAL, "sha256:");
    expect_no_boot(&f.store, "python@sha256:12", -EINVAL, "sha256:");
    expect_no_boot(&f.store, "python@md5:00", -EINVAL, "sha256:");
    expect_no_boot(&f.store,
                   "python@sha256:0000000000000000000000000000000000000000000000000000000000000000",
                   -ENOENT, "not the sha256:0000");
}

static void a_flipped_bit_is_found_before_use(void **state)
{
    auto_fixture struct fixture f;
    struct object root = {0};
    struct err err = ERR_INIT;

    (void)state;
    root = fixture_with_root(&f);
    corrupt(&f.store, &root);
    expect_no_boot(&f.store, "python", -EBADMSG, "rebuild it with: airlock image build python");
    assert_int_equal(upkeep_verify(&f.store, "python", &err), -EBADMSG);
    /* Storing the same again heals it. */
    add_image(&f.store, "python", "root");
    err = (struct err)ERR_INIT;
    assert_ok(upkeep_verify(&f.store, "python", &err), &err);
    assert_ok(upkeep_verify(&f.store, "kernel", &err), &err);
}

/* As a job would after it hashed the object, and found it right, a while after its last change. */
static void remember(const struct store *store, const struct object *object)
{
    auto_memo struct memo memo = MEMO_INIT;
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    char name[128];
    char path[128];

    (void)snprintf(name, sizeof(name), "object-%s", object->digest.hex);
    (void)snprintf(path, sizeof(path), "objects/%s", object->digest.hex);
    assert_ok(fd_open_nolink(store->dirfd, path, O_RDONLY, 0, &fd, &err), &err);
    assert_ok(memo_begin(&memo, &err), &err);
    assert_ok(memo_add_fd(&memo, path, fd, &err), &err);
    memo.begun_ns += 2 * MEMO_SETTLED_NS;
    memo_put(store->dirfd, name, &memo, "", 0);
}

static void a_remembered_digest_counts_for_jobs_until_the_file_changes(void **state)
{
    auto_fixture struct fixture f;
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    struct object root = {0};
    struct err err = ERR_INIT;
    char path[128];

    (void)state;
    root = fixture_with_root(&f);
    corrupt(&f.store, &root);
    expect_no_boot(&f.store, "python", -EBADMSG, "rebuild it with: airlock image build python");
    expect_no_boot(&f.store, "python", -EBADMSG, "corrupt"); /* a failure is not remembered */
    remember(&f.store, &root);
    assert_ok(store_open_boot(&f.store, "python", &boot, &err), &err);   /* it was not read */
    assert_int_equal(upkeep_verify(&f.store, "python", &err), -EBADMSG); /* it was */
    expect_no_boot(&f.store, "python", -EBADMSG, "corrupt");             /* and is forgotten */
    remember(&f.store, &root);
    (void)snprintf(path, sizeof(path), "objects/%s", root.digest.hex);
    assert_int_equal(fchmodat(f.store.dirfd, path, 0444, 0), 0);
    expect_no_boot(&f.store, "python", -EBADMSG, "corrupt");
}

static void nothing_is_remembered_of_objects_that_were_collected(void **state)
{
    auto_fixture struct fixture f;
    struct object root = {0};
    struct err err = ERR_INIT;

    (void)state;
    root = fixture_with_root(&f);
    remember(&f.store, &root);
    assert_int_equal(faccessat(f.store.dirfd, "memo", F_OK, 0), 0);
    assert_ok(store_remove(&f.store, "python", &err), &err);
    assert_int_equal(faccessat(f.store.dirfd, "memo", F_OK, 0), -1);
}

static void a_missing_or_swapped_object_is_corrupt(void **state)
{
    auto_fixture struct fixture f;
    struct object root = {0};
    char path[128];

    (void)state;
    root = fixture_with_root(&f);
    (void)snprintf(path, sizeof(path), "objects/%s", root.digest.hex);
    assert_int_equal(unlinkat(f.store.dirfd, path, 0), 0);
    expect_no_boot(&f.store, "python", -EBADMSG, "is missing");
    assert_int_equal(mkfifoat(f.store.dirfd, path, 0600), 0);
    expect_no_boot(&f.store, "python", -EBADMSG, "corrupt");
}

static void a_damaged_manifest_says_what_to_do(void **state)
{
    auto_fixture struct fixture f;
    struct object root = {0};
    struct err err = ERR_INIT;

    (void)state;
    fixture_init(&f);
    add_kernel(&f.store, "kernel");
    add_image(&f.store, "python", "root");
    add_image(&f.store, "other", "other");
    root = root_of(&f.store, "other");
    overwrite(&f.store, "images/python.json", "{ nonsense");
    expect_no_boot(&f.store, "python", -EBADMSG, "airlock image build python");
    /* What it named is unknown, so nothing is collected until it is gone. */
    assert_ok(store_remove(&f.store, "other", &err), &err);
    assert_true(has_object(&f.store, &root));
    assert_ok(store_remove(&f.store, "python", &err), &err);
    assert_false(has_object(&f.store, &root));
    overwrite(&f.store, "kernel.json", "[]");
    expect_no_boot(&f.store, NULL, -EBADMSG, "airlock image build kernel");
}

static void a_manifest_under_another_name_is_refused(void **state)
{
    auto_fixture struct fixture f;

    (void)state;
    fixture_init(&f);
    add_kernel(&f.store, "kernel");
    add_image(&f.store, "other", "other");
    assert_int_equal(
        renameat(f.store.dirfd, "images/other.json", f.store.dirfd, "images/python.json"), 0);
    expect_no_boot(&f.store, "python", -EBADMSG, "it is of image 'other'");
}

static void removing_keeps_what_others_use(void **state)
{
    auto_fixture struct fixture f;
    auto_store_list char **names = NULL;
    struct object shared = {0};
    struct object own = {0};
    struct err err = ERR_INIT;

    (void)state;
    fixture_init(&f);
    add_image(&f.store, "a", "same");
    add_image(&f.store, "b", "same");
    add_image(&f.store, "c", "own");
    shared = root_of(&f.store, "a");
    own = root_of(&f.store, "c");
    assert_ok(store_remove(&f.store, "a", &err), &err);
    assert_ok(store_remove(&f.store, "c", &err), &err);
    assert_true(has_object(&f.store, &shared));
    assert_false(has_object(&f.store, &own));
    assert_ok(store_list(&f.store, &names, &err), &err);
    assert_string_equal(names[0], "b");
    assert_null(names[1]);
    assert_int_equal(store_remove(&f.store, "c", &err), -ENOENT);
}

static void one_builder_at_a_time_and_it_clears_leftovers(void **state)
{
    auto_fixture struct fixture f;
    auto_fd int first = -1;
    auto_fd int second = -1;
    struct err err = ERR_INIT;

    (void)state;
    fixture_init(&f);
    assert_int_equal(mkdirat(f.store.tmpfd, "build", 0700), 0);
    assert_int_equal(mkdirat(f.store.tmpfd, "build/root", 0700), 0);
    assert_ok(store_lock(&f.store, false, &first, &err), &err);
    assert_int_equal(faccessat(f.store.tmpfd, "build", F_OK, 0), -1);
    assert_int_equal(store_lock(&f.store, false, &second, &err), -EWOULDBLOCK);
    fd_close_p(&first);
    err = (struct err)ERR_INIT;
    assert_ok(store_lock(&f.store, false, &second, &err), &err);
}

static void a_state_directory_others_can_write_is_refused(void **state)
{
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(store_open(dir, &store, &err), -EPERM);
    assert_non_null(strstr(err.msg, "chmod 700"));
    assert_int_equal(rmdir(dir), 0);
    err = (struct err)ERR_INIT;
    assert_int_equal(store_open("/proc/1/nope/state", &store, &err) < 0, 1);
    err = (struct err)ERR_INIT;
    assert_int_equal(store_open("", &store, &err), -EINVAL);
}

TEST_MAIN(T(what_was_stored_boots), T(the_kernel_opens_without_an_image),
          T(what_was_never_built_says_how_to_build_it), T(references_are_strict),
          T(a_flipped_bit_is_found_before_use),
          T(a_remembered_digest_counts_for_jobs_until_the_file_changes),
          T(nothing_is_remembered_of_objects_that_were_collected),
          T(a_missing_or_swapped_object_is_corrupt), T(a_damaged_manifest_says_what_to_do),
          T(a_manifest_under_another_name_is_refused), T(removing_keeps_what_others_use),
          T(one_builder_at_a_time_and_it_clears_leftovers),
          T(a_state_directory_others_can_write_is_refused))
