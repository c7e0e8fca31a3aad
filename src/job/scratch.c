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

int scratch_reserve(int fd, uint64_t disk_bytes, struct err *err)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)disk_bytes) == 0 || errno == EOPNOTSUPP) {
        return 0;
    }
    if (errno == ENOSPC || errno == EDQUOT) {
        return err_set(err, ERR_LIMIT, ENOSPC, "no space left for the scratch disk");
    }
    return err_sys(err, "reserve the scratch disk");
}

int scratch_start(const struct spec_limits *limits, int fd, struct scratch *ret, struct err *err)
{
    /* Only these settings count, not what the host's administrator prefers. */
    static const char *const env[] = {"MKE2FS_CONFIG=/dev/null", "E2FSPROGS_FAKE_TIME=1",
                                      "LC_ALL=C", NULL};
    auto_scratch struct scratch scratch = SCRATCH_INIT;
    char program[PROC_PATH_MAX];
    char inodes[24];
    char blocks[24];
    int r = proc_find("mke2fs", "e2fsprogs", program, err);

    if (r < 0) {
        return r;
    }
    r = scratch_reserve(fd, limits->disk_bytes, err);
    if (r < 0) {
        return r;
    }
    scratch.log_fd = memfd_create("mke2fs", MFD_CLOEXEC);
    if (scratch.log_fd < 0) {
        return err_sys(err, "memfd_create");
    }
    (void)snprintf(inodes, sizeof(inodes), "%" PRIu64,
                   limits->inodes + STAGE_AGENT_INODES + FS_INODES);
    (void)snprintf(blocks, sizeof(blocks), "%" PRIu64, limits->disk_bytes / BLOCK_BYTES);
    {
        static const char features[] = FEATURES;
        static const char extended[] = EXTENDED;
        const char *const argv[] = {program,  "-q", "-F",    "-b", "4096",   "-I",
                                    "256",    "-m", "0",     "-O", features, "-E",
                                    extended, "-U", FS_UUID, "-N", inodes,   "/proc/self/fd/3",
                                    blocks,   NULL};
        const struct proc_fd fds[] = {{scratch.log_fd, 1}, {scratch.log_fd, 2}, {fd, MKE2FS_FD}};

        r = proc_spawn(&(struct proc_spec){.argv = argv,
                                           .envp = env,
                                           .fds = fds,
                                           .n_fds = ARRAY_LEN(fds),
                                           .die_with_parent = true},
                       &scratch.proc, err);
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
    int r = proc_wait(&scratch->proc, MKE2FS_TIMEOUT_NS, &end, err);

    if (r < 0) {
        return err_wrap(err, "mke2fs");
    }
    if (!end.signaled && end.code == 0) {
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
