#include "vmm/dev/blk.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/wire.h"

#define DEVICE_ID   2u
#define SECTOR      512u
#define HEADER_SIZE 16u

/* Feature bits (5.2.3). */
#define F_SIZE_MAX (1ull << 1)
#define F_SEG_MAX  (1ull << 2)
#define F_RO       (1ull << 5)

/* Configuration space (5.2.4). */
#define CONFIG_CAPACITY 0
#define CONFIG_SIZE_MAX 8
#define CONFIG_SEG_MAX  12
#define CONFIG_SIZE     16

/* With header and status this is as long as a chain can be, in descriptors and in bytes. */
#define SEG_MAX  (VIRTQ_SIZE_MAX - 2)
#define SEG_SIZE 65536u
_Static_assert((uint64_t)SEG_MAX *SEG_SIZE + HEADER_SIZE + 1 <= VIRTQ_CHAIN_BYTES,
               "every request that a driver may make must fit in a chain");

/* After so many bytes the others have their turn, too. */
#define BATCH_BYTES (4 * MIB)

enum request_type {
    REQUEST_IN = 0,
    REQUEST_OUT = 1,
    REQUEST_GET_ID = 8
};

enum request_status {
    STATUS_OK = 0,
    STATUS_IOERR = 1,
    STATUS_UNSUPP = 2
};

static struct blk *blk_of(struct virtio *dev)
{
    return (struct blk *)dev;
}

static uint64_t sectors_of(const struct blk *blk)
{
    return blk->bytes / SECTOR + (blk->bytes % SECTOR != 0 ? 1 : 0);
}

/* True if len bytes from sector on are whole sectors of the device, at least one. */
static bool inside(const struct blk *blk, uint64_t sector, uint64_t len)
{
    uint64_t sectors = sectors_of(blk);

    return len > 0 && len % SECTOR == 0 && sector <= sectors && len / SECTOR <= sectors - sector;
}

/* Skips done bytes at the front of an array of n buffers; the number that is left. */
static int advance(struct iovec **iov, int n, size_t done)
{
    while (n > 0 && done >= (*iov)->iov_len) {
        done -= (*iov)->iov_len;
        (*iov)++;
        n--;
    }
    if (n > 0) {
        (*iov)->iov_base = (uint8_t *)(*iov)->iov_base + done;
        (*iov)->iov_len -= done;
    }
    return n;
}

/*
 * Moves len bytes between the file and n buffers: 0, -errno, or -ENODATA if the file is shorter than
 * it was.
 */
static int transfer(const struct blk *blk, bool is_read, uint64_t offset, struct iovec *iov, int n)
{
    while (n > 0) {
        ssize_t done = is_read ? preadv(blk->fd, iov, n, (off_t)offset)
                               : pwritev(blk->fd, iov, n, (off_t)offset);

        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return done < 0 ? -errno : -ENODATA;
        }
        offset += (uint64_t)done;
        n = advance(&iov, n, (size_t)done);
    }
    return 0;
}

static int read_sectors(const struct blk *blk, const struct virtq_chain *c, uint64_t sector,
                        struct err *err)
{
    static const uint8_t zeroes[SECTOR];
    struct iovec iov[VIRTQ_SIZE_MAX];
    uint64_t offset = sector * SECTOR;
    uint64_t len = c->in_bytes - 1;
    uint64_t in_file = 0;
    int n = 0;

    if (c->out_bytes != HEADER_SIZE || !inside(blk, sector, len)) {
        return STATUS_IOERR;
    }
    in_file = len < blk->bytes - offset ? len : blk->bytes - offset;
    n = virtq_chain_iov(c, blk->dev.mem, true, 0, in_file, iov);
    if (n < 0 || virtq_chain_write(c, blk->dev.mem, in_file, zeroes, len - in_file) < 0) {
        return err_guest(err, "a buffer is not in RAM");
    }
    n = transfer(blk, true, offset, iov, n);
    if (n < 0) {
        return err_sys_num(err, -n,
                           "block device '%.20s': cannot read %" PRIu64 " bytes at %" PRIu64,
                           blk->id, in_file, offset);
    }
    return STATUS_OK;
}

static int write_sectors(const struct blk *blk, const struct virtq_chain *c, uint64_t sector,
                         struct err *err)
{
    struct iovec iov[VIRTQ_SIZE_MAX];
    uint64_t offset = sector * SECTOR;
    uint64_t len = c->out_bytes - HEADER_SIZE;
    int n = 0;

    if (blk->read_only || c->in_bytes != 1 || !inside(blk, sector, len)) {
        return STATUS_IOERR;
    }
    n = virtq_chain_iov(c, blk->dev.mem, false, HEADER_SIZE, len, iov);
    if (n < 0) {
        return err_guest(err, "a buffer is not in RAM");
    }
    n = transfer(blk, false, offset, iov, n);
    /*
     * The disk is full: the guest's trouble, as with any disk. EFBIG: behind what RLIMIT_FSIZE lets it
     * have of a device that is larger.
     */
    if (n == -ENOSPC || n == -EDQUOT || n == -EFBIG) {
        return STATUS_IOERR;
    }
    if (n < 0) {
        return err_sys_num(err, -n,
                           "block device '%.20s': cannot write %" PRIu64 " bytes at %" PRIu64,
                           blk->id, len, offset);
    }
    return STATUS_OK;
}

