/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TASKS_H
#define GPUPARITY_TASKS_H

#include <stdint.h>

/* Calls task(context, i) once for every 0 <= i < count, spread over at most `threads` threads
 * (the caller is one of them), and returns when all are done. Threads take the next i in turn,
 * so a task must not depend on which thread runs it or on what ran before. Where no thread can
 * be started the caller does all the work. */
void tasks_run(int threads, int64_t count, void (*task)(void *context, int64_t i),
               void *context);

#endif
