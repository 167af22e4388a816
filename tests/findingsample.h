/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_FINDINGSAMPLE_H
#define GPUPARITY_TESTS_FINDINGSAMPLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "ulp.h"

/* Findings made by hand, for reporters: errors drawn from a small generator, their statistics
 * counted here in the plainest way. */

enum { SAMPLE_ELEMENTS = 4096 };

/* Everything that has broken a report writer: markup, quotes, newlines, escapes, separators,
 * comment and CDATA ends, control characters, broken UTF-8, bidirectional controls, formulas.
 */
#define SAMPLE_HOSTILE                                                                         \
    "<script>alert('x')</script>&amp;\"q\"\r\n\t\\ # ]]> --> "                                 \
    ",;\x01\x1b[31m\x7f\xff\xc3(\xed\xa0\x80"                                                  \
    "\xef\xbf\xbf \xe2\x80\xae\xe2\x80\xa8 \xc3\xa9\xf0\x9f\x98\x80 =1+1"

static inline double sample_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 33) + 0.5) / 2147483648.0;
}

static inline double sample_normal(uint64_t *state)
{
    double r = sqrt(-2 * log(sample_uniform(state)));
    return r * cos(6.283185307179586 * sample_uniform(state));
}

static inline int sample_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline void sample_distribution(struct distribution *d, const double *x, int n)
{
    double *sorted = malloc(sizeof *x * (size_t)n);
    memset(d, 0, sizeof *d);
    d->count = n;
    d->minimum = d->maximum = x[0];
    for (int i = 0; i < n; i++) {
        d->mean += x[i] / n;
        d->rms += x[i] * x[i] / n;
        d->minimum = fmin(d->minimum, x[i]);
        d->maximum = fmax(d->maximum, x[i]);
        d->positive += x[i] > 0;
        d->negative += x[i] < 0;
        d->zero += x[i] == 0;
        int bin = x[i] == 0 ? 0 : ilogb(x[i]) + 34;
        bin = x[i] != 0 && bin < 1 ? 1 : bin > 63 ? 63 : bin;
        d->hist[bin]++;
        d->hist_negative[bin] += x[i] < 0;
        sorted[i] = x[i];
    }
    d->rms = sqrt(d->rms);
    qsort(sorted, (size_t)n, sizeof *sorted, sample_order);
    d->median = sorted[n / 2];
    for (int i = 0; i < n; i++)
        sorted[i] = fabs(sorted[i]);
    qsort(sorted, (size_t)n, sizeof *sorted, sample_order);
    static const double at[] = {0.5, 0.9, 0.99, 0.999, 1};
    for (int i = 0; i < STATS_QUANTILES; i++)
        d->quantile[i] = sorted[(int)(at[i] * (n - 1))];
    free(sorted);
}

/* Errors of one side: rounding (uniform within half an ulp) plus accumulation of a spread,
 * shifted by a bias; `outliers` elements are far out. */
static inline void sample_side(struct side_stats *s, uint64_t seed, double spread, double bias,
                               int outliers)
{
    static double ulp[SAMPLE_ELEMENTS], bound[SAMPLE_ELEMENTS];
    for (int i = 0; i < SAMPLE_ELEMENTS; i++) {
        ulp[i] = sample_uniform(&seed) - 0.5 + spread * sample_normal(&seed) + bias;
        if (i < outliers)
            ulp[i] += 40 + 300 * sample_uniform(&seed);
        bound[i] = ulp[i] / 12;
        s->over_bound += fabs(bound[i]) > 1;
        s->correctly_rounded += fabs(ulp[i]) <= 0.5;
    }
    s->count = SAMPLE_ELEMENTS;
    sample_distribution(&s->ulp, ulp, SAMPLE_ELEMENTS);
    sample_distribution(&s->bound, bound, SAMPLE_ELEMENTS);
    s->worst_bound = s->bound.quantile[STATS_QUANTILES - 1];
    s->worst_index = 77;
    s->first_wrong = s->over_bound ? 3 : -1;
}

static inline void sample_element(struct finding_element *x, int64_t index)
{
    *x = (struct finding_element){.index = index,
                                  .coordinate = {index / 64, index % 64},
                                  .a = 0x3f81,
                                  .b = 0x40c3,
                                  .value_a = 1.0078125,
                                  .value_b = 6.09375,
                                  .value = 1.0058594,
                                  .tail = 3e-9,
                                  .bound = 0.0931,
                                  .shown = true};
}

