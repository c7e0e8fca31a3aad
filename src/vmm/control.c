#include "vmm/control.h"

#include <errno.h>
#include <string.h>

#include "sys/fd.h"
#include "vmm/loop.h"
#include "vmm/snapshot.h"

int control_tell(char what, const char *text, struct err *err)
{
    char line[ERR_MSG_MAX + 2] = {what};
    size_t len = text == NULL ? 0 : strnlen(text, ERR_MSG_MAX);

    if (len > 0) {
        memcpy(line + 1, text, len);
    }
    line[1 + len] = '\n';
    ssize_t n = fd_send(START_FD_CONTROL, line, len + 2, -1, 0);
    if (n < 0) {
        return err_sys_num(err, (int)-n, "tell the supervisor '%c'", what);
    }
    if ((size_t)n != len + 2) {
        return err_set(err, ERR_HOST, EPIPE, "tell the supervisor '%c': cut short", what);
    }
    return 0;
}

/*
 * The order matters: first nothing asks the devices any more, then they finish what they were asked,
 * then their interrupts reach KVM, and only then KVM's state is whole.
 */
static int save(struct machine *m, int fd, struct err *err)
{
    int r = machine_pause(m, err);

    r = r < 0 ? r : loop_drain(m, err);
    r = r < 0 ? r : machine_mute(m, err);
    return r < 0 ? r : snapshot_save(m, fd, err);
}

int control_serve(struct machine *m, struct err *err)
{
    auto_fd int fd = -1;
    char what = 0;
    int r = fd_receive(START_FD_CONTROL, &what, sizeof(what), &fd, err);

    if (r < 0) {
        return err_wrap(err, "control socket");
    }
    if (r == 0) {
        return 1;
    }
    if (what != START_CONTROL_SAVE || fd < 0 || !m->options->memory_file || m->options->restore) {
        return err_set(err, ERR_HOST, EPROTO, "control socket: byte %d %s a descriptor is no order",
                       what, fd < 0 ? "without" : "with");
    }
    struct err why = ERR_INIT;
    r = save(m, fd, &why);
    if (r < 0) {
        machine_stop(m, MACHINE_HOST, &why);
        return control_tell(START_CONTROL_ERROR, why.msg, err);
    }
    machine_stop(m, MACHINE_OFF, NULL);
    return control_tell(START_CONTROL_SAVED, NULL, err);
}
