/* archive-api.h - libarchive, loaded when an archive is to be read (sys/library.h). */
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/base.h"
#include "base/err.h"

#define ARCHIVE_API(X)                          \
    X(archive_read_new)                         \
    X(archive_read_free)                        \
    X(archive_read_support_filter_gzip)         \
    X(archive_read_support_filter_zstd)         \
    X(archive_read_support_format_raw)          \
    X(archive_read_support_format_tar)          \
    X(archive_read_support_format_zip_seekable) \
    X(archive_read_set_read_callback)           \
    X(archive_read_set_seek_callback)           \
    X(archive_read_set_callback_data)           \
    X(archive_read_open1)                       \
    X(archive_read_next_header)                 \
    X(archive_read_data_block)                  \
    X(archive_filter_count)                     \
    X(archive_error_string)                     \
    X(archive_errno)                            \
    X(archive_set_error)                        \
    X(archive_entry_pathname)                   \
    X(archive_entry_filetype)                   \
    X(archive_entry_hardlink)                   \
    X(archive_entry_is_encrypted)               \
    X(archive_entry_sparse_count)               \
    X(archive_entry_size_is_set)                \
    X(archive_entry_size)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has none */
#define ARCHIVE_API_MEMBER(name) __typeof__(name) *name;

struct archive_api {
    ARCHIVE_API(ARCHIVE_API_MEMBER)
};

/* Loaded once and kept. ERR_HOST names the package if there is none. */
must_use int archive_api_load(const struct archive_api **ret, struct err *err) nonnull_all;