static int get_id(const struct blk *blk, const struct virtq_chain *c, struct err *err)
{
    if (c->out_bytes != HEADER_SIZE || c->in_bytes != sizeof(blk->id) + 1) {
        return STATUS_IOERR;
    }
    if (virtq_chain_write(c, blk->dev.mem, 0, blk->id, sizeof(blk->id)) < 0) {
        return err_guest(err, "a buffer is not in RAM");
    }
    return STATUS_OK;
}

/* enum request_status, ERR_GUEST or ERR_HOST. The header is looked at in our copy alone (V12). */
static int serve(const struct blk *blk, const struct virtq_chain *c, struct err *err)
{
    uint8_t header[HEADER_SIZE];
    uint64_t sector = 0;

    if (c->in_bytes == 0) {
        return err_guest(err, "a request without a status byte");
    }
    if (virtq_chain_read(c, blk->dev.mem, 0, header, sizeof(header)) != sizeof(header)) {
        return err_guest(err, "a request with a header of %" PRIu64 " bytes", c->out_bytes);
    }
    sector = wire_get_u64(header + 8);
    switch (wire_get_u32(header)) {
    case REQUEST_IN:
        return read_sectors(blk, c, sector, err);
    case REQUEST_OUT:
        return write_sectors(blk, c, sector, err);
    case REQUEST_GET_ID:
        return get_id(blk, c, err);
    default:
        return STATUS_UNSUPP;
    }
}

static int finish(struct blk *blk, const struct virtq_chain *c, int status, struct err *err)
{
    uint8_t raw = (uint8_t)status;
    /* Only bytes that were all written from the first on may be told (2.7.8.2). */
    bool whole = status == STATUS_OK || c->in_bytes == 1;

    if (virtq_chain_write(c, blk->dev.mem, c->in_bytes - 1, &raw, 1) != 1) {
        return err_guest(err, "a status byte is not in RAM");
    }
    return virtq_push(&blk->dev.queues[0], blk->dev.mem, c->head, whole ? (uint32_t)c->in_bytes : 0,
                      err);
}

static int blk_kick(struct virtio *dev, unsigned int q, struct err *err)
{
    struct blk *blk = blk_of(dev);
    struct virtq_chain c;
    uint64_t bytes = 0;
    unsigned int n = 0;
    bool more = true;
    int r = 0;

    while (more) {
        r = virtq_pop(&dev->queues[q], dev->mem, &c, err);
        if (r <= 0) {
            break;
        }
        r = serve(blk, &c, err);
        if (r >= 0) {
            r = finish(blk, &c, r, err);
        }
        if (r < 0) {
            break;
        }
        n++;
        bytes += c.out_bytes + c.in_bytes;
        more = n < VIRTIO_BUDGET && bytes < BATCH_BYTES;
    }
    if (r >= 0 && n > 0) {
        r = virtio_interrupt(dev, q, err);
    }
    return r < 0 ? r : !more;
}

static void blk_save(const struct virtio *dev, struct wire_out *out)
{
    const struct blk *blk = (const struct blk *)dev;

    wire_write_u64(out, blk->bytes);
}

/* What the guest has read of it must still be true: the file may be another, but not its size. */
static int blk_load(struct virtio *dev, struct wire_in *in, struct err *err)
{
    const struct blk *blk = blk_of(dev);
    const uint8_t *at = wire_take(in, 8);

    if (at == NULL || wire_get_u64(at) != blk->bytes) {
        return err_usage(err, "it was saved with another size than %" PRIu64 " bytes", blk->bytes);
    }
    return 0;
}

/* No VIRTIO_BLK_F_FLUSH: the file dies with the job, so no write needs to outlive the host's memory. */
static const struct virtio_ops ops = {
    .name = "block device",
    .device_id = DEVICE_ID,
    .features = F_SIZE_MAX | F_SEG_MAX,
    .n_queues = 1,
    .config_size = CONFIG_SIZE,
    .kick = blk_kick,
    .save = blk_save,
    .load = blk_load,
};

int blk_init(struct blk *blk, const struct gmem *mem, unsigned int slot, int irq_fd,
             const struct blk_disk *disk, struct err *err)
{
    size_t id_len = strlen(disk->id);
    struct stat st;

    assert(id_len <= sizeof(blk->id));
    if (fstat(disk->fd, &st) < 0) {
        return err_sys(err, "block device '%s': cannot look at its file", disk->id);
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 0) {
        return err_set(err, ERR_HOST, EINVAL, "block device '%s': it is not a regular file",
                       disk->id);
    }
    *blk =
        (struct blk){.fd = disk->fd, .read_only = disk->read_only, .bytes = (uint64_t)st.st_size};
    memcpy(blk->id, disk->id, id_len);
    virtio_init(&blk->dev, &ops, mem, slot, irq_fd);
    blk->dev.features |= blk->read_only ? F_RO : 0;
    wire_put_u64(blk->dev.config + CONFIG_CAPACITY, sectors_of(blk));
    wire_put_u32(blk->dev.config + CONFIG_SIZE_MAX, SEG_SIZE);
    wire_put_u32(blk->dev.config + CONFIG_SEG_MAX, SEG_MAX);
    return 0;
}
