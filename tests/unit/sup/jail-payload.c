/* What the jail's tests run inside: waits to be looked at, or tries one thing and says how it went. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

static void *sleeper(void *arg)
{
    (void)poll(NULL, 0, -1);
    return arg;
}

static int wait_to_be_looked_at(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, sleeper, NULL) != 0 || write(1, "R", 1) != 1) {
        return 1;
    }
    (void)poll(NULL, 0, -1);
    return 0;
}

static int try_open(int flags)
{
    int fd = open("/payload-made-this", flags, 0600);

    return fd < 0 ? errno : 0;
}

/* 0: what was answered is read-only, and what is asked about later does not exist. */
static int open_as_answered(void)
{
    char c = 0;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ram = open("/ram", O_RDWR);

    if (null_fd < 0 || ram < 0) {
        return errno;
    }
    if (pread(ram, &c, 1, 0) != 1 || c != '1') {
        return 98;
    }
    if (write(ram, "x", 1) >= 0 || errno != EBADF) {
        return 97;
    }
    return open("/ram", O_RDWR) < 0 && errno == ENOSYS ? 0 : 96;
}

static int try_exec(const char *self)
{
    union {
        const char *in[3];
        char *out[3];
    } argv = {{self, "name", NULL}};

    char *env[] = {NULL};

    (void)execve(self, argv.out, env);
    return errno;
}

static int host_name_differs(void)
{
    struct utsname u;

    return uname(&u) != 0 || strcmp(u.nodename, "airlock") != 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "wait") == 0) {
        return wait_to_be_looked_at();
    }
    if (strcmp(what, "still") == 0) {
        return poll(NULL, 0, -1);
    }
    if (strcmp(what, "fill") == 0) { /* descriptor 3 is a file, RLIMIT_FSIZE 1 MiB */
        return pwrite(3, "x", 1, 1 << 20) < 0 ? errno : 0;
    }
    if (strcmp(what, "name") == 0) {
        return host_name_differs();
    }
    if (strcmp(what, "exec") == 0) {
        return try_exec(argv[0]);
    }
    if (strcmp(what, "fork") == 0) {
        return fork() < 0 ? errno : 0;
    }
    if (strcmp(what, "socket") == 0) {
        return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
    }
    if (strcmp(what, "create") == 0) {
        return try_open(O_WRONLY | O_CREAT);
    }
    if (strcmp(what, "open") == 0) {
        return open_as_answered();
    }
    if (strcmp(what, "read") == 0) {
        return try_open(O_RDONLY);
    }
    if (strcmp(what, "executable") == 0) {
        return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
               MAP_FAILED;
    }
    if (strcmp(what, "kvm-version") == 0) {
        return ioctl(0, KVM_GET_API_VERSION, 0) < 0 ? errno : 0;
    }
    if (strcmp(what, "kvm-device") == 0) {
        return ioctl(0, KVM_CREATE_DEVICE, 0) < 0 ? errno : 0;
    }
    if (strcmp(what, "kvm-debug") == 0) {
        return ioctl(0, KVM_SET_GUEST_DEBUG, 0) < 0 ? errno : 0;
    }
    if (strcmp(what, "setuid") == 0) {
        return setuid(0) < 0 ? errno : 0;
    }
    if (strcmp(what, "memory-file") == 0) {
        return memfd_create(what, MFD_CLOEXEC) < 0 ? errno : 0;
    }
    if (strcmp(what, "name") == 0) {
        return prctl(PR_SET_NAME, what) < 0 ? errno : 0;
    }
    return 99;
}
