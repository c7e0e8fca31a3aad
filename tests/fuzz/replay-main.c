/* Replays a corpus through a fuzz target: every file of the directory argv[1], as a TAP test. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX ((size_t)4 * 1024 * 1024)

static int replay(int dirfd, const char *name, uint8_t *data, int n)
{
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = 0;
    uint8_t *exact = NULL;

    if (fd < 0) {
        return -1;
    }
    len = read(fd, data, INPUT_MAX);
    (void)close(fd);
    if (len < 0) {
        return -1;
    }
    /* Exactly as long as the input, so that a sanitizer sees a read one byte past it. */
    exact = malloc((size_t)len + (len == 0));
    if (exact == NULL) {
        return -1;
    }
    for (ssize_t i = 0; i < len; i++) {
        exact[i] = data[i];
    }
    (void)LLVMFuzzerTestOneInput(exact, (size_t)len);
    free(exact);
    (void)printf("ok %d - %s\n", n, name);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    uint8_t *data = malloc(INPUT_MAX);
    struct dirent *entry = NULL;
    int n = 0;

    if (dir == NULL || data == NULL) {
        (void)fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    while ((entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (entry->d_name[0] == '.') {
            continue;
        }
        n++;
        if (replay(dirfd(dir), entry->d_name, data, n) < 0) {
            (void)printf("not ok %d - %s\n", n, entry->d_name);
        }
    }
    (void)printf("1..%d\n", n);
    free(data);
    (void)closedir(dir);
    return n > 0 ? 0 : 1;
}
