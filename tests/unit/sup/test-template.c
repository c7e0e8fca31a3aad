/* A template's footer: what is written is read, and whatever is damaged is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/frame.h"
#include "sup/template.h"
#include "test.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEX_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define HEX_D "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"

static struct template_footer sample(void)
{
    return (struct template_footer){
        .key = {HEX_A},
        .memory_bytes = 384 * MIB,
        .state_bytes = 295690,
        .state = {HEX_B},
        .memory = {HEX_C},
        .built = 1796000000,
        .vcpus = 2,
        .engine = "tcg",
        .image = "python",
        .root = {HEX_D},
        .boot_id = "d66a8836-a00c-43cf-a45c-de978c8b7822",
        .tsc_khz = 2793435,
        .scratch_bytes = 200000,
        .writes_bytes = 3248,
        .interpreter = {.waits = true, .bytes = 9 * MIB, .why_not = "no python3"},
    };
}

static void a_footer_is_read_as_it_was_written(void **state)
{
    char data[TEMPLATE_FOOTER_BYTES];
    char protocol[32];
    struct template_footer f = sample();
    struct template_footer got = {.tsc_khz = 0};
    struct err err = ERR_INIT;

    assert_int_equal(template_footer_encode(&f, data, &err), 0);
    assert_int_equal(template_footer_decode(data, &got, &err), 0);
    assert_string_equal(got.key.hex, f.key.hex);
    assert_string_equal(got.state.hex, f.state.hex);
    assert_string_equal(got.memory.hex, f.memory.hex);
    assert_string_equal(got.root.hex, f.root.hex);
    assert_string_equal(got.engine, f.engine);
    assert_string_equal(got.image, f.image);
    assert_int_equal(got.built, f.built);
    assert_int_equal(got.vcpus, f.vcpus);
    assert_string_equal(got.boot_id, f.boot_id);
    assert_int_equal(got.memory_bytes, f.memory_bytes);
    assert_int_equal(got.state_bytes, f.state_bytes);
    assert_int_equal(got.tsc_khz, f.tsc_khz);
    assert_int_equal(got.scratch_bytes, f.scratch_bytes);
    assert_int_equal(got.writes_bytes, f.writes_bytes);
    assert_true(got.interpreter.waits && got.interpreter.bytes == f.interpreter.bytes);
    assert_string_equal(got.interpreter.why_not, f.interpreter.why_not);
    (void)snprintf(protocol, sizeof(protocol), "\"protocol\":%u,", PROTO_VERSION);
    assert_non_null(strstr(data, protocol));
}

/* Replaces from by to in a good footer and expects a refusal that leaves the result alone. */
static void refuse(const char *from, const char *to)
{
    char data[TEMPLATE_FOOTER_BYTES];
    char bad[2 * TEMPLATE_FOOTER_BYTES] = "";
    struct template_footer f = sample();
    struct template_footer got = {.tsc_khz = 7};
    struct err err = ERR_INIT;
    const char *at = NULL;

    assert_int_equal(template_footer_encode(&f, data, &err), 0);
    at = strstr(data, from);
    assert_non_null(at);
    (void)snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - data), data, to, at + strlen(from));
    assert_int_equal(template_footer_decode(bad, &got, &err), -EBADMSG);
    assert_int_equal(err.class, ERR_USAGE);
    assert_int_equal(got.tsc_khz, 7);
}

static void a_damaged_footer_is_refused(void **state)
{
    refuse("{", "[");
    refuse("}", "");
    refuse("\"format\":4", "\"format\":3");
    refuse("\"format\":4", "\"format\":4,\"format\":4");
    refuse("\"format\":4", "\"format\":4,\"more\":1");
    refuse("\"key\":\"aa", "\"key\":\"AA");
    refuse("\"key\":\"aa", "\"key\":\"../");
    refuse("\"memory_bytes\":402653184", "\"memory_bytes\":402653185");
    refuse("\"memory_bytes\":402653184", "\"memory_bytes\":-1048576");
    refuse("\"memory_bytes\":402653184", "\"memory_bytes\":0");
    refuse("\"memory_bytes\":402653184", "\"memory_bytes\":9223372036853727232");
    refuse("\"memory_bytes\":402653184", "\"memory_bytes\":\"402653184\"");
    refuse("\"state_bytes\":295690", "\"state_bytes\":67108864");
    refuse("\"state_bytes\":295690", "\"state_bytes\":0");
    refuse("\"tsc_khz\":2793435", "\"tsc_khz\":0");
    refuse("\"scratch_bytes\":200000", "\"scratch_bytes\":295690");
    refuse("\"scratch_bytes\":200000", "\"scratch_bytes\":-1");
    refuse("\"writes_bytes\":3248", "\"writes_bytes\":-8");
    refuse("\"writes_bytes\":3248", "\"writes_bytes\":95690"); /* nothing left for the state */
    refuse("\"boot_id\":\"d66a8836", "\"boot_id\":\"d66a8836d66a8836");
    refuse("\"boot_id\":\"d66a8836-a00c-43cf-a45c-de978c8b7822\"", "\"boot_id\":\"\"");
    refuse("\"protocol\":", "\"protocol\":9");
    refuse("\"warm_bytes\":9437184", "\"warm_bytes\":-1");
    refuse("\"warm_bytes\":9437184", "\"warm_bytes\":402653185");
    refuse("\"warm\":true", "\"warm\":1");
    refuse("\"cold_why\":\"no python3\"", "\"cold_why\":\"" HEX_A HEX_A HEX_A HEX_A "\"");
    refuse("\"memory_sha256\":\"cc", "\"memory_sha256\":\"CC");
    refuse("\"root_sha256\":\"dd", "\"root_sha256\":\"d");
    refuse("\"built\":1796000000", "\"built\":-1");
    refuse("\"vcpus\":2", "\"vcpus\":0");
    refuse("\"vcpus\":2", "\"vcpus\":1025");
    refuse("\"engine\":\"tcg\"", "\"engine\":\"an engine of too long a name\"");
    refuse("\"image\":\"python\"", "\"image\":\"../python\"");
}

static void a_footer_without_an_end_is_refused(void **state)
{
    char data[TEMPLATE_FOOTER_BYTES];
    struct template_footer got = {.tsc_khz = 0};
    static const char fill[] = {'[', '\0', '\xff'};

    for (size_t i = 0; i < sizeof(fill); i++) {
        struct err err = ERR_INIT;

        memset(data, fill[i], sizeof(data));
        assert_int_equal(template_footer_decode(data, &got, &err), -EBADMSG);
    }
}

TEST_MAIN(T(a_footer_is_read_as_it_was_written), T(a_damaged_footer_is_refused),
          T(a_footer_without_an_end_is_refused))
