/*
 * vmm-guest.h - what a bare-metal guest of the monitor's tests is written with.
 *
 * 32-bit protected mode, paging and interrupts off, no SSE, no C library: one flat address space, so
 * that an attack is nothing but loads, stores and port instructions. The addresses are written anew
 * here and not taken from the monitor: what a machine looks like is a promise, and this is its test.
 *
 * An attack is a function; vmm.py starts a machine for it with "NAME [TARGET] [NUMBER]" as its
 * command line and knows what is to come of it. What a guest says on the serial port is its report:
 * a line "not: ..." for each answer that is wrong, and "done" when it comes to its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW(device) (0xd0000000u + (device)*0x1000u)
#define WINDOWS        5u
#define PORT_SERIAL    0x3f8u
#define PORT_SLEEP     0x600u
#define PORT_RESET     0x604u
#define RESET_VALUE    0x42u
#define ADDRESS_HOLE   0xc0000000u
#define ADDRESS_HIGH   0x100000000ull /* RAM goes on here, out of our sight */
#define ADDRESS_IOAPIC 0xfec00000u
#define ADDRESS_APIC   0xfee00000u
#define ADDRESS_SECOND 0x1000u /* vmm-start.S */
#define PORT_NOBODY    0x80u   /* nothing is there */

enum {
    ROOT,
    INPUT,
    SCRATCH,
    CONSOLE,
    ENTROPY
};

struct attack {
    const char *name;
    void (*run)(void);
};

/* Each file of attacks has a table; the last entry has no name. */
extern const struct attack attacks_registers[], attacks_queues[], attacks_chains[], attacks_blk[],
    attacks_console[], attacks_storms[], attacks_state[];

/* The command line's second word, and the number after it (0 if there is none). */
extern const char *guest_target;
extern uint32_t guest_number;
/* The end of RAM below the hole. */
extern uint32_t guest_ram_end;

void *memset(void *to, int value, size_t len);
void *memcpy(void *to, const void *from, size_t len);
bool same(const char *a, const char *b);
void say(const char *text);
void say_number(uint32_t value);
/* Says what is wrong if it is. */
void expect(bool right, const char *what);
void expect_equal(uint32_t got, uint32_t want, const char *what);
/* Says "done" and restarts the machine, which ends it. */
_Noreturn void end(void);
/* Waits some time in which the monitor finds out what was done to it. */
void linger(void);
/* xorshift32; begins with guest_number. */
uint32_t roll(void);

/* Starts all other processors, which run `with`; false if none comes. */
bool second_start(void (*with)(void));

static inline uint8_t in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint16_t in16(uint16_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint32_t in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline void out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port));
}

static inline void out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t read8(uint32_t at)
{
    return *(volatile uint8_t *)(uintptr_t)at;
}

static inline uint16_t read16(uint32_t at)
{
    return *(volatile uint16_t *)(uintptr_t)at;
}

static inline uint32_t read32(uint32_t at)
{
    return *(volatile uint32_t *)(uintptr_t)at;
}

static inline void write8(uint32_t at, uint8_t value)
{
    *(volatile uint8_t *)(uintptr_t)at = value;
}

static inline void write16(uint32_t at, uint16_t value)
{
    *(volatile uint16_t *)(uintptr_t)at = value;
}

static inline void write32(uint32_t at, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)at = value;
}

/* Eight bytes at once, read and written: the only such access without SSE. */
static inline uint64_t exchange64(uint32_t at, uint64_t value)
{
    uint64_t seen = 0;

    __asm__ volatile("cmpxchg8b (%1)"
                     : "+A"(seen)
                     : "r"((uintptr_t)at), "b"((uint32_t)value), "c"((uint32_t)(value >> 32))
                     : "memory", "cc");
    return seen;
}
