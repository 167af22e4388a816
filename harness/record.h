/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_RECORD_H
#define GPUPARITY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor.h"

/* The record file: HDF5, one group a run (one device each), one group a case.
 *
 *   /                             attrs: schema (int), tool, version, created
 *   /run/<r>                      attrs: device, simulated, ... as struct record_run
 *   /run/<r>/env                  attrs: one an environment variable, by its name
 *   /run/<r>/case/<n>             attrs: id, status, reason, mode, *_digest, seconds, ...
 *   /run/<r>/case/<n>/out/<name>  attrs: dtype, role, digest (XXH3-128, as tensor_digest)
 *   /run/<r>/case/<n>/code        the code object that ran (u8); attrs: dtype, digest,
 * compiler, options /run/<r>/case/<n>/code_log    what the compiler said; attrs: dtype
 * ("text"), digest
 *
 * The attributes of runs and cases are one list, record.def. f16, bf16 and e5m2 are HDF5
 * floating types of their own, so h5dump prints numbers; e4m3, tf32, fnuz and codes as their
 * bits, with the dtype attribute, which every dataset has.
 *
 * Crash safety: while a record is written, each finished case is a small HDF5 file of its own
 * in the folder PATH.partial/, made under another name and renamed. So kill -9 at any moment
 * loses no finished case. Each such file is a record with one case, so `show` and h5dump read
 * it. record_finish packs them into PATH (again by rename) and removes the folder.
 *
 * Readers trust nothing: sizes, types, links, strings and digests are checked before use; a
 * damaged, foreign or newer file is ERR_FORMAT with one clear line. The HDF5 library runs in
 * child processes only (guard.h), so a file that crashes it is such a line as well. Tensor
 * bytes are read without it, from where the child says they lie. */

enum { RECORD_SCHEMA = 1, RECORD_RUN_MAX = 64, RECORD_OUT_MAX = 12, RECORD_ENV_MAX = 64 };

enum record_status {
    RECORD_OK,
    RECORD_SKIPPED,       /* could not run here; the reason says why */
    RECORD_BUILD_FAILED,  /* the compiler refused */
    RECORD_LAUNCH_FAILED, /* the device refused, or the kernel faulted */
    RECORD_CRASHED,       /* the worker process died */
    RECORD_TIMED_OUT,
    RECORD_STATUS_COUNT_
};
const char *record_status_name(enum record_status s);    /* "ok", "skipped", ... */
enum record_status record_status_find(const char *name); /* RECORD_STATUS_COUNT_ if none */

struct record_run {
    char device[32]; /* what ran: "cuda:0", "hip-sim" */
    bool simulated;
    char name[128], arch[32], library[256], driver[64], runtime[64];
    int warp;
    char host[128], system[128], created[32]; /* created: UTC, ISO 8601 */
    char shard[32]; /* "1/1"; balanced parts also say by which split: "2/5:1f3a9c04" */
    int n_env;                                /* environment variables that change numbers */
    struct {
        char name[64], value[192];
    } env[RECORD_ENV_MAX];
};

struct record_case {
    char id[512];
    enum record_status status;
    char reason[768]; /* why not ok; "" if ok */
    char mode[64];
    char source_digest[33], case_digest[33], input_digest[33], code_digest[33]; /* "" where there is none */
    char compiler[64];                                         /* "NVRTC 13.0 (golden)" */
    char options[256];
    char marks[512]; /* modelled instructions with their bounds */
    double seconds;
    int repeats;
    uint64_t instructions;
    int64_t guard_before, guard_after; /* bytes outside an output that were overwritten */
    char guard_tensor[32];             /* which */
    int64_t unwritten; /* elements of outputs that were never written: see poison.h */
    int64_t unstable;  /* elements of outputs that differed between the repeats */
    char unstable_tensor[32]; /* the output with most of them; the next two are about it */
    double noise_largest, noise_rms; /* |repeat - first run| */
    int64_t stale;                   /* elements that changed only with what memory held before */
    char stale_tensor[32];           /* the output with most of them */
};

struct record_out {
    char name[TENSOR_NAME_MAX];
    char role[8];         /* "out", "inout" */
    struct tensor tensor; /* owned */
};

struct record_code {
    const void *bytes; /* borrowed when writing, owned (malloc) when read */
    size_t size;
    const char *log;
};

