/* Which machine fits which job: told from the manifests, and never the wrong one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "store-objects.h"
#include "sup/class.h"
#include "sup/engine.h"
#include "sys/fd.h"
#include "test.h"

static char dir[64];
static struct store store = STORE_INIT;

static int make(void **state)
{
    struct err err = ERR_INIT;

    if (test_fds_before(state) != 0) {
        return 1;
    }
    (void)snprintf(dir, sizeof(dir), "/tmp/airlock-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_ok(store_open(dir, &store, &err), &err);
    add_image(&store, "python", "python's root");
    add_image(&store, "javascript", "node's root");
    add_kernel(&store, "kernel");
    return 0;
}

static int drop(void **state)
{
    struct err err = ERR_INIT;

    store_fini(&store);
    store = (struct store)STORE_INIT;
    return fd_remove_tree(AT_FDCWD, dir, &err) < 0 || test_fds_after(state) != 0;
}

static void make_spec(struct spec *spec, enum spec_language language)
{
    spec_init(spec);
    spec->language = language;
}

static struct machine_class class_now(const struct spec *spec)
{
    struct machine_class class = {.vcpus = 0};
    struct err err = ERR_INIT;

    assert_ok(class_of(&store, spec, &class, &err), &err);
    return class;
}

static void what_a_machine_is_made_of_is_its_class(void **state)
{
    auto_spec struct spec a;
    auto_spec struct spec b;
    struct machine_class first;
    struct machine_class other;

    (void)state;
    make_spec(&a, SPEC_PYTHON);
    make_spec(&b, SPEC_PYTHON);
    first = class_now(&a);
    assert_true(first.memory_bytes == engine_machine_bytes(256 * MIB));
    b.limits.memory_bytes = 250 * MIB; /* the same machine */
    b.limits.wall_ns = NS_PER_S;
    other = class_now(&b);
    assert_true(class_equal(&first, &other));
    b.limits.disk_bytes = 5 * MIB; /* a disk of default size is mounted already */
    other = class_now(&b);
    assert_false(class_equal(&first, &other));
    b.limits.disk_bytes = a.limits.disk_bytes;
    b.root = true; /* and is not root's, nor is the interpreter that waits */
    other = class_now(&b);
    assert_false(class_equal(&first, &other));
    b.root = false;
    b.cold_interpreter = true;
    other = class_now(&b);
    assert_false(class_equal(&first, &other));
    b.cold_interpreter = false;
    b.limits.memory_bytes = 300 * MIB;
    other = class_now(&b);
    assert_false(class_equal(&first, &other));
    b.limits.memory_bytes = 256 * MIB;
    b.limits.vcpus = 2;
    other = class_now(&b);
    assert_false(class_equal(&first, &other));
    b.limits.vcpus = 1;
    b.language = SPEC_JAVASCRIPT;
    other = class_now(&b);
    assert_false(class_equal(&first, &other));
}

static void a_new_image_or_kernel_is_another_class(void **state)
{
    auto_spec struct spec spec;
    struct machine_class before;
    struct machine_class after;

    (void)state;
    make_spec(&spec, SPEC_PYTHON);
    before = class_now(&spec);
    add_image(&store, "python", "a newer root");
    after = class_now(&spec);
    assert_false(class_equal(&before, &after));
    before = after;
    add_kernel(&store, "a newer kernel");
    after = class_now(&spec);
    assert_false(class_equal(&before, &after));
}

static void an_image_that_is_not_there_has_no_class(void **state)
{
    auto_spec struct spec spec;
    struct machine_class class;
    struct err err = ERR_INIT;
    char pinned[160];

    (void)state;
    make_spec(&spec, SPEC_COMMAND);
    assert_int_equal(class_of(&store, &spec, &class, &err), -EINVAL);
    err = (struct err)ERR_INIT;
    assert_ok(spec_set_image(&spec, "nothing", &err), &err);
    assert_int_equal(class_of(&store, &spec, &class, &err), -ENOENT);
    err = (struct err)ERR_INIT;
    assert_ok(spec_set_image(&spec, "python", &err), &err);
    class = class_now(&spec);
    (void)snprintf(pinned, sizeof(pinned), "%s", class.image);
    assert_ok(spec_set_image(&spec, pinned, &err), &err);
    class = class_now(&spec);
    assert_string_equal(class.image, pinned);
    pinned[strlen(pinned) - 1] = pinned[strlen(pinned) - 1] == 'a' ? 'b' : 'a';
    assert_ok(spec_set_image(&spec, pinned, &err), &err);
    assert_int_equal(class_of(&store, &spec, &class, &err), -ENOENT);
}

static void a_model_has_the_class_that_it_was_made_from(void **state)
{
    auto_spec struct spec spec;
    auto_spec struct spec model;
    struct machine_class class;
    struct machine_class again;
    struct err err = ERR_INIT;

    (void)state;
    make_spec(&spec, SPEC_PYTHON);
    spec.limits.memory_bytes = 300 * MIB;
    spec.limits.vcpus = 3;
    spec.limits.inodes = 100;
    class = class_now(&spec);
    spec_init(&model);
    assert_ok(class_model(&class, &model, &err), &err);
    assert_true(model.limits.inodes == 100);
    again = class_now(&model);
    assert_true(class_equal(&class, &again));
    assert_true(class_fits(&store, &model, &spec));
    spec.limits.memory_bytes = 400 * MIB;
    assert_false(class_fits(&store, &model, &spec));
    spec.limits.memory_bytes = 300 * MIB;
    spec.limits.vcpus = 1;
    assert_false(class_fits(&store, &model, &spec));
    spec.limits.vcpus = 3;
    spec.language = SPEC_JAVASCRIPT;
    assert_false(class_fits(&store, &model, &spec));
    spec.language = SPEC_COMMAND;
    assert_false(class_fits(&store, &model, &spec));
    assert_ok(spec_set_image(&spec, "pytho", &err), &err);
    assert_false(class_fits(&store, &model, &spec));
    assert_ok(spec_set_image(&spec, "python", &err), &err);
    assert_false(class_fits(&store, &model, &spec)); /* no interpreter may wait for a command */
    spec.language = SPEC_PYTHON;
    assert_true(class_fits(&store, &model, &spec));
    spec.root = true;
    assert_false(class_fits(&store, &model, &spec));
    spec.root = false;
    spec.limits.inodes = 4096; /* the default: another disk than the model's */
    assert_false(class_fits(&store, &model, &spec));
    spec.limits.inodes = 101;
    assert_ok(spec_set_image(&spec, class.image, &err), &err);
    assert_true(class_fits(&store, &model, &spec));
    spec.isolation = SPEC_ISOLATION_HARDWARE;
    assert_false(class_fits(&store, &model, &spec));
}

#define C(f) cmocka_unit_test_setup_teardown(f, make, drop)

TEST_MAIN(C(what_a_machine_is_made_of_is_its_class), C(a_new_image_or_kernel_is_another_class),
          C(an_image_that_is_not_there_has_no_class),
          C(a_model_has_the_class_that_it_was_made_from))
