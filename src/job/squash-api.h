/* squash-api.h - libsquashfs, loaded when an input image is to be written (sys/library.h). */
#pragma once

#include <sqfs/compressor.h>
#include <sqfs/dir_writer.h>
#include <sqfs/error.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/io.h>
#include <sqfs/meta_writer.h>
#include <sqfs/super.h>

#include "base/base.h"
#include "base/err.h"

#define SQUASH_API(X)           \
    X(dir_writer_add_entry)     \
    X(dir_writer_begin)         \
    X(dir_writer_create)        \
    X(dir_writer_create_inode)  \
    X(dir_writer_end)           \
    X(id_table_create)          \
    X(id_table_id_to_index)     \
    X(id_table_write)           \
    X(meta_write_write_to_file) \
    X(meta_writer_create)       \
    X(meta_writer_flush)        \
    X(meta_writer_get_position) \
    X(meta_writer_write_inode)  \
    X(super_init)               \
    X(super_write)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration has none */
#define SQUASH_API_MEMBER(name) __typeof__(sqfs_##name) *name;

struct squash_api {
    SQUASH_API(SQUASH_API_MEMBER)
};

/* Loaded once and kept. ERR_HOST names the package if there is none. */
must_use int squash_api_load(const struct squash_api **ret, struct err *err) nonnull_all;
