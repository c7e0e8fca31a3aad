/* cmd-submit.h - `airlock submit`: a job for a daemon. */
#pragma once

int cmd_submit(int argc, char **argv);
