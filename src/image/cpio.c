#include "image/cpio.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct entry {
    mode_t mode;
    unsigned links;
    unsigned major, minor;
};

void cpio_fini(struct cpio *cpio)
{
    buf_fini(&cpio->out);
}

static int pad(struct cpio *cpio, size_t unit)
{
    static const char zeros[512];
    size_t over = cpio->out.len % unit;

    return over == 0 ? 0 : buf_put(&cpio->out, zeros, unit - over);
}

/* Linux Documentation/driver-api/early-userspace/buffer-format.rst: 13 fields of 8 hex digits. */
static int put(struct cpio *cpio, const char *name, const struct entry *e, const void *data,
               size_t len)
{
    size_t name_size = strlen(name) + 1;
    int r = 0;

    if (len > UINT32_MAX) {
        return -EFBIG;
    }
    r = buf_printf(&cpio->out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
                   cpio->inode, (unsigned)e->mode, 0u, 0u, e->links, 0u, (unsigned)len, 0u, 0u,
                   e->major, e->minor, (unsigned)name_size, 0u);
    if (r == 0) {
        r = buf_put(&cpio->out, name, name_size);
    }
    if (r == 0) {
        r = pad(cpio, 4);
    }
    if (r == 0 && len > 0) {
        r = buf_put(&cpio->out, data, len);
    }
    return r < 0 ? r : pad(cpio, 4);
}

int cpio_dir(struct cpio *cpio, const char *name, mode_t mode)
{
    cpio->inode++;
    return put(cpio, name, &(struct entry){.mode = S_IFDIR | mode, .links = 2}, NULL, 0);
}

int cpio_file(struct cpio *cpio, const char *name, mode_t mode, const void *data, size_t len)
{
    cpio->inode++;
    return put(cpio, name, &(struct entry){.mode = S_IFREG | mode, .links = 1}, data, len);
}

int cpio_char_device(struct cpio *cpio, const char *name, mode_t mode, unsigned major,
                     unsigned minor)
{
    cpio->inode++;
    return put(cpio, name,
               &(struct entry){.mode = S_IFCHR | mode, .links = 1, .major = major, .minor = minor},
               NULL, 0);
}

int cpio_end(struct cpio *cpio)
{
    int r = 0;

    cpio->inode = 0;
    r = put(cpio, "TRAILER!!!", &(struct entry){.links = 1}, NULL, 0);
    return r < 0 ? r : pad(cpio, 512);
}
