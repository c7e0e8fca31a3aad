/* contract-internal.h - what the checks of single kinds share. */
#pragma once

#include "job/contract-check.h"

#define RULE_NAME       "name"
#define RULE_DROPPED    "dropped"
#define RULE_MISSING    "missing"
#define RULE_UNEXPECTED "unexpected"
#define RULE_SIZE       "size"
#define RULE_ENCODING   "encoding"
#define RULE_SYNTAX     "syntax"
#define RULE_DEPTH      "depth"
#define RULE_DUPLICATE  "duplicate"
#define RULE_RECTANGLE  "rectangle"
#define RULE_COLUMNS    "columns"
#define RULE_RECORDS    "records"
#define RULE_FIELD      "field"
#define RULE_ARCHIVE    "archive"

/* One file being checked, and how it ends. */
struct contract_file {
    int fd;
    const struct output_item *item;
    const char *rule; /* set by contract_fail() */
    struct err *err;
};

/* Records the violation: "output 'NAME': TEXT" and the rule. Returns -EBADMSG. */
int contract_fail(struct contract_file *f, const char *rule, const char *fmt, ...)
    printf_like(3, 4) nonnull_all;

/* Up to len bytes at offset of the file, cut at its end; ERR_HOST if the stream has less. */
must_use int contract_read(struct contract_file *f, uint64_t offset, void *data, size_t len,
                           size_t *ret_len) nonnull_all;

must_use int contract_json(struct contract_file *f) nonnull_all;
must_use int contract_csv(struct contract_file *f) nonnull_all;
