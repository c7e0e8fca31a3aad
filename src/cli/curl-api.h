/* curl-api.h - libcurl, loaded when a command first needs it (sys/library.h, docs/decisions/0035). */
#pragma once

#include <curl/curl.h>

#include "base/base.h"
#include "base/err.h"

#define CURL_API(X)        \
    X(global_init)         \
    X(free)                \
    X(easy_init)           \
    X(easy_cleanup)        \
    X(easy_reset)          \
    X(easy_setopt)         \
    X(easy_getinfo)        \
    X(easy_pause)          \
    X(easy_strerror)       \
    X(multi_init)          \
    X(multi_cleanup)       \
    X(multi_add_handle)    \
    X(multi_remove_handle) \
    X(multi_perform)       \
    X(multi_poll)          \
    X(multi_info_read)     \
    X(mime_init)           \
    X(mime_addpart)        \
    X(mime_name)           \
    X(mime_type)           \
    X(mime_filename)       \
    X(mime_data)           \
    X(mime_free)           \
    X(slist_append)        \
    X(slist_free_all)      \
    X(url)                 \
    X(url_set)             \
    X(url_get)             \
    X(url_cleanup)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has none */
#define CURL_API_MEMBER(name) __typeof__(curl_##name) *name;

struct curl_api {
    CURL_API(CURL_API_MEMBER)
};

/* Loaded once and kept. ERR_HOST names the package if there is none, or it is too old. */
must_use int curl_api_load(const struct curl_api **ret, struct err *err) nonnull_all;
