/*
 * Filters without libseccomp, for a program that is started for every job: libseccomp asks the kernel
 * eight times what it knows, keeps every rule on the heap and hands over the result in a file, which
 * takes longer than all else that a clone does between its KVM calls. These are lists: a call is
 * compared with one rule after the other, which is not slower, since the kernel remembers what a
 * filter always allows (Linux 5.11); what costs at the start is its length.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/filter.h"

/* The architecture's check and the end; a rule's number and result, and its arguments' two halves. */
#define AROUND_INSNS 6u
#define RULE_INSNS   (3u + SECCOMP_CMP_MAX * 6u)
/* A jump goes over 255 instructions at most. */
#define RULES_MAX 128u

struct code {
    struct sock_filter *insns;
    unsigned short len;
};

static void emit(struct code *c, unsigned int code, size_t k)
{
    c->insns[c->len++] = (struct sock_filter)BPF_STMT((unsigned short)code, (uint32_t)k);
}

/* If the accumulator is not k, on to the end of the rule: see end_rule(). */
static void emit_equal(struct code *c, uint32_t k)
{
    emit(c, BPF_JMP | BPF_JEQ | BPF_K, k);
}

/* One half of an argument: where it is, what of it counts, what that must be. */
static void emit_half(struct code *c, size_t offset, uint32_t mask, uint32_t value)
{
    if (mask == 0) {
        return;
    }
    emit(c, BPF_LD | BPF_W | BPF_ABS, offset);
    if (mask != UINT32_MAX) {
        emit(c, BPF_ALU | BPF_AND | BPF_K, mask);
    }
    emit_equal(c, value & mask);
}

/* False if it is no comparison that is known here. */
static bool emit_cmp(struct code *c, const struct scmp_arg_cmp *cmp)
{
    size_t offset = offsetof(struct seccomp_data, args) + cmp->arg * sizeof(uint64_t);
    uint64_t mask = cmp->op == SCMP_CMP_MASKED_EQ ? cmp->datum_a : UINT64_MAX;
    uint64_t value = cmp->op == SCMP_CMP_MASKED_EQ ? cmp->datum_b : cmp->datum_a;

    if (cmp->arg >= 6 || (cmp->op != SCMP_CMP_MASKED_EQ && cmp->op != SCMP_CMP_EQ)) {
        return false;
    }
    emit_half(c, offset, (uint32_t)mask, (uint32_t)value);
    emit_half(c, offset + sizeof(uint32_t), (uint32_t)(mask >> 32), (uint32_t)(value >> 32));
    return true;
}

/* What differs goes on with the next rule, which is as many instructions away. */
static void end_rule(struct code *c, unsigned short first)
{
    for (unsigned short i = first; i < c->len; i++) {
        if (BPF_CLASS(c->insns[i].code) == BPF_JMP) {
            c->insns[i].jf = (uint8_t)(c->len - i - 1);
        }
    }
}

/* A rule that looks at arguments. */
static bool emit_rule(struct code *c, const struct seccomp_rule *rule)
{
    unsigned short first = c->len;

    emit(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    emit_equal(c, (uint32_t)rule->nr);
    for (unsigned int i = 0; i < rule->n; i++) {
        if (!emit_cmp(c, &rule->cmp[i])) {
            return false;
        }
    }
    emit(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    end_rule(c, first);
    return true;
}

/* All that look at the number alone, and the filter's end. */
static void emit_numbers(struct code *c, const struct seccomp_rule *rules, size_t n)
{
    unsigned short first = c->len;

    emit(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < n; i++) {
        if (rules[i].n == 0) {
            emit_equal(c, (uint32_t)rules[i].nr);
        }
    }
    emit(c, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    emit(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    for (unsigned short i = (unsigned short)(first + 1); i < c->len - 2; i++) {
        c->insns[i].jt = (uint8_t)(c->len - 1 - i - 1);
    }
}

static bool is_plain(const struct seccomp_rule *rule)
{
    return rule->action == SECCOMP_DO_ALLOW && rule->n <= SECCOMP_CMP_MAX && rule->nr >= 0;
}

int seccomp_assemble(const struct seccomp_rule *rules, size_t n, struct seccomp_filter *ret,
                     struct err *err)
{
    size_t max = AROUND_INSNS + n * RULE_INSNS;
    auto_free struct sock_filter *insns = NULL;
    struct code c = {.len = 0};

    if (n > RULES_MAX) {
        return err_set(err, ERR_HOST, E2BIG, "a seccomp filter of %zu rules", n);
    }
    insns = malloc(max * sizeof(*insns));
    if (insns == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    c.insns = insns;
    /* A number of the x32 architecture has a bit that no rule's has. */
    emit(&c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    c.insns[c.len++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    emit(&c, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < n; i++) {
        if (!is_plain(&rules[i]) || (rules[i].n > 0 && !emit_rule(&c, &rules[i]))) {
            return err_set(err, ERR_HOST, EINVAL, "seccomp rule %zu (system call %d) is not plain",
                           i, rules[i].nr);
        }
    }
    emit_numbers(&c, rules, n);
    ret->code = STEAL_PTR(&insns);
    ret->len = c.len;
    return 0;
}

void seccomp_filter_fini(struct seccomp_filter *filter)
{
    free(filter->code);
    filter->code = NULL;
    filter->len = 0;
}

int seccomp_load_filter(const struct seccomp_filter *filter, int *ret_listener)
{
    struct sock_fprog prog = {.len = filter->len, .filter = filter->code};
    unsigned int flags = ret_listener != NULL ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);

    if (fd < 0) {
        return -errno;
    }
    if (ret_listener != NULL) {
        *ret_listener = (int)fd;
    }
    return 0;
}
