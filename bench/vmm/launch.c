/*
 * Starts a program and says when it wrote its first byte: bench/vmm/measure.py.
 *
 *   launch run|once PROGRAM [ARGUMENT...]      once: it is killed after its first byte
 *
 * The program has our descriptors, but for 1, which is a pipe. It is stopped where exec left it, before
 * its first instruction, so that what is measured from there is the program's own. One line on our
 * stdout: nanoseconds of fork and exec, from the first instruction to the first byte, to the end; the
 * clock (CLOCK_MONOTONIC) at the first instruction; the program's exit code.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void become(char **argv, int out)
{
    if (dup2(out, STDOUT_FILENO) < 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
        _exit(126);
    }
    (void)execv(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    int pipe_fds[2];
    int status = 0;
    char buf[65536];

    if (argc < 3 || pipe2(pipe_fds, O_CLOEXEC) < 0 || fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK) < 0) {
        return 1;
    }
    uint64_t begin = now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        become(argv + 2, pipe_fds[1]);
    }
    (void)close(pipe_fds[1]);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
        (void)fprintf(stderr, "launch: %s does not start\n", argv[2]);
        return 1;
    }
    uint64_t start = now_ns();
    (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    ssize_t n = read(pipe_fds[0], buf, 1);
    uint64_t first = now_ns();
    if (argv[1][0] == 'o') {
        (void)kill(pid, SIGKILL);
    }
    while (n > 0) {
        n = read(pipe_fds[0], buf, sizeof(buf));
    }
    (void)waitpid(pid, &status, 0);
    uint64_t end = now_ns();
    (void)printf("%lu %lu %lu %lu %d\n", start - begin, first - start, end - start, start,
                 WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return 0;
}
