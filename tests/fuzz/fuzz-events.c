/*
 * The event file of a job. The input: a byte for the length of stdout and one for that of stderr (in
 * hundreds), one whose lowest bit says that the sums of all records are made right, which lets what
 * is in them through, then the file. Readers ask from anywhere; what an open leaves is a list that
 * can be read whole and tells of the streams in order.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/jobfiles-internal.h"
#include "fuzz.h"
#include "sys/fd.h"

static const char id[] = "00000000000000000000000000000001";

/* One directory for all inputs, without a name once the program has ended. */
static int jobs_fd = -1;
static char path[] = "/tmp/airlock-fuzz-events-XXXXXX";

static void remove_directory(void)
{
    struct err err = ERR_INIT;

    (void)!fd_remove_tree(AT_FDCWD, path, &err);
}

static void make_directory(void)
{
    struct err err = ERR_INIT;
    struct jobfiles f = JOBFILES_INIT;

    fuzz_check(mkdtemp(path) != NULL && atexit(remove_directory) == 0);
    fuzz_check(fd_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &jobs_fd, &err) == 0);
    fuzz_check(jobfiles_create(jobs_fd, id, &f, &err) == 0);
    jobfiles_fini(&f);
}

static void fill(int dirfd, const char *name, const void *data, size_t len, size_t size)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    fuzz_check(fd_open(dirfd, name, O_RDWR | O_TRUNC, 0, &fd, &err) == 0);
    fuzz_check(len == 0 || write(fd, data, len) == (ssize_t)len);
    fuzz_check(ftruncate(fd, (off_t)size) == 0);
}

static void fill_events(int dirfd, const uint8_t *data, size_t size, bool sums)
{
    static struct jobfiles_event_wire wires[512];

    size = size < sizeof(wires) ? size : sizeof(wires);
    memcpy(wires, data, size);
    for (size_t i = 0; sums && i < size / sizeof(wires[0]); i++) {
        wires[i].check = jobfiles_check(&wires[i]);
    }
    fill(dirfd, "events", wires, size, size);
}

static void read_from_anywhere(int dirfd, uint64_t records)
{
    const uint64_t from[] = {0, 1, records / 2, records, records + 1, UINT64_MAX / 48, UINT64_MAX};
    struct jobfiles_event ev[16];

    for (size_t i = 0; i < ARRAY_LEN(from); i++) {
        struct err err = ERR_INIT;
        size_t n = 0;
        int r = jobfiles_events(dirfd, from[i], ev, ARRAY_LEN(ev), &n, &err);

        fuzz_check(r <= 0 && n <= ARRAY_LEN(ev) && (from[i] < records || n == 0));
        for (size_t k = 0; r == 0 && k < n; k++) {
            fuzz_check(ev[k].seq == from[i] + k + 1);
            fuzz_check(ev[k].offset + ev[k].len >= ev[k].offset);
        }
    }
}

/* All of it is good now, and what comes next is too. */
static void check_opened(struct jobfiles *f)
{
    struct jobfiles_event ev[16];
    struct err err = ERR_INIT;
    uint64_t told[2] = {0, 0};
    uint64_t seq = 0;
    size_t n = 1;

    fuzz_check(jobfiles_put_state(f, JOB_RUNNING, &err) == 0);
    while (n > 0) {
        fuzz_check(jobfiles_events(f->dirfd, seq, ev, ARRAY_LEN(ev), &n, &err) == 0);
        for (size_t k = 0; k < n; k++) {
            fuzz_check(ev[k].seq == ++seq);
            if (ev[k].kind == JOBFILES_STDOUT || ev[k].kind == JOBFILES_STDERR) {
                uint64_t *sum = &told[ev[k].kind == JOBFILES_STDERR];

                fuzz_check(ev[k].offset == *sum);
                *sum += ev[k].len;
            }
        }
    }
    fuzz_check(seq == f->seq && told[0] == f->stdout_bytes && told[1] == f->stderr_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    auto_fd int dirfd = -1;

    if (size < 3) {
        return 0;
    }
    if (jobs_fd < 0) {
        make_directory();
    }
    fuzz_check(jobfiles_find(jobs_fd, id, &dirfd, &err) == 1);
    fill(dirfd, "stdout", NULL, 0, data[0] * 100u);
    fill(dirfd, "stderr", NULL, 0, data[1] * 100u);
    fill_events(dirfd, data + 3, size - 3, (data[2] & 1) != 0);
    read_from_anywhere(dirfd, (size - 3) / sizeof(struct jobfiles_event_wire));
    fuzz_check(jobfiles_open(jobs_fd, id, &f, &err) == 0);
    check_opened(&f);
    jobfiles_fini(&f);
    return 0;
}
