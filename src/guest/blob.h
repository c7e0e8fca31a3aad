/* blob.h - the guest agent's executable, as it goes into the initramfs, inside the host program. */
#pragma once

extern const unsigned char guest_init_start[];
extern const unsigned char guest_init_end[];
