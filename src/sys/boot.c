#include "sys/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sys/fd.h"

int boot_id_read(char ret[BOOT_ID_SIZE], struct err *err)
{
    auto_fd int fd = -1;
    size_t got = 0;
    int r = fd_open(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0, &fd, err);

    if (r == 0) {
        r = fd_read_full(fd, ret, BOOT_ID_SIZE - 1, &got, err);
    }
    if (r < 0) {
        return r;
    }
    ret[got] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return ret[0] == '\0' ? err_set(err, ERR_HOST, ENODATA, "the host has no boot id") : 0;
}
