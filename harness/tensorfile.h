/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TENSORFILE_H
#define GPUPARITY_TENSORFILE_H

#include "bytes.h"
#include "chunkfinder.h"
#include "tensor.h"

/* A file of named tensors in a format that other programs write: what is in it and where the
 * bytes lie; tensorread.h reads them. Nothing of the size of a tensor is held in memory. Files
 * are not trusted: whatever is wrong with one is ERR_FORMAT with one line.
 *
 *   HDF5         datasets by their path without the first slash; contiguous, compact or chunked
 *                (gzip, shuffle, fletcher32, lzf, zstd); the attribute `dtype` names formats
 * that HDF5 has none for. The library runs in a child process (guard.h). npy          one
 * array, named like the file without its ending npz          members without ".npy", stored or
 * deflated safetensors  by their names Polygraphy   RunResults or a list of feeds as JSON;
 * [runner/][iteration/]name, the parts in brackets only where there are several */

enum {
    TENSORFILE_NAME_MAX = 384,
    TENSORFILE_TENSORS_MAX = 1 << 20,
    TENSORFILE_FILTERS_MAX = 8,
    TENSORFILE_CHUNK_MAX = 1 << 30, /* bytes of a chunk */
    TENSORFILE_LISTED_MAX = 16 /* chunks of a dataset whose places are in the file's list */
};

enum tensorfile_form {
    TENSORFILE_RAW,    /* at offset */
    TENSORFILE_BASE64, /* `size` characters at offset; decoded, the elements begin at `skip` */
    TENSORFILE_DEFLATED, /* `size` bytes at offset; inflated, the elements begin at `skip` */
    TENSORFILE_INSIDE,   /* at offset in the file's `blob` */
    TENSORFILE_FILL,     /* HDF5: never written, all `fill` */
    TENSORFILE_CHUNKED   /* HDF5 chunks: `listed` of them (struct chunkplace) at offset in the file's
                            blob, or 0: to be asked of its finder */
};

struct tensorfile_tensor {
    char name[TENSORFILE_NAME_MAX];
    char other[64]; /* what it is, if it cannot be compared: "text"; "": it can */
    bool trouble;   /* and these are numbers: leaving them out would hide something */
    enum dtype dtype;
    int rank;
    int64_t dim[TENSOR_RANK_MAX], count;
    bool swap, fortran; /* elements big-endian; first index fastest */
    enum tensorfile_form form;
    uint64_t offset, size, skip;
    uint32_t checksum;     /* DEFLATED: CRC-32 of all that is inflated */
    unsigned char fill[8]; /* an element that was never written */
    int64_t chunk[TENSOR_RANK_MAX], listed;
    int element; /* bytes of what HDF5 takes as one, for its shuffle filter */
    int n_filter, filter[TENSORFILE_FILTERS_MAX]; /* HDF5's numbers, in the order of writing */
};

struct tensorfile {
    int fd;
    char *path;           /* owned */
    const char *format;   /* "npz" */
    bool unnamed;         /* npy: the name of its tensor is only the file's */
    struct bytes tensors; /* of struct tensorfile_tensor, by name; no name comes twice */
    struct bytes blob;
    struct chunkfinder *finder; /* owned; HDF5 only */
};

/* ERR_IO when it cannot be opened; ERR_FORMAT names the file. */
enum err tensorfile_open(const char *path, struct tensorfile *ret_file, struct errinfo *e);
void tensorfile_close(struct tensorfile *f); /* accepts a zeroed struct */

/* Does it look like a gpuparity record? False also for what cannot be read. */
bool tensorfile_is_record(const char *path);

/* Is it an HDF5 file with that name at its root? Without looking at all of it; false also for what
 * cannot be read. */
bool tensorfile_has(const char *path, const char *name);

int64_t tensorfile_count(const struct tensorfile *f);
const struct tensorfile_tensor *tensorfile_at(const struct tensorfile *f, int64_t i);
/* The tensor of that name, NULL if none. */
const struct tensorfile_tensor *tensorfile_find(const struct tensorfile *f, const char *name);

/* How a chunked one is cut; the name stays the tensor's. */
struct chunkgrid tensorfile_grid(const struct tensorfile_tensor *t);

/* "f32[3,4]"; of what cannot be compared, why. */
void tensorfile_shape(const struct tensorfile_tensor *t, char *ret_text, size_t size);

/* --- the formats, for tensorfile_open; `f` has fd and path, `size` is the file's --- */

enum err tensorfile_npy(struct tensorfile *f, uint64_t size, struct errinfo *e);
enum err tensorfile_npz(struct tensorfile *f, uint64_t size, struct errinfo *e);
enum err tensorfile_safetensors(struct tensorfile *f, uint64_t size, struct errinfo *e);
enum err tensorfile_polygraphy(struct tensorfile *f, uint64_t size, struct errinfo *e);
enum err tensorfile_hdf(struct tensorfile *f, uint64_t size, struct errinfo *e);

/* ERR_FORMAT beyond TENSORFILE_TENSORS_MAX, or for a name that does not fit or is no text. */
enum err tensorfile_add(struct tensorfile *f, const struct tensorfile_tensor *t,
                        struct errinfo *e);
enum err tensorfile_name(struct tensorfile_tensor *t, const char *name, size_t length,
                         struct errinfo *e);
struct npyhead;
/* What an npy head says; the elements follow it. */
void tensorfile_from_npy(struct tensorfile_tensor *t, const struct npyhead *h);

#endif
