/*
 * report.h - what the reports of `airlock suite` and `airlock bench` are made with.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define REPORT_MAX (256 * MIB)

/* A JSON string of text that may carry bytes of files and programs, escaped as for a terminal; JSON null
 * for NULL. NULL when out of memory. */
json_t *report_text(const char *text);
/* System, kernel, processors and memory of this host. NULL when out of memory. */
json_t *report_host(void);
/* Indented, with a newline at the end. 0 or -1. */
must_use int report_dump(const json_t *report, struct buf *out) nonnull_all;
/* Has the page of a report made, and writes it: the file is made or written anew. */
must_use int report_page(const char *path, int (*make)(const json_t *report, struct buf *page),
                         const json_t *report, struct err *err) nonnull_all;
