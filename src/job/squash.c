/*
 * How it works: file data lies behind the superblock in whole blocks of BLOCK_BYTES and one short
 * block, without fragments, each marked as stored. libsquashfs packs inodes and directories into
 * metadata blocks through a compressor of ours that declines every block, so those are stored too.
 * Entries are sorted by the directory they lie in, so that its children are one range; directories
 * are written deepest first, since a directory holds references to its children's inodes.
 * The image claims gzip, the only compressor that needs no options and that every kernel has.
 */
#include "job/squash.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "job/squash-api.h"

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
    const struct squash_api *api;
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

static int append(struct squash *squash, const struct squash_entry *entry, struct err *err)
{
    struct squash_entry *grown =
        reallocarray(squash->entries, squash->n_entries + 1, sizeof(*grown));

    if (grown == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    squash->entries = grown;
    grown[squash->n_entries++] = *entry;
    return 0;
}

int squash_end_file(struct squash *squash, enum squash_dir dir, const char *name, struct err *err)
{
    const struct squash_entry entry = {
        .dir = dir, .name = name, .start = squash->start, .bytes = squash->at - squash->start};

    squash->start = squash->at;
    return append(squash, &entry, err);
}

int squash_add_dir(struct squash *squash, enum squash_dir dir, const char *name, struct err *err)
{
    const struct squash_entry entry = {.dir = dir, .name = name, .is_dir = true};

    return append(squash, &entry, err);
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
    int r = squash_api_load(&t->api, err);

    if (r < 0) {
        return r;
    }
    t->store = (sqfs_compressor_t){.base = {.destroy = nothing_to_destroy, .copy = no_copy},
                                   .do_block = store_block};
    t->inodes = t->api->meta_writer_create(&t->file.base, &t->store, 0);
    t->dirs = t->api->meta_writer_create(&t->file.base, &t->store, SQFS_META_WRITER_KEEP_IN_MEMORY);
    t->ids = t->api->id_table_create(0);
    if (t->dirs != NULL) {
        t->dir_writer = t->api->dir_writer_create(t->dirs, 0);
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

    t->api->meta_writer_get_position(t->inodes, &block, &offset);
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
    r = t->api->meta_writer_write_inode(t->inodes, inode);
    return r == 0 ? 0 : sqfs_fault(t, r, err);
}

static int put_dir_inode(struct tables *t, sqfs_inode_generic_t *inode, uint32_t number,
                         uint64_t *ret_ref, struct err *err)
{
    int r = 0;

    if (inode == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    inode->base.mode = SQFS_INODE_MODE_DIR | 0555;
    inode->base.uid_idx = 0;
    inode->base.gid_idx = 0;
    inode->base.mod_time = 0;
    inode->base.inode_number = number;
    *ret_ref = next_inode_ref(t);
    r = t->api->meta_writer_write_inode(t->inodes, inode);
    return r == 0 ? 0 : sqfs_fault(t, r, err);
}

/* Length of the path of the directory an entry lies in, below its enum squash_dir; 0 is that. */
static size_t parent_len(const struct squash_entry *e)
{
    const char *slash = strrchr(e->name, '/');

    return slash == NULL ? 0 : (size_t)(slash - e->name);
}

static const char *leaf(const struct squash_entry *e)
{
    const char *slash = strrchr(e->name, '/');

    return slash == NULL ? e->name : slash + 1;
}

/* Where the children of a directory are looked for: its place, and the path below that. */
struct dir_key {
    enum squash_dir dir;
    const char *path;
    size_t len;
};

static int compare_to_dir(const struct squash_entry *e, const struct dir_key *key)
{
    size_t len = parent_len(e);
    int c = 0;

    if (e->dir != key->dir) {
        return e->dir < key->dir ? -1 : 1;
    }
    c = strncmp(e->name, key->path, len < key->len ? len : key->len);
    return c != 0 ? c : (len > key->len) - (len < key->len);
}

/* By the directory it lies in, then by its name there. */
static int by_place(const void *a, const void *b)
{
    const struct squash_entry *x = a;
    const struct squash_entry *y = b;
    const struct dir_key key = {.dir = y->dir, .path = y->name, .len = parent_len(y)};
    int c = compare_to_dir(x, &key);

    return c != 0 ? c : strcmp(leaf(x), leaf(y));
}

/* The first entry that lies in the directory, or where it would be. */
static size_t find_children(const struct squash *squash, const struct dir_key *key)
{
    size_t lo = 0;
    size_t hi = squash->n_entries;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (compare_to_dir(&squash->entries[mid], key) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* A directory to be written: where it is and the numbers of it and the one above. */
struct dir_place {
    struct dir_key key;
    uint32_t number;
    uint32_t parent;
};

/* The directory's inode, behind its entries; those of its own children are written. */
static int put_dir(struct tables *t, const struct squash *squash, const struct dir_place *place,
                   uint64_t *ret_ref, struct err *err)
{
    auto_free sqfs_inode_generic_t *inode = NULL;
    size_t links = 2;
    int r = t->api->dir_writer_begin(t->dir_writer, 0);

    for (size_t i = find_children(squash, &place->key);
         i < squash->n_entries && compare_to_dir(&squash->entries[i], &place->key) == 0 && r == 0;
         i++) {
        const struct squash_entry *e = &squash->entries[i];

        r = t->api->dir_writer_add_entry(t->dir_writer, leaf(e), (sqfs_u32)i + 1, e->inode_ref,
                                         e->is_dir ? SQFS_INODE_MODE_DIR | 0555
                                                   : SQFS_INODE_MODE_REG | 0444);
        links += e->is_dir ? 1 : 0;
    }
    r = r == 0 ? t->api->dir_writer_end(t->dir_writer) : r;
    if (r != 0) {
        return sqfs_fault(t, r, err);
    }
    inode = t->api->dir_writer_create_inode(t->dir_writer, links, NO_INDEX, place->parent);
    return put_dir_inode(t, inode, place->number, ret_ref, err);
}

static size_t depth_of(const char *path)
{
    size_t n = 1;

    for (; *path != '\0'; path++) {
        n += *path == '/' ? 1 : 0;
    }
    return n;
}

/* The number of the directory an entry lies in. The last ones are in/, prog/ and the root. */
static uint32_t parent_number(const struct squash *squash, const struct squash_entry *e)
{
    size_t len = parent_len(e);
    char path[SQUASH_PATH_MAX + 1];
    const struct squash_entry key = {.dir = e->dir, .name = path};
    const struct squash_entry *found = NULL;

    if (len == 0 || len > SQUASH_PATH_MAX) {
        return (uint32_t)squash->n_entries + 1 + (uint32_t)e->dir;
    }
    memcpy(path, e->name, len);
    path[len] = '\0';
    found = bsearch(&key, squash->entries, squash->n_entries, sizeof(key), by_place);
    return found == NULL ? 0 : (uint32_t)(found - squash->entries) + 1;
}

/* The directories at this depth. */
static int put_dirs_at(struct tables *t, struct squash *squash, size_t depth, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < squash->n_entries && r == 0; i++) {
        struct squash_entry *e = &squash->entries[i];
        const struct dir_place place = {
            .key = {.dir = e->dir, .path = e->name, .len = strlen(e->name)},
            .number = (uint32_t)i + 1,
            .parent = e->is_dir ? parent_number(squash, e) : 0,
        };

        if (e->is_dir && depth_of(e->name) == depth) {
            r = put_dir(t, squash, &place, &e->inode_ref, err);
        }
    }
    return r;
}

static int put_root(struct tables *t, uint32_t root, const uint64_t refs[N_DIRS], struct err *err)
{
    auto_free sqfs_inode_generic_t *inode = NULL;
    int r = t->api->dir_writer_begin(t->dir_writer, 0);

    for (uint32_t d = 0; d < N_DIRS && r == 0; d++) {
        r = t->api->dir_writer_add_entry(t->dir_writer, dir_names[d], root - N_DIRS + d, refs[d],
                                         SQFS_INODE_MODE_DIR | 0555);
    }
    r = r == 0 ? t->api->dir_writer_end(t->dir_writer) : r;
    if (r != 0) {
        return sqfs_fault(t, r, err);
    }
    inode = t->api->dir_writer_create_inode(t->dir_writer, 2 + N_DIRS, NO_INDEX, root + 1);
    return put_dir_inode(t, inode, root, &t->super.root_inode_ref, err);
}

/* All inodes and directories; the root comes last. Entry i is inode i + 1. */
static int put_tree(struct tables *t, struct squash *squash, struct err *err)
{
    uint32_t n = (uint32_t)squash->n_entries;
    uint64_t refs[N_DIRS] = {0};
    size_t deepest = 0;
    int r = 0;

    for (uint32_t i = 0; i < n && r == 0; i++) {
        size_t depth = squash->entries[i].is_dir ? depth_of(squash->entries[i].name) : 0;

        deepest = depth > deepest ? depth : deepest;
        r = squash->entries[i].is_dir ? 0 : put_file(t, &squash->entries[i], i + 1, err);
    }
    for (; deepest > 0 && r == 0; deepest--) {
        r = put_dirs_at(t, squash, deepest, err);
    }
    for (uint32_t d = 0; d < N_DIRS && r == 0; d++) {
        const struct dir_place place = {.key = {.dir = (enum squash_dir)d, .path = ""},
                                        .number = n + 1 + d,
                                        .parent = n + N_DIRS + 1};

        r = put_dir(t, squash, &place, &refs[d], err);
    }
    t->super.inode_count = n + N_DIRS + 1;
    return r < 0 ? r : put_root(t, n + N_DIRS + 1, refs, err);
}

/* In the order they lie in the image: inodes, directories, ids; then the superblock in front. */
static int put_tables(struct tables *t, struct squash *squash, struct err *err)
{
    sqfs_u16 root_id = 0;
    int r = t->api->meta_writer_flush(t->inodes);

    if (r == 0) {
        r = t->api->meta_writer_flush(t->dirs);
    }
    if (r == 0) {
        t->super.directory_table_start = squash->at;
        r = t->api->meta_write_write_to_file(t->dirs);
    }
    if (r == 0) {
        r = t->api->id_table_id_to_index(t->ids, 0, &root_id);
    }
    if (r == 0) {
        r = t->api->id_table_write(t->ids, &t->file.base, &t->super, &t->store);
    }
    if (r == 0) {
        t->super.bytes_used = squash->at;
        r = t->api->super_write(&t->super, &t->file.base);
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
        qsort(squash->entries, squash->n_entries, sizeof(*squash->entries), by_place);
    }
    r = t.api->super_init(&t.super, (size_t)BLOCK_BYTES, 0, SQFS_COMP_GZIP);
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
