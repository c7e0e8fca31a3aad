/*
 * agent.h - the life of one job, as a state machine over one poll loop.
 *
 *   WAIT_JOB -> STARTING -> RUNNING -> KILLING -> DRAINING -> DONE
 *
 * and FAILED from anywhere, which is told to the host and then waited out. The agent ends only with
 * the machine: the host kills it, or closes the channel.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "guest/boot.h"
#include "guest/channel.h"
#include "guest/child.h"
#include "guest/exits.h"
#include "guest/oom.h"
#include "guest/pressure.h"
#include "guest/streams.h"
#include "guest/warm.h"
#include "proto/msg.h"

enum agent_state {
    AGENT_WAIT_JOB,
    AGENT_STARTING, /* the reaper was cloned, the program has not been executed */
    AGENT_RUNNING,
    AGENT_KILLING,  /* the main process ended: the rest is being killed */
    AGENT_DRAINING, /* all dead: what is left in the pipes */
    AGENT_DONE,
    AGENT_FAILED,
};

struct agent {
    enum agent_state state;
    struct boot boot;
    struct channel ch;
    struct msg_job job;
    struct streams io;
    struct child child;
    struct warm warm;
    struct exits exits;
    struct oom_log oom;
    struct pressure pressure;
    pid_t main_pid; /* of the program, in the agent's namespace; 0 before it is known */
    int main_status;
    bool main_ended;
    bool main_ending; /* it runs no more, but is still there, alone: its pipes have no end yet */
    bool stop;        /* the host asked to kill the program */
    uint64_t kill_deadline_ns;
};

/* Tells the host that the agent could not do its part, and kills what runs. Safe to repeat. */
void agent_fail(struct agent *a, const char *phase, const struct err *err) nonnull_all;

/* Runs until the channel is gone. */
void agent_run(struct agent *a) nonnull_all;
