/*
 * What a saved machine must find again, for vmm_state.py: each guest here is stopped at any place and
 * goes on elsewhere, and says what it then misses.
 */
#include "vmm-virtio.h"

/* Words at a fixed address that the test reads and writes in the memory file. */
struct shared {
    uint32_t until; /* goes on as long as count is below it; 0xffffffff while it shall be saved */
    uint32_t count;
    uint64_t tsc;
};

#define FIRST  ((volatile struct shared *)0x3000)
#define SECOND ((volatile struct shared *)0x3100)

struct counted {
    uint32_t count, hash, wrong;
};

/*
 * Counts in a register and in memory, and hashes every number in another register, so that no turn may
 * be left out or taken twice. Each turn leaves the guest for a port and for a device's register,
 * whose values must arrive, and looks at the clock.
 */
static struct counted count(volatile struct shared *shared)
{
    struct counted ret = {0, 0, 0};

    __asm__ volatile("1: incl %[count]\n"
                     "incl 4(%[at])\n"
                     "imull $1664525, %[hash], %[hash]\n"
                     "addl %[count], %[hash]\n"
                     "movl $0x3fd, %%edx\n"
                     "movl $0, %%eax\n"
                     "inb %%dx, %%al\n"
                     "cmpl $0x60, %%eax\n"
                     "jne 2f\n"
                     "cmpl $0x74726976, 0xd0003000\n"
                     "jne 3f\n"
                     "cmpl 4(%[at]), %[count]\n"
                     "jne 4f\n"
                     "rdtsc\n"
                     "cmpl 12(%[at]), %%edx\n"
                     "jb 5f\n"
                     "ja 6f\n"
                     "cmpl 8(%[at]), %%eax\n"
                     "jb 5f\n"
                     "6: movl %%eax, 8(%[at])\n"
                     "movl %%edx, 12(%[at])\n"
                     "cmpl (%[at]), %[count]\n"
                     "jb 1b\n"
                     "jmp 9f\n"
                     "2: movl $2, %[wrong]\n"
                     "jmp 9f\n"
                     "3: movl $3, %[wrong]\n"
                     "jmp 9f\n"
                     "4: movl $4, %[wrong]\n"
                     "jmp 9f\n"
                     "5: movl $5, %[wrong]\n"
                     "9:\n"
                     : [count] "+r"(ret.count), [hash] "+r"(ret.hash), [wrong] "+m"(ret.wrong)
                     : [at] "r"(shared)
                     : "eax", "edx", "memory", "cc");
    return ret;
}

static void report(const char *who, volatile struct shared *shared, const struct counted *c)
{
    expect_equal(c->wrong, 0, "2: a port, 3: a register, 4: memory, 5: time that goes back");
    expect_equal(shared->count, c->count, "the count in memory");
    say(who);
    say(" counted ");
    say_number(c->count);
    say(" hash ");
    say_number(c->hash);
    say("\n");
}

static void wait_for(volatile uint32_t *word, uint32_t value)
{
    while (*word != value) {
        (void)in8(PORT_NOBODY);
    }
}

static const uint32_t pattern[4] = {0x01234567, 0x89abcdef, 0xdeadbeef, 0x55aa33cc};

/* Registers that no turn of the loop touches. */
static void set_registers(void)
{
    uint32_t cr4;

    __asm__ volatile("movl %%cr4, %0" : "=r"(cr4));
    __asm__ volatile("movl %0, %%cr4" : : "r"(cr4 | 1u << 9)); /* OSFXSR */
    __asm__ volatile("movdqu %0, %%xmm3" : : "m"(pattern));
    __asm__ volatile("movl %0, %%cr2" : : "r"(0x12345678));
    __asm__ volatile("movl %0, %%dr0" : : "r"(0x87654321));
}

static void check_registers(void)
{
    uint32_t xmm[4] = {0};
    uint32_t cr2, dr0;

    __asm__ volatile("movdqu %%xmm3, %0" : "=m"(xmm));
    __asm__ volatile("movl %%cr2, %0" : "=r"(cr2));
    __asm__ volatile("movl %%dr0, %0" : "=r"(dr0));
    for (unsigned int i = 0; i < 4; i++) {
        expect_equal(xmm[i], pattern[i], "xmm3");
    }
    expect_equal(cr2, 0x12345678, "cr2");
    expect_equal(dr0, 0x87654321, "dr0");
}

static void state_count(void)
{
    struct counted c;

    set_registers();
    FIRST->until = 0xffffffff;
    say("ready\n");
    c = count(FIRST);
    report("first", FIRST, &c);
    check_registers();
}

static volatile uint32_t second_is_done;

static void count_second(void)
{
    struct counted c = count(SECOND);

    report("second", SECOND, &c);
    second_is_done = 1;
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

/* Two processors in the middle of something, each in its own. */
static void state_two(void)
{
    struct counted c;

    FIRST->until = SECOND->until = 0xffffffff;
    expect(second_start(count_second), "a second processor");
    say("ready\n");
    c = count(FIRST);
    wait_for(&second_is_done, 1);
    report("first", FIRST, &c);
}

static void second_says(void)
{
    second_is_done = 1;
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}

/* A processor that was never started is started by the machine that goes on. */
static void state_sleeper(void)
{
    say("ready\n");
    wait_for(&FIRST->until, 1);
    expect(second_start(second_says), "a second processor, started after the restore");
    wait_for(&second_is_done, 1);
}

/* A device in the middle of its work: its rings go on where they were. */
static void state_device(void)
{
    struct target t;

    target_begin(&t);
    for (int i = 0; i < 3; i++) {
        expect(target_works(&t), "the device works");
    }
    say("ready\n");
    wait_for(&FIRST->until, 1);
    expect_equal(read32(t.q.window + REG_STATUS), 15, "the device's status");
    write32(t.q.window + REG_QUEUE_SEL, t.q.index);
    expect_equal(read32(t.q.window + REG_QUEUE_READY), 1, "the queue is ready");
    for (int i = 0; i < 30; i++) {
        expect(target_works(&t), "the device works on");
    }
}

/* Requests without end while it is saved: each must be answered once, here or there. */
static void state_busy(void)
{
    struct target t;
    uint32_t turns = 0;

    FIRST->until = 0;
    target_begin(&t);
    say("ready\n");
    while (FIRST->until == 0) {
        expect(target_works(&t), "every request is answered");
        FIRST->count = ++turns;
    }
    for (int i = 0; i < 30; i++) {
        expect(target_works(&t), "every later request is answered");
    }
    expect_equal(FIRST->count, turns, "the count in memory");
}

const struct attack attacks_state[] = {
    {"state-count", state_count},   {"state-two", state_two},   {"state-sleeper", state_sleeper},
    {"state-device", state_device}, {"state-busy", state_busy}, {NULL, NULL},
};
