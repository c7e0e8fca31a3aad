/* Requests to the disks (V13), as virtio 1.2, 5.2.6 knows them and as it does not. */
#include "vmm-virtio.h"

enum {
    BLK_IN = 0,
    BLK_OUT = 1,
    BLK_FLUSH = 4,
    BLK_GET_ID = 8,
    BLK_DISCARD = 11,
    BLK_ZEROES = 13
};

enum {
    BLK_OK = 0,
    BLK_IOERR = 1,
    BLK_UNSUPP = 2,
    BLK_NONE = 0xee
};

static struct queue disk;
static uint64_t sectors;
static volatile struct blk_header header;
static volatile uint8_t status;

static void disk_begin(unsigned int device)
{
    expect(device_begin(device, 0) & STATUS_FEATURES_OK, "a disk without features");
    queue_make(&disk, device, 0, 5);
    device_go(device);
    sectors = read32(WINDOW(device) + REG_CONFIG) |
              (uint64_t)read32(WINDOW(device) + REG_CONFIG + 4) << 32;
}

/* A request with len bytes of data at addr: its status. */
static uint8_t ask_at(uint32_t type, uint64_t sector, uint64_t addr, uint32_t len)
{
    uint16_t write = type == BLK_IN || type == BLK_GET_ID ? DESC_WRITE : 0;
    uint16_t last = len > 0 ? 2 : 1;
    uint32_t written;

    header.type = type;
    header.reserved = 0;
    header.sector = sector;
    status = BLK_NONE;
    desc_set(&disk, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
    if (len > 0) {
        desc_set(&disk, 1, addr, len, (uint16_t)(write | DESC_NEXT), 2);
    }
    desc_set(&disk, last, gpa(&status), 1, DESC_WRITE, 0);
    queue_give(&disk, 0);
    expect(queue_take(&disk, &written), "a request is answered");
    return status;
}

static uint8_t ask(uint32_t type, uint64_t sector, uint32_t len)
{
    return ask_at(type, sector, gpa(type == BLK_OUT ? page_out : page_in), len);
}

static void use(void)
{
    for (unsigned int d = ROOT; d <= SCRATCH; d++) {
        disk_begin(d);
        expect(sectors > 0, "a disk has a size");
        expect_equal(ask(BLK_IN, sectors - 1, 512), BLK_OK, "the last sector");
        expect_equal(ask(BLK_IN, 0, 4096), BLK_OK, "eight sectors");
        expect_equal(ask(BLK_FLUSH, 0, 0), BLK_UNSUPP, "a flush, which was not offered");
        memset(page_in, 0, 32);
        expect_equal(ask(BLK_GET_ID, 0, 20), BLK_OK, "the serial number");
        expect_equal(page_in[0], 'a', "a serial number that begins with airlock");
    }
    memset(page_out, 0x5a, 512);
    expect_equal(ask(BLK_OUT, 7, 512), BLK_OK, "a write");
    memset(page_in, 0, 512);
    expect_equal(ask(BLK_IN, 7, 512), BLK_OK, "a read of what was written");
    expect_equal(page_in[511], 0x5a, "what was written");
}

/* Where the disk ends, and where its arithmetic might. */
static void sectors_beyond(void)
{
    for (unsigned int d = ROOT; d <= SCRATCH; d++) {
        disk_begin(d);
        const uint64_t starts[] = {sectors,
                                   sectors + 1,
                                   0xffffffffffffffffull,
                                   0xfffffffffffffff8ull,
                                   1ull << 55,
                                   (1ull << 55) - 1,
                                   1ull << 54,
                                   1ull << 63,
                                   0x007fffffffffffffull,
                                   0xffffffffull,
                                   1ull << 32};
        for (unsigned int i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
            expect_equal(ask(BLK_IN, starts[i], 512), BLK_IOERR, "a read past the end");
            expect_equal(ask(BLK_OUT, starts[i], 512), BLK_IOERR, "a write past the end");
        }
        expect_equal(ask(BLK_IN, sectors - 1, 1024), BLK_IOERR, "a read across the end");
        expect_equal(ask(BLK_OUT, sectors - 1, 1024), BLK_IOERR, "a write across the end");
        expect_equal(ask(BLK_IN, sectors - 1, 512), BLK_OK, "the last sector, after all that");
    }
}

static void read_only(void)
{
    for (unsigned int d = ROOT; d <= INPUT; d++) {
        disk_begin(d);
        expect_equal(ask(BLK_IN, 1, 512), BLK_OK, "a read");
        memset(page_out, page_in[0] ^ 0xff, 512);
        expect_equal(ask(BLK_OUT, 1, 512), BLK_IOERR, "a write to a disk that is read-only");
        expect_equal(ask(BLK_OUT, sectors, 512), BLK_IOERR, "a write past its end");
        expect_equal(ask(BLK_IN, 1, 512), BLK_OK, "a read after that");
        expect(page_in[0] != page_out[0], "the sector is what it was");
    }
}

static void odd_lengths(void)
{
    static const uint32_t lengths[] = {1, 2, 511, 513, 1000, 4095};

    disk_begin(SCRATCH);
    for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        expect_equal(ask(BLK_IN, 0, lengths[i]), BLK_IOERR, "a read of parts of a sector");
        expect_equal(ask(BLK_OUT, 0, lengths[i]), BLK_IOERR, "a write of parts of a sector");
    }
    expect_equal(ask(BLK_IN, 0, 512), BLK_OK, "a read of a sector");
}

