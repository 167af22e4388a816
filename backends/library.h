/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BACKENDS_LIBRARY_H
#define GPUPARITY_BACKENDS_LIBRARY_H

#include "backend.h"

/* A vendor's shared library, found and opened at run time. It is never unloaded: vendor
 * runtimes start threads and register exit handlers that do not survive that. */
struct library {
    void *handle;
    char path[256]; /* the file, symbolic links resolved */
};

/* Where a library may lie, tried in order. `name` is a soname for the dynamic loader, or a
 * pattern of files (with {a,b} and *; the newest name first) that may begin with ~/ or
 * $VARIABLE/. */
struct library_search {
    const char *what;        /* "NVRTC", for messages */
    const char *override;    /* environment variable that names the one file, or "none" */
    const char *const *name; /* NULL-ended */
    const char *package;     /* what to install, for the message */
    const char *beside;      /* pattern of files in its folder that it will ask the loader for by
                                bare name, and so not find by itself; NULL: none */
};

/* BACKEND_MISSING says what was looked for and what to install, or why a file that is there
 * cannot be used. */
enum backend_status library_open(const struct library_search *s, struct library *ret_library,
                                 struct backend_error *e);

/* The one file at `path`. */
enum backend_status library_open_file(const char *path, struct library *ret_library,
                                      struct backend_error *e);

/* A function table: one row a function pointer of a struct, in its order. */
struct library_symbol {
    const char *name;
    size_t offset; /* of the pointer in the table */
    bool optional; /* may stay NULL */
};

/* BACKEND_MISSING names the first required function that the library lacks. */
enum backend_status library_resolve(const struct library *l,
                                    const struct library_symbol *symbol, int count,
                                    void *ret_table, struct backend_error *e);

/* A further kernel, zeroed but for its name; NULL without memory. */
struct kernel_layout *kernel_list_add(struct kernel_list *l, const char *name, size_t size);

/* Fills the error's line; returns `status`, for `return`. */
enum backend_status backend_fail(struct backend_error *e, enum backend_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
