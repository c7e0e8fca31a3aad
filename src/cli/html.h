/*
 * html.h - pages that need nothing else: no script, no resource from elsewhere, light and dark.
 *
 * All text may be hostile and is escaped. Each function returns 0, -ENOBUFS or -ENOMEM.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/buf.h"

/* From the doctype to <body>; more_style: rules of this page, "" for none, copied as they are. */
must_use int html_head(struct buf *out, const char *title, const char *more_style) nonnull_all;

/* Markup characters as references, everything else as for a terminal. */
must_use int html_put_text(struct buf *out, const char *text, size_t len) nonnull_args(1);
/* The text of object's key, borrowed; "" if there is none. */
const char *html_text_of(const json_t *object, const char *key) nonnull_args(2);
/* before, the text of object's key, after; nothing at all if there is none. */
must_use int html_put_key(struct buf *out, const char *before, const json_t *object,
                          const char *key, const char *after) nonnull_args(1, 2, 4, 5);

/* The rows of a <dl> that say what host it was (report_host()). */
must_use int html_put_host(struct buf *out, const json_t *host) nonnull_args(1);
