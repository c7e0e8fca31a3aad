#include "vmm/snapshot.h"

#include <errno.h>
#include <string.h>

#include "sys/fd.h"

#define HEADER_BYTES  24u
#define SECTION_BYTES 8u /* tag and length */

#define TAG(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TAG_MACHINE TAG('M', 'A', 'C', 'H')
#define TAG_CPUID   TAG('C', 'P', 'U', 'I')
#define TAG_VCPU    TAG('V', 'C', 'P', 'U')
#define TAG_CHIPS   TAG('C', 'H', 'I', 'P')
#define TAG_CLOCK   TAG('C', 'L', 'C', 'K')
#define TAG_DEVICE  TAG('D', 'E', 'V', 'I')

#define CHIPS         3u /* both PICs and the IO-APIC: chip_id is the index */
#define MACHINE_BYTES 20u

static const char magic[] = {'A', 'L', 'K', 'V', 'M', 'S', 'T', '1'};

/* Each step is a bijection of the sum and of what comes in: one damaged word always shows. */
static uint64_t sum_step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
    return sum ^ sum >> 32;
}

uint64_t snapshot_sum(const uint8_t *data, size_t len)
{
    uint64_t sum = len;

    for (; len >= sizeof(uint64_t); data += sizeof(uint64_t), len -= sizeof(uint64_t)) {
        sum = sum_step(sum, wire_get_u64(data));
    }
    for (; len > 0; data++, len--) {
        sum = sum_step(sum, *data);
    }
    return sum;
}

/* A tag as text, whatever is in it. */
static void tag_text(uint32_t tag, char ret[5])
{
    for (unsigned int i = 0; i < 4; i++) {
        uint8_t c = (uint8_t)(tag >> (8 * i));

        ret[i] = '?';
        if (c >= 'A' && c <= 'Z') {
            ret[i] = (char)c;
        }
    }
    ret[4] = '\0';
}

/* Where the section's bytes begin, for section_end(). */
static size_t section_begin(struct wire_out *out, uint32_t tag)
{
    wire_write_u32(out, tag);
    wire_write_u32(out, 0);
    return out->buf->len;
}

static void section_end(struct wire_out *out, size_t begin)
{
    if (out->error == 0) {
        wire_put_u32(out->buf->data + begin - sizeof(uint32_t), (uint32_t)(out->buf->len - begin));
    }
}

static int save_processors(const struct machine *m, struct wire_out *out, struct err *err)
{
    for (unsigned int i = 0; i < m->n_vcpus; i++) {
        size_t begin = section_begin(out, TAG_VCPU);
        int r = vcpu_save(&m->vcpus[i], out, err);

        if (r < 0) {
            return r;
        }
        section_end(out, begin);
    }
    return 0;
}

static int save_chips(const struct machine *m, struct wire_out *out, struct err *err)
{
    struct kvm_clock_data clock = {.clock = 0};
    size_t begin = section_begin(out, TAG_CHIPS);
    int r = 0;

    for (uint32_t i = 0; i < CHIPS; i++) {
        struct kvm_irqchip chip = {.chip_id = i};

        r = KVM_DO(m->vm_fd, KVM_GET_IRQCHIP, &chip, err);
        if (r < 0) {
            return err_wrap(err, "interrupt controller %u", i);
        }
        wire_write(out, &chip, sizeof(chip));
    }
    section_end(out, begin);
    r = KVM_DO(m->vm_fd, KVM_GET_CLOCK, &clock, err);
    if (r < 0) {
        return r;
    }
    begin = section_begin(out, TAG_CLOCK);
    wire_write_u64(out, clock.clock);
    section_end(out, begin);
    return 0;
}

static int save_sections(const struct machine *m, struct wire_out *out, struct err *err)
{
    size_t begin = section_begin(out, TAG_MACHINE);
    int r = 0;

    wire_write_u64(out, m->mem.size);
    wire_write_u32(out, m->n_vcpus);
    wire_write_u32(out, machine_slots(m));
    wire_write_u32(out, m->sleep_control);
    section_end(out, begin);

    begin = section_begin(out, TAG_CPUID);
    wire_write(out, m->cpuid.entries, m->cpuid.n * sizeof(m->cpuid.entries[0]));
    section_end(out, begin);

    r = save_processors(m, out, err);
    if (r == 0) {
        r = save_chips(m, out, err);
    }
    for (unsigned int i = 0; r == 0 && i < LAYOUT_DEVICES; i++) {
        if (m->devices[i] == NULL) {
            continue;
        }
        begin = section_begin(out, TAG_DEVICE);
        wire_write_u32(out, i);
        virtio_save(m->devices[i], out);
        section_end(out, begin);
    }
    return r;
}

