/* The tables say what the machine has; a strict reader (acpi-check.h) reads every byte of them. */
#include <string.h>

#include "acpi-check.h"
#include "test.h"

static void every_shape_of_machine_gets_sound_tables(void **state)
{
    auto_gmem struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;

    assert_ok(gmem_map(-1, false, LAYOUT_RAM_MIN, &mem, &err), &err);
    for (unsigned int vcpus = 1; vcpus <= LAYOUT_VCPUS_MAX; vcpus++) {
        for (uint32_t slots = 0; slots < 1u << LAYOUT_DEVICES; slots++) {
            assert_ok(acpi_write(&mem, vcpus, slots, &err), &err);
            const char *wrong = acpi_complaint(&mem, vcpus, slots);
            if (wrong != NULL) {
                fail_msg("%u processors, devices %#x: %s", vcpus, slots, wrong);
            }
        }
    }
    (void)state;
}

static void the_reader_finds_every_changed_byte_of_the_headers(void **state)
{
    auto_gmem struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;

    assert_ok(gmem_map(-1, false, LAYOUT_RAM_MIN, &mem, &err), &err);
    assert_ok(acpi_write(&mem, 2, 0x1f, &err), &err);
    for (uint64_t at = 0; at < 36; at++) {
        uint8_t byte = 0;
        assert_int_equal(gmem_read(&mem, LAYOUT_ACPI + at, &byte, 1), 0);
        byte ^= 0x10;
        assert_int_equal(gmem_write(&mem, LAYOUT_ACPI + at, &byte, 1), 0);
        assert_non_null(acpi_complaint(&mem, 2, 0x1f));
        byte ^= 0x10;
        assert_int_equal(gmem_write(&mem, LAYOUT_ACPI + at, &byte, 1), 0);
    }
    assert_null(acpi_complaint(&mem, 2, 0x1f));
    assert_non_null(acpi_complaint(&mem, 3, 0x1f));
    assert_non_null(acpi_complaint(&mem, 2, 0xf));
    (void)state;
}

TEST_MAIN(T(every_shape_of_machine_gets_sound_tables),
          T(the_reader_finds_every_changed_byte_of_the_headers))
