#include "image/initramfs.h"

#include <errno.h>
#include <fcntl.h>

#include "image/cpio.h"
#include "sys/fd.h"

#define INIT_MAX    (64 * MIB)
#define MODULES_MAX (256 * MIB)

/* The static airlock-init, linked into this binary by src/guest. Same rank, so no include of it. */
extern const unsigned char guest_init_start[];
extern const unsigned char guest_init_end[];

static void guest_agent(const void **data, size_t *len)
{
    *data = guest_init_start;
    *len = (size_t)((uintptr_t)guest_init_end - (uintptr_t)guest_init_start);
}

void initramfs_agent_digest(struct digest *ret)
{
    const void *data = NULL;
    size_t len = 0;

    guest_agent(&data, &len);
    digest_of_data(data, len, ret);
}

static int pack_init(struct cpio *cpio)
{
    static const char *const dirs[] = {"dev", "proc", "sys", "root", "run", "mnt"};
    const void *data = NULL;
    size_t len = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_LEN(dirs); i++) {
        r = cpio_dir(cpio, dirs[i], 0755);
    }
    /* The kernel opens this one for pid 1 before anything is mounted. */
    if (r == 0) {
        r = cpio_char_device(cpio, "dev/console", 0600, 5, 1);
    }
    guest_agent(&data, &len);
    if (r == 0) {
        r = cpio_file(cpio, "init", 0755, data, len);
    }
    return r < 0 ? r : cpio_end(cpio);
}

int initramfs_make(const struct store *store, struct kernel_manifest *m, struct err *err)
{
    auto_cpio struct cpio cpio = CPIO_INIT(INIT_MAX);
    auto_fd int modules = -1;
    auto_fd int out = -1;
    uint64_t copied = 0;
    int r = store_open_object(store, &m->modules, "the guest kernel's module archive",
                              "airlock image build kernel", &modules, err);

    if (r < 0) {
        return r;
    }
    r = pack_init(&cpio);
    if (r < 0) {
        return err_set(err, ERR_HOST, -r, "pack the guest agent");
    }
    r = fd_open_nolink(store->tmpfd, "initramfs", O_WRONLY | O_CREAT | O_TRUNC, 0600, &out, err);
    if (r == 0) {
        r = fd_write_full(out, cpio.out.data, cpio.out.len, err);
    }
    if (r == 0) {
        r = fd_copy(modules, out, MODULES_MAX, &copied, err);
    }
    if (r == 0) {
        r = store_put(store, "initramfs", &m->initramfs, err);
    }
    if (r == 0) {
        initramfs_agent_digest(&m->agent);
    }
    return r < 0 ? err_wrap(err, "make the guest's initramfs") : 0;
}
