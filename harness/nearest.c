/* SPDX-License-Identifier: Apache-2.0 */
#include "caseid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_ = 64 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance with exchange of neighbours (optimal string alignment). */
static int distance(const char *a, int na, const char *b, int nb)
{
    int row[3][NAME_MAX_ + 1];
    for (int j = 0; j <= nb; j++)
        row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            now[j] = smaller(before[j - 1] + (a[i - 1] != b[j - 1]),
                             smaller(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = smaller(now[j], earlier[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

/* Missing letters at the end cost little: "attn" and "opt" are beginnings of names. */
static int unlikeness(const char *text, const char *name)
{
    int n = (int)strlen(text), m = (int)strlen(name);
    if (n > NAME_MAX_ || m > NAME_MAX_)
        return NAME_MAX_;
    if (n > 0 && n < m && !memcmp(text, name, (size_t)n))
        return 1;
    return distance(text, n, name, m);
}

const char *nearest_name(const char *text, const char *const *names, int count)
{
    const char *best = NULL;
    int least = 1 + (int)strlen(text) / 3;
    for (int i = 0; i < count; i++) {
        int d = unlikeness(text, names[i]);
        if (d <= least && (!best || d < least)) {
            best = names[i];
            least = d;
        }
    }
    return best;
}

const char *nearest_hint(const char *text, const char *const *names, int count,
                         char ret_hint[NEAREST_HINT_MAX])
{
    const char *near = nearest_name(text, names, count);
    ret_hint[0] = 0;
    if (near)
        snprintf(ret_hint, NEAREST_HINT_MAX, "; did you mean '%s'?", near);
    return ret_hint;
}

void nearest_list(const char *text, const char *const *names, int count, char *ret_list,
                  size_t size)
{
    const char *near = nearest_name(text, names, count);
    size_t used = (size_t)snprintf(ret_list, size, near ? "did you mean '%s'? " : "%.0s",
                                   near ? near : "");
    used += used < size ? (size_t)snprintf(ret_list + used, size - used, "there are: ") : 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(ret_list + used, size - used, "%s%s", i ? ", " : "", names[i]);
}
