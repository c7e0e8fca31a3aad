#include "guest/exits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "guest/file.h"
#include "sys/fd.h"

#define MESSAGE_MAX 4096
#define CPUS_MAX    32
/* Where the pid is in what the kernel sends: behind its headers, the nest's and its own. */
#define PID_OFFSET (NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN + NLA_HDRLEN)

struct request {
    struct nlmsghdr head;
    struct genlmsghdr genl;
    uint8_t attributes[64];
};

static void put_attribute(struct request *q, uint16_t type, const char *text)
{
    const struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + strlen(text) + 1),
                                     .nla_type = type};
    uint8_t *at = q->attributes;

    memcpy(at, &attribute, sizeof(attribute));
    memcpy(at + NLA_HDRLEN, text, strlen(text) + 1);
    q->head.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(attribute.nla_len));
}

/* Sends, and takes the answer: an acknowledgement or the message asked for. */
static int ask(int fd, struct request *q, uint8_t answer[MESSAGE_MAX], size_t *ret_len,
               struct err *err)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const struct nlmsghdr *head = (const void *)answer;
    ssize_t n =
        sendto(fd, q, q->head.nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof(kernel));

    if (n == (ssize_t)q->head.nlmsg_len) {
        n = recv(fd, answer, MESSAGE_MAX, 0);
    }
    if (n < (ssize_t)sizeof(*head)) {
        return err_sys_num(err, n < 0 ? errno : EPROTO, "ask for ends of processes");
    }
    if (head->nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *e = (const void *)(answer + NLMSG_HDRLEN);

        if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(*e)) || e->error != 0) {
            return err_sys_num(err, n < (ssize_t)(NLMSG_HDRLEN + sizeof(*e)) ? EPROTO : -e->error,
                               "ask for ends of processes");
        }
    }
    *ret_len = (size_t)n;
    return 0;
}

/* The attribute of this type among those in data; NULL if there is none. */
static const uint8_t *find(const uint8_t *data, size_t len, uint16_t type, size_t *ret_len)
{
    struct nlattr a;

    for (size_t at = 0; len - at >= NLA_HDRLEN; at += NLA_ALIGN(a.nla_len)) {
        memcpy(&a, data + at, sizeof(a));
        if (a.nla_len < NLA_HDRLEN || a.nla_len > len - at) {
            return NULL;
        }
        if ((a.nla_type & NLA_TYPE_MASK) == type) {
            *ret_len = (size_t)a.nla_len - NLA_HDRLEN;
            return data + at + NLA_HDRLEN;
        }
        if ((size_t)NLA_ALIGN(a.nla_len) > len - at) {
            return NULL;
        }
    }
    return NULL;
}

static int family(int fd, uint16_t *ret, struct err *err)
{
    struct request q = {.head = {.nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST},
                        .genl = {.cmd = CTRL_CMD_GETFAMILY, .version = 1}};
    uint8_t answer[MESSAGE_MAX] = {0};
    const uint8_t *id = NULL;
    size_t len = 0;
    size_t id_len = 0;
    int r = 0;

    put_attribute(&q, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
    r = ask(fd, &q, answer, &len, err);
    if (r < 0) {
        return r;
    }
    if (len > NLMSG_HDRLEN + GENL_HDRLEN) {
        id = find(answer + NLMSG_HDRLEN + GENL_HDRLEN, len - NLMSG_HDRLEN - GENL_HDRLEN,
                  CTRL_ATTR_FAMILY_ID, &id_len);
    }
    if (id == NULL || id_len < sizeof(*ret)) {
        return err_sys_num(err, EPROTO, "find the kernel's accounting");
    }
    memcpy(ret, id, sizeof(*ret));
    return 0;
}

int exits_open(struct exits *e, struct err *err)
{
    struct request q = {.head = {.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
                        .genl = {.cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION}};
    auto_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    uint8_t answer[MESSAGE_MAX] = {0};
    char cpus[CPUS_MAX];
    size_t len = 0;
    int r = fd < 0 ? err_sys(err, "open a netlink socket") : family(fd, &q.head.nlmsg_type, err);

    if (r == 0) {
        r = file_read(AT_FDCWD, "/sys/devices/system/cpu/possible", cpus, sizeof(cpus), err);
    }
    if (r < 0) {
        return r;
    }
    put_attribute(&q, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
    r = ask(fd, &q, answer, &len, err);
    if (r == 0) {
        e->fd = STEAL_FD(&fd);
    }
    return r;
}

int exits_watch(struct exits *e, pid_t pid, struct err *err)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, PID_OFFSET), /* taken as of the network's byte order */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl((uint32_t)pid), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {.len = ARRAY_LEN(code), .filter = code};

    if (e->fd >= 0 &&
        setsockopt(e->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0) {
        return err_sys(err, "watch for the end of process %d", (int)pid);
    }
    return 0;
}

bool exits_parse(const uint8_t *message, size_t len, pid_t pid, int *ret_status)
{
    const size_t start = NLMSG_HDRLEN + GENL_HDRLEN;
    const uint8_t *nest = NULL;
    const uint8_t *of = NULL;
    const uint8_t *stats = NULL;
    size_t nest_len = 0;
    size_t of_len = 0;
    size_t stats_len = 0;
    uint32_t who = 0;
    uint32_t status = 0;

    nest =
        len > start ? find(message + start, len - start, TASKSTATS_TYPE_AGGR_PID, &nest_len) : NULL;
    of = nest == NULL ? NULL : find(nest, nest_len, TASKSTATS_TYPE_PID, &of_len);
    stats = nest == NULL ? NULL : find(nest, nest_len, TASKSTATS_TYPE_STATS, &stats_len);
    if (of == NULL || of_len != sizeof(who) || stats == NULL ||
        stats_len < offsetof(struct taskstats, ac_exitcode) + sizeof(status)) {
        return false;
    }
    memcpy(&who, of, sizeof(who));
    memcpy(&status, stats + offsetof(struct taskstats, ac_exitcode), sizeof(status));
    *ret_status = (int)(status & 0xffff);
    return who == (uint32_t)pid;
}

bool exits_began(const struct exits *e, pid_t pid, int *ret_status)
{
    struct sockaddr_nl from = {0};
    uint8_t message[MESSAGE_MAX] = {0};
    ssize_t n = 0;
    bool found = false;

    while (e->fd >= 0 && !found) {
        socklen_t size = sizeof(from);

        n = recvfrom(e->fd, message, sizeof(message), MSG_DONTWAIT, (struct sockaddr *)&from,
                     &size);
        if (n < 0 && errno == ENOBUFS) {
            continue; /* some were lost: the reaper will tell */
        }
        if (n < 0) {
            break;
        }
        found = from.nl_pid == 0 && exits_parse(message, (size_t)n, pid, ret_status);
    }
    return found;
}

void exits_close(struct exits *e)
{
    fd_close_p(&e->fd);
}
