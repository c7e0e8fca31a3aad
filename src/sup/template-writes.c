#include "sup/template-writes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/wire.h"
#include "sup/rehearsal.h"
#include "sys/fd.h"
#include "vmm/start.h"

#define PAGE_BYTES    4096u
#define ENTRIES       8192u /* of the page map, read at once */
#define MAPS_MAX      (4 * MIB)
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FILE    (1ull << 61) /* still the file's page, or shared */

static int open_proc(pid_t pid, const char *name, int *ret, struct err *err)
{
    char path[48];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fd_open(AT_FDCWD, path, O_RDONLY, 0, ret, err);
}

/* "start-end perms offset device inode path": true for a private mapping of that inode; *ret is its start. */
static bool is_mapping(const char *line, uint64_t inode, uint64_t bytes, uint64_t *ret)
{
    char perms[5] = "";
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    uint64_t found = 0;

    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64, &start, &end, perms,
               &offset, &found) != 5) {
        return false;
    }
    *ret = start;
    return found == inode && offset == 0 && end - start == bytes && perms[3] == 'p';
}

static int find_mapping(pid_t pid, uint64_t inode, uint64_t bytes, uint64_t *ret, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(MAPS_MAX);
    auto_fd int fd = -1;
    int r = open_proc(pid, "maps", &fd, err);

    if (r == 0) {
        r = fd_read_all(fd, "the monitor's mappings", &text, err);
    }
    if (r == 0 && buf_put(&text, "", 1) < 0) {
        r = err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (r < 0) {
        return r;
    }
    for (const char *line = (const char *)text.data; line != NULL && *line != '\0';) {
        const char *next = strchr(line, '\n');

        if (is_mapping(line, inode, bytes, ret)) {
            return 0;
        }
        line = next != NULL ? next + 1 : NULL;
    }
    return err_set(err, ERR_HOST, ENOENT, "the monitor does not map the saved memory");
}

#define RANGES_MAX (START_WRITES_BYTES_MAX / START_WRITES_RANGE - 1)

struct list {
    uint32_t first[RANGES_MAX], n[RANGES_MAX];
    uint32_t len;
};

/* False if there is no room for one more range: the rest is not told. */
static bool add_page(struct list *l, uint32_t page)
{
    if (l->len > 0 && l->first[l->len - 1] + l->n[l->len - 1] == page) {
        l->n[l->len - 1]++;
        return true;
    }
    if (l->len == RANGES_MAX) {
        return false;
    }
    l->first[l->len] = page;
    l->n[l->len++] = 1;
    return true;
}

static int read_entries(int fd, uint64_t start, uint64_t bytes, struct list *ret, struct err *err)
{
    auto_free uint64_t *entries = malloc(ENTRIES * sizeof(*entries));
    uint64_t pages = bytes / PAGE_BYTES;

    if (entries == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (uint64_t page = 0; page < pages; page += ENTRIES) {
        size_t want = pages - page < ENTRIES ? (size_t)(pages - page) : ENTRIES;
        size_t got = 0;
        int r = fd_pread_full(fd, entries, want * sizeof(*entries),
                              (start / PAGE_BYTES + page) * sizeof(*entries), &got, err);

        if (r < 0) {
            return r;
        }
        for (size_t i = 0; i < got / sizeof(*entries); i++) {
            bool there = (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) != 0;

            if (there && (entries[i] & ENTRY_FILE) == 0 && !add_page(ret, (uint32_t)(page + i))) {
                return 0;
            }
        }
    }
    return 0;
}

int template_writes_of(pid_t pid, int file, uint64_t bytes, struct buf *ret, struct err *err)
{
    auto_free struct list *list = calloc(1, sizeof(*list));
    auto_fd int fd = -1;
    uint8_t raw[START_WRITES_RANGE];
    struct stat st = {0};
    uint64_t start = 0;
    int r = 0;

    if (list == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (fstat(file, &st) < 0) {
        return err_sys(err, "fstat");
    }
    r = find_mapping(pid, st.st_ino, bytes, &start, err);
    if (r == 0) {
        r = open_proc(pid, "pagemap", &fd, err);
    }
    if (r == 0) {
        r = read_entries(fd, start, bytes, list, err);
    }
    if (r < 0) {
        return r;
    }
    for (uint32_t i = 0; r == 0 && i <= list->len; i++) { /* the last is empty: the end */
        wire_put_u32(raw, i < list->len ? list->first[i] : 0);
        wire_put_u32(raw + sizeof(uint32_t), i < list->len ? list->n[i] : 0);
        r = buf_put(ret, raw, sizeof(raw));
    }
    return r < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

int template_writes_learn(const struct template_request *q, int file, struct template_footer *ret,
                          struct err *err)
{
    auto_rehearsal struct rehearsal *rehearsal = NULL;
    auto_buf struct buf list = BUF_INIT(START_WRITES_BYTES_MAX);
    off_t end = 0;
    int r = 0;

    ret->writes_bytes = 0;
    if (!q->engine->takes_writes || !ret->interpreter.waits || ret->scratch_bytes == 0) {
        return 0;
    }
    r = rehearse(q, file, ret, &rehearsal, err);
    if (r < 0) {
        return err_wrap(err, "a rehearsal with the saved machine");
    }
    r = template_writes_of(rehearsal_pid(rehearsal), file, ret->memory_bytes, &list, err);
    if (r == -EACCES || r == -EPERM) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (r < 0) {
        return r;
    }
    end = lseek(file, 0, SEEK_END);
    if (end < 0) {
        return err_sys(err, "lseek");
    }
    ret->writes_bytes = list.len;
    return fd_write_full(file, list.data, list.len, err);
}
