/* What is remembered of KVM, for how long, and who finds out again: with a probe that the case plays. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "store-dir.h"
#include "sup/engine-vmm.h"
#include "sup/engine.h"
#include "sys/clock.h"
#include "test.h"

static struct engine_probe next; /* what the next probe finds */
static int next_fails;           /* its errno; 0: it can be made */
static size_t probes;
static time_t ahead_s;  /* of the clock */
static bool during_due; /* what another asker is told while a probe is made */

int __wrap_engine_probe(const struct engine_wish *wish, const struct engine *engine,
                        struct engine_probe *ret, struct err *err);
int __real_fd_open(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
                   struct err *err);
int __wrap_fd_open(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
                   struct err *err);
int __wrap_vmm_find(char ret[VMM_PATH_MAX], struct err *err);
int __wrap_store_read_kernel(const struct store *s, struct kernel_manifest *ret, struct err *err);
int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

static struct store state_of(void)
{
    return (struct store){.path = root, .dirfd = store, .tmpfd = -1};
}

int __wrap_engine_probe(const struct engine_wish *wish, const struct engine *engine,
                        struct engine_probe *ret, struct err *err)
{
    struct engine_wish other = {.store = wish->store};
    struct engine_probe told = {.works = false};

    assert_ptr_equal(engine, &engine_kvm);
    if (probes++ > 0 && wish->again) {
        assert_ok(engine_probe_kvm(&other, false, &told, err), err);
        during_due = told.due;
    }
    if (next_fails != 0) {
        return err_set(err, ERR_HOST, next_fails, "played");
    }
    *ret = next;
    return 0;
}

int __wrap_fd_open(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
                   struct err *err)
{
    return __real_fd_open(dirfd, strcmp(path, "/dev/kvm") == 0 ? "/dev/null" : path, flags, mode,
                          ret_fd, err);
}

int __wrap_vmm_find(char ret[VMM_PATH_MAX], struct err *err)
{
    (void)err;
    (void)snprintf(ret, VMM_PATH_MAX, "/dev/null"); /* a device: it is settled */
    return 0;
}

int __wrap_store_read_kernel(const struct store *s, struct kernel_manifest *ret, struct err *err)
{
    (void)s;
    (void)err;
    memset(ret, 0, sizeof(*ret));
    (void)snprintf(ret->initramfs.digest.hex, sizeof(ret->initramfs.digest.hex), "abc");
    return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    int r = __real_clock_gettime(id, ret);

    ret->tv_sec += id == CLOCK_BOOTTIME ? ahead_s : 0;
    return r;
}

static int set_up(void **state)
{
    next = (struct engine_probe){.works = false};
    next_fails = 0;
    probes = 0;
    ahead_s = 0;
    during_due = false;
    return make_store(state);
}

#define D(f) cmocka_unit_test_setup_teardown(f, set_up, drop_store)

/* As a job does that accepts nothing else, or anything. 0 and the engine's name, or NULL. */
static const char *job(bool must)
{
    const struct store s = state_of();
    const struct engine_wish wish = {
        .store = &s, .wanted = must ? SPEC_ENGINE_KVM : SPEC_ENGINE_AUTO, .again = true};
    const struct engine *engine = NULL;
    struct err err = ERR_INIT;

    return engine_select(&wish, &engine, &err) == 0 ? engine->name : NULL;
}

static void a_probe_that_was_late_is_made_again_by_whom_it_serves(void **state)
{
    (void)state;
    next = (struct engine_probe){.late = true, .why = "the guest did not answer in time"};
    assert_string_equal(job(false), "tcg");
    assert_null(job(true));
    assert_int_equal(probes, 1);
    ahead_s = (time_t)(ENGINE_AGAIN_NS / NS_PER_S) - 5;
    assert_null(job(true));
    assert_int_equal(probes, 1); /* not yet */
    ahead_s += 10;
    assert_string_equal(job(false), "tcg");
    assert_int_equal(probes, 1); /* it runs without */
    assert_null(job(true));
    assert_int_equal(probes, 2);
    assert_false(during_due); /* nobody else tries meanwhile */
    assert_null(job(true));
    assert_int_equal(probes, 2); /* late again: another hour */
    ahead_s += (time_t)(ENGINE_AGAIN_NS / NS_PER_S) + 5;
    next = (struct engine_probe){.works = true};
    assert_string_equal(job(true), "kvm");
    assert_string_equal(job(false), "kvm");
    assert_int_equal(probes, 3);
    ahead_s += 100 * (time_t)(ENGINE_AGAIN_NS / NS_PER_S);
    assert_string_equal(job(false), "kvm"); /* a proof stays one */
    assert_int_equal(probes, 3);
}

static void what_was_proved_to_fail_is_not_tried_again(void **state)
{
    (void)state;
    next = (struct engine_probe){.why = "it ended by a signal"};
    assert_null(job(true));
    ahead_s = 100 * (time_t)(ENGINE_AGAIN_NS / NS_PER_S);
    assert_null(job(true));
    assert_int_equal(probes, 1);
}

static void a_probe_that_could_not_be_made_leaves_what_was_known(void **state)
{
    (void)state;
    next = (struct engine_probe){.late = true, .why = "late"};
    assert_null(job(true));
    ahead_s = (time_t)(ENGINE_AGAIN_NS / NS_PER_S) + 5;
    next_fails = ECANCELED;
    assert_null(job(true));
    assert_null(job(true)); /* still due */
    assert_int_equal(probes, 3);
    next_fails = 0;
    assert_null(job(true));
    assert_null(job(true));
    assert_int_equal(probes, 4);
}

/* Who only looks is told, and waits for nothing. */
static void who_cannot_wait_is_told_that_it_is_due(void **state)
{
    const struct store s = state_of();
    const struct engine_wish wish = {.store = &s};
    struct engine_probe told = {.works = false};
    struct err err = ERR_INIT;

    (void)state;
    next = (struct engine_probe){.late = true, .why = "late, and why"};
    assert_null(job(true));
    assert_ok(engine_probe_kvm(&wish, false, &told, &err), &err);
    assert_true(told.late && told.remembered && !told.due);
    ahead_s = (time_t)(ENGINE_AGAIN_NS / NS_PER_S) + 5;
    assert_ok(engine_probe_kvm(&wish, false, &told, &err), &err);
    assert_true(told.late && told.remembered && told.due);
    assert_string_equal(told.why, "late, and why");
    assert_int_equal(probes, 1);
    assert_ok(engine_probe_kvm(&wish, true, &told, &err), &err); /* the doctor */
    assert_int_equal(probes, 2);
}

TEST_MAIN(D(a_probe_that_was_late_is_made_again_by_whom_it_serves),
          D(what_was_proved_to_fail_is_not_tried_again),
          D(a_probe_that_could_not_be_made_leaves_what_was_known),
          D(who_cannot_wait_is_told_that_it_is_due))
