#include "sup/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/fd.h"

#define NAME_SIZE 32

static void name_of(unsigned int number, char name[NAME_SIZE])
{
    (void)snprintf(name, NAME_SIZE, "%u.quarantine", number);
}

int quarantine_put(const struct ledger_slot *slot, const char *machine_id, const char *why,
                   struct err *err)
{
    auto_fd int fd = -1;
    char name[NAME_SIZE];
    char text[512];
    int r = 0;

    name_of(slot->number, name);
    (void)snprintf(text, sizeof(text), "%.64s\n%.400s\n", machine_id, why);
    r = fd_open_nolink(slot->slots_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600, &fd, err);
    if (r == 0) {
        r = fd_write_full(fd, text, strlen(text), err);
    }
    return r < 0 ? err_wrap(err, "slots") : 0;
}

bool quarantine_has(int slots_fd, unsigned int number)
{
    char name[NAME_SIZE];

    name_of(number, name);
    return faccessat(slots_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static int read_entry(int slots_fd, unsigned int number, struct quarantine_entry *ret,
                      struct err *err)
{
    auto_fd int fd = -1;
    char name[NAME_SIZE];
    size_t n = 0;
    int r = 0;

    name_of(number, name);
    ret->number = number;
    r = fd_open_nolink(slots_fd, name, O_RDONLY, 0, &fd, err);
    if (r == 0) {
        r = fd_read_full(fd, ret->text, sizeof(ret->text) - 1, &n, err);
    }
    ret->text[n] = '\0';
    return r < 0 ? err_wrap(err, "slots") : 0;
}

/* -ENOENT if nothing ever took a slot here. */
static int open_slots(int store_fd, int *ret, struct err *err)
{
    return fd_open_nolink(store_fd, "slots", O_RDONLY | O_DIRECTORY, 0, ret, err);
}

int quarantine_list(int store_fd, struct quarantine_entry *ret, size_t max, size_t *ret_n,
                    struct err *err)
{
    auto_fd int slots = -1;
    size_t n = 0;
    int r = open_slots(store_fd, &slots, err);

    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        *ret_n = 0;
        return 0;
    }
    for (unsigned int number = 0; r == 0 && number < LEDGER_NUMBERS && n < max; number++) {
        if (quarantine_has(slots, number)) {
            r = read_entry(slots, number, &ret[n++], err);
        }
    }
    *ret_n = n;
    return r;
}

int quarantine_release(int store_fd, unsigned int number, struct err *err)
{
    auto_fd int slots = -1;
    char name[NAME_SIZE];
    int r = open_slots(store_fd, &slots, err);

    if (r < 0 && r != -ENOENT) {
        return r;
    }
    name_of(number, name);
    if (r == 0 && unlinkat(slots, name, 0) == 0) {
        return 0;
    }
    if (r == 0 && errno != ENOENT) {
        return err_sys(err, "remove 'slots/%s'", name);
    }
    *err = (struct err)ERR_INIT;
    return err_set(err, ERR_USAGE, ENOENT, "slot %u is not kept out of use", number);
}
