/*
 * contract.h - what the outputs of a job must be, and whether they are.
 *
 *   files[:PATTERN,...]  regular files and directories only. With patterns every file matches one of
 *                        them, and each pattern without a wildcard is there. '*' stands for any
 *                        bytes and '?' for any one byte, both but '/'
 *   json:NAME            exactly one file, NAME: one JSON document (RFC 8259), strictly read
 *   csv:NAME             exactly one file, NAME: a rectangle of records (RFC 4180) in UTF-8
 *   archive[:NAME]       exactly one file, a tar, also compressed by gzip or zstd, with regular
 *                        files and directories that themselves keep the limits of outputs
 *
 * Under every contract each output has a name of UTF-8 without control characters, nothing was
 * dropped, and no two names differ in the case of ASCII letters only.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

enum contract_kind {
    CONTRACT_NONE,
    CONTRACT_FILES,
    CONTRACT_JSON,
    CONTRACT_CSV,
    CONTRACT_ARCHIVE,
};

#define CONTRACT_NAMES_MAX 64u

struct contract {
    enum contract_kind kind;
    char **names; /* patterns, or the one NAME; NULL if none */
    size_t n_names;
};

void contract_fini(struct contract *c) nonnull_all;

/* From its text above; ERR_USAGE says what is wrong with it. *ret is empty on failure. */
must_use int contract_parse(const char *text, struct contract *ret, struct err *err) nonnull_all;