/* Errors that fall with the magnitude, one wrong corner in B, 20 steps that drift apart, codes
 * that go up by one. */
static inline void sample_charts(struct charts *c, bool wrong)
{
    *c = (struct charts){.n_band = 20, .exponent = -14, .width = 1, .rows = 16, .columns = 32};
    c->line = c->lines = 64;
    c->row_step = 4;
    c->column_step = 2;
    for (int k = 0; k < c->n_band; k++) {
        c->bound[k] = ldexp(6, 12 - k);
        for (int s = 0; s < 2; s++)
            c->band[s][k] = (struct charts_band){k == 3 ? 0 : 100, ldexp(0.25, 10 - k + s),
                                                 ldexp(4, 10 - k + (s && wrong ? 9 : 0))};
    }
    for (int r = 0; r < c->rows; r++)
        for (int k = 0; k < c->columns; k++) {
            c->used[0][r][k] = k % 3 ? 0.1f : 0.4f;
            c->used[1][r][k] = wrong && r > 11 && k > 20 ? k > 28 ? INFINITY : 30 : 0.3f;
            c->differ[r][k] = (float)(k % 5) / 5;
        }
    c->steps = c->points = 20;
    c->step_width = 1;
    for (int i = 0; i < c->points; i++)
        for (int k = 0; k < 3; k++)
            c->drift[k][i] = 1e-7 * (1 + i * k);
    c->codes = 256;
    c->code_columns = CHARTS_CODES;
    for (int k = 0; k < CHARTS_CODES; k++) {
        c->code_count[k] = 100;
        c->move[CHARTS_FAR + 1][k] = k % 4 ? 0 : 1 + k / 2;
        c->moved += c->move[CHARTS_FAR + 1][k];
    }
    c->top[0] = (struct charts_move){17, 18, 31};
}

static inline void sample_out(struct finding_out *o, enum verdict v, uint64_t seed)
{
    bool a = v == VERDICT_A_WRONG || v == VERDICT_BOTH_WRONG;
    bool b = v == VERDICT_B_WRONG || v == VERDICT_BOTH_WRONG || v == VERDICT_KNOWN;
    snprintf(o->name, sizeof o->name, "c");
    o->dtype = DTYPE_BF16;
    o->rank = 2;
    o->dim[0] = o->dim[1] = 64;
    o->verdict = v;
    snprintf(o->reason, sizeof o->reason,
             "%s in 5 of 4096 elements, worst at [1, 13]: 6.09375 where 1.0058594 is right",
             a   ? "A is outside its bound"
             : b ? "B is outside its bound"
                 : "agreement");
    o->stats.has_reference = true;
    o->stats.power = 0.87;
    sample_side(&o->stats.a, 11 * seed + 1, 0.3, 0, a ? 5 : 0);
    sample_side(&o->stats.b, v == VERDICT_SAME ? 11 * seed + 1 : 11 * seed + 7, 0.3,
                v == VERDICT_DISTINGUISHABLE ? 0.4 : 0, b ? 5 : 0);
    o->stats.pair =
        (struct pair_stats){.count = SAMPLE_ELEMENTS,
                            .bits_equal = v == VERDICT_SAME ? SAMPLE_ELEMENTS : 3012,
                            .worst_index = 77,
                            .first_index = 3,
                            .worst_ulp = 650,
                            .worst_absolute = 5.086,
                            .ks = 0.0123,
                            .ks_p = 0.41,
                            .wasserstein = 0.012};
    if (v == VERDICT_SAME)
        return;
    o->charts = malloc(sizeof *o->charts);
    sample_charts(o->charts, b);
    o->stats.pair.ulp = o->stats.b.ulp;
    sample_element(&o->worst, 77);
    sample_element(&o->first, 3);
    if (!verdict_fails(v, true))
        return;
    o->n_claim = 1;
    o->claim[0] = (struct cause_claim){.cause = CAUSE_LOCALISED, .side = 'B', .share = 0.98};
    snprintf(o->claim[0].evidence, sizeof o->claim[0].evidence,
             "all 5 wrong elements lie in column 13 of the last tile (n mod 16 = 13)");
}

