/*
 * How it works: a tar is read by two libarchive readers. The lower one only decompresses; its bytes
 * pass a cap, a checksum and tar_guard on the way to the upper one, which knows tar alone. So what
 * libarchive forgives is seen: data behind the end, gzip's checksum, NULs in pax records. A zip is
 * read through its directory, whose frame is looked at first.
 */
#include "job/unpack.h"

#include <errno.h>
#include <iconv.h>
#include <inttypes.h>
#include <locale.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job/archive-api.h"
#include "job/unpack-internal.h"
#include "proto/outar.h"
#include "proto/wire.h"
#include "sys/fd.h"

#define CHUNK_BYTES    (64 * KIB)
#define ENTRY_OVERHEAD (8 * KIB) /* of headers and padding in a tar, at most, on average */
#define TAR_SLACK      (1 * MIB)
#define COMPONENT_MAX  255u
#define ZIP_END_SIZE   22u
#define ZIP_TAIL_MAX   (ZIP_END_SIZE + 65535u)
#define GZIP_TAIL      8u

enum kind {
    KIND_EMPTY,
    KIND_TAR,
    KIND_GZIP,
    KIND_ZSTD,
    KIND_ZIP
};

struct unpacking {
    const struct archive_api *la;
    const struct unpack_source *source;
    const struct unpack_budget *budget;
    int data_fd;
    enum kind kind;
    struct archive *lower; /* decompresses; NULL with a plain tar or a zip */
    struct archive *upper;
    uint8_t *chunk;  /* of the source */
    uint64_t at;     /* in the source */
    bool lower_done; /* the stream has no more */
    uint64_t stream_bytes;
    uint64_t stream_max;
    uint32_t crc;
    struct tar_guard guard;
    struct unpack_list list;
    uint64_t written;
    struct err fault; /* found in a callback of libarchive's */
};

static void unpacking_fini(struct unpacking *u)
{
    if (u->la != NULL) {
        (void)u->la->archive_read_free(u->upper);
        (void)u->la->archive_read_free(u->lower);
    }
    free(u->chunk);
    tar_guard_fini(&u->guard);
    unpack_list_fini(&u->list);
}

int unpack_prepare(struct err *err)
{
    const struct archive_api *la = NULL;
    iconv_t warm = (iconv_t)-1;

    /* Dates of a zip go through mktime(), which would read /etc/localtime. One thread. */
    if (setenv("TZ", "UTC0", 1) < 0) { /* NOLINT(concurrency-mt-unsafe) */
        return err_sys(err, "set TZ");
    }
    tzset();
    /* In another character set pax names would be converted, or refused. */
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) { /* NOLINT(concurrency-mt-unsafe) */
        return err_set(err, ERR_HOST, ENOENT,
                       "the locale C.UTF-8 is missing; it comes with the package libc-bin");
    }
    warm = iconv_open("UTF-8", "UTF-8"); /* reads its tables now rather than behind the filter */
    if (warm == (iconv_t)-1) {
        return err_sys(err, "iconv_open");
    }
    (void)iconv_close(warm);
    return archive_api_load(&la, err);
}

/* Bytes of the source at offset; 0 at its end, -1 with u->fault. */
static ssize_t read_source(struct unpacking *u, uint64_t offset)
{
    uint64_t left = offset < u->source->bytes ? u->source->bytes - offset : 0;
    size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    size_t got = 0;

    if (fd_pread_full(u->source->fd, u->chunk, want, u->source->offset + offset, &got, &u->fault) <
        0) {
        return -1;
    }
    if (got != want) {
        (void)err_set(&u->fault, ERR_HOST, EIO, "the archive is shorter than it was");
        return -1;
    }
    return (ssize_t)got;
}

static la_ssize_t on_source_read(struct archive *a, void *ctx, const void **ret)
{
    struct unpacking *u = ctx;
    ssize_t n = read_source(u, u->at);

    if (n < 0) {
        u->la->archive_set_error(a, EIO, "%s", u->fault.msg);
        return -1;
    }
    u->at += (uint64_t)n;
    *ret = u->chunk;
    return n;
}

static la_int64_t on_source_seek(struct archive *a, void *ctx, la_int64_t offset, int whence)
{
    struct unpacking *u = ctx;
    int64_t base = whence == SEEK_END   ? (int64_t)u->source->bytes
                   : whence == SEEK_CUR ? (int64_t)u->at
                                        : 0;
    int64_t to = 0;

    (void)a;
    if (__builtin_add_overflow(base, offset, &to) || to < 0 || to > (int64_t)u->source->bytes) {
        return ARCHIVE_FATAL;
    }
    u->at = (uint64_t)to;
    return to;
}

