#include <errno.h>
#include <string.h>

#include "image/manifest.h"
#include "test.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PACKAGE                                                        \
    "{\"name\":\"python3\",\"version\":\"1:3.11\",\"arch\":\"amd64\"," \
    "\"suite\":\"Debian-Security:12/oldstable-security\",\"sha256\":\"" HEX "\"}"
#define IMAGE(name, requested, digest, bytes, more)                                    \
    "{\"format\":1,\"name\":\"" name "\",\"from\":\"python\",\"requested\":" requested \
    ",\"created\":5,\"root\":{\"sha256\":\"" digest "\",\"bytes\":" bytes              \
    "},\"packages\":[" PACKAGE "]" more "}"

static int parse(const char *text, struct image_manifest *m)
{
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    struct err err = ERR_INIT;
    int r = 0;

    assert_int_equal(buf_put(&json, text, strlen(text)), 0);
    r = image_manifest_parse(&json, m, &err);
    if (r < 0) {
        assert_int_equal(err.class, ERR_USAGE);
    }
    return r;
}

static void an_image_manifest_survives_being_written_and_read(void **state)
{
    auto_image_manifest struct image_manifest m = {0};
    auto_image_manifest struct image_manifest again = {0};
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse(IMAGE("x", "[\"python3-numpy\"]", HEX, "7", ""), &m), 0);
    assert_ok(image_manifest_print(&m, &json, &err), &err);
    assert_ok(image_manifest_parse(&json, &again, &err), &err);
    assert_string_equal(again.name, "x");
    assert_string_equal(again.requested[0], "python3-numpy");
    assert_null(again.requested[1]);
    assert_int_equal(again.root.bytes, 7);
    assert_string_equal(again.root.digest.hex, HEX);
    assert_int_equal(again.packages.n, 1);
    assert_true(package_is_security(&again.packages.v[0]));
    assert_non_null(package_set_get(&again.packages, "python3"));
    assert_null(package_set_get(&again.packages, "python"));
}

static void a_kernel_manifest_survives_being_written_and_read(void **state)
{
    struct kernel_manifest m = {
        .package = {(char[]){"linux-image-6"},
                    (char[]){"6.1"},
                    (char[]){"amd64"},
                    (char[]){"Debian:12"},
                    {HEX}},
        .created = 9,
        .vmlinuz = {{HEX}, 1},
        .modules = {{HEX}, 2},
        .initramfs = {{HEX}, 3},
        .agent = {HEX},
    };
    auto_kernel_manifest struct kernel_manifest again = {0};
    auto_buf struct buf json = BUF_INIT(MANIFEST_MAX);
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(kernel_manifest_print(&m, &json, &err), &err);
    assert_ok(kernel_manifest_parse(&json, &again, &err), &err);
    assert_string_equal(again.package.version, "6.1");
    assert_int_equal(again.initramfs.bytes, 3);
    assert_int_equal(again.created, 9);
}

static void damaged_manifests_are_refused(void **state)
{
    static const char *const damaged[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"format\":1}",
        IMAGE("../x", "[]", HEX, "7", ""),
        IMAGE("x", "{}", HEX, "7", ""),
        IMAGE("x", "[1]", HEX, "7", ""),
        IMAGE("x", "[\"-evil\"]", HEX, "7", ""),
        IMAGE("x", "[]", "../../../etc/passwd", "7", ""),
        IMAGE("x", "[]", HEX, "0", ""),
        IMAGE("x", "[]", HEX, "-1", ""),
        IMAGE("x", "[]", HEX, "\"7\"", ""),
        IMAGE("x", "[]", HEX, "7", ",\"unknown\":1"),
        IMAGE("x", "[]", HEX, "7", ",\"name\":\"y\""),
        IMAGE("x", "[]", HEX, "7", "") "x",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        auto_image_manifest struct image_manifest m = {0};

        if (parse(damaged[i], &m) != -EBADMSG) {
            fail_msg("case %zu was taken", i);
        }
    }
}

static void image_names_are_plain(void **state)
{
    char long_name[IMAGE_NAME_MAX + 2];

    (void)state;
    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_false(image_name_is_valid(long_name));
    long_name[IMAGE_NAME_MAX] = '\0';
    assert_true(image_name_is_valid(long_name));
    assert_true(image_name_is_valid("my-data_1.2"));
    assert_false(image_name_is_valid(""));
    assert_false(image_name_is_valid(".x"));
    assert_false(image_name_is_valid("-x"));
    assert_false(image_name_is_valid("a/b"));
    assert_false(image_name_is_valid("A"));
    assert_false(image_name_is_valid("a\n"));
}

static void package_names_are_debians(void **state)
{
    (void)state;
    assert_true(package_name_is_valid("python3-numpy"));
    assert_true(package_name_is_valid("libstdc++6"));
    assert_false(package_name_is_valid(""));
    assert_false(package_name_is_valid("-o"));
    assert_false(package_name_is_valid("./x.deb"));
    assert_false(package_name_is_valid("a b"));
    assert_false(package_name_is_valid("a/stable"));
    assert_false(package_name_is_valid("a=1"));
}

TEST_MAIN(T(an_image_manifest_survives_being_written_and_read),
          T(a_kernel_manifest_survives_being_written_and_read), T(damaged_manifests_are_refused),
          T(image_names_are_plain), T(package_names_are_debians))
