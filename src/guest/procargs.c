#include "guest/procargs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "guest/file.h"
#include "guest/inject.h"

#define STAT_MAX 1024

/* Fields of /proc/PID/stat, proc(5); the third is the first behind the name. */
enum field {
    FIELD_START_CODE = 26,
    FIELD_END_CODE,
    FIELD_START_STACK,
    FIELD_START_DATA = 45,
    FIELD_END_DATA,
    FIELD_START_BRK,
    FIELD_ARG_START,
    FIELD_ARG_END,
    FIELD_ENV_START,
    FIELD_ENV_END,
    FIELDS
};

static int read_map(pid_t pid, struct prctl_mm_map *ret, struct err *err)
{
    char path[32];
    char text[STAT_MAX];
    uint64_t at[FIELDS] = {0};
    char *p = NULL;
    int n = 3;
    int r = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    r = file_read(AT_FDCWD, path, text, sizeof(text), err);
    if (r < 0) {
        return r;
    }
    p = strrchr(text, ')'); /* the name may have anything in it */
    for (char *save = NULL, *word = p == NULL ? NULL : strtok_r(p + 1, " ", &save);
         word != NULL && n < FIELDS; word = strtok_r(NULL, " ", &save), n++) {
        at[n] = strtoull(word, NULL, 10);
    }
    if (n < FIELDS) {
        return err_sys_num(err, EPROTO, "'%s' has %d fields", path, n);
    }
    *ret = (struct prctl_mm_map){.start_code = at[FIELD_START_CODE],
                                 .end_code = at[FIELD_END_CODE],
                                 .start_data = at[FIELD_START_DATA],
                                 .end_data = at[FIELD_END_DATA],
                                 .start_brk = at[FIELD_START_BRK],
                                 .start_stack = at[FIELD_START_STACK],
                                 .arg_start = at[FIELD_ARG_START],
                                 .arg_end = at[FIELD_ARG_END],
                                 .env_start = at[FIELD_ENV_START],
                                 .env_end = at[FIELD_ENV_END],
                                 .exe_fd = UINT32_MAX};
    return 0;
}

static int put(pid_t pid, uint64_t to, const void *data, size_t len, struct err *err)
{
    union {
        const void *in;
        void *out;
    } from = {data};
    struct iovec local = {.iov_base = from.out, .iov_len = len};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)to, .iov_len = len};

    if (process_vm_writev(pid, &local, 1, &remote, 1, 0) != (ssize_t)len) {
        return err_sys(err, "write to process %d", (int)pid);
    }
    return 0;
}

/* The process says it itself; the struct lies at the end of the room for that moment. */
static int tell(struct procargs *a, pid_t pid, struct err *err)
{
    static const struct prctl_mm_map nothing;
    auto_inject struct inject in = INJECT_INIT;
    const uint64_t place = (a->room + PROCARGS_SIZE - sizeof(a->map)) & ~(uint64_t)7;
    const unsigned long args[5] = {PR_SET_MM, PR_SET_MM_MAP, place, sizeof(a->map), 0};
    long result = 0;
    int r = inject_begin(&in, pid, err);

    if (r == 0) {
        r = inject_call(&in, SYS_brk, (const unsigned long[5]){0}, &result, err);
    }
    if (r == 0) {
        a->map.brk = (uint64_t)result;
        r = put(pid, place, &a->map, sizeof(a->map), err);
    }
    if (r == 0) {
        r = inject_call(&in, SYS_prctl, args, &result, err);
    }
    if (r == 0 && result != 0) {
        r = err_sys_num(err, (int)-result, "show process %d with its job", (int)pid);
    }
    return r < 0 ? r : put(pid, place, &nothing, sizeof(nothing), err);
}

int procargs_init(struct procargs *a, pid_t pid, const char *const *envp, size_t n_shown,
                  struct err *err)
{
    size_t total = 0;
    size_t shown = 0;
    int r = read_map(pid, &a->map, err);

    if (r < 0) {
        return r;
    }
    for (size_t i = 0; envp[i] != NULL; i++) {
        total += strlen(envp[i]) + 1;
        shown += i < n_shown ? strlen(envp[i]) + 1 : 0;
    }
    if (a->map.env_end - a->map.env_start != total || total < shown + PROCARGS_SIZE) {
        return err_sys_num(err, EPROTO, "the environment has %" PRIu64 " bytes, not %zu",
                           (uint64_t)(a->map.env_end - a->map.env_start), total);
    }
    a->room = a->map.env_end - PROCARGS_SIZE;
    a->map.env_end = a->map.env_start + shown;
    return tell(a, pid, err);
}

static int put_strings(const struct procargs *a, pid_t pid, char *const *strings, uint64_t *at,
                       struct err *err)
{
    for (size_t i = 0; strings[i] != NULL; i++) {
        size_t len = strlen(strings[i]) + 1;
        int r = *at + len > a->room + MSG_WARM_STRINGS
                    ? err_sys_num(err, E2BIG, "show a job with more than %u bytes of strings",
                                  MSG_WARM_STRINGS)
                    : put(pid, *at, strings[i], len, err);

        if (r < 0) {
            return r;
        }
        *at += len;
    }
    return 0;
}

int procargs_show(struct procargs *a, pid_t pid, char *const *argv, char *const *envp,
                  struct err *err)
{
    uint64_t at = a->room;
    int r = 0;

    if (argv != NULL) {
        a->map.arg_start = at;
        r = put_strings(a, pid, argv, &at, err);
        a->map.arg_end = at;
    }
    if (r == 0 && envp != NULL) {
        a->map.env_start = at;
        r = put_strings(a, pid, envp, &at, err);
        a->map.env_end = at;
    }
    return r < 0 || (argv == NULL && envp == NULL) ? r : tell(a, pid, err);
}
