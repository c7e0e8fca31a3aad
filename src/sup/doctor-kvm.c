#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sup/doctor-internal.h"
#include "sup/engine.h"
#include "sys/fd.h"

/* Who virtualizes this host, by the CPU's word; "" on bare metal. */
static void hypervisor_name(char ret[DOCTOR_WORD_MAX])
{
    static const struct {
        const char *signature;
        const char *name;
    } known[] = {
        {"KVMKVMKVM", "KVM"},    {"Microsoft Hv", "Hyper-V"},  {"VMwareVMware", "VMware"},
        {"XenVMMXenVMM", "Xen"}, {"TCGTCGTCGTCG", "QEMU TCG"}, {"bhyve bhyve ", "bhyve"},
    };

    union {
        unsigned int regs[3];
        char text[12];
    } id = {{0}};

    char signature[13] = "";
    unsigned int eax = 0;

    __cpuid(0x40000000u, eax, id.regs[0], id.regs[1], id.regs[2]);
    memcpy(signature, id.text, sizeof(id.text));
    (void)snprintf(ret, DOCTOR_WORD_MAX, "an unknown hypervisor");
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(known[i].signature, signature) == 0) {
            (void)snprintf(ret, DOCTOR_WORD_MAX, "%s", known[i].name);
        }
    }
}

/* Bytes 10 to 15 of every ACPI table name its maker (ACPI 6.4, 5.2.6). */
static bool is_firecracker(void)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    char head[16] = "";
    size_t got = 0;

    if (fd_open(AT_FDCWD, "/sys/firmware/acpi/tables/FACP", O_RDONLY, 0, &fd, &err) < 0 ||
        fd_read_full(fd, head, sizeof(head), &got, &err) < 0) {
        return false;
    }
    return got == sizeof(head) && memcmp(head + 10, "FIRECK", 6) == 0;
}

/* "Amazon EC2 m5.large" from the firmware, or "". */
static void machine_name(char ret[DOCTOR_WORD_MAX])
{
    auto_buf struct buf vendor = BUF_INIT(4096);
    auto_buf struct buf product = BUF_INIT(4096);
    const char *v = doctor_read("/sys/class/dmi/id/sys_vendor", &vendor);
    const char *p = doctor_read("/sys/class/dmi/id/product_name", &product);

    (void)snprintf(ret, DOCTOR_WORD_MAX, "%.*s%s%.*s", (int)strcspn(v, "\n"), v,
                   v[0] != '\0' && p[0] != '\0' ? " " : "", (int)strcspn(p, "\n"), p);
}

/* Says what kind of machine this host is. */
static void add_host(struct doctor_report *rep, const struct doctor_cpu *cpu)
{
    char hypervisor[DOCTOR_WORD_MAX];
    char machine[DOCTOR_WORD_MAX];

    machine_name(machine);
    if (!cpu->hypervisor) {
        doctor_add(rep, "host", DOCTOR_OK, NULL, "bare metal%s%s", machine[0] != '\0' ? ": " : "",
                   machine);
        return;
    }
    hypervisor_name(hypervisor);
    if (is_firecracker()) {
        (void)snprintf(hypervisor, sizeof(hypervisor), "Firecracker");
    }
    doctor_add(rep, "host", DOCTOR_OK, NULL, "itself a virtual machine under %s%s%s%s", hypervisor,
               machine[0] != '\0' ? " (" : "", machine, machine[0] != '\0' ? ")" : "");
}

/* Whether the KVM module lets its own guests virtualize again. */
static bool nests(void)
{
    static const char *const paths[] = {"/sys/module/kvm_intel/parameters/nested",
                                        "/sys/module/kvm_amd/parameters/nested"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        auto_buf struct buf text = BUF_INIT(4096);
        char first = doctor_read(paths[i], &text)[0];

        if (first == 'Y' || first == '1') {
            return true;
        }
    }
    return false;
}

