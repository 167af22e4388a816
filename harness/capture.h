/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CAPTURE_H
#define GPUPARITY_CAPTURE_H

#include "tensorfile.h"

/* The operators of one PyTorch step, as backends/torch captures them (docs/training.md): an HDF5
 * file whose dataset "capture" is a JSON text that lists the operators, and whose tensors lie in
 * /tensor under the digests of their content. Files are not trusted. */

enum {
    CAPTURE_SCHEMA = 1,
    CAPTURE_OUT_MAX = 12,
    CAPTURE_DIGEST = 33,
    CAPTURE_OPERATORS_MAX = 1 << 20
};

struct capture_operator {
    char op[96];      /* "aten.mm.default" */
    char module[192]; /* "Model.layers.0.query"; "" outside any */
    char phase[16];   /* forward, backward, optimizer */
    char autocast[16]; /* format of the autocast that was on; "" */
    char asked[16];    /* the same where autocast lowers this operator; "" elsewhere */
    bool random;       /* draws random numbers */
    int n_out, n_wide, n_bound;
    char out[CAPTURE_OUT_MAX][CAPTURE_DIGEST];   /* names in /tensor; "" for a format not kept */
    char wide[CAPTURE_OUT_MAX][CAPTURE_DIGEST];  /* float64 recomputation on the same inputs */
    char bound[CAPTURE_OUT_MAX][CAPTURE_DIGEST]; /* how far a right result may be from it */
    char inputs[CAPTURE_DIGEST]; /* digest of all inputs' digests */
};

struct capture {
    struct tensorfile file;
    char kind[16], torch[64], stack[64], device[128], host[128], created[32];
    struct bytes operators; /* of struct capture_operator, in the order in which they ran */
};

/* Does it look like a capture? False also for what cannot be read. */
bool capture_is(const char *path);

/* ERR_IO, ERR_FORMAT (with the file's name), ERR_NOMEM. */
enum err capture_open(const char *path, struct capture *ret_capture, struct errinfo *e);
void capture_close(struct capture *c); /* accepts a zeroed struct */

/* For capture_open: reads the list of operators, a JSON text in `fd`, into `c`. ERR_FORMAT says
 * what is wrong, without the file's name. */
enum err capture_list(struct capture *c, int fd, uint64_t offset, uint64_t size,
                      struct errinfo *e);

int64_t capture_count(const struct capture *c);
const struct capture_operator *capture_at(const struct capture *c, int64_t i);

/* Reads a tensor by its digest; the caller releases it. ERR_FORMAT where it is missing. */
enum err capture_read(const struct capture *c, const char *digest, struct tensor *ret_tensor,
                      struct errinfo *e);

#endif
