/* The ledger of slots: sums, edges, races and crashes, in a directory of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store-dir.h"
#include "sup/ledger-internal.h"
#include "sys/fd.h"
#include "test.h"

/* Everything given, so that no case depends on this host. */
static const struct ledger_capacity roomy = {
    .machines = 8,
    .memory_total_bytes = 1001 * MIB,
    .memory_available_bytes = 1001 * MIB,
    .memory_reserve_bytes = MIB,
    .vcpus = 8,
    .disk_free_bytes = 1001 * MIB,
    .disk_reserve_bytes = MIB,
};

static struct ledger_need need(const char *id)
{
    return (struct ledger_need){
        .machine_id = id, .memory_bytes = 100 * MIB, .vcpus = 1, .disk_bytes = 10 * MIB};
}

static int admit(const char *id, const struct ledger_capacity *c, struct ledger_slot *ret)
{
    struct err err = ERR_INIT;
    struct ledger_need n = need(id);
    int r = ledger_admit(store, &n, c, ret, &err);

    if (r < 0) {
        assert_int_equal(r, -EAGAIN);
        assert_int_equal(err.class, ERR_LIMIT);
    }
    return r;
}

static bool has_file(const char *name)
{
    char path[80];

    (void)snprintf(path, sizeof(path), "slots/%s", name);
    return faccessat(store, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void one_machine_too_many_is_refused_until_one_goes(void **state)
{
    struct ledger_capacity c = roomy;
    struct err err = ERR_INIT;
    struct ledger_need n = need("m3");
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct ledger_slot d = LEDGER_SLOT_INIT;

    c.machines = 2;
    assert_int_equal(admit("m1", &c, &a), 0);
    assert_int_equal(admit("m2", &c, &b), 0);
    assert_int_equal(ledger_admit(store, &n, &c, &d, &err), -EAGAIN);
    assert_non_null(strstr(err.msg, "machines at once: needs 1, 0 left of 2"));
    assert_int_equal(d.fd, -1);
    ledger_release(&a);
    assert_false(has_file("0"));
    assert_int_equal(admit("m3", &c, &d), 0);
    assert_int_equal(d.number, 0);
    ledger_release(&b);
    ledger_release(&d);
    ledger_release(&d); /* empty: nothing */
    assert_false(has_file("1"));
}

static void each_resource_is_summed_to_its_edge_and_named(void **state)
{
    static const char *const names[] = {"vCPUs: needs 3, 2 left of 8", "memory in total",
                                        "memory available: needs 400 MiB, 200 MiB left of 1000 MiB",
                                        "disk: needs 701 MiB, 700 MiB left of 1000 MiB"};
    static const int errnums[] = {-EAGAIN, -ENOMEM, -ENOMEM, -ENOSPC};
    struct ledger_need full = {
        .machine_id = "big", .memory_bytes = 800 * MIB, .vcpus = 6, .disk_bytes = 300 * MIB};
    struct ledger_need second[] = {
        {"m", MIB, 3, 1}, {"m", 400 * MIB, 1, 1}, {"m", 400 * MIB, 1, 1}, {"m", 1, 1, 701 * MIB}};
    struct ledger_need fits = {"fits", 200 * MIB, 2, 700 * MIB};
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct err ok = ERR_INIT;

    assert_ok(ledger_admit(store, &full, &roomy, &a, &ok), &ok);
    for (size_t i = 0; i < ARRAY_LEN(second); i++) {
        struct ledger_capacity c = roomy;
        struct err err = ERR_INIT;

        if (i == 2) {
            c.memory_total_bytes = 10000 * MIB; /* so that the other sum decides */
        }
        assert_int_equal(ledger_admit(store, &second[i], &c, &b, &err), errnums[i]);
        if (strstr(err.msg, names[i]) == NULL) {
            fail_msg("'%s' is not in '%s'", names[i], err.msg);
        }
    }
    assert_ok(ledger_admit(store, &fits, &roomy, &b, &ok), &ok);
    ledger_release(&a);
    ledger_release(&b);
}

static void sums_that_overflow_are_full_and_not_small(void **state)
{
    struct ledger_need huge = {"huge", UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(ledger_admit(store, &huge, &roomy, &a, &err), -EAGAIN);
}

/* A process that holds a slot until it is killed, or for no time at all. */
static pid_t holder(const char *id, const struct ledger_capacity *c, bool wait)
{
    int ready[2] = {-1, -1};
    char byte = 0;
    pid_t pid = 0;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct ledger_slot slot = LEDGER_SLOT_INIT;

        byte = admit(id, c, &slot) == 0 ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        while (wait) {
            (void)pause();
        }
        _exit(0); /* without releasing: as a crash */
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    assert_int_equal(byte, 'y');
    return pid;
}

static void reap(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct found {
    size_t n;
    struct ledger_entry last;
};

static int remember(void *arg, const struct ledger_entry *entry, struct err *err)
{
    struct found *found = arg;

    found->n++;
    found->last = *entry;
    return 0;
}

static void a_killed_holder_frees_its_room_but_not_its_number(void **state)
{
    struct ledger_capacity c = roomy;
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct found found = {0};
    struct err err = ERR_INIT;
    pid_t pid = 0;

    c.machines = 1;
    pid = holder("dead", &c, true);
    assert_int_equal(admit("m", &c, &a), -EAGAIN);
    assert_ok(ledger_stale(store, remember, &found, &err), &err);
    assert_int_equal(found.n, 0); /* alive is not stale */
    assert_int_equal(kill(pid, SIGKILL), 0);
    reap(pid);
    assert_int_equal(admit("m", &c, &a), 0);
    assert_int_equal(a.number, 1); /* something of uid 0 of this window may still live */
    assert_ok(ledger_stale(store, remember, &found, &err), &err);
    assert_int_equal(found.n, 1);
    assert_true(found.last.readable);
    assert_string_equal(found.last.machine_id, "dead");
    assert_int_equal(found.last.pid, pid);
    assert_false(found.last.pid_lives);
    assert_int_equal(found.last.memory_bytes, 100 * MIB);
    assert_ok(ledger_clear(store, &found.last, &err), &err);
    assert_ok(ledger_clear(store, &found.last, &err), &err);
    assert_false(has_file("0"));
    ledger_release(&a);
}

static void a_holder_that_exits_frees_its_room(void **state)
{
    struct ledger_capacity c = roomy;
    struct ledger_slot a = LEDGER_SLOT_INIT;

    c.machines = 1;
    reap(holder("gone", &c, false));
    assert_int_equal(admit("m", &c, &a), 0);
    ledger_release(&a);
}

static void a_forked_child_that_kept_the_slot_keeps_the_room(void **state)
{
    struct ledger_capacity c = roomy;
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    pid_t pid = 0;

    c.machines = 1;
    assert_int_equal(admit("m", &c, &a), 0);
    pid = fork();
    if (pid == 0) { /* the reaper */
        for (;;) {
            (void)pause();
        }
    }
    ledger_drop(&a); /* the supervisor dies */
    assert_int_equal(admit("n", &c, &b), -EAGAIN);
    assert_int_equal(kill(pid, SIGKILL), 0);
    reap(pid);
    assert_int_equal(admit("n", &c, &b), 0);
    ledger_release(&b);
}

#define RACERS 12

static void admissions_at_once_never_exceed_the_capacity(void **state)
{
    struct ledger_capacity c = roomy;
    int result[2] = {-1, -1};
    int go[2] = {-1, -1};
    pid_t pids[RACERS];
    size_t admitted = 0;

    c.machines = 3;
    assert_int_equal(pipe2(result, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    for (size_t i = 0; i < RACERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct ledger_slot slot = LEDGER_SLOT_INIT;
            char byte = 0;
            char id[16];

            (void)close(go[1]);
            (void)snprintf(id, sizeof(id), "racer-%zu", i);
            if (read(go[0], &byte, 1) < 0) { /* all start at its end of file */
                _exit(1);
            }
            byte = admit(id, &c, &slot) == 0 ? 'y' : 'n';
            if (write(result[1], &byte, 1) != 1) {
                _exit(1);
            }
            for (;;) {
                (void)pause();
            }
        }
    }
    (void)close(go[0]);
    (void)close(go[1]);
    for (size_t i = 0; i < RACERS; i++) {
        char byte = 0;

        assert_int_equal(read(result[0], &byte, 1), 1);
        admitted += byte == 'y';
    }
    for (size_t i = 0; i < RACERS; i++) {
        assert_int_equal(kill(pids[i], SIGKILL), 0);
        reap(pids[i]);
    }
    (void)close(result[0]);
    (void)close(result[1]);
    assert_int_equal(admitted, 3);
}

static int put_slot(const char *name, const char *text)
{
    char path[80];
    int fd = -1;

    (void)mkdirat(store, "slots", 0700);
    (void)snprintf(path, sizeof(path), "slots/%s", name);
    fd = openat(store, path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void a_damaged_slot_that_is_held_counts_as_everything(void **state)
{
    auto_fd int fd = put_slot("4", "nonsense");
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_need n = need("m");
    struct err err = ERR_INIT;

    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(ledger_admit(store, &n, &roomy, &a, &err), -EAGAIN);
    assert_non_null(strstr(err.msg, "slots/4"));
    fd_close_p(&fd);
    assert_int_equal(admit("m", &roomy, &a), 0);
    ledger_release(&a);
}

static void a_damaged_slot_that_nobody_holds_is_reported_and_can_be_cleared(void **state)
{
    static const char *const texts[] = {
        "x",
        "airlock slot 1\n",
        "airlock slot 1\nid=../../etc\nmemory=1\n",
        "airlock slot 1\nid=a\nmemory=99999999999999999999999999\n",
        ("airlock slot 1\nid=a\nmemory=1\nvcpus=1\ndisk=1\nuid=0\npid=1\nstart=1\nmonitor=0\n"
         "monitor_start=0\nend\n"),
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        auto_fd int fd = put_slot("0", texts[i]);
        auto_fd int other = put_slot("00", texts[i]); /* no slot's name: left alone */
        struct ledger_slot a = LEDGER_SLOT_INIT;
        struct found found = {0};
        struct err err = ERR_INIT;

        assert_true(fd >= 0 && other >= 0);
        assert_int_equal(admit("m", &roomy, &a), 0);
        assert_int_equal(a.number, 1);
        assert_ok(ledger_stale(store, remember, &found, &err), &err);
        assert_int_equal(found.n, 1);
        assert_int_equal(found.last.number, 0);
        assert_false(found.last.readable);
        assert_string_equal(found.last.machine_id, "");
        assert_true(found.last.why[0] != '\0');
        assert_ok(ledger_clear(store, &found.last, &err), &err);
        assert_false(has_file("0"));
        ledger_release(&a);
    }
}

static void clearing_what_is_in_use_again_is_refused(void **state)
{
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct found found = {0};
    struct err err = ERR_INIT;

    reap(holder("dead", &roomy, false));
    assert_ok(ledger_stale(store, remember, &found, &err), &err);
    assert_ok(ledger_clear(store, &found.last, &err), &err);
    assert_int_equal(admit("new", &roomy, &a), 0);
    assert_int_equal(a.number, found.last.number);
    assert_int_equal(ledger_clear(store, &found.last, &err), -EBUSY);
    assert_true(has_file("0"));
    ledger_release(&a);
}

static void memory_that_the_monitor_has_is_not_counted_twice(void **state)
{
    struct ledger_capacity c = roomy;
    struct ledger_need big = need("big");
    struct ledger_need next = need("next");
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;
    char *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    memset(memory, 1, 64 * MIB);
    c.memory_available_bytes = 150 * MIB + MIB;
    assert_ok(ledger_admit(store, &big, &c, &a, &err), &err);
    assert_int_equal(ledger_admit(store, &next, &c, &b, &err), -ENOMEM);
    assert_non_null(strstr(err.msg, "memory available"));
    err = (struct err)ERR_INIT;
    assert_ok(ledger_note_monitor(&a, getpid(), UINT64_MAX, &err), &err);
    assert_ok(ledger_admit(store, &next, &c, &b, &err), &err);
    assert_int_equal(munmap(memory, 64 * MIB), 0);
    ledger_release(&a);
    ledger_release(&b);
}

static void disk_that_a_machine_has_written_is_not_counted_twice(void **state)
{
    struct ledger_capacity c = roomy;
    struct ledger_need first = need("first");
    struct ledger_need next = need("next");
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;

    c.disk_free_bytes = 15 * MIB + MIB; /* one and a half */
    assert_ok(ledger_admit(store, &first, &c, &a, &err), &err);
    assert_int_equal(ledger_admit(store, &next, &c, &b, &err), -ENOSPC);
    err = (struct err)ERR_INIT;
    assert_ok(ledger_note_monitor(&a, getpid(), 6 * MIB, &err), &err);
    assert_int_equal(ledger_admit(store, &next, &c, &b, &err), -ENOSPC);
    err = (struct err)ERR_INIT;
    assert_ok(ledger_note_monitor(&a, getpid(), 5 * MIB, &err), &err);
    assert_ok(ledger_admit(store, &next, &c, &b, &err), &err); /* exactly full */
    ledger_release(&b);
    /* It never grows again, whatever is said later. */
    assert_ok(ledger_note_monitor(&a, getpid(), 9 * MIB, &err), &err);
    assert_ok(ledger_admit(store, &next, &c, &b, &err), &err);
    ledger_release(&a);
    ledger_release(&b);
}

static struct ledger_need with_disk(struct ledger_need need, uint64_t disk_bytes)
{
    need.disk_bytes = disk_bytes;
    return need;
}

static int set_disk(struct ledger_slot *slot, const char *id, uint64_t disk_bytes,
                    const struct ledger_capacity *c, struct err *err)
{
    const struct ledger_need n = with_disk(need(id), disk_bytes);

    return ledger_set_need(slot, store, &n, c, err);
}

static void a_machine_gets_more_disk_only_if_the_host_has_it(void **state)
{
    struct ledger_capacity c = roomy;
    struct ledger_need first = need("first");
    struct ledger_need next = need("next");
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;

    c.disk_free_bytes = 25 * MIB + MIB; /* two and a half */
    assert_ok(ledger_admit(store, &first, &c, &a, &err), &err);
    assert_int_equal(set_disk(&a, "first", 25 * MIB + 1, &c, &err), -ENOSPC);
    assert_non_null(strstr(err.msg, "disk"));
    err = (struct err)ERR_INIT;
    assert_ok(ledger_admit(store, &next, &c, &b, &err), &err); /* the slot is as before */
    assert_int_equal(set_disk(&a, "first", 15 * MIB + 1, &c, &err), -ENOSPC);
    err = (struct err)ERR_INIT;
    assert_ok(set_disk(&a, "first", 15 * MIB, &c, &err), &err); /* exactly full */
    assert_int_equal(set_disk(&b, "next", 10 * MIB + 1, &c, &err), -ENOSPC);
    err = (struct err)ERR_INIT;
    assert_ok(set_disk(&a, "first", MIB, &c, &err), &err); /* less is always fine */
    assert_ok(set_disk(&b, "next", 24 * MIB, &c, &err), &err);
    ledger_release(&a);
    ledger_release(&b);
}

static void a_machine_that_waits_takes_little_until_it_has_a_job(void **state)
{
    struct ledger_capacity c = roomy;
    const struct ledger_need first = need("first");
    const struct ledger_need next = need("next");
    const struct ledger_need waiting = {.memory_bytes = MIB};
    struct ledger_usage usage = {.machines = 9};
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;

    c.machines = 1;
    c.vcpus = first.vcpus;
    c.memory_total_bytes = c.memory_reserve_bytes + first.memory_bytes + MIB;
    assert_ok(ledger_admit(store, &first, &c, &a, &err), &err);
    assert_ok(ledger_set_need(&a, store, &waiting, &c, &err), &err);
    assert_ok(ledger_usage(store, &c, &usage, &err), &err);
    assert_int_equal(usage.machines, 0);
    assert_int_equal(usage.memory_bytes, MIB);
    assert_ok(ledger_admit(store, &next, &c, &b, &err), &err); /* another takes the place */
    assert_int_equal(ledger_set_need(&a, store, &first, &c, &err), -EAGAIN);
    assert_non_null(strstr(err.msg, "machines"));
    err = (struct err)ERR_INIT;
    c.machines = 2;
    assert_int_equal(ledger_set_need(&a, store, &first, &c, &err), -EAGAIN);
    assert_non_null(strstr(err.msg, "vCPUs"));
    err = (struct err)ERR_INIT;
    c.vcpus *= 2;
    assert_int_equal(ledger_set_need(&a, store, &first, &c, &err), -ENOMEM);
    err = (struct err)ERR_INIT;
    ledger_release(&b);
    assert_ok(ledger_set_need(&a, store, &first, &c, &err), &err);
    assert_int_equal(ledger_admit(store, &next, &c, &b, &err), -ENOMEM);
    ledger_release(&a);
}

static void uids_are_the_slots_own_and_out_of_everybodys_range(void **state)
{
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;

    assert_int_equal(admit("a", &roomy, &a), 0);
    assert_int_equal(admit("b", &roomy, &b), 0);
    assert_int_equal(b.uid, a.uid + 1);
    assert_in_range(a.uid, LEDGER_UID_BASE, LEDGER_UID_END - 2);
    assert_int_equal(ledger_uid(UINT64_MAX, LEDGER_NUMBERS - 1) / LEDGER_NUMBERS,
                     ledger_uid(UINT64_MAX, 0) / LEDGER_NUMBERS);
    assert_true(ledger_uid(LEDGER_UID_WINDOWS - 1, LEDGER_NUMBERS - 1) < LEDGER_UID_END);
    ledger_release(&a);
    ledger_release(&b);
}

static enum ledger_held held(const char *id)
{
    enum ledger_held ret = LEDGER_HELD_DEAD;
    struct err err = ERR_INIT;

    assert_ok(ledger_held(store, id, &ret, &err), &err);
    return ret;
}

/* As the reaper does, a child shares the lock: who has a slot is alive until both are gone. */
static void who_is_left_of_a_machine_is_told(void **state)
{
    struct ledger_slot slot = LEDGER_SLOT_INIT;
    auto_fd int pipe_wr = -1;
    int pipes[2] = {-1, -1};
    pid_t holder = 0;
    char byte = 0;

    (void)state;
    assert_int_equal(held("m1"), LEDGER_HELD_NOT);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pipe_wr = pipes[1];
    holder = fork();
    if (holder == 0) {
        pid_t reaper = admit("m1", &roomy, &slot) == 0 ? fork() : -1;

        if (reaper == 0) {
            (void)close(pipe_wr);
            (void)!read(pipes[0], &byte, 1); /* until the test closes its end */
            _exit(0);
        }
        _exit(reaper < 0);
    }
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_int_equal(held("m1"), LEDGER_HELD_LIVE); /* the reaper */
    assert_int_equal(held("m2"), LEDGER_HELD_NOT);
    fd_close_p(&pipe_wr);
    for (int i = 0; i < 100 && held("m1") == LEDGER_HELD_LIVE; i++) {
        (void)usleep(20000);
    }
    assert_int_equal(held("m1"), LEDGER_HELD_DEAD);
    assert_int_equal(held("m2"), LEDGER_HELD_NOT);
    (void)close(pipes[0]);
}

static void only_our_own_ownerless_groups_are_stale(void **state)
{
    static const char *const others[] = {"", "abc", "live.0123456789abcdef", ".", "..", "a.b.c"};
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;
    char group[CGROUP_NAME_SIZE];
    bool stale = true;

    assert_int_equal(admit("live", &roomy, &a), 0);
    (void)snprintf(group, sizeof(group), "%s", a.group);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_ok(ledger_group_is_stale(store, others[i], &stale, &err), &err);
        assert_false(stale);
    }
    assert_ok(ledger_group_is_stale(store, group, &stale, &err), &err);
    assert_false(stale);
    {
        auto_fd int fd = put_slot("7", "damaged, held: it could be anybody's");

        ledger_release(&a);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_ok(ledger_group_is_stale(store, group, &stale, &err), &err);
        assert_false(stale);
    }
    assert_ok(ledger_group_is_stale(store, group, &stale, &err), &err);
    assert_true(stale);
}

static void a_directory_that_others_may_write_and_links_are_refused(void **state)
{
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_need n = need("m");

    assert_int_equal(mkdirat(store, "slots", 0700), 0);
    assert_int_equal(fchmodat(store, "slots", 0770, 0), 0);
    {
        struct err err = ERR_INIT;

        assert_int_equal(ledger_admit(store, &n, &roomy, &a, &err), -EPERM);
    }
    assert_int_equal(fchmodat(store, "slots", 0700, 0), 0);
    assert_int_equal(symlinkat("/dev/null", store, "slots/0"), 0);
    {
        struct err err = ERR_INIT;

        assert_int_equal(ledger_admit(store, &n, &roomy, &a, &err), -ELOOP);
        assert_non_null(strstr(err.msg, "slots/0"));
    }
}

static void a_bad_machine_id_is_refused(void **state)
{
    static const char *const ids[] = {"", "a/b", "A", "-a", "a b", "a.b"};

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct ledger_need n = need(ids[i]);
        struct ledger_slot a = LEDGER_SLOT_INIT;
        struct err err = ERR_INIT;

        assert_int_equal(ledger_admit(store, &n, &roomy, &a, &err), -EINVAL);
    }
}

static void the_hosts_own_numbers_admit_a_small_machine(void **state)
{
    struct ledger_capacity defaults = {0};
    struct ledger_need small = {"small", MIB, 1, MIB};
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct err err = ERR_INIT;

    assert_ok(ledger_admit(store, &small, &defaults, &a, &err), &err);
    ledger_release(&a);
}

static void usage_is_what_admissions_go_by(void **state)
{
    struct ledger_slot a = LEDGER_SLOT_INIT;
    struct ledger_slot b = LEDGER_SLOT_INIT;
    struct ledger_need n = need("one");
    struct ledger_usage u = {.machines = 9};
    struct err err = ERR_INIT;

    assert_ok(ledger_usage(store, &roomy, &u, &err), &err);
    assert_int_equal(u.machines, 0);
    assert_int_equal(u.capacity.vcpus, roomy.vcpus);
    assert_ok(admit("one", &roomy, &a), &err);
    assert_ok(admit("two", &roomy, &b), &err);
    assert_ok(ledger_usage(store, &roomy, &u, &err), &err);
    assert_int_equal(u.machines, 2);
    assert_int_equal(u.memory_bytes, 2 * n.memory_bytes);
    assert_int_equal(u.untouched_bytes, 2 * n.memory_bytes);
    assert_int_equal(u.vcpus, 2 * n.vcpus);
    assert_int_equal(u.disk_bytes, 2 * n.disk_bytes);
    assert_false(u.blocked);
    ledger_release(&a);
    ledger_release(&b);
    assert_ok(ledger_usage(store, &roomy, &u, &err), &err);
    assert_int_equal(u.machines, 0);
}

#define S(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(S(one_machine_too_many_is_refused_until_one_goes),
          S(each_resource_is_summed_to_its_edge_and_named),
          S(sums_that_overflow_are_full_and_not_small),
          S(a_killed_holder_frees_its_room_but_not_its_number),
          S(a_holder_that_exits_frees_its_room),
          S(a_forked_child_that_kept_the_slot_keeps_the_room),
          S(admissions_at_once_never_exceed_the_capacity),
          S(a_damaged_slot_that_is_held_counts_as_everything),
          S(a_damaged_slot_that_nobody_holds_is_reported_and_can_be_cleared),
          S(clearing_what_is_in_use_again_is_refused),
          S(memory_that_the_monitor_has_is_not_counted_twice),
          S(disk_that_a_machine_has_written_is_not_counted_twice),
          S(a_machine_gets_more_disk_only_if_the_host_has_it),
          S(a_machine_that_waits_takes_little_until_it_has_a_job),
          S(uids_are_the_slots_own_and_out_of_everybodys_range),
          S(who_is_left_of_a_machine_is_told), S(only_our_own_ownerless_groups_are_stale),
          S(a_directory_that_others_may_write_and_links_are_refused),
          S(a_bad_machine_id_is_refused), S(the_hosts_own_numbers_admit_a_small_machine),
          S(usage_is_what_admissions_go_by))
