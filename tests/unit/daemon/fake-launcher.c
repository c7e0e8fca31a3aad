#include "fake-launcher.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "job/spec-wire.h"
#include "sys/fd.h"
#include "test.h"

void fake_launcher_init(struct launcher *l)
{
    *l = (struct launcher){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    assert_true(l->fd >= 0);
}

void fake_launcher_fini(struct launcher *l)
{
    for (size_t i = 0; i < l->n_starts; i++) {
        fake_die(l, i);
        buf_fini(&l->starts[i].spec);
    }
    for (size_t i = 0; i < l->n_answers; i++) {
        launcher_answer_fini(&l->answers[i]);
    }
    fd_close_p(&l->fd);
}

void fake_say(struct launcher *l, size_t n, enum sup_event_kind kind, const void *data, size_t len)
{
    assert_true(n < l->n_starts && l->starts[n].open);
    assert_int_equal(client_put(&l->starts[n].client, kind, data, len), 0);
    client_flush(&l->starts[n].client);
    assert_false(client_wants_write(&l->starts[n].client));
}

void fake_die(struct launcher *l, size_t n)
{
    if (l->starts[n].open) {
        client_fini(&l->starts[n].client);
        l->starts[n].open = false;
    }
}

static struct launcher_answer *answer(struct launcher *l, uint64_t number, int failed)
{
    struct launcher_answer *a = &l->answers[l->n_answers++];
    const uint64_t one = 1;

    assert_true(l->n_answers <= FAKE_ANSWERS);
    *a = (struct launcher_answer){.number = number,
                                  .failed = failed,
                                  .class = failed != 0 ? ERR_HOST : ERR_NONE,
                                  .sup = SUP_INIT,
                                  .text = BUF_INIT(LAUNCHER_TEXT_MAX)};
    assert_int_equal(write(l->fd, &one, sizeof(one)), sizeof(one));
    return a;
}

int launcher_fd(const struct launcher *l)
{
    return l->fd;
}

int launcher_ask_start(struct launcher *l, uint64_t number, int spec_fd, int out_dirfd,
                       struct err *err)
{
    struct fake_start *s = &l->starts[l->n_starts];
    int pair[2] = {-1, -1};

    (void)out_dirfd;
    if (l->start_failed != 0) {
        (void)answer(l, number, l->start_failed);
        return 0;
    }
    assert_true(l->n_starts < FAKE_STARTS);
    l->n_starts++;
    s->spec = (struct buf)BUF_INIT(SPEC_WIRE_MAX);
    assert_ok(fd_read_all(spec_fd, "spec", &s->spec, err), err);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    client_init(&s->client, pair[1], MIB);
    s->open = true;
    sup_adopt(pair[0], &answer(l, number, 0)->sup);
    return 0;
}

int launcher_ask_text(struct launcher *l, uint64_t number, enum launcher_text what, const char *id,
                      struct err *err)
{
    const char *text = what == LAUNCHER_IMAGES ? "[]" : "{}";
    struct launcher_answer *a = NULL;

    (void)id;
    (void)err;
    if (what == LAUNCHER_RECORD) {
        l->records_asked++;
        text = l->record_text;
    }
    a = answer(l, number,
               what != LAUNCHER_RECORD  ? 0
               : l->record_failed != 0  ? l->record_failed
               : l->record_text == NULL ? ENOENT
                                        : 0);
    if (a->failed == 0) {
        assert_int_equal(buf_put(&a->text, text, strlen(text)), 0);
    }
    return 0;
}

int launcher_plan(struct launcher *l, const struct spec *const *specs, size_t n, struct err *err)
{
    (void)l;
    (void)specs;
    (void)n;
    (void)err;
    return 0;
}

void launcher_answer_fini(struct launcher_answer *a)
{
    fd_close_p(&a->sup.fd);
    buf_fini(&a->sup.in);
    buf_fini(&a->text);
}

int launcher_answer(struct launcher *l, struct launcher_answer *ret, struct err *err)
{
    uint64_t n = 0;

    (void)err;
    if (l->n_answers == 0) {
        (void)!read(l->fd, &n, sizeof(n));
        return 0;
    }
    *ret = l->answers[0];
    memmove(l->answers, l->answers + 1, --l->n_answers * sizeof(l->answers[0]));
    return 1;
}
