/* What is told of templates, and the digest of their memory. No machine is needed for it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "store-dir.h"
#include "sup/template-internal.h"
#include "sup/template-upkeep.h"

#define S(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

#define HEX_A  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_AB "abababababababababababababababababababababababababababababababab"
#define STATE  "the state of a machine"
#define BUILT  1796000000u
#define PAGE   ((off_t)4096)

static struct store here(void)
{
    return (struct store){.path = root, .dirfd = store, .tmpfd = -1};
}

/* A file of MIB bytes that is a hole but for pages 3 and 200. */
static void fill(int fd)
{
    char page[4096];

    memset(page, 'm', sizeof(page));
    assert_int_equal(ftruncate(fd, MIB), 0);
    assert_int_equal(pwrite(fd, page, sizeof(page), 3 * PAGE), PAGE);
    assert_int_equal(pwrite(fd, page, sizeof(page), 200 * PAGE), PAGE);
}

/* A whole template by that key; other: of another boot of the host. */
static void make_template(const char *hex, bool other)
{
    struct store s = here();
    struct err err = ERR_INIT;
    struct template_footer f = {.memory_bytes = MIB,
                                .state_bytes = strlen(STATE),
                                .built = BUILT,
                                .vcpus = 1,
                                .engine = "tcg",
                                .image = "python",
                                .root = {HEX_A},
                                .tsc_khz = 1000};
    char footer[TEMPLATE_FOOTER_BYTES];
    auto_fd int dirfd = -1;
    auto_fd int fd = -1;

    (void)snprintf(f.key.hex, sizeof(f.key.hex), "%s", hex);
    assert_ok(boot_id_read(f.boot_id, &err), &err);
    if (other) {
        memset(f.boot_id, '0', 8);
    }
    assert_ok(template_open_dir(&s, &dirfd, &err), &err);
    assert_ok(fd_open_nolink(dirfd, hex, O_RDWR | O_CREAT | O_EXCL, 0600, &fd, &err), &err);
    fill(fd);
    assert_int_equal(pwrite(fd, STATE, strlen(STATE), MIB), strlen(STATE));
    digest_of_data(STATE, strlen(STATE), &f.state);
    assert_ok(template_digest_memory(fd, MIB, &f.memory, &err), &err);
    assert_ok(template_footer_encode(&f, footer, &err), &err);
    assert_int_equal(pwrite(fd, footer, sizeof(footer), (off_t)(MIB + strlen(STATE))),
                     sizeof(footer));
    assert_ok(template_seal(fd, &f, &err), &err);
}

static void path_of(const char *hex, char ret[160])
{
    (void)snprintf(ret, 160, "%s/templates/%s", root, hex);
}

/* Writes one byte and sets the times back, as only the owner can. */
static void damage(const char *hex, off_t at)
{
    char path[160];
    struct stat st = {0};
    auto_fd int fd = -1;

    path_of(hex, path);
    assert_int_equal(chmod(path, 0600), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, "X", 1, at), 1);
    assert_int_equal(fchmod(fd, 0444), 0);
    assert_int_equal(futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
}

static struct template_item verify(const char *hex)
{
    struct store s = here();
    struct digest key = {.hex = ""};
    struct template_item item = {.used = 0};
    struct err err = ERR_INIT;

    (void)snprintf(key.hex, sizeof(key.hex), "%s", hex);
    assert_ok(template_verify(&s, &key, &item, &err), &err);
    return item;
}

static void expect_damaged(const char *hex, const char *why)
{
    struct template_item item = verify(hex);

    assert_int_equal(item.state, TEMPLATE_DAMAGED);
    if (strstr(item.why, why) == NULL) {
        fail_msg("'%s' does not say '%s'", item.why, why);
    }
    assert_int_equal(item.footer.memory_bytes, 0);
}

static void a_whole_one_is_good_and_known_by_its_footer(void **state)
{
    struct template_item item;

    (void)state;
    make_template(HEX_A, false);
    item = verify(HEX_A);
    assert_string_equal(item.why, "");
    assert_int_equal(item.state, TEMPLATE_GOOD);
    assert_string_equal(item.footer.image, "python");
    assert_int_equal(item.footer.built, BUILT);
    assert_in_range(item.disk_bytes, 3 * PAGE, MIB / 2); /* holes do not count */
    assert_true(item.used > BUILT - 1000000000);
}

static void one_changed_byte_of_any_part_is_found(void **state)
{
    (void)state;
    make_template(HEX_A, false);
    damage(HEX_A, 200 * PAGE + 17);
    expect_damaged(HEX_A, "memory has another digest");
    make_template(HEX_AB, false);
    damage(HEX_AB, 100 * PAGE); /* in a hole */
    expect_damaged(HEX_AB, "memory has another digest");
    damage(HEX_AB, MIB);
    expect_damaged(HEX_AB, "state has another digest");
    damage(HEX_AB, (off_t)(MIB + strlen(STATE)));
    expect_damaged(HEX_AB, "no JSON");
}

static void whoever_writes_to_one_is_found_without_reading_it(void **state)
{
    struct store s = here();
    auto_free struct template_item *items = NULL;
    struct err err = ERR_INIT;
    char path[160];
    size_t n = 0;

    (void)state;
    make_template(HEX_A, false);
    path_of(HEX_A, path);
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    assert_ok(template_list(&s, &items, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(items[0].state, TEMPLATE_DAMAGED);
    assert_non_null(strstr(items[0].why, "written to"));
}

static void mode_length_name_and_kind_count(void **state)
{
    char path[160];
    char other[160];

    (void)state;
    make_template(HEX_A, false);
    path_of(HEX_A, path);
    path_of(HEX_AB, other);
    assert_int_equal(chmod(path, 0644), 0);
    expect_damaged(HEX_A, "owner or mode");
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(rename(path, other), 0);
    expect_damaged(HEX_AB, "another machine");
    assert_int_equal(chmod(other, 0600), 0);
    assert_int_equal(truncate(other, 100), 0);
    expect_damaged(HEX_AB, "too short");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink("/etc/passwd", other), 0);
    expect_damaged(HEX_AB, "symbolic link");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(other, 0444), 0);
    expect_damaged(HEX_AB, "no regular file");
}

