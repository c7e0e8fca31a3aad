#include "test.h"

#include <dirent.h>
#include <string.h>

static int fds_before;

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    if (dir == NULL) {
        return -1;
    }
    while (readdir(dir) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        n++;
    }
    (void)closedir(dir);
    return n;
}

int test_fds_before(void **state)
{
    (void)state;
    fds_before = count_fds();
    return fds_before < 0;
}

int test_fds_after(void **state)
{
    int now = count_fds();

    (void)state;
    if (now != fds_before) {
        print_error("descriptors: %d before the case, %d after\n", fds_before, now);
        return 1;
    }
    return 0;
}