void doctor_look_at_cpu(struct doctor_report *rep, struct doctor_kvm *ret)
{
    auto_buf struct buf text = BUF_INIT(16 * MIB);
    struct doctor_cpu *cpu = &ret->cpu;
    const char *flag = "";

    *ret = (struct doctor_kvm){.openable = false};
    doctor_parse_cpuinfo(doctor_read("/proc/cpuinfo", &text), cpu);
    doctor_add(rep, "cpus", DOCTOR_OK, NULL, "%u x %s", cpu->count,
               cpu->model[0] != '\0' ? cpu->model : "unknown CPU");
    add_host(rep, cpu);
    flag = cpu->vmx ? "vmx (Intel)" : "svm (AMD)";
    if (cpu->vmx || cpu->svm) {
        doctor_add(rep, "virtualization", DOCTOR_OK, NULL, "the CPU offers %s%s%s", flag,
                   cpu->hypervisor ? ", handed through by the hypervisor (nested)" : "",
                   nests() ? "; VMs of this host may nest further" : "");
    } else if (cpu->hypervisor) {
        doctor_add(rep, "virtualization", DOCTOR_WARN,
                   "enable nested virtualization for this VM at its hypervisor or cloud (host: "
                   "module parameter nested=1 of kvm_intel or kvm_amd and CPU model 'host'), or "
                   "take a bare-metal instance; until then jobs run with engine tcg, 10-20 times "
                   "slower",
                   "the hypervisor hides vmx and svm from this VM: no nested virtualization");
    } else {
        doctor_add(rep, "virtualization", DOCTOR_WARN,
                   "switch on VT-x or AMD-V (SVM) in the firmware setup; until then jobs run with "
                   "engine tcg, 10-20 times slower",
                   "the CPU shows neither vmx nor svm");
    }
}

/* What KVM answers without a guest; "" if all is well. */
static void ask_kvm(int fd, char ret[DOCTOR_TEXT_MAX])
{
    int version = ioctl(fd, KVM_GET_API_VERSION, 0);
    auto_fd int vm = -1;
    auto_fd int vcpu = -1;

    ret[0] = '\0';
    if (version != KVM_API_VERSION) {
        (void)snprintf(ret, DOCTOR_TEXT_MAX, "it answers with API version %d instead of %d",
                       version, KVM_API_VERSION);
        return;
    }
    vm = ioctl(fd, KVM_CREATE_VM, 0);
    if (vm >= 0) {
        vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
    }
    if (vm < 0 || vcpu < 0) {
        struct err err = ERR_INIT;

        (void)err_sys(&err, "it can't create a %s", vm < 0 ? "virtual machine" : "virtual CPU");
        (void)snprintf(ret, DOCTOR_TEXT_MAX, "%.300s", err.msg);
    }
}

/* Whose /dev/kvm is, and what makes it ours: Debian gives it to group kvm, a bare container to root. */
static void add_forbidden(struct doctor_report *rep)
{
    struct stat st = {.st_mode = 0};
    struct group group = {.gr_gid = 0};
    struct group *known = NULL;
    char room[2048];

    (void)stat("/dev/kvm", &st);
    if ((st.st_mode & 0060) == 0060 && st.st_gid != 0) {
        (void)getgrgid_r(st.st_gid, &group, room, sizeof(room), &known);
    }
    if (known != NULL) {
        char fix[160];

        (void)snprintf(fix, sizeof(fix),
                       "add yourself to group %.40s: adduser YOUR-NAME %.40s, then log in again",
                       known->gr_name, known->gr_name);
        doctor_add(rep, "kvm", DOCTOR_WARN, fix,
                   "/dev/kvm is there, but only root and group %.40s may open it", known->gr_name);
        return;
    }
    doctor_add(rep, "kvm", DOCTOR_WARN,
               "as root: chmod 0666 /dev/kvm, and to keep it after a restart a udev rule: "
               "KERNEL==\"kvm\", GROUP=\"kvm\", MODE=\"0666\", OPTIONS+=\"static_node=kvm\"",
               "/dev/kvm is there, but only its owner may open it (uid %u, mode %04o)",
               (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777));
}

