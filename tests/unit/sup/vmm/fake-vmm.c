/*
 * Stands where the monitor would (vmm/start.h) and plays what the test wants of it: as airlock.warm
 * says in the kernel's command line, or the state of a machine that is restored. It starts by
 * telling its arguments and descriptors on the channel.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vmm/start.h"

#define MODE "airlock.warm="

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0) {
        _exit(99);
    }
}

static void tell(int argc, char **argv)
{
    static const char *const access[] = {"r", "w", "rw", "?"};
    char text[2048];
    int len = 0;

    for (int i = 1; i < argc; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%s ", argv[i]);
    }
    for (int fd = 0; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFL);

        if (flags >= 0) {
            len += snprintf(text + len, sizeof(text) - (size_t)len, "%d:%s%s ", fd,
                            access[flags & O_ACCMODE], (flags & O_NONBLOCK) != 0 ? "n" : "");
        }
    }
    text[len - 1] = '\n';
    say(START_FD_CHANNEL, text);
}

/* The descriptor that comes with the order to save, or -1. */
static int take_order(void)
{
    char byte = 0;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    char room[CMSG_SPACE(sizeof(int))] = "";
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    int fd = -1;

    if (recvmsg(START_FD_CONTROL, &msg, 0) == 1 && byte == START_CONTROL_SAVE &&
        CMSG_FIRSTHDR(&msg) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    }
    return fd;
}

static int save(const char *how)
{
    int fd = take_order();

    if (fd < 0) {
        return 90;
    }
    if (strncmp(how, "well", 4) == 0) {
        say(fd, "STATE");
        say(START_FD_CONTROL, "D");
        return START_EXIT_OFF;
    }
    if (strncmp(how, "full", 4) == 0) {
        say(START_FD_CONTROL, "E");
        say(START_FD_CONTROL, "no room for \x1b[31mthe state\n");
        return START_EXIT_HOST;
    }
    if (strncmp(how, "half", 4) == 0) {
        say(START_FD_CONTROL, "Ehalf a reason");
        return START_EXIT_HOST;
    }
    say(START_FD_CONTROL, strncmp(how, "strange", 7) == 0 ? "?" : "");
    return START_EXIT_OFF;
}

/* The state is at the descriptor's offset; the memory is another machine's and must stay it. */
static int restore(void)
{
    char state[8] = "";
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, START_FD_MEMORY, 0);
    bool own = memory != MAP_FAILED && memory[0] == 'M' && write(START_FD_MEMORY, "x", 1) < 0;

    if (!own || read(START_FD_STATE, state, 4) != 4) {
        return 91;
    }
    if (strcmp(state, "goes") != 0) {
        say(START_FD_CONTROL, "Eanother version of the state\n");
        return START_EXIT_STATE;
    }
    memory[0] = 'X';
    say(START_FD_CONTROL, "R");
    return read(START_FD_CHANNEL, state, 1) == 0 ? START_EXIT_OFF : 93;
}

static int play(const char *mode)
{
    if (strncmp(mode, "end-", 4) == 0) {
        say(2, "airlock-vmm: the reason\n");
        return (int)strtol(mode + 4, NULL, 10);
    }
    if (strncmp(mode, "open", 4) == 0) {
        return open("/etc/passwd", O_RDONLY);
    }
    return strncmp(mode, "save-", 5) == 0 ? save(mode + 5) : 92;
}

int main(int argc, char **argv)
{
    bool restores = false;
    const char *mode = "";

    for (int i = 1; i < argc; i++) {
        restores = restores || strcmp(argv[i], "--restore") == 0;
        mode = strstr(argv[i], MODE) != NULL ? strstr(argv[i], MODE) + strlen(MODE) : mode;
    }
    tell(argc, argv);
    return restores ? restore() : play(mode);
}
