/* SPDX-License-Identifier: Apache-2.0 */
#include "workerlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct link_head {
    uint64_t magic;
    uint32_t kind, unused;
    uint64_t size;
};

#define LINK_MAGIC 0x6770757061726974u
#define LINK_SIZE_MAX ((uint64_t)1 << 40)

/* The fixed part of a result; tensors' bytes, code and log follow in this order. */
struct link_out {
    char name[TENSOR_NAME_MAX];
    char role[8];
    uint32_t dtype;
    int32_t rank;
    int64_t dim[TENSOR_RANK_MAX];
};

struct link_result {
    struct record_case c;
    int32_t n_out, spoiled;
    uint64_t code_size, log_size; /* log_size counts the final zero; 0: no code */
    struct link_out out[RECORD_OUT_MAX];
};

/* --- worker ----------------------------------------------------------------------------------
 */

static bool send_all(int socket, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = send(socket, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool send_head(int socket, enum workerlink_kind kind, size_t size)
{
    struct link_head h = {LINK_MAGIC, kind, 0, size};
    return send_all(socket, &h, sizeof h);
}

bool workerlink_send_ready(int socket, const struct device_info *info)
{
    return send_head(socket, WORKERLINK_READY, sizeof *info) &&
           send_all(socket, info, sizeof *info);
}

bool workerlink_send_failed(int socket, const char *words)
{
    return send_head(socket, WORKERLINK_FAILED, strlen(words)) &&
           send_all(socket, words, strlen(words));
}

bool workerlink_send_result(int socket, const struct caserun_result *r, bool keep_code)
{
    struct link_result m;
    memset(&m, 0, sizeof m);
    m.c = r->c;
    m.n_out = r->n_out;
    m.spoiled = r->spoiled;
    size_t size = sizeof m;
    for (int i = 0; i < r->n_out; i++) {
        struct link_out *o = &m.out[i];
        const struct tensor *t = &r->out[i].tensor;
        memcpy(o->name, r->out[i].name, sizeof o->name);
        memcpy(o->role, r->out[i].role, sizeof o->role);
        o->dtype = t->dtype;
        o->rank = t->rank;
        memcpy(o->dim, t->dim, sizeof o->dim);
        size += tensor_bytes(t);
    }
    if (keep_code && r->code && r->code->bytes) {
        m.code_size = r->code->size;
        m.log_size = strlen(r->code->log) + 1;
        size += m.code_size + m.log_size;
    }
    bool good = send_head(socket, WORKERLINK_RESULT, size) && send_all(socket, &m, sizeof m);
    for (int i = 0; i < r->n_out && good; i++)
        good = send_all(socket, r->out[i].tensor.data, tensor_bytes(&r->out[i].tensor));
    if (good && m.log_size)
        good = send_all(socket, r->code->bytes, r->code->size) &&
               send_all(socket, r->code->log, m.log_size);
    return good;
}

bool workerlink_receive_place(int socket, int64_t *ret_place)
{
    char *at = (char *)ret_place;
    size_t left = sizeof *ret_place;
    while (left) {
        ssize_t n = recv(socket, at, left, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* --- parent ----------------------------------------------------------------------------------
 */

int64_t workerlink_message(const char *bytes, size_t size, enum workerlink_kind *ret_kind,
                           const char **ret_payload, size_t *ret_payload_size)
{
    struct link_head h;
    if (size < sizeof h)
        return 0;
    memcpy(&h, bytes, sizeof h);
    if (h.magic != LINK_MAGIC || h.kind < WORKERLINK_READY || h.kind > WORKERLINK_RESULT ||
        h.size > LINK_SIZE_MAX)
        return -1;
    if (size - sizeof h < h.size)
        return 0;
    *ret_kind = (enum workerlink_kind)h.kind;
    *ret_payload = bytes + sizeof h;
    *ret_payload_size = (size_t)h.size;
    return (int64_t)(sizeof h + h.size);
}

/* Does a tensor of that shape fit into `left` bytes? Asked before anything is allocated. */
static bool out_fits(const struct link_out *o, size_t left)
{
    uint64_t size = (uint64_t)dtype_info((enum dtype)o->dtype)->bytes;
    for (int i = 0; i < o->rank; i++)
        if (o->dim[i] < 0 || __builtin_mul_overflow(size, (uint64_t)o->dim[i], &size))
            return false;
    return size <= left;
}

static bool out_take(const struct link_out *o, const char **at, size_t *left,
                     struct record_out *ret_out)
{
    if (o->dtype >= DTYPE_COUNT_ || o->rank < 0 || o->rank > TENSOR_RANK_MAX ||
        !memchr(o->name, 0, sizeof o->name) || !memchr(o->role, 0, sizeof o->role) ||
        !out_fits(o, *left))
        return false;
    if (tensor_init(&ret_out->tensor, (enum dtype)o->dtype, o->rank, o->dim, NULL))
        return false;
    size_t n = tensor_bytes(&ret_out->tensor);
    memcpy(ret_out->name, o->name, sizeof o->name);
    memcpy(ret_out->role, o->role, sizeof o->role);
    memcpy(ret_out->tensor.data, *at, n);
    *at += n;
    *left -= n;
    return true;
}

static bool code_take(const struct link_result *m, const char *at, size_t left,
                      struct worker_result *r)
{
    if (m->log_size == 0)
        return left == 0;
    if (m->code_size > left || m->log_size != left - m->code_size || at[left - 1])
        return false;
    r->code = malloc(m->code_size ? m->code_size : 1);
    r->log = malloc(m->log_size);
    if (!r->code || !r->log)
        return false;
    memcpy(r->code, at, m->code_size);
    memcpy(r->log, at + m->code_size, m->log_size);
    r->code_size = m->code_size;
    return true;
}

/* Ends every text where its room ends. */
static void texts_end(struct record_case *c)
{
    for (const struct record_field *f = record_case_fields; f->name; f++)
        if (f->kind == RECORD_FIELD_TEXT)
            ((char *)c)[f->offset + f->size - 1] = 0;
}

bool workerlink_result(const char *payload, size_t size, bool *ret_spoiled,
                       struct worker_result *ret_result)
{
    struct link_result m;
    struct worker_result r = {0};
    if (size < sizeof m)
        return false;
    memcpy(&m, payload, sizeof m);
    if (m.n_out < 0 || m.n_out > RECORD_OUT_MAX || m.c.status >= RECORD_STATUS_COUNT_)
        return false;
    r.c = m.c;
    texts_end(&r.c);
    const char *at = payload + sizeof m;
    size_t left = size - sizeof m;
    bool good = true;
    for (; r.n_out < m.n_out && good; r.n_out += good)
        good = out_take(&m.out[r.n_out], &at, &left, &r.out[r.n_out]);
    if (!good || !code_take(&m, at, left, &r)) {
        worker_result_release(&r);
        return false;
    }
    *ret_spoiled = m.spoiled;
    *ret_result = r;
    return true;
}

void worker_result_release(struct worker_result *r)
{
    for (int i = 0; i < r->n_out; i++)
        tensor_release(&r->out[i].tensor);
    free(r->code);
    free(r->log);
    memset(r, 0, sizeof *r);
}
