/* contract-check.h - whether the outputs keep the contract. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/contract.h"
#include "job/outputs.h"

#define CONTRACT_JSON_BYTES      (64 * MIB)
#define CONTRACT_JSON_DEPTH      64u
#define CONTRACT_CSV_FIELD_BYTES MIB
#define CONTRACT_CSV_COLUMNS     16384u
#define CONTRACT_CSV_RECORDS     100000000u

/*
 * 0 if the outputs keep it. A violation is ERR_GUEST/-EBADMSG; *ret_rule is its name (fixed text:
 * "missing", "unexpected", ...) and the message names the file, the place in it and the rule.
 * Anything else is ERR_HOST. Reads file data by pread from the stream; parses what strangers
 * wrote, so call it inside the helper only.
 */
must_use int contract_check(const struct contract *c, int stream_fd, const struct outputs *o,
                            const struct spec_limits *limits, const char **ret_rule,
                            struct err *err) nonnull_all;

/* The name of rule i as contract_check() gives it, NULL past the last one: for the wire. */
const char *contract_rule(size_t i);
