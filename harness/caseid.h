/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASEID_H
#define GPUPARITY_CASEID_H

#include "case.h"

enum { CASEID_TEXT_MAX = 512 };

/* Ids as text: family/variant:param=value,...  Parameters may come in any order; those left out
 * have their standard value. The canonical form prints the family's parameters in table order,
 * then dist, seed, and mode if it is not the default.
 *
 * mode is "default" or words joined by '+': strict (no contraction), flush, fastdiv, fastsqrt,
 * approx, fast (= flush+fastdiv+fastsqrt+approx). */

/* ERR_USAGE with the position, what is wrong and the nearest valid names. */
enum err caseid_parse(const char *text, struct case_id *ret_id, struct errinfo *e);

/* The same for a family that is known already, which is a case file's: `values` is what stands in
 * `text` behind its name: "" or ":n=3,seed=7". */
enum err caseid_parse_values(const struct family *f, const char *text, const char *values,
                             struct case_id *ret_id, struct errinfo *e);

/* One parameter's value as ids have it. */
void caseid_print_value(const struct param *p, union param_value v, char *ret_text,
                        size_t size);

/* Canonical text; `ret_text` takes CASEID_TEXT_MAX bytes. parse(print(x)) == x. */
void caseid_print(const struct case_id *id, char *ret_text);

/* The text of a mode, "default" for the default one; `ret_text` takes 64 bytes. */
void caseid_print_mode(const struct case_mode *m, char *ret_text);
enum err caseid_parse_mode(const char *text, struct case_mode *ret_mode, struct errinfo *e);

/* The valid name nearest to `text` (edit distance), or NULL when none is near. */
const char *nearest_name(const char *text, const char *const *names, int count);

/* The end of an error line: "; did you mean 'bf16'?", or "" where nothing is near. */
enum { NEAREST_HINT_MAX = 96 };
const char *nearest_hint(const char *text, const char *const *names, int count,
                         char ret_hint[NEAREST_HINT_MAX]);

/* "did you mean 'bf16'? there are: f32, f16, bf16", without the question where nothing is near. */
void nearest_list(const char *text, const char *const *names, int count, char *ret_list,
                  size_t size);

struct casefiles;

/* A list of cases. */
struct caselist {
    int64_t count, room;
    struct case_id *id;      /* owned */
    struct casefiles *files; /* owned: what ids of case files point into; NULL: none */
};

void caselist_release(struct caselist *l);

/* What the command line selects, in a stable order, without duplicates. Each pattern is one of
 *   an exact id            gemm/tiled:dtype=bf16,m=65,n=129,k=200
 *   a family, or variant   gemm   gemm/tiled         every suite row of it under `tags`
 *   a glob, exclusions     'gemm/t*:-*dtype=f32*'    over the canonical ids of the suites
 *   a case file            saxpy.case.yaml   saxpy.case.yaml:n=100   saxpy.case.yaml:-*n=1,*
 * No pattern: all families. `tags`: comma-separated suites, NULL for "quick". Hidden variants come
 * only by exact id. ERR_USAGE for an unknown name (with suggestions) or an empty selection. */
enum err caselist_select(struct caselist *ret_list, int n_pattern, const char *const *pattern,
                         const char *tags, struct errinfo *e);

#endif
