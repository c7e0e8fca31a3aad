#include "sup/doctor-parse.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define LINE_FIELDS 64u

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end != NULL ? end + 1 : line + strlen(line);
}

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool doctor_has_word(const char *list, const char *word)
{
    static const char separators[] = " ,\t\n";
    size_t len = strlen(word);

    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, separators);

        if (n == len && memcmp(p, word, len) == 0) {
            return true;
        }
        p += n;
        p += strspn(p, separators);
    }
    return false;
}

/* Copies [from, from + len), cut to what fits. */
static void copy(char *to, size_t size, const char *from, size_t len)
{
    (void)snprintf(to, size, "%.*s", (int)(len < size ? len : size - 1), from);
}

void doctor_parse_cpuinfo(const char *text, struct doctor_cpu *ret)
{
    struct doctor_cpu cpu = {0};

    for (const char *line = text; *line != '\0'; line = next_line(line)) {
        size_t len = strcspn(line, "\n");
        const char *colon = memchr(line, ':', len);
        const char *value = NULL;

        if (colon == NULL) {
            continue;
        }
        value = colon + 1 + strspn(colon + 1, " \t");
        len = strcspn(value, "\n");
        if (starts_with(line, "processor")) {
            cpu.count++;
        } else if (starts_with(line, "model name") && cpu.model[0] == '\0') {
            copy(cpu.model, sizeof(cpu.model), value, len);
        } else if (starts_with(line, "flags") && cpu.count <= 1) {
            char flags[8192];

            copy(flags, sizeof(flags), value, len);
            cpu.vmx = doctor_has_word(flags, "vmx");
            cpu.svm = doctor_has_word(flags, "svm");
            cpu.hypervisor = doctor_has_word(flags, "hypervisor");
        }
    }
    *ret = cpu;
}

/* Splits at blanks; returns how many fields there are. */
static size_t split(char *line, char *fields[LINE_FIELDS])
{
    size_t n = 0;

    for (char *p = line; *p != '\0' && n < LINE_FIELDS;) {
        fields[n++] = p;
        p += strcspn(p, " ");
        if (*p == ' ') {
            *p++ = '\0';
        }
    }
    return n;
}

/* proc(5): "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static void take_mount(char *line, struct doctor_cgroups *cg)
{
    static const char *const controllers[] = {"cpu",   "cpuacct", "memory", "pids",
                                              "blkio", "cpuset",  "freezer"};
    char *fields[LINE_FIELDS];
    size_t n = split(line, fields);
    size_t dash = 6;

    while (dash < n && strcmp(fields[dash], "-") != 0) {
        dash++;
    }
    if (dash + 3 >= n) {
        return;
    }
    if (strcmp(fields[dash + 1], "cgroup2") == 0) {
        copy(cg->v2_mount, sizeof(cg->v2_mount), fields[4], strlen(fields[4]));
        return;
    }
    if (strcmp(fields[dash + 1], "cgroup") != 0) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
        size_t at = strlen(cg->v1_controllers);

        if (!doctor_has_word(fields[dash + 3], controllers[i])) {
            continue;
        }
        (void)snprintf(cg->v1_controllers + at, sizeof(cg->v1_controllers) - at, "%s%s",
                       at > 0 ? " " : "", controllers[i]);
        if (strcmp(controllers[i], "memory") == 0) {
            copy(cg->v1_memory_mount, sizeof(cg->v1_memory_mount), fields[4], strlen(fields[4]));
        }
    }
}

/* cgroups(7): "0::/user.slice" and "4:memory:/a" */
static void take_membership(char *line, struct doctor_cgroups *cg)
{
    char *list = strchr(line, ':');
    char *path = list != NULL ? strchr(list + 1, ':') : NULL;

    if (path == NULL) {
        return;
    }
    *path++ = '\0';
    list++;
    if (*list == '\0') {
        copy(cg->v2_own, sizeof(cg->v2_own), path, strlen(path));
    } else if (doctor_has_word(list, "memory")) {
        copy(cg->v1_memory_own, sizeof(cg->v1_memory_own), path, strlen(path));
    }
}

static void each_line(const char *text, struct doctor_cgroups *cg,
                      void (*take)(char *line, struct doctor_cgroups *cg))
{
    char line[4096];

    for (; *text != '\0'; text = next_line(text)) {
        copy(line, sizeof(line), text, strcspn(text, "\n"));
        take(line, cg);
    }
}

void doctor_parse_cgroups(const char *mountinfo, const char *cgroup, struct doctor_cgroups *ret)
{
    struct doctor_cgroups cg = {0};

    each_line(mountinfo, &cg, take_mount);
    each_line(cgroup, &cg, take_membership);
    *ret = cg;
}

uint64_t doctor_parse_meminfo(const char *text, const char *key)
{
    for (const char *line = text; *line != '\0'; line = next_line(line)) {
        char digits[24];
        uint64_t kib = 0;
        const char *p = line + strlen(key);

        if (!starts_with(line, key) || *p != ':') {
            continue;
        }
        p += 1 + strspn(p + 1, " \t");
        copy(digits, sizeof(digits), p, strspn(p, "0123456789"));
        if (num_parse_u64(digits, &kib) < 0 || kib > UINT64_MAX / KIB) {
            return 0;
        }
        return kib * KIB;
    }
    return 0;
}

void doctor_parse_os_release(const char *text, const char *key, char ret[DOCTOR_WORD_MAX])
{
    ret[0] = '\0';
    for (const char *line = text; *line != '\0'; line = next_line(line)) {
        const char *value = line + strlen(key);
        size_t len = 0;

        if (!starts_with(line, key) || *value != '=') {
            continue;
        }
        value++;
        len = strcspn(value, "\n");
        if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0]) {
            value++;
            len -= 2;
        }
        copy(ret, DOCTOR_WORD_MAX, value, len);
        return;
    }
}
