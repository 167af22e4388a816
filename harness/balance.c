/* SPDX-License-Identifier: Apache-2.0 */
#include "balance.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct load {
    double seconds; /* negative: not known */
    int64_t place;
};

static int run_find(struct record *r, const char *device)
{
    for (int i = 0; i < record_run_count(r); i++)
        if (!strcmp(record_run_at(r, i)->device, device))
            return i;
    return 0;
}

static enum err loads_read(const struct caselist *l, struct record *times, int run,
                           struct load *load, int64_t *ret_known, struct errinfo *e)
{
    char id[CASEID_TEXT_MAX];
    struct record_case c;
    *ret_known = 0;
    for (int64_t i = 0; i < l->count; i++) {
        load[i] = (struct load){-1, i};
        caseid_print(&l->id[i], id);
        int64_t at = record_find_case(times, run, id);
        if (at < 0)
            continue;
        TRY(record_read_case(times, run, at, &c, e));
        if (!(c.seconds >= 0) || isinf(c.seconds))
            continue;
        load[i].seconds = c.seconds;
        *ret_known += 1;
    }
    return ERR_OK;
}

static void unknown_fill(struct load *load, int64_t count, int64_t known)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += load[i].seconds >= 0 ? load[i].seconds : 0;
    for (int64_t i = 0; i < count; i++)
        if (load[i].seconds < 0)
            load[i].seconds = sum / (double)known;
}

static int longest_first(const void *pa, const void *pb)
{
    const struct load *a = pa, *b = pb;
    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static enum err parts_fill(struct load *load, int64_t count, int n, int *part,
                           struct errinfo *e)
{
    double *has = calloc((size_t)n, sizeof *has);
    if (!has)
        return err_set(e, ERR_NOMEM, "out of memory");
    qsort(load, (size_t)count, sizeof *load, longest_first);
    for (int64_t i = 0; i < count; i++) {
        int least = 0;
        for (int k = 1; k < n; k++)
            if (has[k] < has[least])
                least = k;
        has[least] += load[i].seconds;
        part[load[i].place] = least + 1;
    }
    free(has);
    return ERR_OK;
}

static void digest_make(const struct caselist *l, const int *part, char *digest)
{
    char text[CASEID_TEXT_MAX + 32], id[CASEID_TEXT_MAX];
    uint64_t hash = 0;
    for (int64_t i = 0; i < l->count; i++) {
        caseid_print(&l->id[i], id);
        int used = snprintf(text, sizeof text, "%d %s", part[i], id);
        hash = XXH3_64bits_withSeed(text, (size_t)used, hash);
    }
    snprintf(digest, BALANCE_DIGEST_MAX, "%08" PRIx32, (uint32_t)(hash ^ hash >> 32));
}

enum err balance_make(const struct caselist *l, struct record *times, const char *device, int n,
                      int *ret_part, char ret_digest[BALANCE_DIGEST_MAX], struct errinfo *e)
{
    int64_t known = 0;
    struct load *load = malloc(sizeof *load * (size_t)l->count + 1);
    if (!load)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = ERR_OK;
    if (record_run_count(times))
        err = loads_read(l, times, run_find(times, device), load, &known, e);
    if (!err && !known)
        err = err_set(e, ERR_USAGE,
                      "has none of the %" PRId64 " cases: give a record of this selection",
                      l->count);
    if (!err) {
        unknown_fill(load, l->count, known);
        err = parts_fill(load, l->count, n, ret_part, e);
    }
    if (!err)
        digest_make(l, ret_part, ret_digest);
    free(load);
    return err;
}
