#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/str.h"

#include "sup/doctor-parse.h"
#include "sys/fd.h"

/* Text of ours may carry bytes of files and programs: JSON takes only UTF-8. */
json_t *report_text(const char *text)
{
    auto_buf struct buf safe = BUF_INIT(64 * KIB);

    if (text == NULL) {
        return json_null();
    }
    return text[0] == '\0' ? json_string("")
           : str_escape(&safe, text, strlen(text), true) < 0
               ? NULL
               : json_stringn((const char *)safe.data, safe.len);
}

static void read_proc(const char *path, struct buf *text)
{
    auto_fd int fd = -1;
    struct err ignored = ERR_INIT;

    if (fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, &ignored) == 0) {
        (void)!fd_read_all(fd, path, text, &ignored);
    }
}

json_t *report_host(void)
{
    auto_buf struct buf cpuinfo = BUF_INIT(MIB);
    auto_buf struct buf meminfo = BUF_INIT(64 * KIB);
    auto_buf struct buf release = BUF_INIT(64 * KIB);
    struct doctor_cpu cpu = {0};
    struct utsname uts;
    char os[DOCTOR_WORD_MAX] = "";
    uint64_t memory = 0;

    read_proc("/proc/cpuinfo", &cpuinfo);
    read_proc("/proc/meminfo", &meminfo);
    read_proc("/etc/os-release", &release);
    if (cpuinfo.len > 0) {
        doctor_parse_cpuinfo((const char *)cpuinfo.data, &cpu);
    }
    if (meminfo.len > 0) {
        memory = doctor_parse_meminfo((const char *)meminfo.data, "MemTotal");
    }
    if (release.len > 0) {
        doctor_parse_os_release((const char *)release.data, "PRETTY_NAME", os);
    }
    return json_pack("{s:o,s:o,s:o,s:i,s:b,s:I}", "os", report_text(os), "kernel",
                     report_text(uname(&uts) == 0 ? uts.release : ""), "cpu",
                     report_text(cpu.model), "cpus", (int)cpu.count, "is_virtual_machine",
                     cpu.hypervisor ? 1 : 0, "memory_bytes", (json_int_t)memory);
}

static int to_buf(const char *data, size_t len, void *ctx)
{
    return buf_put(ctx, data, len);
}

int report_dump(const json_t *report, struct buf *out)
{
    return json_dump_callback(report, to_buf, out, JSON_INDENT(1)) < 0 ? -1 : buf_put(out, "\n", 1);
}

static int write_file(const char *path, const struct buf *page, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0644, &fd, err);

    return r < 0 ? r : fd_write_full(fd, page->data, page->len, err);
}

int report_page(const char *path, int (*make)(const json_t *report, struct buf *page),
                const json_t *report, struct err *err)
{
    auto_buf struct buf page = BUF_INIT(REPORT_MAX);

    if (make(report, &page) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the page");
    }
    return write_file(path, &page, err) < 0 ? err_wrap(err, "--html") : 0;
}
