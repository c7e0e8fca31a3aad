#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/inject.h"
#include "guest/procargs.h"
#include "test.h"

/* `cat`: it sleeps in a read of go_fd, and goes on to write what it got to out_fd. */
struct sleeper {
    pid_t pid;
    int go_fd, out_fd;
};

static char room[sizeof(PROCARGS_NAME) + PROCARGS_SIZE];
static char shown[] = "SHOWN=1";
static char hidden[] = "HIDDEN=2";
static char *const first_env[] = {shown, hidden, room, NULL};

static struct sleeper start(void)
{
    char name[] = "cat";
    char *const argv[] = {name, NULL};
    int go[2];
    int out[2];
    pid_t pid = 0;

    (void)snprintf(room, sizeof(room), PROCARGS_NAME "%0*d", (int)PROCARGS_SIZE - 1, 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(go[0], 0);
        (void)dup2(out[1], 1);
        (void)execve("/bin/cat", argv, first_env);
        _exit(127);
    }
    assert_true(pid > 0);
    (void)close(go[0]);
    (void)close(out[1]);
    return (struct sleeper){pid, go[1], out[0]};
}

/* It is in cat once the exec is through: the environment is then the one that was given. */
static void await_exec(const struct sleeper *s)
{
    char path[40];
    char text[64] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)s->pid);
    for (int i = 0; i < 5000 && strcmp(text, shown) != 0; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        (void)usleep(1000);
        (void)!read(fd, text, sizeof(text) - 1);
        (void)close(fd);
    }
    assert_string_equal(text, shown);
}

/* What it was asked to read comes out of it, whole, and it ends by itself. */
static void finish(const struct sleeper *s)
{
    char text[8] = "";
    int status = -1;

    assert_int_equal(write(s->go_fd, "hello", 5), 5);
    (void)close(s->go_fd);
    assert_int_equal(read(s->out_fd, text, sizeof(text)), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(s->out_fd);
}

static void assert_proc(pid_t pid, const char *file, const char *want, size_t len)
{
    static char text[2 * PROCARGS_SIZE];
    char path[40];
    int fd = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), (ssize_t)len);
    assert_memory_equal(text, want, len);
    (void)close(fd);
}

static const char *const *as_const(char *const *list)
{
    return (const char *const *)list;
}

static void a_sleeping_process_shows_what_it_is_told_and_goes_on(void **state)
{
    char name[] = "python3";
    char arg[] = "two words";
    char empty[] = "";
    char env[] = "NEW=x";
    char *const argv[] = {name, arg, empty, NULL};
    char *const envp[] = {shown, env, NULL};
    struct sleeper s = start();
    struct procargs a;
    struct err err = ERR_INIT;

    (void)state;
    await_exec(&s);
    assert_ok(procargs_init(&a, s.pid, as_const(first_env), 1, &err), &err);
    assert_proc(s.pid, "environ", "SHOWN=1", sizeof("SHOWN=1"));
    assert_proc(s.pid, "cmdline", "cat", sizeof("cat"));
    assert_ok(procargs_show(&a, s.pid, NULL, NULL, &err), &err);
    assert_ok(procargs_show(&a, s.pid, argv, NULL, &err), &err);
    assert_proc(s.pid, "cmdline", "python3\0two words\0", sizeof("python3\0two words\0"));
    assert_proc(s.pid, "environ", "SHOWN=1", sizeof("SHOWN=1"));
    assert_ok(procargs_show(&a, s.pid, argv, envp, &err), &err);
    assert_proc(s.pid, "environ", "SHOWN=1\0NEW=x", sizeof("SHOWN=1\0NEW=x"));
    finish(&s);
}

static void what_has_no_room_is_refused_and_the_process_goes_on(void **state)
{
    auto_free char *arg = malloc(MSG_WARM_STRINGS);
    char *const argv[] = {arg, NULL};
    char *const more[] = {arg, shown, NULL};
    struct sleeper s = start();
    struct procargs a;
    struct err err = ERR_INIT;

    (void)state;
    await_exec(&s);
    assert_non_null(arg);
    memset(arg, 'a', MSG_WARM_STRINGS - 1);
    arg[MSG_WARM_STRINGS - 1] = '\0';
    assert_ok(procargs_init(&a, s.pid, as_const(first_env), 1, &err), &err);
    assert_int_equal(procargs_show(&a, s.pid, more, NULL, &err), -E2BIG);
    err = (struct err)ERR_INIT;
    assert_ok(procargs_show(&a, s.pid, argv, NULL, &err), &err);
    assert_proc(s.pid, "cmdline", arg, MSG_WARM_STRINGS);
    finish(&s);
}

static void another_environment_than_it_was_started_with_is_noticed(void **state)
{
    char *const other[] = {shown, room, NULL};
    struct sleeper s = start();
    struct procargs a;
    struct err err = ERR_INIT;

    (void)state;
    await_exec(&s);
    assert_int_equal(procargs_init(&a, s.pid, as_const(other), 1, &err), -EPROTO);
    finish(&s);
}

static void a_process_that_never_sleeps_in_a_call_is_let_go(void **state)
{
    struct inject in = INJECT_INIT;
    struct err err = ERR_INIT;
    pid_t pid = fork();
    int status = 0;

    (void)state;
    if (pid == 0) {
        for (;;) {
            __asm__ volatile("");
        }
    }
    assert_int_equal(inject_begin(&in, pid, &err), -ETIMEDOUT);
    assert_int_equal(in.pid, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

TEST_MAIN(T(a_sleeping_process_shows_what_it_is_told_and_goes_on),
          T(what_has_no_room_is_refused_and_the_process_goes_on),
          T(another_environment_than_it_was_started_with_is_noticed),
          T(a_process_that_never_sleeps_in_a_call_is_let_go))
