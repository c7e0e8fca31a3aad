/*
 * A token as a file and as the value of an Authorization header, both from a stranger. What is read
 * keeps the promises of tenant-file.h, and is the same when it was written and read again.
 */
#include <string.h>

#include "daemon/tenant-file.h"
#include "fuzz.h"

static void check_quota(const struct token *token)
{
    const struct tenant_quota *q = &token->quota;

    fuzz_check((token->given & TOKEN_CONCURRENT) == 0 || q->concurrent > 0);
    fuzz_check((token->given & TOKEN_QUEUED) == 0 || q->queued > 0);
    fuzz_check(q->wall_ns % NS_PER_MS == 0 && q->cpu_ns % NS_PER_MS == 0);
    fuzz_check(q->n_images <= TENANT_IMAGES_MAX);
    for (size_t i = 0; i < q->n_images; i++) {
        fuzz_check(spec_image_name_ok(q->images[i], strlen(q->images[i])));
    }
}

static void check_file(const uint8_t *data, size_t size)
{
    auto_buf struct buf text = BUF_INIT(4 * TOKEN_FILE_MAX);
    struct token token;
    struct token again;
    struct err err = ERR_INIT;
    int r = token_parse((const char *)data, size, &token, &err);

    fuzz_check((r < 0) == (err.class == ERR_USAGE));
    if (r < 0) {
        return;
    }
    fuzz_check(token_id_ok(token.id) && tenant_name_ok(token.tenant));
    fuzz_check(digest_is_hex(token.digest.hex));
    fuzz_check(strnlen(token.note, sizeof(token.note)) < sizeof(token.note));
    check_quota(&token);
    fuzz_check(token_format(&token, &text, &err) == 0);
    fuzz_check(token_parse((const char *)text.data, text.len, &again, &err) == 0);
    fuzz_check(memcmp(&token, &again, sizeof(token)) == 0);
}

static void check_header(const uint8_t *data, size_t size)
{
    auto_free char *value = malloc(size + 1); /* not one byte more may be read */
    char id[TOKEN_ID_SIZE];
    struct digest digest;

    fuzz_check(value != NULL);
    memcpy(value, data, size);
    value[size] = '\0';
    if (token_from_header(value, id, &digest)) {
        fuzz_check(token_id_ok(id) && digest_is_hex(digest.hex));
        fuzz_check(strlen(value) == strlen("Bearer ") + TOKEN_TEXT_SIZE - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_file(data, size);
    if (size > 0) {
        check_header(data, size);
    }
    return 0;
}
