#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/exits.h"
#include "test.h"

/* A message as the kernel makes it. */
struct message {
    struct nlmsghdr head;
    struct genlmsghdr genl;
    struct nlattr nest, pid;
    uint32_t who;
    struct nlattr stats;
    uint16_t version, padding;
    uint32_t exit_code;
    uint8_t rest[64];
};

static struct message make(uint32_t pid, uint32_t exit_code)
{
    struct message m = {.head = {.nlmsg_len = sizeof(m)}, .who = pid, .exit_code = exit_code};

    m.nest = (struct nlattr){.nla_len = sizeof(m) - offsetof(struct message, nest),
                             .nla_type = TASKSTATS_TYPE_AGGR_PID};
    m.pid = (struct nlattr){.nla_len = NLA_HDRLEN + sizeof(m.who), .nla_type = TASKSTATS_TYPE_PID};
    m.stats = (struct nlattr){.nla_len = sizeof(m) - offsetof(struct message, stats),
                              .nla_type = TASKSTATS_TYPE_STATS};
    return m;
}

static void the_status_of_the_process_asked_for_is_read(void **state)
{
    struct message m = make(77, 0x2a00);
    int status = -1;

    (void)state;
    assert_true(exits_parse((const uint8_t *)&m, sizeof(m), 77, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    assert_false(exits_parse((const uint8_t *)&m, sizeof(m), 78, &status));
    m = make(77, SIGSEGV | 0x80);
    assert_true(exits_parse((const uint8_t *)&m, sizeof(m), 77, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void a_message_cut_anywhere_tells_nothing(void **state)
{
    struct message m = make(77, 0x2a00);
    int status = -1;

    (void)state;
    for (size_t len = 0; len < sizeof(m); len++) {
        auto_free uint8_t *copy = malloc(len + 1); /* no byte more than that may be read */

        assert_non_null(copy);
        memcpy(copy, &m, len);
        assert_false(exits_parse(copy, len, 77, &status));
    }
}

static void lengths_that_lie_tell_nothing(void **state)
{
    static const uint16_t lies[] = {0, 1, 3, 0xffff};
    int status = -1;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        struct message m = make(77, 0);

        m.nest.nla_len = lies[i];
        assert_false(exits_parse((const uint8_t *)&m, sizeof(m), 77, &status));
        m = make(77, 0);
        m.pid.nla_len = lies[i];
        assert_false(exits_parse((const uint8_t *)&m, sizeof(m), 77, &status));
        m = make(77, 0);
        m.stats.nla_len = lies[i];
        assert_false(exits_parse((const uint8_t *)&m, sizeof(m), 77, &status));
    }
}

/* The real kernel, where this one has the accounting and we may use it. */
static void the_kernel_tells_of_the_watched_process_alone(void **state)
{
    struct exits e = EXITS_INIT;
    struct err err = ERR_INIT;
    struct pollfd p = {.events = POLLIN};
    pid_t other = 0;
    pid_t pid = 0;
    int status = -1;

    (void)state;
    if (exits_open(&e, &err) < 0) {
        print_message("skip: %s\n", err.msg);
        skip();
    }
    pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(1);
    }
    assert_ok(exits_watch(&e, pid, &err), &err);
    other = fork();
    if (other == 0) {
        _exit(3);
    }
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_false(exits_began(&e, pid, &status));
    assert_int_equal(kill(pid, SIGKILL), 0);
    p.fd = e.fd;
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_true(exits_began(&e, pid, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    exits_close(&e);
}

TEST_MAIN(T(the_status_of_the_process_asked_for_is_read), T(a_message_cut_anywhere_tells_nothing),
          T(lengths_that_lie_tell_nothing), T(the_kernel_tells_of_the_watched_process_alone))
