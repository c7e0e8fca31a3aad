#include "image/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/str.h"

#include "sys/proc.h"

#define ENV_MAX  24
#define ARGS_MAX 600

/* Fixed build time: the same packages give the same bytes. 2020-01-01, as zip knows no 1970. */
#define BUILD_EPOCH "SOURCE_DATE_EPOCH=1577836800"

static const struct {
    const char *name, *package;
} tools[] = {
    {"apt-get", "apt"},   {"apt-cache", "apt"},         {"apt-config", "apt"},
    {"dpkg-deb", "dpkg"}, {"mmdebstrap", "mmdebstrap"}, {"gensquashfs", "squashfs-tools-ng"},
    {"env", "coreutils"},
};

static const char *package_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        if (strcmp(tools[i].name, name) == 0) {
            return tools[i].package;
        }
    }
    return name;
}

int tool_check_all(struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        char path[PROC_PATH_MAX];
        int r = proc_find(tools[i].name, tools[i].package, path, err);

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Finds the line that starts with one of the words tools mark their reasons with. */
static bool find_reason(const struct buf *out, char *ret, size_t size)
{
    static const char *const marks[] = {"E: ", "dpkg-deb: error", "Err:", "error: "};
    const char *text = (const char *)out->data;

    for (size_t m = 0; text != NULL && m < ARRAY_LEN(marks); m++) {
        for (const char *line = text; line != NULL && *line != '\0';) {
            const char *end = strchr(line, '\n');

            if (strncmp(line, marks[m], strlen(marks[m])) == 0) {
                auto_buf struct buf clean = BUF_INIT(size - 1);
                size_t len = end != NULL ? (size_t)(end - line) : strlen(line);

                (void)!str_escape(&clean, line, len < size / 4 ? len : size / 4, false);
                (void)snprintf(ret, size, "%s", clean.data != NULL ? (char *)clean.data : "");
                return ret[0] != '\0';
            }
            line = end != NULL ? end + 1 : NULL;
        }
    }
    return false;
}

/* Tools do not always say so: what is left on the disk counts as well. */
static bool disk_is_full(const struct buf *out, const char *dir)
{
    const char *text = (const char *)out->data;
    struct statvfs st;

    if (text != NULL && (strstr(text, "No space left on device") != NULL ||
                         strstr(text, "have enough free space") != NULL)) {
        return true;
    }
    return statvfs(dir, &st) == 0 && st.f_bavail * st.f_frsize < MIB;
}

static int explain(const struct tool *tool, const struct buf *out, struct err *err)
{
    const char *name = tool->argv[0];
    char reason[1600];
    struct err old = *err;

    if (old.errnum == ECHILD && disk_is_full(out, tool->tmpdir)) {
        *err = (struct err)ERR_INIT;
        return err_set(err, ERR_LIMIT, ENOSPC,
                       "%s: the disk of the state directory is full; free some space or use "
                       "another --state DIR",
                       name);
    }
    if (old.errnum != ECHILD || !find_reason(out, reason, sizeof(reason))) {
        return -old.errnum;
    }
    *err = (struct err)ERR_INIT;
    return err_set(err, ERR_HOST, EIO, "%s failed: %.700s", name, reason);
}

int tool_run(const struct tool *tool, struct buf *out, struct err *err)
{
    static const char *const passed_on[] = {"http_proxy", "https_proxy", "no_proxy"};
    char path[PROC_PATH_MAX];
    char env_path[PROC_PATH_MAX];
    const char *argv[ARGS_MAX] = {env_path, "-C", tool->cwd != NULL ? tool->cwd : tool->tmpdir};
    const char *env[ENV_MAX] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", BUILD_EPOCH,
                                "DEBIAN_FRONTEND=noninteractive"};
    char proxies[ARRAY_LEN(passed_on)][512];
    char tmpdir[512];
    char home[512];
    size_t n_env = 4;
    size_t n = 3;
    int r = proc_find("env", "coreutils", env_path, err);

    if (r < 0) {
        return r;
    }
    if (tool->argv[0][0] != '/') {
        r = proc_find(tool->argv[0], package_of(tool->argv[0]), path, err);
        if (r < 0) {
            return r;
        }
    }
    (void)snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", tool->tmpdir);
    (void)snprintf(home, sizeof(home), "HOME=%s", tool->tmpdir);
    env[n_env++] = tmpdir;
    env[n_env++] = home;
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++) {
        const char *v = getenv(passed_on[i]); /* NOLINT(concurrency-mt-unsafe): one thread */

        if (v != NULL && strlen(v) < sizeof(proxies[i]) - 16) {
            (void)snprintf(proxies[i], sizeof(proxies[i]), "%s=%s", passed_on[i], v);
            env[n_env++] = proxies[i];
        }
    }
    for (size_t i = 0; tool->env != NULL && tool->env[i] != NULL && n_env < ENV_MAX - 1; i++) {
        env[n_env++] = tool->env[i];
    }
    argv[n++] = tool->argv[0][0] != '/' ? path : tool->argv[0];
    for (size_t i = 1; tool->argv[i] != NULL; i++) {
        if (n >= ARGS_MAX - 1) {
            return err_usage(err, "too many packages for one image (%u at most)", ARGS_MAX - 100);
        }
        argv[n++] = tool->argv[i];
    }
    r = proc_run(argv, env, tool->timeout_ns != 0 ? tool->timeout_ns : 1800 * NS_PER_S, out, err);
    return r < 0 ? explain(tool, out, err) : 0;
}
