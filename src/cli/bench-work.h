/*
 * bench-work.h - the work that speed is measured with: programs, their inputs, what they must print.
 *
 * bench/peers runs the same programs with the same inputs elsewhere (`airlock bench --programs`).
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"

enum bench_work {
    BENCH_HELLO,
    BENCH_JSON, /* 1 MB is parsed, filtered, summed up by group, sorted and written */
    BENCH_CSV,  /* the same from and to comma-separated values */
    BENCH_WORKS
};

#define BENCH_INPUT_BYTES 1000000u /* or a few more: the last record is whole */

const char *bench_work_name(enum bench_work work);
/* The program's text. Its arguments are the input and the output, if the work has any. */
const char *bench_program(enum bench_work work, enum spec_language language);
/* "hello.py", "json-transform.js": its file name (never that of a module it imports). */
const char *bench_program_name(enum bench_work work, enum spec_language language);
/* "data.json" and "data.csv", the name of the input; NULL if the work has none. */
const char *bench_input_name(enum bench_work work);

/*
 * Appends the input (nothing for hello) and the one line that the program must print; the same on
 * every host and every time. -ENOMEM or -ENOBUFS.
 */
must_use int bench_input(enum bench_work work, struct buf *input, struct buf *line) nonnull_all;

/* Writes all programs and inputs into the directory: an existing file is replaced. */
must_use int bench_write_all(int dirfd, struct err *err) nonnull_all;
