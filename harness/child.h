/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CHILD_H
#define GPUPARITY_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* A process for code that may crash, hang or end the process: vendors' libraries. It leads a
 * process group of its own (a Ctrl-C at the terminal does not reach it, a kill reaches all it
 * started), dies with its parent, has no input, and its output is captured. */
struct child {
    pid_t pid;       /* 0: none */
    int output;      /* what it prints; read by child_listen */
    char tail[1024]; /* the end of what it printed, 0-terminated */
    size_t tail_size;
};

/* Runs `work(context)` in a new process, which ends with its return value. File descriptors
 * that are open stay open in it. ERR_IO if there can be no new process. */
enum err child_start(struct child *c, int (*work)(void *), void *context, struct errinfo *e);

/* Takes in what was printed since; never blocks. False when the output is at its end. */
bool child_listen(struct child *c);

/* Has it ended by itself? Then what waitpid said. Never blocks. */
bool child_ended(struct child *c, int *ret_status);

/* Kills the whole group, reaps the child, closes its output. Accepts one that has ended or
 * never started. */
void child_kill(struct child *c);

/* "killed by signal 11 (Segmentation fault)", "ended with exit status 3"; then, if it printed
 * anything, `; its last words: "..."`. */
void child_explain(const struct child *c, int status, char *ret_text, size_t size);

/* A whole call in a child: `work(context, result)` fills `result` (`size` bytes, also readable
 * before: its content is taken along), which comes back if it returned. False, with the reason
 * in `ret_reason`, if it crashed, exited, or took longer than `seconds`. */
bool child_call(void (*work)(void *context, void *result), void *context, void *result,
                size_t size, double seconds, char *ret_reason, size_t reason_size);

/* Monotonic time in seconds. */
double child_clock(void);

#endif
