/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RUNINFO_H
#define GPUPARITY_RUNINFO_H

#include "../backends/backend.h"
#include "device.h"
#include "record.h"

/* What a record says about where and how its cases ran: the device, this machine, now, and the
 * environment variables that change numbers. `shard` is printed as i/n, 1/1 for zeros. */
void runinfo_fill(const struct device_choice *choice, const struct device_info *info, int shard,
                  int shards, struct record_run *ret_run);

/* "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm)" */
void runinfo_system(char *ret_text, size_t size);

#endif
