/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASEFILE_H
#define GPUPARITY_CASEFILE_H

#include "caseid.h"
#include "expr.h"
#include "yamltree.h"

/* A case file: a user's kernel as a family, described in YAML (docs/kernels.md) instead of C.
 * Its ids begin with its path: saxpy.case.yaml:n=100,dist=normal,seed=1. */

enum {
    CASEFILE_BYTES_MAX = 1 << 20,
    CASEFILE_WORDS_MAX = 16,
    CASEFILE_ITEMS_MAX = 16, /* defines, options, folders, modes, suite rows */
    CASEFILE_SIDES_MAX = 4,
    CASEFILE_LIBRARIES_MAX = 4,
    CASEFILE_HANDLES_MAX = 16,
    CASEFILE_WORDS_SIZE = 256,
    CASEFILE_TEXT_MAX = 512,
};

/* A file of numbers: .npy, or the bare elements. */
struct casefile_data {
    char *path;  /* owned; NULL: none */
    void *bytes; /* owned */
    size_t size;
    size_t start;          /* of the elements */
    bool described;        /* .npy: the next three are known */
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX];
};

/* A format that is fixed, or the value of a parameter. */
struct casefile_dtype {
    int param; /* -1: fixed */
    enum dtype dtype;
};


struct casefile_tensor {
    const struct yamlnode *node;
    enum tensor_role role;
    bool reference; /* the wide answer to output `of`, made by a kernel */
    int of;
    struct casefile_dtype dtype;
    int rank;
    struct expr dim[TENSOR_RANK_MAX];
    const struct yamlnode *dim_node[TENSOR_RANK_MAX];
    bool dist_given;
    enum dist dist;
    int axis;
    bool zeroed;
    struct casefile_data data;
    /* Outputs: where the right answer comes from; at most one of the three. */
    struct expr formula;
    int answer; /* the reference tensor, or -1 */
    struct casefile_data answer_data;
    struct case_limit limit; /* reason NULL: there is none */
};

/* How a library's function gets an argument. */
enum casefile_form {
    CASEFILE_VALUE,          /* as a kernel: a device's pointer, a number, null */
    CASEFILE_POINTER,        /* &f32 1: the address of a number in the host's memory */
    CASEFILE_HOST,           /* host x: the address of an input in the host's memory */
    CASEFILE_HANDLE,         /* what an earlier call gave */
    CASEFILE_HANDLE_POINTER, /* &ctx: where the call puts a handle */
    CASEFILE_SCRATCH,        /* scratch 1024: so many bytes of the device's memory */
    CASEFILE_TEXT,           /* text {dtype}: a zero-ended text */
    CASEFILE_WORDS,          /* words: where the function says what it did, CASEFILE_WORDS_SIZE */
};

struct casefile_arg {
    const struct yamlnode *node;
    enum casefile_form form;
    int slot;   /* of a handle */
    int tensor; /* -1: a number; -2: a null pointer */
    struct casefile_dtype dtype;
    struct expr value; /* real for floating formats */
};

struct casefile_kernel {
    const struct yamlnode *node;
    const char *name; /* may hold {param}; NULL: the binary's only kernel */
    int n_arg;
    struct casefile_arg arg[CASE_ARG_MAX];
    struct expr grid[3], block[3], shared; /* count 0: 1; block[0]: what the binary says */
    const struct yamlnode *grid_node, *block_node, *shared_node;
    /* Of a library's function. */
    unsigned sides; /* a bit for each of struct casefile's sides; 0: all */
    enum { CASEFILE_RETURNS_NOTHING, CASEFILE_RETURNS_NUMBER, CASEFILE_RETURNS_POINTER } returns;
    enum dtype return_dtype; /* NUMBER; 0 is success */
    int result;              /* POINTER: the handle that it becomes; -1: none */
    bool once;               /* a process makes the call for its first case only */
    const struct yamlnode *untested, *failed; /* NUMBER: maps of values and meanings, or NULL */
};

/* What one vendor gets: a source, a binary or libraries, paths relative to the file's folder. */
struct casefile_side {
    const char *backend;
    const struct yamlnode *source, *binary, *library;
    int n_option;
    const char *option[CASEFILE_ITEMS_MAX];
};

/* How explain has a case compiled otherwise: without what `options` says for this side, or from
 * the other side's source. */
