#include "vmm/options.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

/* A whole number within [min, max]; name is the option's. */
static int number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                  struct err *err)
{
    if (num_parse_u64(text, ret) < 0 || *ret < min || *ret > max) {
        return err_usage(err, "%s: not a number from %llu to %llu", name, (unsigned long long)min,
                         (unsigned long long)max);
    }
    return 0;
}

static int take_value(const char *name, const char *value, struct machine_options *o,
                      struct err *err)
{
    uint64_t n = 0;
    int r = 0;

    if (strcmp(name, "--memory") == 0) {
        r = number(name, value, LAYOUT_RAM_MIN, LAYOUT_RAM_MAX, &o->memory_bytes, err);
        if (r == 0 && o->memory_bytes % 4096 != 0) {
            return err_usage(err, "--memory: not whole pages of 4096 bytes");
        }
        return r;
    }
    if (strcmp(name, "--vcpus") == 0) {
        r = number(name, value, 1, LAYOUT_VCPUS_MAX, &n, err);
        o->vcpus = (unsigned int)n;
        return r;
    }
    if (strcmp(name, "--cmdline") == 0) {
        if (strlen(value) >= LAYOUT_CMDLINE_MAX) {
            return err_usage(err, "--cmdline: longer than %u bytes", LAYOUT_CMDLINE_MAX - 1);
        }
        o->cmdline = value;
        return 0;
    }
    return err_usage(err, "unknown argument '%.40s'", name);
}

int options_parse(int argc, char *const *argv, struct machine_options *ret, struct err *err)
{
    struct machine_options o = {.cmdline = ""};

    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"--disks", &o.disks},
        {"--restore", &o.restore},
        {"--console", &o.console},
    };

    for (int i = 1; i < argc; i++) {
        size_t f = 0;

        while (f < ARRAY_LEN(flags) && strcmp(argv[i], flags[f].name) != 0) {
            f++;
        }
        if (f < ARRAY_LEN(flags)) {
            *flags[f].flag = true;
            continue;
        }
        if (i + 1 == argc) {
            return err_usage(err, "'%.40s' is no flag, and no value follows it", argv[i]);
        }
        int r = take_value(argv[i], argv[i + 1], &o, err);
        if (r < 0) {
            return r;
        }
        i++;
    }
    if (o.memory_bytes == 0 || o.vcpus == 0) {
        return err_usage(err, "--memory and --vcpus are needed");
    }
    if (o.restore && *o.cmdline != '\0') {
        return err_usage(err, "--cmdline: a machine that is restored has booted");
    }
    *ret = o;
    return 0;
}
