#include "job/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/input-file.h"
#include "job/scratch.h"
#include "job/squash.h"
#include "job/text.h"
#include "sys/fd.h"

#define CHUNK_BYTES (256 * KIB)

/* What one staging works with. */
struct work {
    const struct spec_limits *limits;
    const struct stage_watch *watch; /* or NULL */
    struct squash *squash;
    uint8_t *chunk;
    uint64_t total;   /* bytes taken so far */
    struct buf *keep; /* also takes what is added, as long as it has room; NULL: nothing */
};

static void item_fini(struct stage_item *item)
{
    free(item->name);
    item->name = NULL;
}

void stage_fini(struct stage *stage)
{
    fd_close_p(&stage->input_fd);
    fd_close_p(&stage->write_fd);
    fd_close_p(&stage->scratch_fd);
    item_fini(&stage->program);
    buf_fini(&stage->program_data);
    for (size_t i = 0; i < stage->n_inputs; i++) {
        item_fini(&stage->inputs[i]);
    }
    free(stage->inputs);
    stage->inputs = NULL;
    stage->n_inputs = 0;
}

static int check_budget(struct work *work, uint64_t bytes, const char *what, struct err *err)
{
    uint64_t left = work->limits->input_bytes - work->total;

    if (bytes > left) {
        return err_usage(err,
                         "'%s' has %" PRIu64 " bytes, but only %" PRIu64 " of %" PRIu64
                         " are left for program and inputs; raise --in-bytes",
                         text_of_str(what).s, bytes, left, work->limits->input_bytes);
    }
    work->total += bytes;
    return 0;
}

/* A program that is too long for JOB is not kept at all. */
static int write_chunk(struct work *work, const uint8_t *data, size_t len, struct err *err)
{
    if (work->keep != NULL && buf_put(work->keep, data, len) < 0) {
        buf_fini(work->keep);
        work->keep = NULL;
    }
    return squash_write(work->squash, data, len, err);
}

static int copy_file(struct work *work, int fd, uint64_t size, const char *path,
                     struct digest *ret_digest, struct err *err)
{
    struct digest_ctx ctx;
    uint64_t done = 0;
    int r = 0;

    digest_begin(&ctx);
    while (r == 0) {
        size_t got = 0;

        r = work->watch != NULL ? work->watch->check(work->watch->ctx, err) : 0;
        if (r < 0) {
            return r;
        }
        /* One read past the end too: a file that grew must not pass for the old one. */
        r = fd_read_full(fd, work->chunk, CHUNK_BYTES, &got, err);
        if (r < 0) {
            return err_wrap(err, "'%s'", text_of_str(path).s);
        }
        if (got > size - done) {
            return err_usage(err, "'%s' grew while it was read; wait until it is complete",
                             text_of_str(path).s);
        }
        digest_update(&ctx, work->chunk, got);
        r = write_chunk(work, work->chunk, got, err);
        done += got;
        if (got < CHUNK_BYTES) {
            break;
        }
    }
    if (r < 0) {
        return r;
    }
    if (done < size) {
        return err_usage(err, "'%s' shrank while it was read; wait until it is complete",
                         text_of_str(path).s);
    }
    digest_finish(&ctx, ret_digest);
    return 0;
}

static int add_path(struct work *work, const char *path, struct stage_item *item, struct err *err)
{
    auto_fd int fd = -1;
    struct stat before;
    int r = input_open(path, &before, &fd, err);

    if (r < 0) {
        return r;
    }
    r = check_budget(work, (uint64_t)before.st_size, path, err);
    if (r < 0) {
        return r;
    }
    r = copy_file(work, fd, (uint64_t)before.st_size, path, &item->digest, err);
    if (r == 0) {
        r = input_unchanged(fd, &before, path, err);
    }
    item->bytes = (uint64_t)before.st_size;
    return r;
}

static int add_data(struct work *work, const uint8_t *data, size_t len, struct stage_item *item,
                    struct err *err)
{
    int r = check_budget(work, len, item->name, err);