enum casefile_change { CASEFILE_NO_OPTIONS, CASEFILE_OTHER_SOURCE, CASEFILE_CHANGES };

struct casefile {
    struct casefile *next; /* of struct casefiles */
    char path[256], folder[256]; /* folder: "" or with its '/' */
    char name[TENSOR_NAME_MAX];
    char digest[33]; /* XXH3-128 over the text and the files of numbers */
    struct yamltree tree;
    struct family family;
    struct variant variants[2];
    struct variant changed[CASEFILE_CHANGES]; /* of no list: a case_id may be given one */
    struct param params[CASE_PARAM_MAX + 1];
    const char *words[CASE_PARAM_MAX][CASEFILE_WORDS_MAX + 1];
    bool f64[CASE_PARAM_MAX]; /* a REAL that is not rounded to f32 */
    struct suite_row suites[CASEFILE_ITEMS_MAX + 1];
    char suite_text[CASEFILE_ITEMS_MAX][CASEFILE_TEXT_MAX];
    int n_param, n_tensor, n_kernel, n_reference; /* reference kernels come first in `kernel` */
    struct casefile_tensor tensor[CASE_TENSOR_MAX];
    struct casefile_kernel kernel[CASE_LAUNCH_MAX];
    enum dtype compute; /* of formulas; DTYPE_COUNT_: what the output's format suggests */
    bool hardware;      /* functions may be the hardware's approximations */
    bool matrix;        /* sums may go through the matrix unit */
    int n_side, n_define, n_include, n_mode;
    struct casefile_side side[CASEFILE_SIDES_MAX];
    bool library;       /* `kernel` are calls of functions */
    int n_handle;
    const char *handle[CASEFILE_HANDLES_MAX];
    const struct yamlnode *like; /* the built-in case with the same tensors; NULL: none */
    struct yamlnode like_node[CASE_TENSOR_MAX];
    char like_name[CASE_TENSOR_MAX][TENSOR_NAME_MAX];
    struct { const char *name, *value; } define[CASEFILE_ITEMS_MAX];
    const char *include[CASEFILE_ITEMS_MAX];
    struct case_mode mode[CASEFILE_ITEMS_MAX]; /* n_mode 0: all */
};

/* The case files that a command has met, each read once. A zeroed struct has none. */
struct casefiles {
    struct casefile *first; /* owned */
};
void casefiles_release(struct casefiles *l); /* accepts a zeroed struct */

/* The length of the path if `text` begins with one of a case file (saxpy.case.yaml, with
 * nothing or ':' behind it), else 0. */
size_t casefile_path_length(const char *text);

/* The case file at the first `size` characters of `path`, owned by `l`. ERR_FORMAT with path,
 * line and column; ERR_USAGE, ERR_IO when it or what it names cannot be read. */
enum err casefiles_get(struct casefiles *l, const char *path, size_t size,
                       const struct casefile **ret_file, struct errinfo *e);

/* The same for a text that is called `path`; that must be shorter than struct casefile's. */
enum err casefiles_add_text(struct casefiles *l, const char *path, const char *text, size_t size,
                            const struct casefile **ret_file, struct errinfo *e);

/* caseid_parse for ids of both kinds. */
enum err casefiles_parse_id(struct casefiles *l, const char *text, struct case_id *ret_id,
                            struct errinfo *e);

/* `text` with each {param} replaced by that parameter's value as an id prints it. ERR_USAGE for
 * a name that is none, or a result that does not fit. */
enum err casefile_expand(const struct casefile *f, const struct case_id *id, const char *text,
                         char *ret_text, size_t size, struct errinfo *e);

/* The whole file at `path` and a zero byte behind it, owned by the caller; casefile_load: relative
 * to the case file's folder unless absolute. ERR_USAGE if it cannot be read or is larger than `limit`. */
enum err casefile_load_path(const char *path, size_t limit, void **ret_bytes, size_t *ret_size,
                            struct errinfo *e);
enum err casefile_load(const struct casefile *f, const char *path, size_t limit,
                       void **ret_bytes, size_t *ret_size, struct errinfo *e);

/* The side of that backend, or NULL. */
const struct casefile_side *casefile_side(const struct casefile *f, const char *backend);

/* Is that call (index into `kernel`) made on that side? */
bool casefile_call_on(const struct casefile *f, int call, const char *backend);

/* --- private to casefile*.c ------------------------------------------------------------------ */

