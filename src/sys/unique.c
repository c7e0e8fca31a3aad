#include "sys/unique.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

int unique_id(char ret[UNIQUE_ID_SIZE], struct err *err)
{
    uint8_t id[(UNIQUE_ID_SIZE - 1) / 2];
    ssize_t n = 0;

    do { /* up to 256 bytes come whole, once the kernel's generator is seeded: random(7) */
        n = getrandom(id, sizeof(id), 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(id)) {
        return err_sys(err, "random bytes from the kernel");
    }
    for (size_t i = 0; i < sizeof(id); i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", id[i]);
    }
    return 0;
}
