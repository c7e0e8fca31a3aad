#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/fsuser.h"
#include "test.h"

#define THEIRS 54321

/* Each case is a child: identities and the working directory are a process's. */
static int in_child(int (*fn)(const char *dir))
{
    char dir[] = "/tmp/airlock-test-fsuser.XXXXXX";
    struct err err = ERR_INIT;
    int status = 0;
    pid_t pid = 0;

    assert_non_null(mkdtemp(dir));
    pid = fork();
    if (pid == 0) {
        _exit(chdir(dir) == 0 ? fn(dir) : 99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int open_new(const char *name)
{
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int writes(const char *dir)
{
    const gid_t groups[] = {0, 4, 27};
    struct fsuser user = FSUSER_INIT;
    struct err err = ERR_INIT;
    struct stat st = {0};
    gid_t now[FSUSER_GROUPS_MAX];

    if (setgroups(3, groups) < 0 || mkdir("roots", 0700) < 0 || chown(dir, THEIRS, THEIRS) < 0) {
        return 1;
    }
    if (fsuser_enter(&user, &err) < 0 || !user.changed) {
        return 2;
    }
    if (open_new("file") < 0 || stat("file", &st) < 0 || st.st_uid != THEIRS ||
        st.st_gid != THEIRS) {
        return 3;
    }
    if (open_new("roots/file") >= 0 || errno != EACCES) { /* no capability is left for it */
        return 4;
    }
    if (access("roots", F_OK) < 0 || getgroups(FSUSER_GROUPS_MAX, now) != 0) {
        return 5;
    }
    fsuser_leave(&user);
    if (open_new("roots/file") < 0 || open_new("mine") < 0 || stat("mine", &st) < 0 ||
        st.st_uid != 0 || st.st_gid != 0) {
        return 6;
    }
    return getgroups(FSUSER_GROUPS_MAX, now) == 3 && memcmp(now, groups, sizeof(groups)) == 0 ? 0
                                                                                              : 7;
}

static int stays(const char *dir)
{
    struct fsuser user = FSUSER_INIT;
    struct err err = ERR_INIT;

    (void)dir;
    return fsuser_enter(&user, &err) == 0 && !user.changed ? 0 : 1;
}

static int cannot(const char *dir)
{
    struct fsuser user = FSUSER_INIT;
    struct err err = ERR_INIT;

    if (chown(dir, THEIRS, THEIRS) < 0 || chmod(dir, 0755) < 0 || setgroups(0, NULL) < 0 ||
        setuid(65534) < 0) {
        return 1;
    }
    return fsuser_enter(&user, &err) == -EPERM && !user.changed ? 0 : 2;
}

static void root_writes_as_the_directorys_owner_and_comes_back(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(in_child(writes), 0);
}

static void in_a_directory_of_ours_nothing_changes(void **state)
{
    (void)state;
    assert_int_equal(in_child(stays), 0);
}

static void who_is_not_root_cannot_become_another(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(in_child(cannot), 0);
}

TEST_MAIN(T(root_writes_as_the_directorys_owner_and_comes_back),
          T(in_a_directory_of_ours_nothing_changes), T(who_is_not_root_cannot_become_another))
