#include "job/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job/stage.h"
#include "job/text.h"
#include "sys/fd.h"

#define MKE2FS_FD         3
#define MKE2FS_TIMEOUT_NS (60 * NS_PER_S)
#define BLOCK_BYTES       4096u
/* ext4 keeps the first ten; the eleventh is lost+found. */
#define FS_INODES 11u

/* The last used sizes win: one file, whatever sizes callers think of. */
#define MEMO_NAME  "scratch"
#define KEPT_MAX   (200 * KIB)
#define LOOKED_MAX 4096u /* blocks */

/*
 * No journal, since the filesystem lives for one mount; no checksums, since nobody reads it again;
 * inode tables declared zero, so that neither mke2fs nor the guest's kernel writes them.
 */
#define FEATURES                                                                                   \
    "none,ext_attr,dir_index,filetype,extent,flex_bg,sparse_super,large_file,huge_file,dir_nlink," \
    "extra_isize,uninit_bg"
#define EXTENDED                                           \
    "assume_storage_prezeroed=1,nodiscard,root_owner=0:0," \
    "hash_seed=61697231-6f63-4b00-8000-000000000001"
#define FS_UUID "61697231-6f63-4b00-8000-000000000002"

void scratch_fini(struct scratch *scratch)
{
    proc_fini(&scratch->proc);
    fd_close_p(&scratch->log_fd);
    memo_fini(&scratch->memo);
}

int scratch_open(int tmp_dirfd, int *ret_fd, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open_tmp(tmp_dirfd, &fd, err);

    if (r < 0) {
        return r;
    }
    if (ftruncate(fd, (off_t)STAGE_SCRATCH_DEVICE_BYTES) < 0) {
        return err_sys(err, "create the scratch disk");
    }
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

/*
 * Its blocks are taken now, where the filesystem can: a host disk that fills later would stop a
 * running machine (QEMU pauses it) and be taken for the program's own slowness.
 */
static int reserve(int fd, uint64_t bytes, struct err *err)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP) {
        return 0;
    }
    if (errno == ENOSPC || errno == EDQUOT) {
        return err_set(err, ERR_LIMIT, ENOSPC, "no space left for the scratch disk");
    }
    return err_sys(err, "reserve the scratch disk");
}

/* The command line, and room for what is made for it. */
struct mke2fs {
    char program[PROC_PATH_MAX];
    char inodes[24];
    char blocks[24];
    const char *argv[24];
};

static int make_command(const struct spec_limits *limits, struct mke2fs *ret, struct err *err)
{
    static const char features[] = FEATURES;
    static const char extended[] = EXTENDED;
    int r = proc_find("mke2fs", "e2fsprogs", ret->program, err);

    if (r < 0) {
        return r;
    }
    (void)snprintf(ret->inodes, sizeof(ret->inodes), "%" PRIu64,
                   limits->inodes + STAGE_AGENT_INODES + FS_INODES);
    (void)snprintf(ret->blocks, sizeof(ret->blocks), "%" PRIu64, limits->disk_bytes / BLOCK_BYTES);
    {
        const char *const argv[] = {
            ret->program, "-q", "-F",    "-b", "4096",      "-I",
            "256",        "-m", "0",     "-O", features,    "-E",
            extended,     "-U", FS_UUID, "-N", ret->inodes, "/proc/self/fd/3",
            ret->blocks,  NULL};

        _Static_assert(sizeof(argv) <= sizeof(ret->argv), "there is room for the command line");
        memcpy(ret->argv, argv, sizeof(argv));
    }
    return 0;
}

static int spawn(const struct mke2fs *command, struct scratch *s, struct err *err)
{
    /* Only these settings count, not what the host's administrator prefers. */
    static const char *const env[] = {"MKE2FS_CONFIG=/dev/null", "E2FSPROGS_FAKE_TIME=1",
                                      "LC_ALL=C", NULL};
    struct proc_fd fds[] = {{-1, 1}, {-1, 2}, {s->fd, MKE2FS_FD}};

    s->log_fd = memfd_create("mke2fs", MFD_CLOEXEC);
    if (s->log_fd < 0) {
        return err_sys(err, "memfd_create");
    }
    fds[0].fd = fds[1].fd = s->log_fd;
    return proc_spawn(&(struct proc_spec){.argv = command->argv,
                                          .envp = env,
                                          .fds = fds,
                                          .n_fds = ARRAY_LEN(fds),
                                          .die_with_parent = true},
                      &s->proc, err);
}

/* Its libraries change with the loader's cache. */
static int ask_memo(const struct mke2fs *command, struct memo *memo, struct err *err)
{
    int r = memo_begin(memo, err);

    if (r == 0) {
        r = memo_add_path(memo, command->program, err);
    }
    if (r == 0) {
        r = memo_add_path(memo, "/etc/ld.so.cache", err);
    }
    for (size_t i = 1; command->argv[i] != NULL && r == 0; i++) {
        r = memo_add_question(memo, command->argv[i], err);
    }
    return r;
}

