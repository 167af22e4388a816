/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkfinder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "hdfdrive.h"

/* Places come and are kept by windows: a window of the same number modulo WINDOWS pushes one
 * out.
 */
enum { WINDOW = 1024, WINDOWS = 64, NAME_SIZE = 512, SECONDS = 120 };

struct window {
    int64_t number; /* -1: none */
    struct chunkplace place[WINDOW];
};

struct chunkfinder {
    pthread_mutex_t mutex;
    int fd;
    bool started;
    struct guard_server server;
    char name[NAME_SIZE]; /* whose places are kept */
    struct window *window[WINDOWS];
};

struct request {
    char name[NAME_SIZE];
    struct chunkgrid grid; /* its name means nothing */
    int64_t first, count;
};

/* `count` places follow; 0: the text says why. */
struct answer {
    int64_t count;
    char text[300];
};

static const struct guard guard = {.what = "the HDF5 library",
                                   .crash = ERR_FORMAT,
                                   .seconds = SECONDS,
                                   .memory = (size_t)6 << 30};

/* --- in the child --- */

struct serving {
    int fd;
    hid_t file, how, dataset;
    char name[NAME_SIZE]; /* of the dataset */
    int rank;
    struct hdfdrive_note *note;
};

static enum err serve_open(struct serving *s, struct errinfo *e)
{
    hdf_begin();
    TRY(hdfdrive_open(s->fd, &s->file, &s->note, e));
    s->how = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(s->how, 1, 0, 0);
    return ERR_OK;
}

static enum err choose(struct serving *s, const struct request *q, struct errinfo *e)
{
    if (s->dataset >= 0 && !strcmp(s->name, q->name))
        return ERR_OK;
    if (s->dataset >= 0)
        H5Dclose(s->dataset);
    s->dataset = H5Dopen2(s->file, q->name, s->how); /* negative: none */
    if (s->dataset < 0)
        return hdf_error(e, ERR_FORMAT, "cannot be opened again");
    snprintf(s->name, sizeof s->name, "%s", q->name);
    hid_t space = H5Dget_space(s->dataset);
    s->rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    return s->rank > 0 && s->rank <= q->grid.rank ? ERR_OK : err_set(e, ERR_FORMAT, "damaged");
}

static enum err find_all(struct serving *s, const struct request *q, struct chunkplace *place,
                         struct errinfo *e)
{
    TRY(choose(s, q, e));
    for (int64_t i = 0; i < q->count; i++)
        TRY(hdfdrive_find(s->dataset, s->note, &q->grid, q->first + i, &place[i], e));
    return ERR_OK;
}

static void serve(void *context, int fd)
{
    struct request q;
    struct chunkplace place[WINDOW];
    struct serving s = {.fd = *(const int *)context, .dataset = -1};
    struct errinfo damage = {0};
    enum err open = serve_open(&s, &damage);
    while (alarm(0), guard_receive(fd, &q, sizeof q)) {
        struct errinfo e = damage;
        alarm(SECONDS);
        bool fine = !open && !find_all(&s, &q, place, &e);
        struct answer a = {.count = fine ? q.count : 0};
        snprintf(a.text, sizeof a.text, "%.299s", e.text);
        if (!guard_send(fd, &a, sizeof a) ||
            !guard_send(fd, place, (size_t)a.count * sizeof *place))
            return;
    }
}

/* --- in the caller --- */

enum err chunkfinder_open(int fd, struct chunkfinder **ret_finder, struct errinfo *e)
{
    struct chunkfinder *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NOMEM, "out of memory");
    f->fd = fd;
    pthread_mutex_init(&f->mutex, NULL);
    *ret_finder = f;
    return ERR_OK;
}

void chunkfinder_close(struct chunkfinder *f)
{
    if (!f)
        return;
    guard_stop(&f->server);
    for (int i = 0; i < WINDOWS; i++)
        free(f->window[i]);
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

enum err chunkfinder_start(struct chunkfinder *f, struct errinfo *e)
{
    pthread_mutex_lock(&f->mutex);
    enum err err = f->started ? ERR_OK : guard_start(&guard, serve, &f->fd, &f->server, e);
    f->started = !err;
    pthread_mutex_unlock(&f->mutex);
    return err;
}

static enum err ask(struct chunkfinder *f, const struct request *q, struct chunkplace *to,
                    struct errinfo *e)
{
    struct answer a;
    if (!f->server.pid)
        return err_set(e, ERR_FORMAT, "the HDF5 library has crashed");
    if (!guard_send(f->server.fd, q, sizeof *q) || !guard_receive(f->server.fd, &a, sizeof a))
        return guard_died(&guard, &f->server, e);
    a.text[sizeof a.text - 1] = 0;
    if (a.count != q->count)
        return err_set(e, ERR_FORMAT, "%s", a.text[0] ? a.text : "damaged");
    if (!guard_receive(f->server.fd, to, (size_t)a.count * sizeof *to))
        return guard_died(&guard, &f->server, e);
    return ERR_OK;
}

/* Fills the window that has the number. */
static enum err fetch(struct chunkfinder *f, const struct chunkgrid *g, int64_t number,
                      struct errinfo *e)
{
    struct window **w = &f->window[number % WINDOWS];
    if (!*w && !(*w = malloc(sizeof **w)))
        return err_set(e, ERR_NOMEM, "out of memory");
    int64_t first = number * WINDOW, left = g->count - first;
    struct request q = {.grid = *g, .first = first, .count = left < WINDOW ? left : WINDOW};
    snprintf(q.name, sizeof q.name, "%s", g->name);
    (*w)->number = -1;
    TRY(ask(f, &q, (*w)->place, e));
    (*w)->number = number;
    return ERR_OK;
}

static void forget(struct chunkfinder *f, const char *name)
{
    for (int i = 0; i < WINDOWS; i++)
        if (f->window[i])
            f->window[i]->number = -1;
    snprintf(f->name, sizeof f->name, "%s", name);
}

enum err chunkfinder_at(struct chunkfinder *f, const struct chunkgrid *g, int64_t i,
                        struct chunkplace *ret_place, struct errinfo *e)
{
    int64_t number = i / WINDOW;
    enum err err = ERR_OK;
    pthread_mutex_lock(&f->mutex);
    if (strcmp(f->name, g->name))
        forget(f, g->name);
    const struct window *w = f->window[number % WINDOWS];
    if (!w || w->number != number)
        err = fetch(f, g, number, e);
    if (!err)
        *ret_place = f->window[number % WINDOWS]->place[i % WINDOW];
    pthread_mutex_unlock(&f->mutex);
    return err;
}