static uint32_t crc_step(uint32_t crc, const uint8_t *data, size_t len)
{
    static uint32_t table[256];

    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;

            for (int bit = 0; bit < 8; bit++) {
                c = (c & 1u) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
            }
            table[i] = c;
        }
    }
    for (size_t i = 0; i < len; i++) {
        crc = table[(crc ^ data[i]) & 0xffu] ^ (crc >> 8);
    }
    return crc;
}

/* Why libarchive gave up: memory is the helper's, the rest is what is in the archive. */
static int archive_fault(const struct unpacking *u, struct archive *a, struct err *err)
{
    const char *text = u->la->archive_error_string(a);

    if (u->la->archive_errno(a) == ENOMEM) {
        return err_usage(err, "reading it takes more memory than may be used for it");
    }
    return err_usage(err, "%.300s", text != NULL ? text_of_str(text).s : "it cannot be read");
}

/* The next bytes of the tar, looked at; 0 at the end, negative with u->fault. */
static ssize_t next_bytes(struct unpacking *u, const void **ret)
{
    size_t n = 0;
    la_int64_t offset = 0;
    int r = 0;

    if (u->lower_done) {
        return 0;
    }
    if (u->lower == NULL) {
        ssize_t got = read_source(u, u->at);

        if (got < 0) {
            return -1;
        }
        u->at += (uint64_t)got;
        n = (size_t)got;
        *ret = u->chunk;
    } else {
        r = u->la->archive_read_data_block(u->lower, ret, &n, &offset);
        if (r != ARCHIVE_OK && r != ARCHIVE_EOF) {
            return u->fault.class != ERR_NONE ? -1 : archive_fault(u, u->lower, &u->fault);
        }
    }
    if (n == 0) {
        u->lower_done = true;
        return 0;
    }
    u->stream_bytes += n;
    if (u->stream_bytes > u->stream_max) {
        return err_usage(&u->fault,
                         "it becomes more than %" PRIu64 " bytes: more than may come out, or "
                         "%u times its size",
                         u->stream_max, UNPACK_RATIO);
    }
    u->crc = crc_step(u->crc, *ret, n);
    return tar_guard_feed(&u->guard, *ret, n, &u->fault) < 0 ? -1 : (ssize_t)n;
}

static la_ssize_t on_tar_read(struct archive *a, void *ctx, const void **ret)
{
    struct unpacking *u = ctx;
    ssize_t n = next_bytes(u, ret);

    if (n < 0) {
        u->la->archive_set_error(a, EINVAL, "%s", u->fault.msg);
        return -1;
    }
    return n;
}

/* The fault of a callback, or else libarchive's own. */
static int reader_fault(struct unpacking *u, struct archive *a, struct err *err)
{
    if (u->fault.class != ERR_NONE) {
        *err = u->fault;
        return -err->errnum;
    }
    return archive_fault(u, a, err);
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory reading the archive");
}

/* The decompressor, and nothing behind it: not what was compressed twice. */
static int open_lower(struct unpacking *u, struct err *err)
{
    struct archive_entry *entry = NULL;
    struct archive *a = u->la->archive_read_new();
    int r = 0;

    u->lower = a;
    if (a == NULL) {
        return no_memory(err);
    }
    r = u->kind == KIND_GZIP ? u->la->archive_read_support_filter_gzip(a)
                             : u->la->archive_read_support_filter_zstd(a);
    if (r != ARCHIVE_OK || u->la->archive_read_support_format_raw(a) != ARCHIVE_OK ||
        u->la->archive_read_set_read_callback(a, on_source_read) != ARCHIVE_OK ||
        u->la->archive_read_set_callback_data(a, u) != ARCHIVE_OK) {
        return err_set(err, ERR_HOST, ENOSYS, "libarchive here cannot read %s",
                       u->kind == KIND_GZIP ? "gzip" : "zstd");
    }
    if (u->la->archive_read_open1(a) != ARCHIVE_OK) {
        return reader_fault(u, a, err);
    }
    if (u->la->archive_filter_count(a) > 2) {
        return err_usage(err, "it is compressed more than once");
    }
    r = u->la->archive_read_next_header(a, &entry);
    if (r == ARCHIVE_EOF) {
        u->lower_done = true;
        return 0;
    }
    return r == ARCHIVE_OK ? 0 : reader_fault(u, a, err);
}