static void add_absent(struct doctor_report *rep, const struct doctor_cpu *cpu, int errnum)
{
    if (errnum == EACCES || errnum == EPERM) {
        add_forbidden(rep);
    } else if (errnum == ENOENT && !cpu->vmx && !cpu->svm) {
        doctor_add(rep, "kvm", DOCTOR_WARN, "see 'virtualization'", "there is no /dev/kvm");
    } else if (errnum == ENOENT) {
        doctor_add(rep, "kvm", DOCTOR_WARN,
                   "load the module (modprobe kvm_intel or kvm_amd); in a container pass the "
                   "device: docker run --device /dev/kvm ...",
                   "there is no /dev/kvm, though the CPU could");
    } else {
        struct err err = ERR_INIT;

        (void)err_sys_num(&err, errnum, "/dev/kvm can't be opened");
        doctor_add(rep, "kvm", DOCTOR_WARN,
                   "load the module (modprobe kvm_intel or kvm_amd) and look at the kernel's log "
                   "(dmesg | grep -i kvm)",
                   "%.300s", err.msg);
    }
}

void doctor_monitor(const struct engine *engine, const struct store *store,
                    char ret[DOCTOR_WORD_MAX])
{
    struct err err = ERR_INIT;

    if (engine->version(store->dirfd, ret, DOCTOR_WORD_MAX, &err) < 0) {
        (void)snprintf(ret, DOCTOR_WORD_MAX, "a monitor without a version");
    }
}

/* The only proof: a guest booted to its agent. */
static void boot_with_kvm(struct doctor_report *rep, const struct store *store, bool no_flags)
{
    const struct engine_wish wish = {.store = store};
    struct engine_probe probe = {.works = false};
    char monitor[DOCTOR_WORD_MAX];
    struct err err = ERR_INIT;

    if (engine_probe_kvm(&wish, true, &probe, &err) < 0) {
        doctor_add(rep, "kvm", DOCTOR_WARN, "mend that and run 'airlock doctor' again",
                   "/dev/kvm opens, but the probe could not be made: %.400s", err.msg);
    } else if (probe.works) {
        doctor_monitor(&engine_kvm, store, monitor);
        doctor_add(rep, "kvm", DOCTOR_OK, NULL,
                   "works: %s booted a guest to its agent in %.1f s; runs jobs with isolation "
                   "'hardware'",
                   monitor, (double)probe.ns / (double)NS_PER_S);
    } else {
        doctor_add(rep, "kvm", DOCTOR_WARN,
                   no_flags ? "nothing on this machine: its hypervisor gives it no real "
                              "virtualization (see 'virtualization'); jobs run with engine tcg"
                            : "look at the kernel's log (dmesg | grep -i kvm); jobs run with "
                              "engine tcg until it is mended",
                   "/dev/kvm opens but can't run a guest: %.400s", probe.why);
    }
}

void doctor_look_at_kvm(struct doctor_report *rep, struct doctor_kvm *kvm,
                        const struct store *store, bool can_boot)
{
    bool no_flags = !kvm->cpu.vmx && !kvm->cpu.svm;
    auto_fd int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    char why[DOCTOR_TEXT_MAX];

    if (fd < 0) {
        add_absent(rep, &kvm->cpu, errno);
        return;
    }
    kvm->openable = true;
    ask_kvm(fd, why);
    if (why[0] != '\0') {
        doctor_add(rep, "kvm", DOCTOR_WARN,
                   no_flags ? "see 'virtualization'"
                            : "look at the kernel's log (dmesg | grep -i kvm)",
                   "/dev/kvm opens, but %.400s", why);
    } else if (!can_boot || store == NULL) {
        doctor_add(rep, "kvm", DOCTOR_WARN,
                   "build the guest kernel first (any 'airlock run' does), then run 'airlock "
                   "doctor' again: only a booted guest proves it",
                   "/dev/kvm opens and makes virtual CPUs; not yet tried with a guest");
    } else {
        boot_with_kvm(rep, store, no_flags);
    }
}