static inline void sample_case(struct record_case *c, const char *id, bool amd)
{
    snprintf(c->id, sizeof c->id, "%s", id);
    snprintf(c->mode, sizeof c->mode, "default");
    snprintf(c->source_digest, sizeof c->source_digest, "5a0c61fd0f2b4c1e9b7d8a3344556677");
    snprintf(c->input_digest, sizeof c->input_digest, "0123456789abcdef0123456789abcdef");
    snprintf(c->code_digest, sizeof c->code_digest,
             amd ? "b0b1b2b3b4b5b6b7b8b9babbbcbdbebf" : "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
    snprintf(c->compiler, sizeof c->compiler,
             amd ? "hipRTC 5.7 (golden)" : "NVRTC 12.0 (golden)");
    snprintf(c->options, sizeof c->options,
             amd ? "-ffp-contract=fast -O3" : "-fmad=true -arch=compute_86");
    c->seconds = 0.125;
    c->repeats = 2;
    c->instructions = 123456789;
}

/* A finding of that verdict; f->out is owned: finding_release. */
static inline void sample_finding(struct finding *f, int64_t number, enum verdict v)
{
    static const char *const variants[] = {"naive", "tiled", "splitk"};
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    memset(f, 0, sizeof *f);
    f->number = number;
    f->verdict = v;
    snprintf(f->id, sizeof f->id,
             "gemm/%s:dtype=%s,m=%d,n=64,k=%d,ta=0,tb=0,dist=normal,seed=%d",
             variants[number % 3], dtypes[number / 3 % 3], 1 << number % 9,
             16 << number / 7 % 8, (int)number);
    snprintf(f->reproduce, sizeof f->reproduce, "gpuparity check '%s' --on cuda-sim,hip-sim",
             f->id);
    sample_case(&f->a, f->id, false);
    sample_case(&f->b, f->id, true);
    f->n_out = v == VERDICT_UNTESTED || v == VERDICT_BROKEN ? 0 : number % 40 == 3 ? 2 : 1;
    f->out = calloc((size_t)f->n_out + 1, sizeof *f->out);
    for (int i = 0; i < f->n_out; i++)
        sample_out(&f->out[i], v, (uint64_t)number);
    snprintf(f->reason, sizeof f->reason, "%s",
             f->n_out ? f->out[0].reason : "hip-sim: timed out after 300 s while launching");
    if (number % 5 == 1)
        snprintf(f->a.marks, sizeof f->a.marks, "ex2.approx.ftz.f32 (2^-22.5 relative)");
    if (v == VERDICT_BROKEN)
        f->b.status = RECORD_TIMED_OUT;
    if (v == VERDICT_UNTESTED)
        f->b.status = RECORD_SKIPPED;
    if (!f->n_out)
        snprintf(f->b.reason, sizeof f->b.reason, "%s", f->reason);
}

/* Any bytes but 0, of a length that depends on the seed; two in five of those that begin or go
 * on in UTF-8. */
static inline void sample_bytes(char *ret_text, size_t size, uint64_t seed)
{
    static const unsigned char parts[] = {0xe2, 0x80, 0xa8, 0xf0, 0x9f, 0x98, 0x80, 0xc3,
                                          0xa9, 0xed, 0xa0, 0xf4, 0x90, 0xe0, 0x9f, '"'};
    size_t n = 1 + (size_t)(sample_uniform(&seed) * (double)(size - 2));
    for (size_t i = 0; i < n; i++) {
        int byte = 1 + (int)(255 * sample_uniform(&seed));
        if (seed % 5 < 2)
            byte = parts[(int)(16 * sample_uniform(&seed))];
        ret_text[i] = (char)(byte > 255 ? 255 : byte);
    }
    ret_text[n] = 0;
}

/* What a damaged or hostile record can bring: strings and numbers that no writer expects. */
static inline void sample_hostile(struct finding *f)
{
    snprintf(f->id, sizeof f->id, "%s", SAMPLE_HOSTILE);
    snprintf(f->reason, sizeof f->reason, "%s", SAMPLE_HOSTILE);
    snprintf(f->reproduce, sizeof f->reproduce, "%s", SAMPLE_HOSTILE);
    snprintf(f->a.options, sizeof f->a.options, "%s", SAMPLE_HOSTILE);
    snprintf(f->b.marks, sizeof f->b.marks, "%s", SAMPLE_HOSTILE);
    f->a.seconds = NAN;
    f->b.seconds = -INFINITY;
    if (f->number % 2) {
        sample_bytes(f->id, sizeof f->id, (uint64_t)f->number);
        sample_bytes(f->reason, sizeof f->reason, (uint64_t)f->number + 1000);
        sample_bytes(f->reproduce, sizeof f->reproduce, (uint64_t)f->number + 2000);
        sample_bytes(f->b.options, sizeof f->b.options, (uint64_t)f->number + 3000);
    }
    if (!f->n_out)
        return;
    struct finding_out *o = &f->out[0];
    snprintf(o->name, sizeof o->name, "<b>\"\n\xff");
    snprintf(o->reason, sizeof o->reason, "%s", SAMPLE_HOSTILE);
    snprintf(o->claim[0].evidence, sizeof o->claim[0].evidence, "%s", SAMPLE_HOSTILE);
    o->stats.a.ulp.mean = NAN;
    o->stats.a.ulp.maximum = INFINITY;
    o->stats.a.worst_bound = INFINITY;
    o->stats.b.ulp.minimum = -INFINITY;
    o->stats.b.ulp.rms = 1e308;
    o->stats.b.bound.quantile[2] = NAN;
    o->stats.b.bound.maximum = INFINITY;
    o->stats.b.ulp.hist_negative[33] = UINT64_MAX;
    o->stats.pair.worst_ulp = UINT64_MAX - 1;
    o->stats.pair.ks_p = NAN;
    o->worst.value = NAN;
    o->worst.bound = INFINITY;
    o->first.value_a = -INFINITY;
    if (o->charts) {
        o->charts->band[0][0] = (struct charts_band){1, NAN, INFINITY};
        o->charts->band[1][1] = (struct charts_band){1, 0, ULP_ERROR_MAX};
        o->charts->drift[0][0] = INFINITY;
        o->charts->drift[1][1] = NAN;
        o->charts->used[0][0][0] = NAN;
    }
    o->first.bound = 0;
}

static inline void sample_run(struct record_run *r, bool amd)
{
    snprintf(r->device, sizeof r->device, amd ? "hip-sim" : "cuda-sim");
    r->simulated = true;
    snprintf(r->name, sizeof r->name,
             amd ? "simulated Radeon RX 7900 XTX" : "simulated GeForce RTX 3090");
    snprintf(r->arch, sizeof r->arch, amd ? "gfx1100" : "sm_86");
    snprintf(r->library, sizeof r->library, "libgpuparity-%s-sim.so", amd ? "hip" : "cuda");
    snprintf(r->driver, sizeof r->driver, amd ? "6.0" : "12.0");
    snprintf(r->runtime, sizeof r->runtime, amd ? "5.7" : "12.0");
    r->warp = 32;
    snprintf(r->host, sizeof r->host, "bench-7");
    snprintf(r->system, sizeof r->system, "Linux 6.1.0 x86_64");
    snprintf(r->created, sizeof r->created,
             amd ? "2026-11-30T10:02:11Z" : "2026-11-30T10:01:40Z");
    snprintf(r->shard, sizeof r->shard, "1/1");
    snprintf(r->env[0].name, sizeof r->env[0].name,
             amd ? "HSA_OVERRIDE_GFX_VERSION" : "NVIDIA_TF32_OVERRIDE");
    snprintf(r->env[0].value, sizeof r->env[0].value, amd ? "11.0.0" : "0");
    snprintf(r->env[1].name, sizeof r->env[1].name, "OMP_NUM_THREADS");
    snprintf(r->env[1].value, sizeof r->env[1].value, "2");
    r->n_env = 2;
}

static inline void sample_sides(struct finding_sides *s, bool one_sided)
{
    memset(s, 0, sizeof *s);
    sample_run(&s->a, false);
    s->one_sided = one_sided;
    snprintf(s->file_a, sizeof s->file_a, "records/night.h5");
    if (one_sided)
        return;
    sample_run(&s->b, true);
    snprintf(s->file_b, sizeof s->file_b, "records/night.h5");
}

static inline void sample_tally(struct finding_tally *t, const struct finding *f)
{
    t->count++;
    t->verdicts[f->verdict]++;
    t->failing += verdict_fails(f->verdict, t->strict);
}

#endif
