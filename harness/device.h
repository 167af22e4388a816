/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DEVICE_H
#define GPUPARITY_DEVICE_H

#include "../backends/backend.h"
#include "err.h"

/* Where a case runs, as the user says it: cuda, hip (the real card if there is one, else the
 * simulated one), cuda:N, hip:N (that real card), cuda-sim, hip-sim; or host, the processor, for
 * libraries of case files. */
struct device_choice {
    const struct backend *backend;
    enum { DEVICE_CHOICE_ANY, DEVICE_CHOICE_REAL, DEVICE_CHOICE_SIMULATED } kind;
    int index;
};

/* ERR_USAGE with the valid forms and the nearest name. */
enum err device_parse(const char *text, struct device_choice *ret_choice, struct errinfo *e);

/* "cuda,hip" -> two choices; at most `room`. */
enum err device_parse_list(const char *text, int room, struct device_choice *ret_choice,
                           int *ret_count, struct errinfo *e);

/* The folder of the simulators' libraries: $GPUPARITY_SIM_DIR, else beside the program, else
 * ../lib/gpuparity from it. `ret_path` takes `size` bytes. */
void device_simulator_folder(char *ret_path, size_t size);

/* How many devices of that kind there are, looked up in a child process: 0 with the reason and
 * what to install. */
int device_count(const struct backend *b, enum device_kind kind, char *ret_reason, size_t size);

/* Settles ANY to REAL or SIMULATED by looking (in a child process: vendor libraries may crash).
 * ERR_MISSING, with what to install, when the chosen device is not here. */
enum err device_settle(struct device_choice *choice, struct errinfo *e);

/* "cuda:0" or "cuda-sim"; `choice` must be settled. `ret_text` takes 32 bytes. */
void device_print(const struct device_choice *choice, char *ret_text);

#endif