    if (r == 0) {
        digest_of_data(data, len, &item->digest);
        r = write_chunk(work, data, len, err);
    }
    item->bytes = len;
    return r;
}

/* One file from a path or from memory into dir/name. */
static int add_item(struct work *work, enum squash_dir dir, const struct spec_input *source,
                    struct stage_item *item, struct err *err)
{
    int r = 0;

    item->name = strdup(source->name);
    if (item->name == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = source->path != NULL ? add_path(work, source->path, item, err)
                             : add_data(work, source->data, source->data_len, item, err);
    if (r == 0) {
        r = squash_end_file(work->squash, dir, item->name, err);
    }
    return r;
}

static int add_program(struct work *work, const struct spec *spec, struct stage *stage,
                       struct err *err)
{
    const struct spec_input program = {.name = spec->program_name,
                                       .path = spec->program_path,
                                       .data = spec->program_data,
                                       .data_len = spec->program_len};
    int r = 0;

    if (spec->program_path == NULL && spec->program_data == NULL) {
        return 0;
    }
    work->keep = &stage->program_data;
    r = add_item(work, SQUASH_PROG, &program, &stage->program, err);
    work->keep = NULL;
    return r < 0 ? err_wrap(err, "program") : 0;
}

/* Data of one unpacked file, from the file that the helper wrote. */
static int copy_unpacked(struct work *work, int data_fd, const struct unpacked_entry *e,
                         struct digest *ret_digest, struct err *err)
{
    struct digest_ctx ctx;
    uint64_t done = 0;
    int r = 0;