/* A page of the filesystem that is not all zeros, as it is kept. */
struct kept_page {
    uint64_t number;
    uint8_t data[BLOCK_BYTES];
};

static int keep_page(int fd, uint64_t number, struct buf *out, struct err *err)
{
    static const uint8_t zeros[BLOCK_BYTES];
    struct kept_page page = {.number = number};
    size_t got = 0;
    int r = fd_pread_full(fd, page.data, sizeof(page.data), number * BLOCK_BYTES, &got, err);

    if (r < 0 || memcmp(page.data, zeros, sizeof(zeros)) == 0) {
        return r;
    }
    return buf_put(out, &page, sizeof(page)); /* -ENOBUFS: more than is worth keeping */
}

/* What mke2fs wrote; nothing is kept if that is much, or not to be told from what it left out. */
static void remember(const struct scratch *s)
{
    auto_buf struct buf out = BUF_INIT(KEPT_MAX);
    struct err ignored = ERR_INIT;
    off_t at = 0;
    size_t looked = 0;

    for (;;) {
        off_t data = lseek(s->fd, at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(s->fd, data, SEEK_HOLE);

        if (data < 0 && errno == ENXIO) {
            break;
        }
        if (hole <= data) {
            return;
        }
        for (at = data / BLOCK_BYTES * BLOCK_BYTES; at < hole; at += BLOCK_BYTES) {
            if (++looked > LOOKED_MAX ||
                keep_page(s->fd, (uint64_t)at / BLOCK_BYTES, &out, &ignored) < 0) {
                return;
            }
        }
    }
    memo_put(s->memo_dirfd, MEMO_NAME, &s->memo, out.data, out.len);
}

/* True if the filesystem was written from memory. A failed write is mke2fs's to explain. */
static bool recall(const struct scratch *s)
{
    auto_buf struct buf in = BUF_INIT(KEPT_MAX);

    if (!memo_get(s->memo_dirfd, MEMO_NAME, &s->memo, &in) || in.len == 0 ||
        in.len % sizeof(struct kept_page) != 0) {
        return false;
    }
    for (size_t at = 0; at < in.len; at += sizeof(struct kept_page)) {
        struct kept_page page;

        memcpy(&page, in.data + at, sizeof(page));
        if (page.number >= STAGE_SCRATCH_DEVICE_BYTES / BLOCK_BYTES ||
            pwrite(s->fd, page.data, sizeof(page.data), (off_t)(page.number * BLOCK_BYTES)) !=
                (ssize_t)sizeof(page.data)) {
            return false;
        }
    }
    return true;
}

int scratch_start(const struct spec_limits *limits, int fd, int memo_dirfd, struct scratch *ret,
                  struct err *err)
{
    auto_scratch struct scratch scratch = SCRATCH_INIT;
    struct mke2fs command = {.program = ""};
    int r = make_command(limits, &command, err);

    if (r == 0) {
        r = reserve(fd, limits->disk_bytes, err);
    }
    if (r == 0) {
        r = ask_memo(&command, &scratch.memo, err);
    }
    if (r < 0) {
        return r;
    }
    scratch.fd = fd;
    scratch.memo_dirfd = memo_dirfd;
    if (!recall(&scratch)) {
        r = spawn(&command, &scratch, err);
    }
    if (r == 0) {
        *ret = scratch;
        scratch = (struct scratch)SCRATCH_INIT;
    }
    return r;
}

/* What mke2fs printed last, cut. */
static void read_log(int fd, char *text, size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end >= (off_t)size ? end - (off_t)size + 1 : 0;
    ssize_t n = pread(fd, text, size - 1, from);

    text[n > 0 ? n : 0] = '\0';
    while (n > 0 && text[n - 1] == '\n') {
        text[--n] = '\0';
    }
}

int scratch_finish(struct scratch *scratch, struct err *err)
{
    struct proc_end end = {0};
    char log[400];
    const char *line = NULL;
    int r = 0;

    if (scratch->proc.pid == 0) {
        return 0;
    }
    r = proc_wait(&scratch->proc, MKE2FS_TIMEOUT_NS, &end, err);

    if (r < 0) {
        return err_wrap(err, "mke2fs");
    }
    if (!end.signaled && end.code == 0) {
        remember(scratch);
        return 0;
    }
    read_log(scratch->log_fd, log, sizeof(log));
    if (strstr(log, strerrordesc_np(ENOSPC)) != NULL ||
        strstr(log, strerrordesc_np(EDQUOT)) != NULL) {
        return err_set(err, ERR_LIMIT, ENOSPC, "no space left for the scratch disk");
    }
    line = strrchr(log, '\n');
    return err_set(err, ERR_HOST, EIO, "mke2fs ended with %s %d: %s",
                   end.signaled ? "signal" : "exit code", end.code,
                   text_of_str(line == NULL ? log : line + 1).s);
}
