#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store-dir.h"
#include "sup/jail-files.h"
#include "sys/memo.h"
#include "test.h"

static const char *target_of(const struct jail_files *files, const char *source)
{
    for (size_t i = 0; i < files->n; i++) {
        if (files->binds[i].source != NULL && strcmp(files->binds[i].source, source) == 0) {
            return files->binds[i].target;
        }
    }
    return NULL;
}

static void libraries_go_beside_libc_and_the_loader_stays(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(
        jail_files_add_list(&files,
                            "\tlinux-vdso.so.1 (0x00007f9b640c5000)\n"
                            "\tlibz.so.1 => /usr/local/lib/libz.so.1 (0x00007f9b64006000)\n"
                            "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f9b62600000)\n"
                            "\t/usr/lib/q/plug.so (0x00007f9b62600000)\n"
                            "\t/lib64/ld-linux-x86-64.so.2 (0x00007f9b640c7000)\n",
                            &err),
        &err);
    assert_int_equal(files.n, 4);
    assert_string_equal(target_of(&files, "/usr/local/lib/libz.so.1"),
                        "/lib/x86_64-linux-gnu/libz.so.1");
    assert_string_equal(target_of(&files, "/usr/lib/q/plug.so"), "/usr/lib/q/plug.so");
    assert_string_equal(target_of(&files, "/lib64/ld-linux-x86-64.so.2"),
                        "/lib64/ld-linux-x86-64.so.2");
    for (size_t i = 0; i < files.n; i++) {
        assert_int_equal(files.binds[i].kind, JAIL_PROGRAM);
    }
}

static void lists_that_are_not_a_whole_one_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "\tlibz.so.1 => /lib/libz.so.1 (0x1)\n", /* no libc */
        "\tlibz.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n",
        "\tlibc.so.6 => /lib/libc.so.6\n",
        "\tlibc.so.6 => libc.so.6 (0x1)\n",
        "\t../x => /lib/x (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n",
        "\tstatically linked\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_jail_files struct jail_files files = JAIL_FILES_INIT;
        struct err err = ERR_INIT;

        if (jail_files_add_list(&files, bad[i], &err) == 0) {
            fail_msg("accepted: %s", bad[i]);
        }
        assert_int_equal(err.class, ERR_HOST);
    }
}

static void an_overlong_line_is_refused(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;
    char line[2048];

    (void)state;
    memset(line, 'a', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    assert_true(jail_files_add_list(&files, line, &err) < 0);
}

static void one_target_takes_one_file(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(jail_files_add(&files, JAIL_DATA, "/a", "/t", &err), &err);
    assert_ok(jail_files_add(&files, JAIL_DATA, "/a", "/t", &err), &err);
    assert_int_equal(files.n, 1);
    assert_int_equal(jail_files_add(&files, JAIL_DATA, "/b", "/t", &err), -EEXIST);
}

static void the_list_has_an_end(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;
    char target[16];

    (void)state;
    for (int i = 0; i < JAIL_BINDS_MAX; i++) {
        (void)snprintf(target, sizeof(target), "/%d", i);
        assert_ok(jail_files_add(&files, JAIL_DATA, "/a", target, &err), &err);
    }
    assert_int_equal(jail_files_add(&files, JAIL_DATA, "/a", "/more", &err), -E2BIG);
}

static void a_file_that_the_jail_could_not_read_is_refused_with_the_remedy(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;
    int fd = memfd_create("closed", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_int_equal(jail_files_add_fd(&files, fd, "/kernel", &err), -EACCES);
    assert_non_null(strstr(err.msg, "chmod a+r"));
    (void)close(fd);
}

static void the_loader_knows_a_programs_libraries(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(jail_files_add_program(&files, "/bin/sh", NULL, -1, &err), &err);
    assert_true(files.n >= 3);
    assert_string_equal(target_of(&files, "/bin/sh"), "/bin/sh");
}

#define SHELL "/bin/sh"

/* What the loader would be asked about, as jail-files.c names it. */
static void about_shell(struct memo *m)
{
    static const char *const depends[] = {"/lib64/ld-linux-x86-64.so.2", "/etc/ld.so.cache",
                                          "/etc/ld.so.preload", SHELL};
    struct err err = ERR_INIT;

    assert_ok(memo_begin(m, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(depends); i++) {
        assert_ok(memo_add_path(m, depends[i], &err), &err);
    }
    m->begun_ns += 2 * MEMO_SETTLED_NS;
}

static bool is_listed(const char *source)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;

    assert_ok(jail_files_add_program(&files, SHELL, NULL, store, &err), &err);
    assert_string_equal(target_of(&files, SHELL), SHELL);
    return target_of(&files, source) != NULL;
}

static void a_list_is_asked_for_once_while_every_file_of_it_stays_the_same(void **state)
{
    auto_memo struct memo m = MEMO_INIT;
    struct err err = ERR_INIT;
    char library[64];
    char list[256];

    (void)state;
    (void)snprintf(library, sizeof(library), "%s/libodd.so", root);
    (void)snprintf(list, sizeof(list),
                   "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x1)\n\t%s (0x1)\n", library);
    {
        auto_fd int fd = open(library, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
    }
    about_shell(&m);
    memo_put(store, "loader-sh", &m, list, strlen(list));
    assert_false(is_listed(library)); /* the files of the list are not known: asked again */
    memo_put(store, "loader-sh", &m, list, strlen(list));
    assert_ok(memo_add_path(&m, "/lib/x86_64-linux-gnu/libc.so.6", &err), &err);
    assert_ok(memo_add_path(&m, library, &err), &err);
    memo_put(store, "libraries-sh", &m, "", 0);
    assert_true(is_listed(library)); /* what is remembered is used */
    assert_int_equal(chmod(library, 0600), 0);
    assert_false(is_listed(library)); /* one of its files changed: asked again, and kept */
    assert_false(is_listed(library));
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
    auto_jail_files struct jail_files files = JAIL_FILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_true(jail_files_add_program(&files, "/bin/airlock-no-such", NULL, -1, &err) < 0);
    assert_non_null(strstr(err.msg, "/bin/airlock-no-such"));
}

TEST_MAIN(
    T(libraries_go_beside_libc_and_the_loader_stays), T(lists_that_are_not_a_whole_one_are_refused),
    T(an_overlong_line_is_refused), T(one_target_takes_one_file), T(the_list_has_an_end),
    T(a_file_that_the_jail_could_not_read_is_refused_with_the_remedy),
    T(the_loader_knows_a_programs_libraries),
    cmocka_unit_test_setup_teardown(a_list_is_asked_for_once_while_every_file_of_it_stays_the_same,
                                    make_store, drop_store),
    T(a_program_that_is_not_there_is_an_error))
