#include "vmm/kvm.h"

#include <errno.h>

int kvm_do(int fd, unsigned long request, void *arg, const char *name, struct err *err)
{
    int r = kvm_call(fd, request, arg);

    if (r < 0) {
        return err_sys_num(err, -r, "%s", name);
    }
    return r;
}

/* What KVM_CHECK_EXTENSION says, 0 for an error, too: then it is not there. */
static unsigned int has(int fd, unsigned int extension)
{
    int r = kvm_call(fd, KVM_CHECK_EXTENSION, (void *)(uintptr_t)extension);

    return r > 0 ? (unsigned int)r : 0;
}

int kvm_host_ask(int fd, struct kvm_host *ret, struct err *err)
{
    static const struct {
        unsigned int number;
        const char *name;
    } needed[] = {
        {KVM_CAP_IRQCHIP, "interrupt controllers"},
        {KVM_CAP_USER_MEMORY, "user memory"},
        {KVM_CAP_IRQFD, "irqfd"},
        {KVM_CAP_IOEVENTFD, "ioeventfd"},
        {KVM_CAP_IMMEDIATE_EXIT, "immediate exit"},
        {KVM_CAP_EXT_CPUID, "CPUID"},
        {KVM_CAP_MP_STATE, "processor states"},
        {KVM_CAP_VCPU_EVENTS, "processor events"},
        {KVM_CAP_ADJUST_CLOCK, "clock"},
        {KVM_CAP_TSC_DEADLINE_TIMER, "TSC deadline timer"},
        {KVM_CAP_ENFORCE_PV_FEATURE_CPUID, "enforced CPUID"},
    };

    int version = KVM_DO(fd, KVM_GET_API_VERSION, NULL, err);
    int run_size = 0;

    if (version < 0) {
        return err_wrap(err, "descriptor %d is not /dev/kvm", fd);
    }
    if (version != KVM_API_VERSION) {
        return err_set(err, ERR_HOST, ENOTSUP, "KVM speaks version %d of its interface, not %d",
                       version, KVM_API_VERSION);
    }
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (has(fd, needed[i].number) == 0) {
            return err_set(err, ERR_HOST, ENOTSUP,
                           "this host's KVM has no %s (capability %u); use a newer kernel",
                           needed[i].name, needed[i].number);
        }
    }
    run_size = KVM_DO(fd, KVM_GET_VCPU_MMAP_SIZE, NULL, err);
    if (run_size < 0) {
        return run_size;
    }
    if ((size_t)run_size < sizeof(struct kvm_run)) {
        return err_set(err, ERR_HOST, EPROTO, "KVM_GET_VCPU_MMAP_SIZE: %d bytes are no run page",
                       run_size);
    }
    *ret = (struct kvm_host){
        .fd = fd,
        .run_size = (size_t)run_size,
        .xsave_size = has(fd, KVM_CAP_XSAVE2),
        .has_tsc_control = has(fd, KVM_CAP_TSC_CONTROL) != 0,
        .has_tsc_deadline = true,
        .has_xcrs = has(fd, KVM_CAP_XCRS) != 0,
    };
    if (ret->xsave_size < sizeof(struct kvm_xsave)) {
        ret->xsave_size = has(fd, KVM_CAP_XSAVE) != 0 ? sizeof(struct kvm_xsave) : 0;
    }
    return 0;
}