static void one_of_another_boot_is_whole_but_not_used(void **state)
{
    struct template_item item;

    (void)state;
    make_template(HEX_A, true);
    item = verify(HEX_A);
    assert_int_equal(item.state, TEMPLATE_OTHER_BOOT);
    assert_string_equal(item.footer.engine, "tcg");
    damage(HEX_A, 3 * PAGE);
    expect_damaged(HEX_A, "memory"); /* damage is what counts */
}

static void the_last_used_comes_first_and_use_does_not_look_like_a_write(void **state)
{
    struct store s = here();
    auto_free struct template_item *items = NULL;
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    char path[160];
    size_t n = 0;

    (void)state;
    make_template(HEX_A, false);
    make_template(HEX_AB, false);
    path_of(HEX_A, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) { /* used a minute ago; now */
        const struct timespec old[2] = {{.tv_sec = time(NULL) - 60}, {.tv_nsec = UTIME_OMIT}};

        if (i == 0) {
            assert_int_equal(futimens(fd, old), 0);
        } else {
            path_of(HEX_AB, path);
            assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
            template_mark_used(fd);
        }
        free(items);
        items = NULL;
        assert_ok(template_list(&s, &items, &n, &err), &err);
        assert_int_equal(n, 2);
        assert_string_equal(items[0].key.hex, i == 0 ? HEX_AB : HEX_A);
        assert_int_equal(items[0].state, TEMPLATE_GOOD);
        assert_int_equal(items[1].state, TEMPLATE_GOOD);
    }
}

static void a_key_is_found_by_its_beginning(void **state)
{
    static const struct {
        const char *prefix;
        int r;
    } bad[] = {{"", -EINVAL},  {"A", -EINVAL}, {"../a", -EINVAL},
               {"b", -ENOENT}, {"a", -EEXIST}, {HEX_A "a", -EINVAL}};
    struct store s = here();
    struct digest key = {.hex = ""};
    struct err err = ERR_INIT;

    (void)state;
    make_template(HEX_A, false);
    make_template(HEX_AB, false);
    assert_ok(template_find(&s, "aa", &key, &err), &err);
    assert_string_equal(key.hex, HEX_A);
    assert_ok(template_find(&s, HEX_AB, &key, &err), &err);
    assert_string_equal(key.hex, HEX_AB);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err)ERR_INIT;
        assert_int_equal(template_find(&s, bad[i].prefix, &key, &err), bad[i].r);
        assert_int_equal(err.class, ERR_USAGE);
    }
}

static void a_removed_one_is_gone_and_removing_it_again_is_fine(void **state)
{
    struct store s = here();
    struct digest key = {HEX_A};
    struct template_item item = {.used = 0};
    struct err err = ERR_INIT;

    (void)state;
    make_template(HEX_A, false);
    assert_ok(template_remove(&s, &key, &err), &err);
    assert_ok(template_remove(&s, &key, &err), &err);
    assert_int_equal(template_verify(&s, &key, &item, &err), -ENOENT);
}

/* Zeros that were written and zeros of a hole are the same memory. */
static void holes_and_zeros_have_one_digest_and_places_count(void **state)
{
    static const char zeros[MIB];
    struct digest is[3] = {{.hex = ""}};
    struct err err = ERR_INIT;
    char page[4096];

    (void)state;
    memset(page, 'm', sizeof(page));
    for (int i = 0; i < 3; i++) {
        char path[64];
        auto_fd int fd = -1;

        (void)snprintf(path, sizeof(path), "%s/m%d", root, i);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        if (i == 1) {
            assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 0), MIB);
        }
        fill(fd);
        if (i == 2) { /* the same page, one place further */
            assert_int_equal(pwrite(fd, zeros, PAGE, 200 * PAGE), PAGE);
            assert_int_equal(pwrite(fd, page, PAGE, 201 * PAGE), PAGE);
        }
        assert_ok(template_digest_memory(fd, MIB, &is[i], &err), &err);
    }
    assert_string_equal(is[0].hex, is[1].hex);
    assert_string_not_equal(is[0].hex, is[2].hex);
}

static void what_lies_behind_the_memory_does_not_count_for_it(void **state)
{
    struct digest is[2] = {{.hex = ""}};
    struct err err = ERR_INIT;
    char path[64];
    auto_fd int fd = -1;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/m", root);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fill(fd);
    assert_ok(template_digest_memory(fd, MIB, &is[0], &err), &err);
    assert_int_equal(pwrite(fd, STATE, strlen(STATE), MIB), strlen(STATE));
    assert_ok(template_digest_memory(fd, MIB, &is[1], &err), &err);
    assert_string_equal(is[0].hex, is[1].hex);
}

TEST_MAIN(S(a_whole_one_is_good_and_known_by_its_footer), S(one_changed_byte_of_any_part_is_found),
          S(whoever_writes_to_one_is_found_without_reading_it), S(mode_length_name_and_kind_count),
          S(one_of_another_boot_is_whole_but_not_used),
          S(the_last_used_comes_first_and_use_does_not_look_like_a_write),
          S(a_key_is_found_by_its_beginning),
          S(a_removed_one_is_gone_and_removing_it_again_is_fine),
          S(holes_and_zeros_have_one_digest_and_places_count),
          S(what_lies_behind_the_memory_does_not_count_for_it))