static int open_upper(struct unpacking *u, struct err *err)
{
    struct archive *a = u->la->archive_read_new();
    bool zip = u->kind == KIND_ZIP;
    int r = 0;

    u->upper = a;
    if (a == NULL) {
        return no_memory(err);
    }
    r = zip ? u->la->archive_read_support_format_zip_seekable(a)
            : u->la->archive_read_support_format_tar(a);
    if (r == ARCHIVE_OK && zip) {
        r = u->la->archive_read_set_seek_callback(a, on_source_seek);
    }
    if (r != ARCHIVE_OK ||
        u->la->archive_read_set_read_callback(a, zip ? on_source_read : on_tar_read) !=
            ARCHIVE_OK ||
        u->la->archive_read_set_callback_data(a, u) != ARCHIVE_OK) {
        return err_set(err, ERR_HOST, ENOSYS, "libarchive here cannot read %s",
                       zip ? "zip" : "tar");
    }
    return u->la->archive_read_open1(a) == ARCHIVE_OK ? 0 : reader_fault(u, a, err);
}

/* Without "./" in front and "/" behind, as `tar -C DIR .` writes names. */
static void strip_name(const uint8_t **name, size_t *len, bool is_dir)
{
    while (*len >= 2 && (*name)[0] == '.' && (*name)[1] == '/') {
        *name += 2;
        *len -= 2;
        while (*len > 0 && **name == '/') {
            ++*name;
            --*len;
        }
    }
    while (is_dir && *len > 1 && (*name)[*len - 1] == '/') {
        --*len;
    }
}

static const char *name_fault(const uint8_t *name, size_t len, uint64_t depth_max)
{
    uint32_t depth = 0;
    size_t start = 0;

    if (len == 0) {
        return "has no name";
    }
    if (name[0] == '/') {
        return "has an absolute name";
    }
    if (len > UNPACK_PATH_MAX) {
        return "has a name of more than 1024 bytes";
    }
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '/') {
            continue;
        }
        if (i - start == 2 && memcmp(name + start, "..", 2) == 0) {
            return "has '..' in its name";
        }
        if (i - start > COMPONENT_MAX) {
            return "has a part of more than 255 bytes in its name";
        }
        start = i + 1;
    }
    if (!outar_name_ok(name, len, &depth)) {
        return "has an empty part or '.' in its name";
    }
    return depth > depth_max ? "lies too deep" : NULL;
}

static const char *type_fault(const struct unpacking *u, struct archive_entry *entry)
{
    if (u->la->archive_entry_hardlink(entry) != NULL) {
        return "is a hard link";
    }
    if (u->la->archive_entry_is_encrypted(entry)) {
        return "is encrypted";
    }
    if (u->la->archive_entry_sparse_count(entry) > 0) {
        return "is a sparse file";
    }
    switch (u->la->archive_entry_filetype(entry)) {
    case AE_IFREG:
    case AE_IFDIR:
        return NULL;
    case AE_IFLNK:
        return "is a symbolic link";
    default:
        return "is neither a regular file nor a directory";
    }
}

static int write_data(struct unpacking *u, const uint8_t *data, size_t len, struct err *err)
{
    int r = u->data_fd < 0 || len == 0 ? 0 : fd_write_full(u->data_fd, data, len, err);

    u->written += len;
    if (r == -ENOSPC || r == -EDQUOT) {
        *err = (struct err)ERR_INIT;
        return err_set(err, ERR_LIMIT, ENOSPC, "no space left to unpack the archive");
    }
    return r;
}

/* The data of one entry, in order and without holes. */
static int take_data(struct unpacking *u, const struct unpacked_entry *e, uint64_t *ret_bytes,
                     struct err *err)
{
    uint64_t done = 0;

    for (;;) {
        const void *data = NULL;
        size_t n = 0;
        la_int64_t offset = 0;
        int r = u->la->archive_read_data_block(u->upper, &data, &n, &offset);

        if (r == ARCHIVE_EOF) {
            *ret_bytes = done;
            return 0;
        }
        if (r != ARCHIVE_OK) {
            r = reader_fault(u, u->upper, err);
            return u->fault.class != ERR_NONE
                       ? r
                       : err_wrap(err, "entry '%s'", text_of(e->name, e->name_len).s);
        }
        if (offset < 0 || (uint64_t)offset != done) {
            return err_usage(err, "entry '%s' is a sparse file", text_of(e->name, e->name_len).s);
        }
        if (n > u->budget->bytes - u->written || u->written + n > u->stream_max) {
            return err_usage(err,
                             "entry '%s' goes over the %" PRIu64
                             " bytes that may come out, or %u times the archive's size",
                             text_of(e->name, e->name_len).s, u->budget->bytes, UNPACK_RATIO);
        }
        r = write_data(u, data, n, err);
        if (r < 0) {
            return r;
        }
        done += n;
    }
}

