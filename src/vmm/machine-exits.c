/* What the guest finds outside its RAM: the devices' windows and a handful of ports. */
#include <string.h>
#include <sys/eventfd.h>

#include "vmm/machine.h"

#define SLEEP_ENABLE     0x20u /* ACPI 6.4, 4.8.4.7: SLP_EN, and SLP_TYP beside it */
#define SLEEP_TYPE_SHIFT 2u
#define SLEEP_TYPE_MASK  7u

static void device_access(struct machine *m, struct virtio *dev, uint64_t offset, bool is_write,
                          uint8_t *data, unsigned int size)
{
    struct err why = ERR_INIT;
    bool broken = false;

    (void)pthread_mutex_lock(&m->lock);
    if (!is_write) {
        virtio_read(dev, offset, data, size);
    } else if (virtio_write(dev, offset, data, size) >= 0) {
        (void)eventfd_write(m->kick_fds[dev->slot], 1); /* for the I/O thread, as KVM would */
    }
    broken = dev->broken;
    if (broken) {
        why = dev->why;
    }
    (void)pthread_mutex_unlock(&m->lock);
    if (broken) {
        machine_stop(m, MACHINE_GUEST, &why);
    }
}

void machine_mmio(struct machine *m, uint64_t gpa, bool is_write, uint8_t *data, unsigned int size)
{
    uint64_t offset = gpa - LAYOUT_MMIO_BASE; /* wraps below the base: larger than every slot */
    uint64_t slot = offset / LAYOUT_MMIO_STRIDE;

    if (!is_write) {
        memset(data, 0xff, size);
    }
    offset %= LAYOUT_MMIO_STRIDE;
    if (slot < LAYOUT_DEVICES && m->devices[slot] != NULL && offset + size <= LAYOUT_MMIO_STRIDE) {
        device_access(m, m->devices[slot], offset, is_write, data, size);
    }
}

static void write_port(struct machine *m, unsigned int port, uint8_t value)
{
    bool off = false;

    (void)pthread_mutex_lock(&m->lock);
    if (port - LAYOUT_PORT_SERIAL < 8 && m->serial.fd >= 0) {
        serial_write(&m->serial, port - LAYOUT_PORT_SERIAL, value);
    } else if (port == LAYOUT_PORT_SLEEP) {
        m->sleep_control = value & (uint8_t)~SLEEP_ENABLE;
        off = (value & SLEEP_ENABLE) != 0 &&
              ((value >> SLEEP_TYPE_SHIFT) & SLEEP_TYPE_MASK) == LAYOUT_SLEEP_TYPE;
    } else if (port == LAYOUT_PORT_RESET) {
        off = value == LAYOUT_RESET_VALUE;
    }
    (void)pthread_mutex_unlock(&m->lock);
    if (off) {
        machine_stop(m, MACHINE_OFF, NULL);
    }
}

static uint8_t read_port(struct machine *m, unsigned int port)
{
    uint8_t value = 0xff;

    (void)pthread_mutex_lock(&m->lock);
    if (port - LAYOUT_PORT_SERIAL < 8 && m->serial.fd >= 0) {
        value = serial_read(&m->serial, port - LAYOUT_PORT_SERIAL);
    } else if (port == LAYOUT_PORT_SLEEP) {
        value = m->sleep_control;
    } else if (port == LAYOUT_PORT_SLEEP + 1) {
        value = 0; /* the status register: it never woke from anything */
    }
    (void)pthread_mutex_unlock(&m->lock);
    return value;
}

/* A wider access is one of each byte, as on the ISA bus. */
void machine_port(struct machine *m, uint16_t port, bool is_write, uint8_t *data, unsigned int size)
{
    for (unsigned int i = 0; i < size; i++) {
        if (is_write) {
            write_port(m, port + i, data[i]);
        } else {
            data[i] = read_port(m, port + i);
        }
    }
}
