/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_WORKERLINK_H
#define GPUPARITY_WORKERLINK_H

#include "worker.h"

/* The messages between a worker process and its parent, over a stream socket. A message is a
 * head and `size` bytes. Both ends are this program, but the sender shares its process with
 * vendors' libraries, so the receiver checks everything. */

enum workerlink_kind { WORKERLINK_READY = 1, WORKERLINK_FAILED, WORKERLINK_RESULT };

/* In the worker. False if the parent is gone. */
bool workerlink_send_ready(int socket, const struct device_info *info);
bool workerlink_send_failed(int socket, const char *words);
bool workerlink_send_result(int socket, const struct caserun_result *r, bool keep_code);
bool workerlink_receive_place(int socket, int64_t *ret_place); /* blocks */

/* In the parent: one complete message off the front of `bytes`. Returns how many bytes it had,
 * 0 if it is not complete, -1 if it is not a message. The payload stays in `bytes`. */
int64_t workerlink_message(const char *bytes, size_t size, enum workerlink_kind *ret_kind,
                           const char **ret_payload, size_t *ret_payload_size);

/* False if the payload is not a result; then nothing is owned. */
bool workerlink_result(const char *payload, size_t size, bool *ret_spoiled,
                       struct worker_result *ret_result);

#endif
