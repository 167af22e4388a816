/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void known_release(struct known *k)
{
    free(k->entry);
    memset(k, 0, sizeof *k);
}

void known_today(char ret_date[KNOWN_DATE_MAX])
{
    time_t now = time(NULL);
    struct tm day;
    if (!gmtime_r(&now, &day) || !strftime(ret_date, KNOWN_DATE_MAX, "%Y-%m-%d", &day))
        snprintf(ret_date, KNOWN_DATE_MAX, "9999-12-31");
}

static int64_t wrong_count(const struct side_stats *s)
{
    return s->nan_wrong + s->inf_wrong + s->over_bound + s->unwritten;
}

static int64_t worse_count(const struct finding *f, const struct finding_out *o)
{
    int64_t a = wrong_count(&o->stats.a), b = f->one_sided ? 0 : wrong_count(&o->stats.b);
    return a > b ? a : b;
}

static double worse_factor(const struct finding *f, const struct finding_out *o)
{
    double a = o->stats.a.worst_bound, b = f->one_sided ? 0 : o->stats.b.worst_bound;
    return isnan(a) || a > b ? a : b; /* NaN stays: it is inside no limit */
}

/* Is every wrong element only outside its bound, so that a factor says how far? */
static bool has_factors(const struct side_stats *s)
{
    return wrong_count(s) == s->over_bound;
}

static bool overran(const struct record_case *c, const struct finding_out *o)
{
    return (c->guard_before || c->guard_after) && !strcmp(c->guard_tensor, o->name);
}

static enum cause primary_cause(const struct finding_out *o)
{
    return o->n_claim ? o->claim[0].cause : CAUSE_UNEXPLAINED;
}

static bool agrees(enum verdict v)
{
    return v == VERDICT_SAME || v == VERDICT_EQUIVALENT;
}

static bool differs(enum verdict v)
{
    return v == VERDICT_DISTINGUISHABLE || v == VERDICT_A_WRONG || v == VERDICT_B_WRONG ||
           v == VERDICT_BOTH_WRONG;
}

static bool entry_is_for(const struct known_entry *x, const struct finding_sides *sides,
                         const struct finding *f, const struct finding_out *o)
{
    if (strcmp(x->output, o->name) || !x->device_b[0] != f->one_sided)
        return false;
    return !fnmatch(x->id, f->id, 0) && !fnmatch(x->device_a, sides->a.device, 0) &&
           (f->one_sided || !fnmatch(x->device_b, sides->b.device, 0));
}

/* --- does an entry describe the difference? -------------------------------------------------
 */

/* The place of the entry's element, -1 when the output has another shape. */
static int64_t element_place(const struct known_entry *x, const struct finding_out *o)
{
    int64_t index = 0;
    if (x->rank != o->rank)
        return -1;
    for (int i = 0; i < x->rank; i++) {
        if (x->coordinate[i] >= o->dim[i])
            return -1;
        index = index * o->dim[i] + x->coordinate[i];
    }
    return index;
}

static bool element_fits(const struct known_entry *x, const struct known_look *look,
                         bool one_sided, const struct finding_out *o, char *why, size_t size)
{
    uint64_t a = 0, b = 0;
    int64_t index = element_place(x, o);
    if (!x->rank)
        return true;
    if (index < 0)
        snprintf(why, size, "its element is not in this output's shape");
    else if (!look->bits(look->context, index, &a, &b))
        snprintf(why, size, "its element cannot be read");
    else if (a != x->a)
        snprintf(why, size, "A's bits there are 0x%" PRIx64 ", not 0x%" PRIx64, a, x->a);
    else if (!one_sided && b != x->b)
        snprintf(why, size, "B's bits there are 0x%" PRIx64 ", not 0x%" PRIx64, b, x->b);
    else
        return true;
    return false;
}

static bool extent_fits(const struct known_entry *x, const struct finding *f,
                        const struct finding_out *o, char *why, size_t size)
{
    int64_t count = worse_count(f, o), expected = x->wrong;
    if (expected < 0)
        expected = x->rank && x->limit <= 0 ? 1 : count;
    bool factors = has_factors(&o->stats.a) && (f->one_sided || has_factors(&o->stats.b));
    if (count != expected)
        snprintf(why, size, "%" PRId64 " elements are wrong, not %" PRId64, count, expected);
    else if (x->limit > 0 && !(worse_factor(f, o) <= x->limit))
        snprintf(why, size, "the worst is outside the bound by a factor of %.6g, over %.6g",
                 worse_factor(f, o), x->limit);
    else if (!factors && (!x->rank || (x->limit > 0 && x->wrong < 0)))
        snprintf(why, size, "elements are NaN, Inf or unwritten, which a limit does not cover");
    else
        return true;
    return false;
}

