#include <string.h>

#include "sup/doctor-parse.h"
#include "test.h"

static void cpuinfo_tells_count_model_and_flags(void **state)
{
    struct doctor_cpu cpu;

    (void)state;
    doctor_parse_cpuinfo("processor\t: 0\n"
                         "model name\t: AMD EPYC 7B13\n"
                         "flags\t\t: fpu svm hypervisor vmx_fake\n"
                         "\n"
                         "processor\t: 1\n"
                         "model name\t: other\n"
                         "vmx flags\t: vnmi\n"
                         "flags\t\t: fpu vmx\n",
                         &cpu);
    assert_int_equal(cpu.count, 2);
    assert_string_equal(cpu.model, "AMD EPYC 7B13");
    assert_true(cpu.svm);
    assert_false(cpu.vmx);
    assert_true(cpu.hypervisor);
    doctor_parse_cpuinfo("", &cpu);
    assert_int_equal(cpu.count, 0);
}

static void cgroup_v2_alone_is_found(void **state)
{
    struct doctor_cgroups cg;

    (void)state;
    doctor_parse_cgroups(
        "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
        "0::/user.slice/user-1000.slice\n", &cg);
    assert_string_equal(cg.v2_mount, "/sys/fs/cgroup");
    assert_string_equal(cg.v2_own, "/user.slice/user-1000.slice");
    assert_string_equal(cg.v1_controllers, "");
}

static void hybrid_cgroups_are_told_apart(void **state)
{
    struct doctor_cgroups cg;

    (void)state;
    doctor_parse_cgroups(
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
        "8:pids:/\n4:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n", &cg);
    assert_string_equal(cg.v2_mount, "/sys/fs/cgroup/unified");
    assert_string_equal(cg.v2_own, "/");
    assert_string_equal(cg.v1_controllers, "cpu cpuacct memory");
    assert_string_equal(cg.v1_memory_mount, "/sys/fs/cgroup/memory");
    assert_string_equal(cg.v1_memory_own, "/a/b");
}

static void odd_lines_do_no_harm(void **state)
{
    struct doctor_cgroups cg;

    (void)state;
    doctor_parse_cgroups("\n \n- - -\n1 2 3 4 5 6 - cgroup2\n - cgroup cgroup\nx",
                         ":\n::\nx\n0:", &cg);
    assert_string_equal(cg.v2_mount, "");
    assert_string_equal(cg.v1_controllers, "");
}

static void words_match_whole(void **state)
{
    (void)state;
    assert_true(doctor_has_word("cpu memory pids\n", "pids"));
    assert_true(doctor_has_word("rw,memory", "memory"));
    assert_false(doctor_has_word("cpuset cpuacct", "cpu"));
    assert_false(doctor_has_word("", "cpu"));
}

static void meminfo_is_in_kib(void **state)
{
    static const char info[] = "MemTotal:       24000 kB\nMemAvailableX: 1 kB\n"
                               "MemAvailable:   12000 kB\nBad: x kB\n"
                               "Huge: 99999999999999999999 kB\n";

    (void)state;
    assert_true(doctor_parse_meminfo(info, "MemTotal") == 24000 * KIB);
    assert_true(doctor_parse_meminfo(info, "MemAvailable") == 12000 * KIB);
    assert_true(doctor_parse_meminfo(info, "Bad") == 0);
    assert_true(doctor_parse_meminfo(info, "Huge") == 0);
    assert_true(doctor_parse_meminfo(info, "None") == 0);
}

static void os_release_loses_its_quotes(void **state)
{
    static const char release[] = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"
                                  "VERSION_ID='12'\nID=debian\nBAD=\"\n";
    char value[DOCTOR_WORD_MAX];

    (void)state;
    doctor_parse_os_release(release, "PRETTY_NAME", value);
    assert_string_equal(value, "Debian GNU/Linux 12 (bookworm)");
    doctor_parse_os_release(release, "ID", value);
    assert_string_equal(value, "debian");
    doctor_parse_os_release(release, "VERSION_ID", value);
    assert_string_equal(value, "12");
    doctor_parse_os_release(release, "BAD", value);
    assert_string_equal(value, "\"");
    doctor_parse_os_release(release, "NONE", value);
    assert_string_equal(value, "");
}

TEST_MAIN(T(cpuinfo_tells_count_model_and_flags), T(cgroup_v2_alone_is_found),
          T(hybrid_cgroups_are_told_apart), T(odd_lines_do_no_harm), T(words_match_whole),
          T(meminfo_is_in_kib), T(os_release_loses_its_quotes))
