/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void progress_init(struct progress *p, const char *what, bool quiet)
{
    memset(p, 0, sizeof *p);
    p->what = what;
    p->wanted = !quiet && isatty(STDERR_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &p->start);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

void progress_show(struct progress *p, int64_t done, int64_t total, const char *id)
{
    if (!p->wanted)
        return;
    double spent = seconds_since(&p->start);
    fprintf(stderr, "\r\033[K%.10s %" PRId64, p->what, done);
    if (total)
        fprintf(stderr, "/%" PRId64, total);
    if (done && spent > 0)
        fprintf(stderr, ", %.3g/s", (double)done / spent);
    if (done && total > done)
        fprintf(stderr, ", %.0f s left", spent / (double)done * (double)(total - done));
    fprintf(stderr, "  %.30s", id ? id : "");
    p->shown = true;
}

void progress_hide(struct progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
    p->shown = false;
}
