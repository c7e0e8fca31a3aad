#include "guest/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX 8192 /* the kernel's CONSOLE_EXT_LOG_MAX */

int oom_log_open(struct oom_log *log, struct err *err)
{
    log->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return log->fd < 0 ? err_sys(err, "open '/dev/kmsg'") : 0;
}

int oom_log_begin(struct oom_log *log, struct err *err)
{
    return lseek(log->fd, 0, SEEK_END) < 0 ? err_sys(err, "go to the end of '/dev/kmsg'") : 0;
}

pid_t oom_record_victim(const char *record)
{
    static const char *const starts[] = {
        "Memory cgroup out of memory: Killed process ",
        "Out of memory: Killed process ",
    };
    const char *text = strchr(record, ';');

    for (size_t i = 0; text != NULL && i < ARRAY_LEN(starts); i++) {
        size_t len = strlen(starts[i]);

        if (strncmp(text + 1, starts[i], len) == 0) {
            char *end = NULL;
            long pid = strtol(text + 1 + len, &end, 10);

            return *end == ' ' && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
        }
    }
    return 0;
}

bool oom_log_took(struct oom_log *log, pid_t pid)
{
    char record[RECORD_MAX + 1];
    bool took = false;

    for (;;) {
        ssize_t n = read(log->fd, record, RECORD_MAX);

        if (n < 0 && errno == EPIPE) {
            took = true; /* records were overwritten before we came */
            continue;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return took;
        }
        record[n] = '\0';
        took = took || oom_record_victim(record) == pid;
    }
}
