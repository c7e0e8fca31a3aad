#include "guest/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/fd.h"

int file_write_fd(int fd, const char *path, const char *text, struct err *err)
{
    size_t len = strlen(text);
    ssize_t n = pwrite(fd, text, len, 0);

    if (n < 0) {
        return err_sys(err, "write '%s' to '%s'", text, path);
    }
    return (size_t)n == len ? 0 : err_sys_num(err, EIO, "write '%s' to '%s'", text, path);
}

int file_write(int dirfd, const char *path, const char *text, struct err *err)
{
    auto_fd int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? err_sys(err, "open '%s'", path) : file_write_fd(fd, path, text, err);
}

int file_read_fd(int fd, const char *path, char *ret, size_t size, struct err *err)
{
    size_t len = 0;
    int r = fd_pread_full(fd, ret, size - 1, 0, &len, err);

    if (r < 0) {
        return err_wrap(err, "'%s'", path);
    }
    if (len > 0 && ret[len - 1] == '\n') {
        len--;
    }
    ret[len] = '\0';
    return 0;
}

int file_read(int dirfd, const char *path, char *ret, size_t size, struct err *err)
{
    auto_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? err_sys(err, "open '%s'", path) : file_read_fd(fd, path, ret, size, err);
}

uint64_t file_key_u64(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; line != NULL && line[0] != '\0';) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ') {
            return strtoull(line + len + 1, NULL, 10);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return 0;
}