static void types(void)
{
    static const uint32_t unknown[] = {2,           3,          5,          6,         7,  9,   10,
                                       BLK_DISCARD, 12,         BLK_ZEROES, 14,        15, 255, 256,
                                       0x100000,    0x7fffffff, 0x80000000, 0xffffffff};

    disk_begin(SCRATCH);
    for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        expect_equal(ask(unknown[i], 0, 512), BLK_UNSUPP, "a request of an unknown type");
        expect_equal(ask(unknown[i], 0, 0), BLK_UNSUPP, "one without data");
    }
    /* No data at all, data where none belongs, and names in buffers of any size. */
    (void)ask(BLK_IN, 0, 0);
    (void)ask(BLK_OUT, 0, 0);
    (void)ask(BLK_FLUSH, 0xffffffffffffffffull, 512);
    (void)ask(BLK_GET_ID, 0, 0);
    (void)ask(BLK_GET_ID, 0, 1);
    memset(page_in, 0x77, 64);
    (void)ask(BLK_GET_ID, 0, 64);
    expect_equal(page_in[63], 0x77, "what is behind a name of 20 bytes");
    expect_equal(ask(BLK_IN, 0, 512), BLK_OK, "a read after all that");
}

/* Right, but cut as no driver does: the header byte by byte, the data in three. */
static void in_pieces(void)
{
    uint32_t written;

    disk_begin(SCRATCH);
    memset(page_out, 0x21, 512);
    expect_equal(ask(BLK_OUT, 0, 512), BLK_OK, "a write");
    header.type = BLK_IN;
    header.sector = 0;
    status = BLK_NONE;
    memset(page_in, 0, 512);
    desc_set(&disk, 0, gpa(&header), 1, DESC_NEXT, 1);
    desc_set(&disk, 1, gpa(&header) + 1, 6, DESC_NEXT, 2);
    desc_set(&disk, 2, gpa(&header) + 7, 9, DESC_NEXT, 3);
    desc_set(&disk, 3, gpa(page_in), 1, DESC_WRITE | DESC_NEXT, 4);
    desc_set(&disk, 4, gpa(page_in) + 1, 510, DESC_WRITE | DESC_NEXT, 5);
    desc_set(&disk, 5, gpa(page_in) + 511, 1, DESC_WRITE | DESC_NEXT, 6);
    desc_set(&disk, 6, gpa(&status), 1, DESC_WRITE, 0);
    queue_give(&disk, 0);
    expect(queue_take(&disk, &written), "a request in pieces is answered");
    expect_equal(status, BLK_OK, "a request in pieces");
    expect_equal(page_in[511], 0x21, "what it reads");
}

