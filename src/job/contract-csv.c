/*
 * How it works: a state machine over the bytes as they are read, so that a file of any size takes
 * no more memory than one chunk. Records end with CRLF or LF; the last one may end with the file.
 */
#include <errno.h>
#include <inttypes.h>

#include "job/contract-internal.h"

#define CHUNK_BYTES (256 * KIB)

enum state {
    FIELD_START,
    PLAIN,
    QUOTED,
    QUOTE_CLOSED, /* behind a '"' inside quotes: the end, or half of an escaped one */
    RETURNED,     /* behind a '\r' that must be followed by '\n' */
};

struct csv {
    struct contract_file *f;
    enum state state;
    bool record_open; /* something of the current record was read */
    uint64_t record;  /* from 1 */
    uint64_t columns; /* of the current record so far, without the open field */
    uint64_t want;    /* columns of the first record; 0 = not known yet */
    uint64_t field;   /* bytes of the open field */
    /* UTF-8: how many continuation bytes follow, and the range of the next one. */
    unsigned utf8_left;
    uint8_t utf8_lo;
    uint8_t utf8_hi;
};

static int fail(struct csv *c, const char *rule, const char *what)
{
    return contract_fail(c->f, rule, "CSV, record %" PRIu64 ", field %" PRIu64 ": %s", c->record,
                         c->columns + 1, what);
}

/* Unicode 15, table 3-7: no overlong form, no surrogate, nothing over U+10FFFF. */
static bool utf8_lead(struct csv *c, uint8_t b)
{
    c->utf8_lo = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
    c->utf8_hi = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
    if (b < 0x80) {
        c->utf8_left = 0;
    } else if (b >= 0xc2 && b <= 0xdf) {
        c->utf8_left = 1;
    } else if (b >= 0xe0 && b <= 0xef) {
        c->utf8_left = 2;
    } else if (b >= 0xf0 && b <= 0xf4) {
        c->utf8_left = 3;
    } else {
        return false;
    }
    return true;
}

static bool utf8_step(struct csv *c, uint8_t b)
{
    if (c->utf8_left == 0) {
        return utf8_lead(c, b);
    }
    if (b < c->utf8_lo || b > c->utf8_hi) {
        return false;
    }
    c->utf8_left--;
    c->utf8_lo = 0x80;
    c->utf8_hi = 0xbf;
    return true;
}

static int end_field(struct csv *c)
{
    c->columns++;
    c->field = 0;
    c->state = FIELD_START;
    if (c->columns > CONTRACT_CSV_COLUMNS) {
        return contract_fail(c->f, RULE_COLUMNS, "CSV, record %" PRIu64 ": more than %u fields",
                             c->record, CONTRACT_CSV_COLUMNS);
    }
    return 0;
}

static int end_record(struct csv *c)
{
    int r = end_field(c);

    if (r < 0) {
        return r;
    }
    if (c->want == 0) {
        c->want = c->columns;
    }
    if (c->columns != c->want) {
        return contract_fail(c->f, RULE_RECTANGLE,
                             "CSV, record %" PRIu64 ": %" PRIu64
                             " fields, but the first record has %" PRIu64,
                             c->record, c->columns, c->want);
    }
    c->record_open = false;
    c->columns = 0;
    if (c->record++ == CONTRACT_CSV_RECORDS) {
        return contract_fail(c->f, RULE_RECORDS, "CSV: more than %u records", CONTRACT_CSV_RECORDS);
    }
    return 0;
}

/* A byte that ends the field, or is refused where a field is not quoted; 1 if it is data. */
static int take_outside(struct csv *c, uint8_t b)
{
    if (b == ',') {
        return end_field(c);
    }
    if (b == '\n') {
        return end_record(c);
    }
    if (b == '\r') {
        c->state = RETURNED;
        return 0;
    }
    return 1;
}

static int take_data(struct csv *c, uint8_t b, bool quoted)
{
    if ((b < 0x20 && b != '\t' && !(quoted && (b == '\n' || b == '\r'))) || b == 0x7f) {
        return fail(c, RULE_SYNTAX, "a control character");
    }
    if (++c->field > CONTRACT_CSV_FIELD_BYTES) {
        return fail(c, RULE_FIELD, "a field of more than 1 MiB");
    }
    return 0;
}

static int take_unquoted(struct csv *c, uint8_t b)
{
    int r = take_outside(c, b);

    if (r <= 0) {
        return r;
    }
    if (c->state == FIELD_START && b == '"') {
        c->state = QUOTED;
        return 0;
    }
    if (b == '"') {
        return fail(c, RULE_SYNTAX, "a quote inside a field that does not begin with one");
    }
    c->state = PLAIN;
    return take_data(c, b, false);
}

static int take(struct csv *c, uint8_t b)
{
    int r = 0;

    if (!utf8_step(c, b)) {
        return fail(c, RULE_ENCODING, "it is not UTF-8");
    }
    c->record_open = true;
    switch (c->state) {
    case FIELD_START:
    case PLAIN:
        return take_unquoted(c, b);
    case QUOTED:
        if (b == '"') {
            c->state = QUOTE_CLOSED;
            return 0;
        }
        return take_data(c, b, true);
    case QUOTE_CLOSED:
        if (b == '"') {
            c->state = QUOTED;
            return take_data(c, b, true);
        }
        r = take_outside(c, b);
        return r == 1 ? fail(c, RULE_SYNTAX, "something follows a closing quote") : r;
    case RETURNED:
        return b == '\n' ? end_record(c)
                         : fail(c, RULE_SYNTAX, "a carriage return without a line feed");
    }
    return 0;
}

static int finish(struct csv *c)
{
    if (c->utf8_left != 0) {
        return fail(c, RULE_ENCODING, "it ends inside a character");
    }
    if (c->state == QUOTED) {
        return fail(c, RULE_SYNTAX, "it ends inside a quoted field");
    }
    if (c->state == RETURNED) {
        return fail(c, RULE_SYNTAX, "a carriage return without a line feed");
    }
    if (c->record_open) {
        return end_record(c);
    }
    return c->want != 0 ? 0 : contract_fail(c->f, RULE_SYNTAX, "CSV: it has no record");
}

int contract_csv(struct contract_file *f)
{
    auto_free uint8_t *chunk = malloc(CHUNK_BYTES);
    struct csv c = {.f = f, .state = FIELD_START, .record = 1};
    uint64_t at = 0;

    if (chunk == NULL) {
        return err_set(f->err, ERR_HOST, ENOMEM, "out of memory checking the contract");
    }
    while (at < f->item->bytes) {
        size_t got = 0;
        int r = contract_read(f, at, chunk, CHUNK_BYTES, &got);

        for (size_t i = 0; i < got && r == 0; i++) {
            r = take(&c, chunk[i]);
        }
        if (r < 0) {
            return r;
        }
        at += got;
    }
    return finish(&c);
}
