/* cmd-remote.h - `airlock jobs`, `cancel`, `watch` and `result`: what a daemon has, and what became of it. */
#pragma once

int cmd_jobs(int argc, char **argv);
int cmd_cancel(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_result(int argc, char **argv);