/* Target: which part is missing. All are the end of the device. */
static void parts_missing(void)
{
    disk_begin(SCRATCH);
    header.type = BLK_OUT;
    header.sector = 0;
    desc_set(&disk, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
    desc_set(&disk, 1, gpa(page_out), 512, DESC_NEXT, 2);
    desc_set(&disk, 2, gpa(&status), 1, DESC_WRITE, 0);
    if (same(guest_target, "status")) {
        desc_set(&disk, 1, gpa(page_out), 512, 0, 0);
    } else if (same(guest_target, "status-bytes")) {
        desc_set(&disk, 2, gpa(&status), 0, DESC_WRITE, 0);
    } else if (same(guest_target, "header")) {
        queue_give(&disk, 2);
        linger();
        return;
    } else if (same(guest_target, "header-half")) {
        desc_set(&disk, 0, gpa(&header), 15, DESC_NEXT, 2);
    } else if (same(guest_target, "all-but-header")) {
        desc_set(&disk, 0, gpa(&header), sizeof(header), 0, 0);
    } else {
        expect(false, "a part of this name");
    }
    queue_give(&disk, 0);
    linger();
}

/* As much as one chain may be, and the disk's own header, status and table in its data. */
static void large(void)
{
    uint32_t written;

    disk_begin(SCRATCH);
    expect_equal(ask_at(BLK_IN, 0, 0x400000, 1u << 20), BLK_OK, "a megabyte at once");
    expect_equal(ask_at(BLK_IN, 0, 0x400000, 15u << 20), BLK_IOERR, "more than the disk has");
    /* The status byte is written last, whatever lies over it. */
    header.type = BLK_IN;
    header.sector = 0;
    desc_set(&disk, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
    desc_set(&disk, 1, gpa(&header) & ~511ull, 512, DESC_WRITE | DESC_NEXT, 2);
    desc_set(&disk, 2, gpa(&header), 1, DESC_WRITE, 0);
    queue_give(&disk, 0);
    expect(queue_take(&disk, &written), "a request over itself is answered");
}

/* Memory that we cannot address ourselves: the disk brings something there and fetches it again. */
static void high_memory(void)
{
    disk_begin(SCRATCH);
    for (uint64_t at = ADDRESS_HIGH; at < ADDRESS_HIGH + (1ull << 30); at += (1ull << 30) - 512) {
        expect_equal(ask_at(BLK_IN, 77, at, 512), BLK_OK, "a sector to high memory");
        expect_equal(ask_at(BLK_OUT, 5, at, 512), BLK_OK, "a sector from high memory");
        memset(page_in, 0, 512);
        expect_equal(ask(BLK_IN, 5, 512), BLK_OK, "the sector that it wrote");
        expect_equal(page_in[0], 77, "the number of the sector that it read");
        expect_equal(ask(BLK_OUT, 5, 512), BLK_OK, "the sector for the next round");
    }
    expect_equal(ask_at(BLK_IN, 1, ADDRESS_HOLE - 512, 512), BLK_OK,
                 "the last bytes below the hole");
}

/* Many requests at once, and the device reset while it works on them. */
static void reset_while_working(void)
{
    for (int round = 0; round < 100; round++) {
        disk_begin(SCRATCH);
        header.type = BLK_IN;
        header.sector = 0;
        desc_set(&disk, 0, gpa(&header), sizeof(header), DESC_NEXT, 1);
        desc_set(&disk, 1, 0x400000, 1u << 20, DESC_WRITE | DESC_NEXT, 2);
        desc_set(&disk, 2, gpa(&status), 1, DESC_WRITE, 0);
        for (unsigned int i = 0; i < RING_SIZE; i++) {
            queue_put(&disk, 0);
        }
        queue_kick(&disk);
        for (int i = 0; i < round % 10; i++) {
            (void)in8(PORT_NOBODY);
        }
        write32(WINDOW(SCRATCH) + REG_STATUS, 0);
        expect_equal(read32(WINDOW(SCRATCH) + REG_STATUS), 0, "the status after a reset");
    }
    disk_begin(SCRATCH);
    expect_equal(ask(BLK_IN, 0, 512), BLK_OK, "a read after a hundred resets");
}

const struct attack attacks_blk[] = {
    {"disk-use", use},
    {"disk-sectors", sectors_beyond},
    {"disk-read-only", read_only},
    {"disk-odd-lengths", odd_lengths},
    {"disk-types", types},
    {"disk-in-pieces", in_pieces},
    {"disk-parts-missing", parts_missing},
    {"disk-large", large},
    {"disk-high-memory", high_memory},
    {"disk-reset", reset_while_working},
    {NULL, NULL},
};
