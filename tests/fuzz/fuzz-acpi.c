/* The shape of a machine: processors and devices. Whatever it is, its tables are sound. */
#include "../unit/vmm/acpi-check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_gmem struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;

    if (size < 5) {
        return 0;
    }
    unsigned int vcpus = 1 + data[0] % LAYOUT_VCPUS_MAX;
    uint32_t slots = wire_get_u32(data + 1) % (1u << LAYOUT_DEVICES);

    fuzz_check(gmem_map(-1, false, LAYOUT_RAM_MIN, &mem, &err) == 0);
    fuzz_check(acpi_write(&mem, vcpus, slots, &err) == 0);
    fuzz_check(acpi_complaint(&mem, vcpus, slots) == NULL);
    return 0;
}