static int take_entry(struct unpacking *u, struct archive_entry *entry, struct err *err)
{
    const char *path = u->la->archive_entry_pathname(entry);
    const uint8_t *name = (const uint8_t *)path;
    bool is_dir = u->la->archive_entry_filetype(entry) == AE_IFDIR;
    size_t len = 0;
    const char *fault = type_fault(u, entry);
    struct unpacked_entry *e = NULL;
    uint64_t *n = is_dir ? &u->list.n_dirs : &u->list.n_files;
    uint64_t start = u->written;
    uint64_t bytes = 0;
    int r = 0;

    if (path == NULL) {
        return err_usage(err, "the name of an entry cannot be read");
    }
    len = strlen(path);
    strip_name(&name, &len, is_dir);
    if (fault == NULL && is_dir && (len == 0 || (len == 1 && name[0] == '.'))) {
        return 0; /* "./": the directory that all lie in */
    }
    if (fault == NULL) {
        fault = name_fault(name, len, u->budget->depth);
    }
    if (fault != NULL) {
        return err_usage(err, "entry '%s' %s", text_of_str(path).s, fault);
    }
    if (*n >= u->budget->entries) {
        return err_usage(err, "entry '%s' is one too many: there may be %" PRIu64 " %s",
                         text_of(name, len).s, u->budget->entries,
                         is_dir ? "directories" : "files");
    }
    r = unpack_list_add(&u->list, name, len, is_dir, &e, err);
    if (r == 0) {
        r = take_data(u, e, &bytes, err);
    }
    if (r < 0) {
        return r;
    }
    if ((is_dir && bytes > 0) || (u->la->archive_entry_size_is_set(entry) &&
                                  (uint64_t)u->la->archive_entry_size(entry) != bytes)) {
        return err_usage(err, "entry '%s' has %" PRIu64 " bytes, but its size says otherwise",
                         text_of(e->name, e->name_len).s, bytes);
    }
    e->bytes = bytes;
    e->offset = is_dir ? 0 : start;
    return 0;
}

static int take_entries(struct unpacking *u, struct err *err)
{
    for (;;) {
        struct archive_entry *entry = NULL;
        int r = u->la->archive_read_next_header(u->upper, &entry);

        if (r == ARCHIVE_EOF) {
            return 0;
        }
        if (r != ARCHIVE_OK) {
            return reader_fault(u, u->upper, err);
        }
        r = take_entry(u, entry, err);
        if (r < 0) {
            return r;
        }
    }
}

/* What libarchive's gzip reader leaves unchecked. One member: behind it nothing can hide. */
static int check_gzip_tail(struct unpacking *u, struct err *err)
{
    uint8_t tail[GZIP_TAIL];
    size_t got = 0;
    uint64_t end = u->source->offset + u->source->bytes;
    int r = fd_pread_full(u->source->fd, tail, sizeof(tail), end - sizeof(tail), &got, err);

    if (r < 0) {
        return r;
    }
    if (got != sizeof(tail) || wire_get_u32(tail) != ~u->crc ||
        wire_get_u32(tail + 4) != (uint32_t)u->stream_bytes) {
        return err_usage(err, "gzip: checksum or length at its end are wrong; it is damaged, has "
                              "more than one member, or something follows it");
    }
    return 0;
}

/* To the very end, so that nothing is left that nobody looked at. */
static int drain(struct unpacking *u, struct err *err)
{
    const void *data = NULL;
    ssize_t n = 0;
    int r = 0;

    do {
        n = next_bytes(u, &data);
    } while (n > 0);
    if (n < 0) {
        *err = u->fault;
        return -err->errnum;
    }
    r = tar_guard_finish(&u->guard, err);
    return r == 0 && u->kind == KIND_GZIP ? check_gzip_tail(u, err) : r;
}