/* A row of record.def; the tables end with a row whose name is NULL. */
enum record_field_kind {
    RECORD_FIELD_TEXT,   /* char[size] */
    RECORD_FIELD_BOOL,   /* bool */
    RECORD_FIELD_INT,    /* int */
    RECORD_FIELD_LONG,   /* int64_t */
    RECORD_FIELD_COUNT,  /* uint64_t */
    RECORD_FIELD_REAL,   /* double */
    RECORD_FIELD_STATUS, /* enum record_status */
};
struct record_field {
    const char *name;
    enum record_field_kind kind;
    bool fixed; /* of a run: the same after a resume */
    size_t offset, size;
    const char *summary;
};
extern const struct record_field record_run_fields[], record_case_fields[];

/* The field of `owner` as text for a person; `ret_text` takes `size` bytes. */
void record_field_print(const struct record_field *f, const void *owner, char *ret_text,
                        size_t size);

/* A record is used by one thread at a time. */
struct record;

/* --- writing --- */

/* Starts PATH.partial/. With `resume`, takes over what lies there (damaged parts are dropped
 * and run again) and the cases of a finished PATH; without it, a leftover folder is ERR_USAGE
 * naming --resume and what to delete, and so is an existing PATH unless `replace`. ERR_USAGE as
 * well while another process writes PATH. ERR_IO for an unwritable place, before anything is
 * run. */
enum err record_create(const char *path, bool resume, bool replace, struct record **ret_record,
                       struct errinfo *e);

/* Adds a run; its index comes back. On resume a run with the same device is reused, and
 * ERR_USAGE if its arch, versions or numbers-changing environment differ from what lies there.
 */
enum err record_add_run(struct record *r, const struct record_run *run, int *ret_run,
                        struct errinfo *e);

/* Has this run a case of that id that is finished (resume)? */
bool record_has_id(const struct record *r, int run, const char *id);

/* And of the same case file and sources? Of `c` only id and digests of these are looked at. */
bool record_has_case(const struct record *r, int run, const struct record_case *c);

/* Stores a finished case durably; `ordinal` is its place in the selection: packing sorts by it.
 * A case that this run already has is replaced. A full disk is ERR_IO and leaves every earlier
 * case in place. Bytes in texts that are not UTF-8 become '?'. `code` may be NULL. */
enum err record_put_case(struct record *r, int run, int64_t ordinal,
                         const struct record_case *c, int n_out, const struct record_out *out,
                         const struct record_code *code, struct errinfo *e);

/* Packs, reads the result back, renames, removes the folder. After a failure the folder still
 * has every case, and `resume` goes on from it. Afterwards only record_close may follow. */
enum err record_finish(struct record *r, struct errinfo *e);

/* --- reading --- */

enum err record_open(const char *path, struct record **ret_record, struct errinfo *e);

int record_run_count(const struct record *r);
const struct record_run *record_run_at(const struct record *r, int run);
int64_t record_case_count(const struct record *r, int run);
/* Attributes only. */
enum err record_read_case(struct record *r, int run, int64_t i, struct record_case *ret_case,
                          struct errinfo *e);
/* Index of the case of that id, or -1. */
int64_t record_find_case(struct record *r, int run, const char *id);
/* The outputs without their bytes: tensors whose data are NULL, to be read in parts. */
enum err record_list_outs(struct record *r, int run, int64_t i, int *ret_count,
                          struct record_out ret_out[RECORD_OUT_MAX], struct errinfo *e);
/* Elements from <= i < to of output `k` of that list into their places of `t`, which has its shape. The
 * digest is not checked: record_out_check does, with the digest of all that was read. */
enum err record_read_part(struct record *r, int run, int64_t i, int k, int64_t from, int64_t to,
                          struct tensor *t, struct errinfo *e);
enum err record_out_check(struct record *r, int run, int64_t i, int k, const char *digest,
                          struct errinfo *e);
/* The outputs: *ret_count of them, each to be released with tensor_release. */
enum err record_read_outs(struct record *r, int run, int64_t i, int *ret_count,
                          struct record_out ret_out[RECORD_OUT_MAX], struct errinfo *e);
/* The code object and its log, owned by the caller (free); size 0 if none was stored. */
enum err record_read_code(struct record *r, int run, int64_t i, void **ret_bytes,
                          size_t *ret_size, char **ret_log, struct errinfo *e);

void record_close(struct record *r); /* accepts NULL; an unfinished record keeps its folder */

#endif
