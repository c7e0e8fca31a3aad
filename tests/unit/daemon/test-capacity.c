#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/capacity.h"
#include "sup/engine.h"
#include "sup/need.h"
#include "sys/fd.h"
#include "test.h"

static const struct capacity_config all_given = {
    .host =
        {
            .machines = 10,
            .memory_total_bytes = 8 * GIB,
            .memory_available_bytes = 6 * GIB,
            .memory_reserve_bytes = GIB,
            .vcpus = 16,
            .vcpus_per_cpu = 4,
            .disk_free_bytes = 50 * GIB,
            .disk_reserve_bytes = 10 * GIB,
        },
    .processes = 5000,
    .fds = 400,
};

static void what_the_config_says_is_not_asked_of_the_host(void **state)
{
    struct capacity c = {0};
    struct err err = ERR_INIT;

    assert_ok(capacity_read(-1, &all_given, &c, &err), &err);
    assert_int_equal(c.total.machines, 10);
    assert_int_equal(c.total.memory_bytes, 7 * GIB);
    assert_int_equal(c.memory_available_bytes, 5 * GIB);
    assert_int_equal(c.total.vcpus, 16);
    assert_int_equal(c.total.disk_bytes, 40 * GIB);
    assert_int_equal(c.total.processes, 5000);
    assert_int_equal(c.total.fds, 400);
}

static void without_a_config_the_host_is_asked(void **state)
{
    const struct capacity_config nothing = {0};
    auto_fd int fd = open("/tmp", O_RDONLY | O_CLOEXEC);
    struct capacity c = {0};
    struct err err = ERR_INIT;

    assert_ok(capacity_read(fd, &nothing, &c, &err), &err);
    assert_int_equal(c.total.machines, 64);
    assert_true(c.total.memory_bytes > 0 && c.memory_available_bytes <= c.total.memory_bytes);
    assert_true(c.total.vcpus >= 4 && c.total.vcpus % 4 == 0);
    assert_true(c.total.processes >= 100);
    assert_true(c.total.fds >= 100);
}

static void less_than_the_reserve_is_nothing(void **state)
{
    struct capacity_config config = all_given;
    const struct capacity_load idle = {0};
    struct capacity_need room;
    struct capacity c = {0};
    struct err err = ERR_INIT;
    enum capacity_resource what = CAPACITY_FDS;
    const struct capacity_need need = {.machines = 1, .memory_bytes = 1};

    config.host.memory_available_bytes = GIB / 2;
    assert_ok(capacity_read(-1, &config, &c, &err), &err);
    capacity_free(&c, &idle, &room);
    assert_int_equal(room.memory_bytes, 0);
    assert_false(capacity_fits(&room, &need, &what));
    assert_int_equal(what, CAPACITY_MEMORY);
}

