#include "vmm-guest.h"

/* struct hvm_start_info and hvm_memmap_table_entry of Xen's public/arch-x86/hvm/start_info.h. */
struct start_info {
    uint32_t magic, version, flags, modules;
    uint64_t module_list, cmdline, rsdp, map;
    uint32_t map_entries, reserved;
};

struct map_entry {
    uint64_t start, len;
    uint32_t type, reserved;
};

const char *guest_target = "";
uint32_t guest_number;
uint32_t guest_ram_end;

static char words[3][64];
static volatile bool second_runs;
static void (*second_with)(void);

extern const uint8_t second_begin[], second_end[];
void guest_main(const struct start_info *info);
void second_main(void);

/* The compiler calls these two by itself. */
void *memset(void *to, int value, size_t len)
{
    void *at = to;

    __asm__ volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(value) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
    void *at = to;

    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
    return to;
}

bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

void say(const char *text)
{
    while (*text != '\0') {
        out8(PORT_SERIAL, (uint8_t)*text++);
    }
}

void say_number(uint32_t value)
{
    say("0x");
    for (int shift = 28; shift >= 0; shift -= 4) {
        out8(PORT_SERIAL, (uint8_t) "0123456789abcdef"[value >> shift & 15]);
    }
}

void expect(bool right, const char *what)
{
    if (!right) {
        say("not: ");
        say(what);
        say("\n");
    }
}

void expect_equal(uint32_t got, uint32_t want, const char *what)
{
    if (got != want) {
        say("not: ");
        say(what);
        say(": ");
        say_number(got);
        say(" instead of ");
        say_number(want);
        say("\n");
    }
}

void end(void)
{
    say("done\n");
    out8(PORT_RESET, RESET_VALUE);
    for (;;) {
        __asm__ volatile("hlt");
    }
}

void linger(void)
{
    for (int i = 0; i < 20000; i++) {
        (void)in8(PORT_NOBODY);
    }
}

uint32_t roll(void)
{
    static uint32_t state;

    if (state == 0) {
        state = guest_number * 2654435761u + 1;
    }
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

void second_main(void)
{
    second_runs = true;
    second_with();
}

bool second_start(void (*with)(void))
{
    /* To all but this one. */
    const uint32_t init = 0xc4500, start = 0xc4600 | ADDRESS_SECOND >> 12;

    second_with = with;
    memcpy((void *)(uintptr_t)ADDRESS_SECOND, second_begin, (size_t)(second_end - second_begin));
    write32(ADDRESS_APIC + 0xf0, 0x1ff); /* on */
    write32(ADDRESS_APIC + 0x300, init);
    linger();
    write32(ADDRESS_APIC + 0x300, start);
    for (int i = 0; i < 100000 && !second_runs; i++) {
        (void)in8(PORT_NOBODY);
    }
    return second_runs;
}

static void read_words(const char *text)
{
    for (unsigned int n = 0; n < 3; n++) {
        unsigned int len = 0;
        while (*text == ' ') {
            text++;
        }
        while (*text != '\0' && *text != ' ') {
            if (len + 1 < sizeof(words[n])) {
                words[n][len++] = *text;
            }
            text++;
        }
    }
    guest_target = words[1];
    for (const char *c = words[2]; *c >= '0' && *c <= '9'; c++) {
        guest_number = guest_number * 10 + (uint32_t)(*c - '0');
    }
}

/* RAM that holds this program: its end is the end of all RAM below the hole. */
static void find_ram(const struct start_info *info)
{
    const struct map_entry *map = (const struct map_entry *)(uintptr_t)info->map;

    for (uint32_t i = 0; i < info->map_entries; i++) {
        uint64_t map_end = map[i].start + map[i].len;
        if (map[i].type == 1 && map[i].start < ADDRESS_HOLE && map_end > guest_ram_end) {
            guest_ram_end = (uint32_t)map_end;
        }
    }
}

void guest_main(const struct start_info *info)
{
    static const struct attack *const tables[] = {
        attacks_registers, attacks_queues, attacks_chains, attacks_blk,
        attacks_console,   attacks_storms, attacks_state};
    bool list;

    expect_equal(info->magic, 0x336ec578, "the magic number of the start info");
    find_ram(info);
    read_words((const char *)(uintptr_t)info->cmdline);
    list = same(words[0], "list");
    for (unsigned int t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct attack *a = tables[t]; a->name != NULL; a++) {
            if (list) {
                say(a->name);
                say("\n");
            } else if (same(words[0], a->name)) {
                a->run();
                end();
            }
        }
    }
    expect(list, "an attack of this name");
    end();
}