static bool entry_fits(const struct known_entry *x, const struct finding *f,
                       const struct known_look *look, const struct finding_out *o, char *why, size_t size)
{
    if (overran(&f->a, o) || (!f->one_sided && overran(&f->b, o)))
        snprintf(why, size, "bytes outside the output were overwritten, which is never known");
    else if (x->verdict != VERDICT_COUNT_ && x->verdict != o->verdict)
        snprintf(why, size, "the verdict is not %s", verdict_name(x->verdict));
    else if (x->cause != primary_cause(o))
        snprintf(why, size, "the cause is %s, not %s", cause_name(primary_cause(o)),
                 cause_name(x->cause));
    else
        return extent_fits(x, f, o, why, size) &&
               element_fits(x, look, f->one_sided, o, why, size);
    return false;
}

/* --- verdicts --------------------------------------------------------------------------------
 */

/* Puts `text` before the reason that is there. */
static void reason_before(struct finding_out *o, const char *text)
{
    char old[sizeof o->reason];
    snprintf(old, sizeof old, "%s", o->reason);
    snprintf(o->reason, sizeof o->reason, "%s%s", text, old);
}

static void say_known(struct finding_out *o, const struct known *k, const struct known_entry *x)
{
    char text[sizeof o->reason];
    snprintf(text, sizeof text, "known until %s (%.160s:%d%s%.100s): %.240s. ", x->expires,
             k->path, x->line, x->issue[0] ? ", " : "", x->issue, x->reason);
    o->verdict = VERDICT_KNOWN;
    reason_before(o, text);
}

static void say_stale(struct finding_out *o, const struct known *k, const struct known_entry *x,
                      bool expired)
{
    char text[sizeof o->reason];
    if (expired)
        snprintf(text, sizeof text,
                 "the entry at %.200s:%d expired on %s; look again, then renew or remove it. ",
                 k->path, x->line, x->expires);
    else
        snprintf(text, sizeof text,
                 "%.200s:%d says that %s differs here, and it does not; remove the entry. ",
                 k->path, x->line, o->name);
    o->verdict = VERDICT_STALE;
    reason_before(o, text);
}

static void say_other(struct finding_out *o, const struct known *k, const struct known_entry *x,
                      const char *why)
{
    size_t used = strlen(o->reason);
    snprintf(o->reason + used, sizeof o->reason - used, "%sNot as %.160s:%d says: %s.",
             o->reason[used ? used - 1 : 0] == '.' ? " " : ". ", k->path, x->line, why);
}

void known_output(const struct known *k, const struct finding_sides *sides,
                  const struct finding *f, const struct known_look *look, struct finding_out *o)
{
    const struct known_entry *other = NULL, *old = NULL;
    char why[160] = "";
    for (int i = 0; i < k->count; i++) {
        const struct known_entry *x = &k->entry[i];
        if (!entry_is_for(x, sides, f, o))
            continue;
        if (agrees(o->verdict)) {
            say_stale(o, k, x, strcmp(x->expires, k->today) < 0);
            return;
        }
        char text[sizeof why];
        bool fits = differs(o->verdict) && entry_fits(x, f, look, o, text, sizeof text);
        if (fits && strcmp(x->expires, k->today) >= 0) {
            say_known(o, k, x);
            return;
        }
        if (fits && !old)
            old = x;
        if (!fits && differs(o->verdict) && !other) {
            other = x;
            memcpy(why, text, sizeof why);
        }
    }
    if (old)
        say_stale(o, k, old, true);
    else if (other)
        say_other(o, k, other, why);
}

/* --- from a finding --------------------------------------------------------------------------
 */

enum err known_describe(const struct finding_sides *sides, const struct finding *f,
                        const struct finding_out *o, struct known_entry *ret_entry,
                        struct errinfo *e)
{
    if (!differs(o->verdict))
        return err_set(e, ERR_USAGE, "%.200s: %s is %s: there is no difference to accept",
                       f->id, o->name, verdict_name(o->verdict));
    if (overran(&f->a, o) || (!f->one_sided && overran(&f->b, o)))
        return err_set(e, ERR_USAGE,
                       "%.200s: bytes outside %s were overwritten, which cannot be accepted",
                       f->id, o->name);
    struct known_entry x = {.verdict = o->verdict, .cause = primary_cause(o)};
    snprintf(x.id, sizeof x.id, "%s", f->id);
    snprintf(x.output, sizeof x.output, "%s", o->name);
    snprintf(x.device_a, sizeof x.device_a, "%s", sides->a.device);
    if (!f->one_sided)
        snprintf(x.device_b, sizeof x.device_b, "%s", sides->b.device);
    const struct finding_element *w = &o->worst;
    if (w->shown) {
        x.rank = o->rank;
        memcpy(x.coordinate, w->coordinate, sizeof x.coordinate);
        x.a = w->a;
        x.b = f->one_sided ? 0 : w->b;
    }
    x.wrong = worse_count(f, o);
    double factor = worse_factor(f, o) * (1 + 1e-5); /* it is written with six digits */
    x.limit = isfinite(factor) ? factor : 0;
    if (!x.rank && x.limit <= 0)
        return err_set(e, ERR_USAGE, "%.200s: %s has no element and no factor to hold on to",
                       f->id, o->name);
    *ret_entry = x;
    return ERR_OK;
}