int snapshot_save(struct machine *m, int fd, struct err *err)
{
    static const uint8_t header[HEADER_BYTES] = {0};
    auto_buf struct buf file = BUF_INIT(SNAPSHOT_BYTES_MAX);
    struct wire_out out = wire_out_start(&file);
    size_t len = 0;
    int r = 0;

    wire_write(&out, header, sizeof(header));
    r = save_sections(m, &out, err);
    if (r < 0) {
        return r;
    }
    r = wire_out_end(&out);
    if (r < 0) {
        return err_sys_num(err, -r, "the state of the machine, of at most %llu bytes",
                           SNAPSHOT_BYTES_MAX);
    }
    len = file.len - HEADER_BYTES;
    memcpy(file.data, magic, sizeof(magic));
    wire_put_u32(file.data + 8, SNAPSHOT_VERSION);
    wire_put_u32(file.data + 12, (uint32_t)len);
    wire_put_u64(file.data + 16, snapshot_sum(file.data + HEADER_BYTES, len));
    return fd_write_full(fd, file.data, file.len, err);
}

int snapshot_open(const uint8_t *data, size_t len, struct wire_in *ret, struct err *err)
{
    if (len < HEADER_BYTES || memcmp(data, magic, sizeof(magic)) != 0) {
        return err_usage(err, "this is no saved machine");
    }
    if (wire_get_u32(data + 8) != SNAPSHOT_VERSION) {
        return err_usage(err,
                         "the saved machine is of version %u, this monitor reads %u: build the "
                         "template again",
                         wire_get_u32(data + 8), SNAPSHOT_VERSION);
    }
    if (wire_get_u32(data + 12) != len - HEADER_BYTES) {
        return err_usage(err, "the saved machine has %zu bytes and should have %u",
                         len - HEADER_BYTES, wire_get_u32(data + 12));
    }
    if (wire_get_u64(data + 16) != snapshot_sum(data + HEADER_BYTES, len - HEADER_BYTES)) {
        return err_usage(err, "the saved machine is damaged: its checksum differs");
    }
    *ret = (struct wire_in){.at = data + HEADER_BYTES, .left = len - HEADER_BYTES};
    return 0;
}

int snapshot_next(struct wire_in *in, uint32_t tag, struct wire_in *ret_body, struct err *err)
{
    const uint8_t *head = wire_take(in, SECTION_BYTES);
    const uint8_t *body = NULL;
    char want[5];
    char is[5];

    tag_text(tag, want);
    if (head == NULL) {
        return err_usage(err, "the saved machine ends before its section %s", want);
    }
    if (wire_get_u32(head) != tag) {
        tag_text(wire_get_u32(head), is);
        return err_usage(err, "the saved machine has a section %s where %s should be", is, want);
    }
    body = wire_take(in, wire_get_u32(head + 4));
    if (body == NULL) {
        return err_usage(err, "the saved machine's section %s is cut short", want);
    }
    *ret_body = (struct wire_in){.at = body, .left = wire_get_u32(head + 4)};
    return 0;
}

static int restore_machine(struct machine *m, unsigned int index, struct wire_in *in,
                           struct err *err)
{
    const uint8_t *at = in->left == MACHINE_BYTES ? wire_take(in, MACHINE_BYTES) : NULL;

    if (at == NULL) {
        return err_usage(err, "the saved machine's description has the wrong length");
    }
    if (wire_get_u64(at) != m->mem.size || wire_get_u32(at + 8) != m->n_vcpus ||
        wire_get_u32(at + 12) != machine_slots(m)) {
        return err_usage(err,
                         "the saved machine has %llu bytes of memory, %u processors and devices "
                         "0x%x; this one %llu, %u and 0x%x",
                         (unsigned long long)wire_get_u64(at), wire_get_u32(at + 8),
                         wire_get_u32(at + 12), (unsigned long long)m->mem.size, m->n_vcpus,
                         machine_slots(m));
    }
    if (wire_get_u32(at + 16) > UINT8_MAX) {
        return err_usage(err, "the saved machine's sleep register has more than 8 bits");
    }
    m->sleep_control = (uint8_t)wire_get_u32(at + 16);
    return 0;
}

/* The guest goes on with what it saw, also on a host that could tell it more. */
static int restore_cpuid(struct machine *m, unsigned int index, struct wire_in *in, struct err *err)
{
    struct cpuid_table saved = {.n = (uint32_t)(in->left / sizeof(saved.entries[0]))};
    size_t len = saved.n * sizeof(saved.entries[0]);
    uint32_t leaf = 0;
    int r = 0;

    if (saved.n > CPUID_ENTRIES_MAX) {
        return err_usage(err, "the saved machine's CPUID table has %u entries", saved.n);
    }
    memcpy(saved.entries, wire_take(in, len), len);
    if (!cpuid_carries(&m->cpuid, &saved, &leaf)) {
        return err_usage(err,
                         "this host's processor cannot carry the saved machine (CPUID leaf 0x%x "
                         "differs): build the template again here",
                         leaf);
    }
    m->cpuid = saved;
    for (unsigned int i = 0; r == 0 && i < m->n_vcpus; i++) {
        r = vcpu_set_cpuid(&m->vcpus[i], err);
    }
    return r;
}

