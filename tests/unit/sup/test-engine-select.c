#include <errno.h>
#include <string.h>

#include "store-dir.h"
#include "sup/engine.h"
#include "test.h"

static int choose(enum spec_engine wanted, enum spec_isolation weakest, const struct engine **ret,
                  struct err *err)
{
    const struct store empty = {.path = root, .dirfd = store, .tmpfd = -1};
    const struct engine_wish wish = {.store = &empty, .wanted = wanted, .weakest = weakest};

    return engine_select(&wish, ret, err);
}

/* No guest kernel is there, so none can have been booted. */
static void without_a_proof_auto_takes_tcg_and_nothing_else_is_replaced(void **state)
{
    static const struct {
        enum spec_engine wanted;
        enum spec_isolation weakest;
        const char *option;
    } refused[] = {
        {SPEC_ENGINE_KVM, SPEC_ISOLATION_EMULATED, "leave out --engine kvm"},
        {SPEC_ENGINE_KVM, SPEC_ISOLATION_HARDWARE, "leave out --engine kvm"},
        {SPEC_ENGINE_AUTO, SPEC_ISOLATION_HARDWARE, "leave out --isolation hardware"},
    };

    const struct engine *engine = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(choose(SPEC_ENGINE_AUTO, SPEC_ISOLATION_EMULATED, &engine, &err), &err);
    assert_ptr_equal(engine, &engine_tcg);
    assert_ok(choose(SPEC_ENGINE_TCG, SPEC_ISOLATION_EMULATED, &engine, &err), &err);
    assert_ptr_equal(engine, &engine_tcg);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        err = (struct err)ERR_INIT;
        assert_int_equal(choose(refused[i].wanted, refused[i].weakest, &engine, &err), -ENODEV);
        assert_int_equal(err.class, ERR_USAGE);
        assert_non_null(strstr(err.msg, refused[i].option));
    }
}

static void tcg_does_not_give_the_isolation_of_hardware(void **state)
{
    const struct engine *engine = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(choose(SPEC_ENGINE_TCG, SPEC_ISOLATION_HARDWARE, &engine, &err), -ENODEV);
    assert_int_equal(err.class, ERR_USAGE);
    assert_non_null(strstr(err.msg, "'emulated', not 'hardware'"));
}

static void two_engines_never_share_a_template(void **state)
{
    auto_buf struct buf tcg = BUF_INIT(64 * KIB);
    auto_buf struct buf kvm = BUF_INIT(64 * KIB);
    struct machine_config config = MACHINE_CONFIG_INIT;
    struct err err = ERR_INIT;

    (void)state;
    config.vcpus = 1;
    config.memory_bytes = 384 * MIB;
    assert_ok(engine_tcg.describe(&config, &tcg, &err), &err);
    assert_ok(engine_kvm.describe(&config, &kvm, &err), &err);
    assert_non_null(strstr((const char *)tcg.data, "mitigations=off"));
    assert_null(strstr((const char *)kvm.data, "mitigations=off"));
    assert_non_null(strstr((const char *)tcg.data, "-accel\ntcg,"));
    assert_non_null(strstr((const char *)kvm.data, "airlock-vmm\n"));
    assert_non_null(strstr((const char *)kvm.data, "cpuid 1.0: "));
}

#define D(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(D(without_a_proof_auto_takes_tcg_and_nothing_else_is_replaced),
          D(tcg_does_not_give_the_isolation_of_hardware), D(two_engines_never_share_a_template))
