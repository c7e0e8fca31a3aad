/*
 * How it works: file data lies behind the superblock in whole blocks of BLOCK_BYTES and one short
 * block, without fragments, each marked as stored. libsquashfs packs inodes and directories into
 * metadata blocks through a compressor of ours that declines every block, so those are stored too.
 * The image claims gzip, the only compressor that needs no options and that every kernel has.
 */
#include "job/squash.h"

#include <errno.h>
#include <sqfs/compressor.h>
#include <sqfs/dir_writer.h>
#include <sqfs/error.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/io.h>
#include <sqfs/meta_writer.h>
#include <sqfs/super.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES  ((uint64_t)SQFS_DEFAULT_BLOCK_SIZE)
#define BLOCK_STORED (1u << 24) /* in a block's size word: not compressed */
#define NO_INDEX     UINT32_MAX
#define N_DIRS       2u

static const char *const dir_names[N_DIRS] = {[SQUASH_IN] = "in", [SQUASH_PROG] = "prog"};

/* libsquashfs sees the image through this; error keeps what its own codes lose. */
struct image_file {
    sqfs_file_t base; /* first: the callbacks cast */
    struct squash *squash;
    struct err *err;
    bool failed;
};

/* Everything libsquashfs owns, so that one destructor frees it. */
struct tables {
    struct image_file file;
    sqfs_compressor_t store;
    sqfs_meta_writer_t *inodes;
    sqfs_meta_writer_t *dirs;
    sqfs_dir_writer_t *dir_writer;
    sqfs_id_table_t *ids;
    sqfs_super_t super;
};

void squash_init(struct squash *squash, int fd, uint64_t max_bytes)
{
    *squash = (struct squash){
        .fd = fd, .at = sizeof(sqfs_super_t), .start = sizeof(sqfs_super_t), .max = max_bytes};
}

void squash_fini(struct squash *squash)
{
    free(squash->entries);
    squash->entries = NULL;
    squash->n_entries = 0;
}

static int write_at(struct squash *squash, uint64_t at, const void *data, size_t len,
                    struct err *err)
{
    size_t done = 0;

    if (at > squash->max || len > squash->max - at) {
        return err_set(err, ERR_LIMIT, EFBIG, "the input image would be larger than its device");
    }
    while (done < len) {
        ssize_t n = pwrite(squash->fd, (const char *)data + done, len - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT)) {
            return err_set(err, ERR_LIMIT, ENOSPC, "no space left for the input image");
        }
        if (n < 0) {
            return err_sys(err, "write the input image");
        }
        done += (size_t)n;
    }
    return 0;
}

int squash_write(struct squash *squash, const void *data, size_t len, struct err *err)
{
    int r = write_at(squash, squash->at, data, len, err);

    if (r == 0) {
        squash->at += len;
    }
    return r;
}