static void a_host_that_cannot_be_read_is_an_error(void **state)
{
    struct capacity_config config = all_given;
    struct capacity c = {0};
    struct err err = ERR_INIT;

    config.host.disk_free_bytes = 0;
    assert_true(capacity_read(-1, &config, &c, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
}

/* The queue must not know other numbers than the ledger is asked for. */
static void a_spec_needs_here_what_the_supervisor_asks_the_ledger_for(void **state)
{
    auto_spec struct spec spec;
    struct capacity_need need;
    struct ledger_need asked;

    spec_init(&spec);
    spec.limits.memory_bytes = 300 * MIB;
    spec.limits.vcpus = 2;
    capacity_need_of(&spec, &need);
    asked = need_of_spec(&spec, NULL, true);
    assert_int_equal(need.machines, 1);
    assert_int_equal(need.memory_bytes, asked.memory_bytes);
    assert_int_equal(need.memory_bytes, (448 + 192) * MIB); /* whichever engine it will be */
    assert_int_equal(need.vcpus, 2);
    assert_int_equal(asked.disk_bytes,
                     spec.limits.disk_bytes + spec.limits.output_bytes + spec.limits.input_bytes);
    /* Outputs once more, and streams: they are written to the daemon's files while all that is there. */
    assert_int_equal(need.disk_bytes, asked.disk_bytes + spec.limits.output_bytes +
                                          spec.limits.stdout_bytes + spec.limits.stderr_bytes);
    assert_true(need.processes > 0 && need.fds > 0);
}

static void each_engine_has_its_own_need(void **state)
{
    auto_spec struct spec spec;
    uint64_t tcg = (448 + 192) * MIB;
    uint64_t kvm = (448 + 32 + 448 / 32) * MIB;

    spec_init(&spec);
    spec.limits.memory_bytes = 300 * MIB;
    assert_int_equal(need_of_spec(&spec, &engine_tcg, true).memory_bytes, tcg);
    assert_int_equal(need_of_spec(&spec, &engine_kvm, true).memory_bytes, kvm);
    spec.engine = SPEC_ENGINE_KVM;
    assert_int_equal(need_of_spec(&spec, NULL, true).memory_bytes, kvm);
    spec.engine = SPEC_ENGINE_TCG;
    assert_int_equal(need_of_spec(&spec, NULL, true).memory_bytes, tcg);
    /* Not chosen: enough for either, also where tables of pages are the most of it. */
    assert_int_equal(engine_group_bytes(NULL, 448 * MIB), (448 + 192) * MIB);
    assert_int_equal(engine_group_bytes(NULL, 64 * GIB), 64 * GIB + (32 + 2048) * MIB);
}

static void a_machine_that_waits_for_a_job_may_get_stdin(void **state)
{
    auto_spec struct spec spec;
    uint64_t without = 0;

    spec_init(&spec);
    without = need_of_spec(&spec, NULL, true).disk_bytes;
    assert_int_equal(need_of_spec(&spec, NULL, false).disk_bytes,
                     without + spec.limits.stdin_bytes);
    spec.stdin_data = calloc(1, 1);
    spec.stdin_len = 1;
    assert_int_equal(need_of_spec(&spec, NULL, true).disk_bytes, without + spec.limits.stdin_bytes);
    spec.archive_data = calloc(1, 1);
    spec.archive_len = 1;
    assert_int_equal(need_of_spec(&spec, NULL, true).disk_bytes,
                     without + spec.limits.stdin_bytes + spec.limits.input_bytes + 1);
}

static void memory_that_is_promised_but_untouched_is_not_given_twice(void **state)
{
    const struct capacity c = {
        .total = {.machines = 10, .memory_bytes = 8 * GIB, .vcpus = 8},
        .memory_available_bytes = 3 * GIB,
    };
    struct capacity_load load = {
        .promised = {.machines = 2, .memory_bytes = 2 * GIB, .vcpus = 3},
        .untouched_bytes = 2 * GIB,
    };
    struct capacity_need room;

    capacity_free(&c, &load, &room); /* something else holds most of it */
    assert_int_equal(room.machines, 8);
    assert_int_equal(room.vcpus, 5);
    assert_int_equal(room.memory_bytes, GIB);
    load.untouched_bytes = GIB / 2; /* touched: MemAvailable does not have it any more */
    capacity_free(&c, &load, &room);
    assert_int_equal(room.memory_bytes, 2 * GIB + GIB / 2);
    load.promised.memory_bytes = 7 * GIB; /* the sum of promises counts too */
    capacity_free(&c, &load, &room);
    assert_int_equal(room.memory_bytes, GIB);
    load.promised = (struct capacity_need){.machines = 99, .memory_bytes = UINT64_MAX};
    capacity_free(&c, &load, &room);
    assert_int_equal(room.machines, 0);
    assert_int_equal(room.memory_bytes, 0);
}

static void each_resource_alone_can_be_short_and_is_named(void **state)
{
    static const char *const names[] = {"machines", "memory", "vcpus", "disk", "processes", "fds"};
    const struct capacity_need room = {2, 20, 200, 2000, 20000, 200000};

    assert_int_equal(ARRAY_LEN(names), CAPACITY_RESOURCES);
    assert_true(capacity_fits(&room, &room, NULL));
    for (size_t i = 0; i < CAPACITY_RESOURCES; i++) {
        enum capacity_resource what = CAPACITY_RESOURCES;
        struct capacity_need need = {0};
        uint64_t *values[] = {&need.machines,   &need.memory_bytes, &need.vcpus,
                              &need.disk_bytes, &need.processes,    &need.fds};

        *values[i] = capacity_get(&room, (enum capacity_resource)i) + 1;
        assert_false(capacity_fits(&room, &need, &what));
        assert_int_equal(what, i);
        assert_string_equal(capacity_name(what), names[i]);
    }
}

static void sums_come_back_and_never_wrap(void **state)
{
    const struct capacity_need one = {1, 2, 3, 4, 5, 6};
    const struct capacity_need most = {UINT64_MAX, UINT64_MAX, 0, 0, 0, 0};
    const struct capacity_need zero = {0};
    struct capacity_need sum = {0};

    capacity_add(&sum, &one);
    capacity_add(&sum, &one);
    capacity_sub(&sum, &one);
    assert_memory_equal(&sum, &one, sizeof(one));
    capacity_sub(&sum, &one);
    assert_memory_equal(&sum, &zero, sizeof(zero));
    capacity_sub(&sum, &one);
    assert_memory_equal(&sum, &zero, sizeof(zero));
    capacity_add(&sum, &one);
    capacity_add(&sum, &most);
    assert_int_equal(sum.machines, UINT64_MAX);
    assert_int_equal(sum.vcpus, 3);
}

static void a_share_is_that_of_the_scarcest_resource(void **state)
{
    const struct capacity_need total = {100, 1000, 10, UINT64_MAX, 0, 50};
    struct capacity_need need = {.machines = 1, .memory_bytes = 100, .vcpus = 5};

    assert_int_equal(capacity_share(&total, &need), 500000);
    need.memory_bytes = 900;
    assert_int_equal(capacity_share(&total, &need), 900000);
    need.disk_bytes = UINT64_MAX / 2;
    assert_int_equal(capacity_share(&total, &need), 900000);
    need.memory_bytes = 5000;
    assert_int_equal(capacity_share(&total, &need), 1000000);
    need = (struct capacity_need){0};
    assert_int_equal(capacity_share(&total, &need), 1);
}

TEST_MAIN(T(what_the_config_says_is_not_asked_of_the_host), T(without_a_config_the_host_is_asked),
          T(less_than_the_reserve_is_nothing), T(a_host_that_cannot_be_read_is_an_error),
          T(a_spec_needs_here_what_the_supervisor_asks_the_ledger_for),
          T(each_engine_has_its_own_need), T(a_machine_that_waits_for_a_job_may_get_stdin),
          T(memory_that_is_promised_but_untouched_is_not_given_twice),
          T(each_resource_alone_can_be_short_and_is_named), T(sums_come_back_and_never_wrap),
          T(a_share_is_that_of_the_scarcest_resource))