    digest_begin(&ctx);
    while (r == 0 && done < e->bytes) {
        uint64_t left = e->bytes - done;
        size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        size_t got = 0;

        r = fd_pread_full(data_fd, work->chunk, want, e->offset + done, &got, err);
        if (r == 0 && got != want) {
            r = err_set(err, ERR_HOST, EIO, "what was unpacked is shorter than it was");
        }
        if (r == 0) {
            digest_update(&ctx, work->chunk, want);
            r = squash_write(work->squash, work->chunk, want, err);
        }
        done += want;
    }
    digest_finish(&ctx, ret_digest);
    return r;
}

static int add_unpacked(struct work *work, const struct stage_archive *archive,
                        const struct unpacked_entry *e, struct stage *stage, struct err *err)
{
    struct stage_item *item = &stage->inputs[stage->n_inputs];
    int r = 0;

    item->name = strdup((const char *)e->name);
    if (item->name == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    stage->n_inputs++; /* a directory's item stays listed: its name is borrowed by the image */
    item->is_dir = e->is_dir;
    if (e->is_dir) {
        return squash_add_dir(work->squash, SQUASH_IN, item->name, err);
    }
    item->bytes = e->bytes;
    r = check_budget(work, e->bytes, item->name, err);
    if (r == 0) {
        r = copy_unpacked(work, archive->data_fd, e, &item->digest, err);
    }
    return r < 0 ? r : squash_end_file(work->squash, SQUASH_IN, item->name, err);
}

static const char *name_in_both(const struct spec *spec, const struct unpacked *u)
{
    for (size_t i = 0; i < spec->n_inputs; i++) {
        for (size_t k = 0; k < u->n; k++) {
            if (strcmp(spec->inputs[i].name, (const char *)u->entries[k].name) == 0) {
                return spec->inputs[i].name;
            }
        }
    }
    return NULL;
}

static int check_archive(const struct spec *spec, const struct unpacked *u, struct err *err)
{
    const char *both = name_in_both(spec, u);
    uint64_t files = spec->n_inputs;

    if (both != NULL) {
        return err_usage(err,
                         "'%s' is an input and an entry of the archive; give the input "
                         "another name with --in FILE:NAME",
                         text_of_str(both).s);
    }
    for (size_t i = 0; i < u->n; i++) {
        files += u->entries[i].is_dir ? 0 : 1;
    }
    if (files > spec->limits.input_files) {
        return err_usage(err,
                         "%" PRIu64 " input files with those of the archive, but --in-files allows "
                         "%" PRIu64 "; raise it",
                         files, spec->limits.input_files);
    }
    return 0;
}

static int add_all(struct work *work, const struct spec *spec, const struct stage_archive *archive,
                   struct stage *stage, struct err *err)
{
    size_t unpacked = archive == NULL ? 0 : archive->entries->n;
    int r = 0;

    if (spec->n_inputs > work->limits->input_files) {
        return err_usage(err, "%zu input files, but --in-files allows %" PRIu64 "; raise it",
                         spec->n_inputs, work->limits->input_files);
    }
    r = archive == NULL ? 0 : check_archive(spec, archive->entries, err);
    if (r == 0) {
        r = add_program(work, spec, stage, err);
    }
    if (r < 0 || spec->n_inputs + unpacked == 0) {
        return r;
    }
    stage->inputs = calloc(spec->n_inputs + unpacked, sizeof(*stage->inputs));
    if (stage->inputs == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < spec->n_inputs; i++) {
        stage->n_inputs = i + 1;
        r = add_item(work, SQUASH_IN, &spec->inputs[i], &stage->inputs[i], err);
        if (r < 0) {
            return err_wrap(err, "input '%s'", text_of_str(spec->inputs[i].name).s);
        }
    }
    for (size_t i = 0; i < unpacked && r == 0; i++) {
        r = add_unpacked(work, archive, &archive->entries->entries[i], stage, err);
    }
    return r;
}

bool stage_has_input(const struct stage *stage, const struct spec *spec)
{
    return spec->root || stage->n_inputs > 0 || stage->program_data.len == 0;
}

static int fill_input(const struct spec *spec, const struct stage_archive *archive,
                      const struct stage_watch *watch, struct stage *stage, struct err *err)
{
    auto_squash struct squash squash = {.fd = -1};
    auto_free uint8_t *chunk = malloc(CHUNK_BYTES);
    struct work work = {.limits = &spec->limits, .watch = watch, .squash = &squash, .chunk = chunk};
    int r = 0;

    if (chunk == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    squash_init(&squash, stage->write_fd, STAGE_INPUT_DEVICE_BYTES);
    r = add_all(&work, spec, archive, stage, err);
    if (r == 0 && stage_has_input(stage, spec)) {
        r = squash_finish(&squash, err);
    }
    stage->input_bytes = work.total;
    return r;
}

/* A full disk is neither the caller's nor the program's fault, and where it is full matters. */
static int disk_fault(int r, int tmp_dirfd, struct err *err)
{
    char link[40];
    char path[TEXT_MAX];
    struct err was = *err;
    ssize_t n = 0;

    if (r != -ENOSPC && r != -EDQUOT) {
        return r;
    }
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", tmp_dirfd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    *err = (struct err)ERR_INIT;
    return err_set(err, ERR_LIMIT, ENOSPC,
                   "%.300s: no space left in '%s'; free some or choose another place with --state",
                   was.msg, text_of_str(path).s);
}

struct text stage_archive_text(const struct spec *spec)
{
    return text_of_str(spec->archive_path != NULL ? spec->archive_path : "archive_base64");
}

struct unpack_budget stage_archive_budget(const struct spec *spec)
{
    return (struct unpack_budget){
        .bytes = spec->limits.input_bytes,
        .entries = spec->limits.input_files,
        .depth = UNPACK_DEPTH_MAX,
    };
}

int stage_open_archive(const struct spec *spec, int tmp_dirfd, int *ret_fd, struct stat *ret_stat,
                       struct err *err)
{
    auto_fd int fd = -1;
    int r = 0;

    if (spec->archive_path != NULL) {
        return input_open(spec->archive_path, ret_stat, ret_fd, err);
    }
    r = fd_open_tmp(tmp_dirfd, &fd, err);
    if (r == 0) {
        r = fd_write_full(fd, spec->archive_data, spec->archive_len, err);
    }
    if (r == 0) {
        r = fd_reopen(fd, O_RDONLY, ret_fd, err);
    }
    if (r < 0) {
        return disk_fault(r, tmp_dirfd, err);
    }
    return fstat(*ret_fd, ret_stat) < 0 ? err_sys(err, "examine the archive") : 0;
}

int stage_archive_unchanged(const struct spec *spec, int fd, const struct stat *before,
                            struct err *err)
{
    return input_unchanged(fd, before, stage_archive_text(spec).s, err);
}

int stage_open(int tmp_dirfd, struct stage *ret, struct err *err)
{
    auto_stage struct stage stage = STAGE_INIT;
    int r = fd_open_tmp(tmp_dirfd, &stage.write_fd, err);

    if (r < 0) {
        return disk_fault(r, tmp_dirfd, err);
    }
    if (ftruncate(stage.write_fd, (off_t)STAGE_INPUT_DEVICE_BYTES) < 0) {
        return err_sys(err, "create the input disk");
    }
    /* The monitor gets a descriptor that cannot write. */
    r = fd_reopen(stage.write_fd, O_RDONLY, &stage.input_fd, err);
    if (r == 0) {
        r = scratch_open(tmp_dirfd, &stage.scratch_fd, err);
    }
    if (r < 0) {
        return disk_fault(r, tmp_dirfd, err);
    }
    *ret = stage;
    stage = (struct stage)STAGE_INIT;
    return 0;
}

int stage_make_scratch(const struct spec_limits *limits, int tmp_dirfd, struct stage *stage,
                       struct err *err)
{
    auto_scratch struct scratch scratch = SCRATCH_INIT;
    int r = scratch_start(limits, stage->scratch_fd, &scratch, err);

    if (r == 0) {
        r = scratch_finish(&scratch, err);
    }
    if (r < 0) {
        return disk_fault(r, tmp_dirfd, err);
    }
    stage_expect_scratch(limits, stage);
    return 0;
}

void stage_expect_scratch(const struct spec_limits *limits, struct stage *stage)
{
    stage->made_bytes = limits->disk_bytes;
    stage->made_inodes = limits->inodes;
}

/* Starts mke2fs unless the filesystem is there; what is there and of another size goes first. */
static int start_scratch(const struct spec_limits *limits, struct stage *stage, struct scratch *ret,
                         struct err *err)
{
    if (stage->made_bytes == limits->disk_bytes && stage->made_inodes == limits->inodes) {
        return 0;
    }
    if (stage->made_bytes != 0 &&
        (ftruncate(stage->scratch_fd, 0) < 0 ||
         ftruncate(stage->scratch_fd, (off_t)STAGE_SCRATCH_DEVICE_BYTES) < 0)) {
        return err_sys(err, "empty the scratch disk");
    }
    stage->made_bytes = 0;
    return scratch_start(limits, stage->scratch_fd, ret, err);
}

int stage_fill(const struct spec *spec, const struct stage_archive *archive, int tmp_dirfd,
               const struct stage_watch *watch, struct stage *stage, struct err *err)
{
    auto_scratch struct scratch scratch = SCRATCH_INIT;
    int r = start_scratch(&spec->limits, stage, &scratch, err);

    if (r == 0) {
        r = fill_input(spec, archive, watch, stage, err);
    }
    if (r == 0 && stage->made_bytes == 0) {
        r = scratch_finish(&scratch, err);
    }
    fd_close_p(&stage->write_fd);
    return r < 0 ? disk_fault(r, tmp_dirfd, err) : 0;
}

int stage_build(const struct spec *spec, const struct stage_archive *archive, int tmp_dirfd,
                const struct stage_watch *watch, struct stage *ret, struct err *err)
{
    auto_stage struct stage stage = STAGE_INIT;
    int r = stage_open(tmp_dirfd, &stage, err);

    if (r == 0) {
        r = stage_fill(spec, archive, tmp_dirfd, watch, &stage, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = stage;
    stage = (struct stage)STAGE_INIT;
    return 0;
}
