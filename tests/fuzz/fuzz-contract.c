/*
 * One output file from a stranger under a contract: the first byte says which, the rest is the
 * file. What the JSON reader takes must be what jansson takes, and the other way round.
 */
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "job/contract-check.h"
#include "job/unpack.h"
#include "sys/fd.h"

static bool jansson_takes(const uint8_t *data, size_t size, bool *ret_knows)
{
    json_error_t error;
    json_t *json = json_loadb((const char *)data, size,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY |
                                  JSON_DECODE_INT_AS_REAL,
                              &error);
    bool takes = json != NULL;

    /* Its own limits are no rules of ours; and a NUL behind the document is its end to jansson. */
    *ret_knows = memchr(data, '\0', size) == NULL &&
                 (takes || (json_error_code(&error) != json_error_numeric_overflow &&
                            json_error_code(&error) != json_error_null_byte_in_key &&
                            json_error_code(&error) != json_error_stack_overflow));
    json_decref(json);
    return takes;
}

static void check_kind(enum contract_kind kind, int fd, size_t size)
{
    char name[] = "x";
    char *names[] = {name};
    uint8_t item_name[] = "x";
    struct contract c = {.kind = kind, .names = names, .n_names = 1};
    struct output_item item = {.name = item_name, .name_len = 1, .bytes = size};
    const struct outputs o = {.items = &item, .n_items = 1, .total_bytes = size};
    const char *rule = NULL;
    struct err err = ERR_INIT;
    struct spec spec;
    int r = 0;

    spec_init(&spec);
    spec.limits.output_bytes = 64 * KIB;
    r = contract_check(&c, fd, &o, &spec.limits, &rule, &err);
    fuzz_check((r < 0) == (err.class == ERR_GUEST) && (r < 0) == (rule != NULL));
    if (kind == CONTRACT_JSON && (rule == NULL || strcmp(rule, "depth") != 0)) {
        auto_free uint8_t *copy = malloc(size + 1);
        size_t got = 0;
        bool knows = false;
        bool takes = false;

        fuzz_check(fd_pread_full(fd, copy, size, 0, &got, &err) == 0 && got == size);
        takes = jansson_takes(copy, size, &knows);
        fuzz_check(!knows || takes == (r == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum contract_kind kinds[] = {CONTRACT_JSON, CONTRACT_CSV, CONTRACT_ARCHIVE};

    static bool prepared;
    struct contract parsed = {0};
    struct err err = ERR_INIT;
    auto_fd int fd = memfd_create("stream", MFD_CLOEXEC);
    char text[64] = "";

    if (!prepared) {
        fuzz_check(unpack_prepare(&err) == 0);
        prepared = true;
    }
    if (fd < 0 || size == 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) {
        return 0;
    }
    check_kind(kinds[data[0] % ARRAY_LEN(kinds)], fd, size - 1);
    memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
    if (contract_parse(text, &parsed, &err) == 0) {
        contract_fini(&parsed);
    }
    return 0;
}