int squash_end_file(struct squash *squash, enum squash_dir dir, const char *name, struct err *err)
{
    struct squash_entry *grown =
        reallocarray(squash->entries, squash->n_entries + 1, sizeof(*grown));

    if (grown == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    squash->entries = grown;
    grown[squash->n_entries++] = (struct squash_entry){
        .dir = dir, .name = name, .start = squash->start, .bytes = squash->at - squash->start};
    squash->start = squash->at;
    return 0;
}

static int file_read_at(sqfs_file_t *base, sqfs_u64 offset, void *buffer, size_t size)
{
    (void)base;
    (void)offset;
    (void)buffer;
    (void)size;
    return SQFS_ERROR_UNSUPPORTED; /* nothing here reads back */
}

static int file_write_at(sqfs_file_t *base, sqfs_u64 offset, const void *buffer, size_t size)
{
    struct image_file *file = (struct image_file *)base;

    if (write_at(file->squash, offset, buffer, size, file->err) < 0) {
        file->failed = true;
        return SQFS_ERROR_IO;
    }
    if (offset + size > file->squash->at) {
        file->squash->at = offset + size;
    }
    return 0;
}

static sqfs_u64 file_get_size(const sqfs_file_t *base)
{
    return ((const struct image_file *)base)->squash->at;
}

static int file_truncate(sqfs_file_t *base, sqfs_u64 size)
{
    (void)base;
    (void)size;
    return SQFS_ERROR_UNSUPPORTED;
}

static void nothing_to_destroy(sqfs_object_t *object)
{
    (void)object;
}

static sqfs_object_t *no_copy(const sqfs_object_t *object)
{
    (void)object;
    return NULL;
}

/* 0 = "did not get smaller": the caller stores the block as it is. */
static sqfs_s32 store_block(sqfs_compressor_t *cmp, const sqfs_u8 *in, sqfs_u32 size, sqfs_u8 *out,
                            sqfs_u32 out_size)
{
    (void)cmp;
    (void)in;
    (void)size;
    (void)out;
    (void)out_size;
    return 0;
}

static void destroy(void *object)
{
    if (object != NULL) {
        ((sqfs_object_t *)object)->destroy(object);
    }
}

static void tables_fini(struct tables *t)
{
    destroy(t->dir_writer);
    destroy(t->dirs);
    destroy(t->inodes);
    destroy(t->ids);
}

/* The error of the file if it was one, else libsquashfs's own. */
static int sqfs_fault(const struct tables *t, int code, struct err *err)
{
    if (t->file.failed) {
        return -err->errnum;
    }
    return err_set(err, ERR_HOST, code == SQFS_ERROR_ALLOC ? ENOMEM : EIO,
                   "libsquashfs could not write the input image (code %d)", code);
}

static int tables_init(struct tables *t, struct squash *squash, struct err *err)
{
    t->file = (struct image_file){
        .base = {.base = {.destroy = nothing_to_destroy, .copy = no_copy},
                 .read_at = file_read_at,
                 .write_at = file_write_at,
                 .get_size = file_get_size,
                 .truncate = file_truncate},
        .squash = squash,
        .err = err,
    };
    t->store = (sqfs_compressor_t){.base = {.destroy = nothing_to_destroy, .copy = no_copy},
                                   .do_block = store_block};
    t->inodes = sqfs_meta_writer_create(&t->file.base, &t->store, 0);
    t->dirs = sqfs_meta_writer_create(&t->file.base, &t->store, SQFS_META_WRITER_KEEP_IN_MEMORY);
    t->ids = sqfs_id_table_create(0);
    if (t->dirs != NULL) {
        t->dir_writer = sqfs_dir_writer_create(t->dirs, 0);
    }
    if (t->inodes == NULL || t->dirs == NULL || t->ids == NULL || t->dir_writer == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    return 0;
}

static uint64_t next_inode_ref(const struct tables *t)
{
    sqfs_u64 block = 0;
    sqfs_u32 offset = 0;

    sqfs_meta_writer_get_position(t->inodes, &block, &offset);
    return (block << 16) | offset;
}

static int put_file(struct tables *t, struct squash_entry *entry, uint32_t number, struct err *err)
{
    size_t blocks = (size_t)((entry->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
    auto_free sqfs_inode_generic_t *inode = calloc(1, sizeof(*inode) + blocks * sizeof(sqfs_u32));
    int r = 0;

    if (inode == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    inode->base.type = SQFS_INODE_FILE;
    inode->base.mode = SQFS_INODE_MODE_REG | 0444;
    inode->base.inode_number = number;
    inode->payload_bytes_available = (sqfs_u32)(blocks * sizeof(sqfs_u32));
    inode->payload_bytes_used = inode->payload_bytes_available;
    for (size_t i = 0; i < blocks; i++) {
        uint64_t left = entry->bytes - i * BLOCK_BYTES;

        inode->extra[i] = (sqfs_u32)(left < BLOCK_BYTES ? left : BLOCK_BYTES) | BLOCK_STORED;
    }
    /* Start and size fit the short form: the device has STAGE_INPUT_DEVICE_BYTES, 4 GiB. */
    inode->data.file.blocks_start = (sqfs_u32)entry->start;
    inode->data.file.file_size = (sqfs_u32)entry->bytes;
    inode->data.file.fragment_index = NO_INDEX;
    inode->data.file.fragment_offset = NO_INDEX;
    entry->inode_ref = next_inode_ref(t);
    r = sqfs_meta_writer_write_inode(t->inodes, inode);
    return r == 0 ? 0 : sqfs_fault(t, r, err);
}

/* The inode of the directory whose entries were just added. */
static int put_dir(struct tables *t, uint32_t number, uint32_t parent, size_t links,
                   uint64_t *ret_ref, struct err *err)
{
    auto_free sqfs_inode_generic_t *inode = NULL;
    int r = sqfs_dir_writer_end(t->dir_writer);

    if (r != 0) {
        return sqfs_fault(t, r, err);
    }
    inode = sqfs_dir_writer_create_inode(t->dir_writer, links, NO_INDEX, parent);
    if (inode == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    inode->base.mode = SQFS_INODE_MODE_DIR | 0555;
    inode->base.uid_idx = 0;
    inode->base.gid_idx = 0;
    inode->base.mod_time = 0;
    inode->base.inode_number = number;
    *ret_ref = next_inode_ref(t);
    r = sqfs_meta_writer_write_inode(t->inodes, inode);
    return r == 0 ? 0 : sqfs_fault(t, r, err);
}

static int by_dir_and_name(const void *a, const void *b)
{
    const struct squash_entry *x = a;
    const struct squash_entry *y = b;

    if (x->dir != y->dir) {
        return x->dir < y->dir ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

/* All inodes and directories; the root comes last. File i is inode i + 1. */
static int put_tree(struct tables *t, struct squash *squash, struct err *err)
{
    uint32_t n = (uint32_t)squash->n_entries;
    uint32_t root = n + N_DIRS + 1;
    uint64_t dir_refs[N_DIRS] = {0};
    uint64_t root_ref = 0;
    int r = 0;

    for (uint32_t i = 0; i < n && r == 0; i++) {
        r = put_file(t, &squash->entries[i], i + 1, err);
    }
    for (uint32_t d = 0; d < N_DIRS && r == 0; d++) {
        r = sqfs_dir_writer_begin(t->dir_writer, 0);
        for (uint32_t i = 0; i < n && r == 0; i++) {
            const struct squash_entry *e = &squash->entries[i];

            if ((uint32_t)e->dir == d) {
                r = sqfs_dir_writer_add_entry(t->dir_writer, e->name, i + 1, e->inode_ref,
                                              SQFS_INODE_MODE_REG | 0444);
            }
        }
        r = r == 0 ? put_dir(t, n + 1 + d, root, 2, &dir_refs[d], err) : sqfs_fault(t, r, err);
    }
    if (r < 0) {
        return r;
    }
    r = sqfs_dir_writer_begin(t->dir_writer, 0);
    for (uint32_t d = 0; d < N_DIRS && r == 0; d++) {
        r = sqfs_dir_writer_add_entry(t->dir_writer, dir_names[d], n + 1 + d, dir_refs[d],
                                      SQFS_INODE_MODE_DIR | 0555);
    }
    r = r == 0 ? put_dir(t, root, root + 1, 2 + N_DIRS, &root_ref, err) : sqfs_fault(t, r, err);
    t->super.root_inode_ref = root_ref;
    t->super.inode_count = root;
    return r;
}

/* In the order they lie in the image: inodes, directories, ids; then the superblock in front. */
static int put_tables(struct tables *t, struct squash *squash, struct err *err)
{
    sqfs_u16 root_id = 0;
    int r = sqfs_meta_writer_flush(t->inodes);

    if (r == 0) {
        r = sqfs_meta_writer_flush(t->dirs);
    }
    if (r == 0) {
        t->super.directory_table_start = squash->at;
        r = sqfs_meta_write_write_to_file(t->dirs);
    }
    if (r == 0) {
        r = sqfs_id_table_id_to_index(t->ids, 0, &root_id);
    }
    if (r == 0) {
        r = sqfs_id_table_write(t->ids, &t->file.base, &t->super, &t->store);
    }
    if (r == 0) {
        t->super.bytes_used = squash->at;
        r = sqfs_super_write(&t->super, &t->file.base);
    }
    return r == 0 ? 0 : sqfs_fault(t, r, err);
}

int squash_finish(struct squash *squash, struct err *err)
{
    on_scope_exit(tables_fini) struct tables t = {0};
    int r = tables_init(&t, squash, err);

    if (r < 0) {
        return r;
    }
    if (squash->n_entries > 1) {
        qsort(squash->entries, squash->n_entries, sizeof(*squash->entries), by_dir_and_name);
    }
    r = sqfs_super_init(&t.super, (size_t)BLOCK_BYTES, 0, SQFS_COMP_GZIP);
    if (r != 0) {
        return sqfs_fault(&t, r, err);
    }
    t.super.flags = SQFS_FLAG_UNCOMPRESSED_INODES | SQFS_FLAG_UNCOMPRESSED_DATA |
                    SQFS_FLAG_UNCOMPRESSED_FRAGMENTS | SQFS_FLAG_UNCOMPRESSED_IDS |
                    SQFS_FLAG_NO_FRAGMENTS | SQFS_FLAG_NO_XATTRS | SQFS_FLAG_NO_DUPLICATES;
    t.super.inode_table_start = squash->at;
    r = put_tree(&t, squash, err);
    return r < 0 ? r : put_tables(&t, squash, err);
}
