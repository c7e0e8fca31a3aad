#include <errno.h>
#include <sys/ioctl.h>

#include "vmm/kvm.h"

int kvm_call(int fd, unsigned long request, void *arg)
{
    int r = 0;

    do {
        r = ioctl(fd, request, arg);
    } while (r < 0 && errno == EINTR && request != KVM_RUN);
    return r < 0 ? -errno : r;
}