static int restore_chips(struct machine *m, unsigned int index, struct wire_in *in, struct err *err)
{
    for (uint32_t i = 0; i < CHIPS; i++) {
        const uint8_t *at = wire_take(in, sizeof(struct kvm_irqchip));
        struct kvm_irqchip chip;
        int r = 0;

        if (at == NULL) {
            return err_usage(err, "the saved machine has too few interrupt controllers");
        }
        memcpy(&chip, at, sizeof(chip));
        if (chip.chip_id != i) {
            return err_usage(err, "interrupt controller %u is saved as number %u", i, chip.chip_id);
        }
        r = KVM_DO(m->vm_fd, KVM_SET_IRQCHIP, &chip, err);
        if (r < 0) {
            return err_wrap(err, "interrupt controller %u", i);
        }
    }
    return 0;
}

/* No flags: the clock goes on from where it stood; the agent is told the time of day. */
static int restore_clock(struct machine *m, unsigned int index, struct wire_in *in, struct err *err)
{
    const uint8_t *at = wire_take(in, sizeof(uint64_t));
    struct kvm_clock_data clock = {.flags = 0};

    if (at == NULL) {
        return err_usage(err, "the saved machine's clock is cut short");
    }
    clock.clock = wire_get_u64(at);
    return KVM_DO(m->vm_fd, KVM_SET_CLOCK, &clock, err);
}

static int restore_device(struct machine *m, unsigned int slot, struct wire_in *in, struct err *err)
{
    const uint8_t *at = wire_take(in, sizeof(uint32_t));

    if (at == NULL || wire_get_u32(at) != slot) {
        return err_usage(err, "the saved machine's device is another one");
    }
    return virtio_load(m->devices[slot], in, err);
}

static int restore_vcpu(struct machine *m, unsigned int index, struct wire_in *in, struct err *err)
{
    return vcpu_restore(&m->vcpus[index], in, err);
}

/* In the order of the file. */
static const struct section {
    uint32_t tag;
    /* index: of the processor or the slot; all of in must be taken */
    int (*restore)(struct machine *m, unsigned int index, struct wire_in *in, struct err *err);
} sections[] = {
    {TAG_MACHINE, restore_machine}, {TAG_CPUID, restore_cpuid}, {TAG_VCPU, restore_vcpu},
    {TAG_CHIPS, restore_chips},     {TAG_CLOCK, restore_clock}, {TAG_DEVICE, restore_device},
};

static int restore_section(struct machine *m, const struct section *section, unsigned int index,
                           struct wire_in *in, struct err *err)
{
    struct wire_in body = {.at = NULL};
    char name[5];
    int r = snapshot_next(in, section->tag, &body, err);

    if (r < 0) {
        return r;
    }
    tag_text(section->tag, name);
    r = section->restore(m, index, &body, err);
    if (r < 0) {
        return err_wrap(err, "%s %u", name, index);
    }
    return body.left == 0
               ? 0
               : err_usage(err, "the saved machine's section %s %u has %zu bytes too many", name,
                           index, body.left);
}

static int restore_sections(struct machine *m, struct wire_in *in, struct err *err)
{
    for (const struct section *s = sections; s < sections + ARRAY_LEN(sections); s++) {
        unsigned int times = s->tag == TAG_VCPU     ? m->n_vcpus
                             : s->tag == TAG_DEVICE ? (unsigned int)LAYOUT_DEVICES
                                                    : 1;

        for (unsigned int i = 0; i < times; i++) {
            bool there = s->tag != TAG_DEVICE || m->devices[i] != NULL;
            int r = there ? restore_section(m, s, i, in, err) : 0;

            if (r < 0) {
                return r;
            }
        }
    }
    return in->left == 0 ? 0
                         : err_usage(err, "the saved machine has %zu bytes behind its last section",
                                     in->left);
}

/* As many bytes as the header says, if it is one; in a template's file something else follows. */
static int read_file(int fd, uint8_t data[SNAPSHOT_BYTES_MAX], size_t *ret_len, struct err *err)
{
    size_t head = 0;
    size_t body = 0;
    int r = fd_read_full(fd, data, HEADER_BYTES, &head, err);

    if (r == 0 && head == HEADER_BYTES) {
        size_t len = wire_get_u32(data + 12);
        size_t room = SNAPSHOT_BYTES_MAX - HEADER_BYTES;

        r = fd_read_full(fd, data + HEADER_BYTES, len < room ? len : room, &body, err);
    }
    *ret_len = head + body;
    return r;
}

int snapshot_restore(struct machine *m, int fd, struct err *err)
{
    static uint8_t file[SNAPSHOT_BYTES_MAX]; /* only what is read has pages */
    struct wire_in in = {.at = NULL};
    size_t len = 0;
    int r = read_file(fd, file, &len, err);

    r = r < 0 ? r : snapshot_open(file, len, &in, err);
    return r < 0 ? r : restore_sections(m, &in, err);
}