/* Fills the rest of `f` from f->tree; what it took is released with f in any case. */
enum err casefile_read(struct casefile *f, struct errinfo *e);
enum err casefile_read_kernels(struct casefile *f, struct errinfo *e);
enum err casefile_read_calls(struct casefile *f, struct errinfo *e);
enum err casefile_read_like(struct casefile *f, struct errinfo *e);
enum err casefile_read_answers(struct casefile *f, struct errinfo *e);

/* Keys of a map: ERR_FORMAT for one that is not among `keys` (NULL-ended). */
enum err casefile_keys(const struct casefile *f, const struct yamlnode *map,
                       const char *const *keys, struct errinfo *e);
enum err casefile_want(const struct casefile *f, const struct yamlnode *n, enum yaml_kind kind,
                       const char *what, struct errinfo *e);
/* A name that expressions, ids and records can hold, of fewer than `room` characters. */
enum err casefile_name(const struct casefile *f, const struct yamlnode *n, const char *name,
                       size_t room, struct errinfo *e);
/* One member of `parameters:` and of `tensors:`. */
enum err casefile_param(struct casefile *f, const struct yamlnode *n, struct errinfo *e);
enum err casefile_tensor(struct casefile *f, const struct yamlnode *n, struct errinfo *e);
/* A size, or a number when `real`; and the formula of an output, with its indices. */
enum err casefile_expr(const struct casefile *f, const struct yamlnode *n, bool real,
                       struct expr *ret_expr, struct errinfo *e);
enum err casefile_formula(const struct casefile *f, const struct yamlnode *n, bool real,
                          bool tensors, int n_index, const char *const *index,
                          struct expr *ret_expr, struct errinfo *e);
enum err casefile_dtype(const struct casefile *f, const struct yamlnode *n, const char *word,
                        struct casefile_dtype *ret_dtype, struct errinfo *e);
int casefile_tensor_find(const struct casefile *f, const char *name); /* -1: none */
enum err casefile_data(const struct casefile *f, const struct yamlnode *n,
                       struct casefile_data *ret_data, struct errinfo *e);

/* "x", "null" or "i32 n + 1". */
enum err casefile_arg(struct casefile *f, const struct yamlnode *n, struct casefile_arg *a,
                      struct errinfo *e);

enum dtype casefile_dtype_of(const struct casefile_dtype *d, const struct case_id *id);

/* struct family's functions. */
enum err casefile_plan(const struct case_id *id, struct case_plan *ret_plan, struct errinfo *e);
enum err casefile_oracle(const struct case_id *id, const struct case_plan *plan,
                         const struct tensor *const *input, int which, struct case_span span,
                         int threads, struct oracle *o, struct errinfo *e);
bool casefile_model(const struct case_id *id, const struct case_plan *plan,
                    const struct tensor *const *input, int which, int model, int64_t n,
                    const int64_t *index, uint64_t *ret_bits);
extern const struct case_model casefile_models[];

/* What a formula is computed in: integers are exact, f64 in f64, all else in f32, unless the file
 * says otherwise. */
enum dtype casefile_compute(const struct casefile *f, enum dtype output);
/* Sets `ret_param` (CASE_PARAM_MAX) and v->range for the formula of output `which`; v->tensor is
 * set. casefile_formula_at: element i of the result. */
enum err casefile_formula_env(const struct case_id *id, const struct case_plan *plan, int which,
                              long double *ret_param, struct expr_env *v, struct errinfo *e);
void casefile_formula_at(const struct case_tensor *t, const struct expr *formula, int64_t i,
                         struct expr_env *v);
/* The case that `like` names and its plan, inputs, answers. */
enum err casefile_like_plan(const struct case_id *id, struct case_id *ret_like,
                            struct case_plan *ret_plan, struct errinfo *e);
bool casefile_like_fill(const struct case_id *id, int i, struct case_span span,
                        struct tensor *t);
enum err casefile_like_oracle(const struct case_id *id, const struct tensor *const *input,
                              int which, struct case_span span, int threads, struct oracle *o,
                              struct errinfo *e);
bool casefile_needs(const struct case_id *id, const struct case_plan *plan, int which, int i,
                    struct case_span span, struct case_span *ret_need);
bool casefile_like_needs(const struct case_id *id, int which, int i, struct case_span span,
                         struct case_span *ret_need);
bool casefile_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t);

#endif
