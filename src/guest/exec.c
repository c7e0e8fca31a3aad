#include "guest/exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *exec_env(char *const *envp, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; envp[i] != NULL; i++) {
        if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=') {
            return envp[i] + len + 1;
        }
    }
    return NULL;
}

static void failed(const char *what, int errnum, struct err *err)
{
    char text[128];

    (void)err_set(err, ERR_USAGE, errnum, "execute '%s': %s", what,
                  strerror_r(errnum, text, sizeof(text)));
}

void exec_search(char *const *argv, char *const *envp, struct err *err)
{
    const char *path = exec_env(envp, "PATH");
    int errnum = ENOENT;

    if (strchr(argv[0], '/') != NULL) {
        (void)execve(argv[0], argv, envp);
        failed(argv[0], errno, err);
        return;
    }
    if (path == NULL) {
        path = EXEC_PATH_DEFAULT;
    }
    while (path[0] != '\0') {
        size_t len = strcspn(path, ":");
        char file[PATH_MAX];

        if (path[0] == '/' && (size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)len, path,
                                               argv[0]) < sizeof(file)) {
            (void)execve(file, argv, envp);
            if (errno != ENOENT && errno != ENOTDIR) {
                errnum = errno;
            }
            if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
                break;
            }
        }
        path += len + (path[len] == ':');
    }
    failed(argv[0], errnum, err);
}