/* The frame of a zip: it begins with an entry and ends with its directory, with nothing between. */
static int check_zip(struct unpacking *u, struct err *err)
{
    static const uint8_t end_magic[] = {'P', 'K', 5, 6};
    auto_free uint8_t *tail = malloc(ZIP_TAIL_MAX);
    uint64_t size = u->source->bytes;
    size_t want = size < ZIP_TAIL_MAX ? (size_t)size : ZIP_TAIL_MAX;
    size_t got = 0;
    int r = 0;

    if (tail == NULL) {
        return no_memory(err);
    }
    r = fd_pread_full(u->source->fd, tail, want, u->source->offset + size - want, &got, err);
    if (r < 0) {
        return r;
    }
    for (size_t back = ZIP_END_SIZE; back <= got; back++) {
        const uint8_t *end = tail + got - back;

        if (memcmp(end, end_magic, sizeof(end_magic)) != 0 ||
            ZIP_END_SIZE + (size_t)wire_get_u16(end + 20) != back) {
            continue;
        }
        if (wire_get_u16(end + 4) != 0 || wire_get_u16(end + 6) != 0 ||
            (uint64_t)wire_get_u32(end + 12) + wire_get_u32(end + 16) != size - back) {
            break;
        }
        if (wire_get_u16(end + 8) > 0 && u->kind == KIND_ZIP) {
            return 0;
        }
        u->kind = KIND_EMPTY;
        return size == back ? 0 : err_usage(err, "zip: it has no entries, but data");
    }
    return err_usage(err, "zip: its directory does not end it; it is cut short, has something "
                          "behind it, is in parts, or is of the kind zip64");
}

static int find_kind(struct unpacking *u, struct err *err)
{
    static const struct {
        size_t len;
        enum kind kind;
        uint8_t magic[4];
    } kinds[] = {
        {2, KIND_GZIP, {0x1f, 0x8b}},
        {4, KIND_ZSTD, {0x28, 0xb5, 0x2f, 0xfd}},
        {4, KIND_ZIP, {'P', 'K', 3, 4}},
        {4, KIND_ZIP, {'P', 'K', 5, 6}},
    };

    uint8_t head[4] = {0};
    size_t got = 0;
    int r = 0;

    if (u->source->bytes == 0) {
        u->kind = KIND_EMPTY;
        return 0;
    }
    r = fd_pread_full(u->source->fd, head,
                      u->source->bytes < sizeof(head) ? (size_t)u->source->bytes : sizeof(head),
                      u->source->offset, &got, err);
    if (r < 0) {
        return r;
    }
    u->kind = KIND_TAR;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (memcmp(head, kinds[i].magic, kinds[i].len) == 0) {
            u->kind = kinds[i].kind;
        }
    }
    if (u->kind != KIND_ZIP) {
        return 0;
    }
    return u->budget->tar_only ? err_usage(err, "it is a zip, not a tar") : check_zip(u, err);
}

static void set_caps(struct unpacking *u)
{
    const struct unpack_budget *b = u->budget;
    uint64_t ratio = UNPACK_RATIO_FLOOR;
    uint64_t budget = b->bytes + (2 * b->entries + 1) * ENTRY_OVERHEAD + TAR_SLACK;

    if (u->source->bytes > UNPACK_RATIO_FLOOR / UNPACK_RATIO) {
        ratio = u->source->bytes < UINT64_MAX / UNPACK_RATIO ? u->source->bytes * UNPACK_RATIO
                                                             : UINT64_MAX;
    }
    u->stream_max = ratio < budget ? ratio : budget;
    u->guard.max_size = b->bytes;
}

static int read_archive(struct unpacking *u, struct err *err)
{
    int r = find_kind(u, err);

    if (r < 0 || u->kind == KIND_EMPTY) {
        return r;
    }
    set_caps(u);
    if (u->kind == KIND_GZIP || u->kind == KIND_ZSTD) {
        r = open_lower(u, err);
    }
    if (r == 0 && !u->lower_done) {
        r = open_upper(u, err);
    }
    if (r == 0 && u->upper != NULL) {
        r = take_entries(u, err);
    }
    return r == 0 && u->kind != KIND_ZIP ? drain(u, err) : r;
}

int unpack(const struct unpack_source *source, const struct unpack_budget *budget, int data_fd,
           struct unpacked *ret, struct err *err)
{
    on_scope_exit(unpacking_fini) struct unpacking u = {
        .source = source,
        .budget = budget,
        .data_fd = data_fd,
        .chunk = malloc(CHUNK_BYTES),
        .crc = UINT32_MAX,
        .fault = ERR_INIT,
    };
    int r = u.chunk == NULL ? no_memory(err) : archive_api_load(&u.la, err);

    r = r < 0 ? r : read_archive(&u, err);
    return r < 0 ? r : unpack_settle(&u.list, budget, ret, err);
}
