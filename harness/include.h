/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_INCLUDE_H
#define GPUPARITY_INCLUDE_H

#include <stdbool.h>
#include <sys/types.h>

#include "../backends/backend.h"
#include "err.h"

/* A kernel's source and the headers it includes, each once, itself first, then as they are met.
 *
 * A header is looked for where the run-time compilers look: in quotes beside the text that
 * includes it, then in the folders, then among the texts in this program (kerneltext.h). One that
 * is nowhere is left out: it is the compiler's own, or the compiler will say so. An #include whose
 * name is a macro is not seen; one that #if leaves out is. */

struct include_file {
    char *path;       /* owned; of a text in this program: as kerneltext.h has it */
    const char *text; /* ends with a zero */
    char *loaded;     /* owned: the text of a file on disk; NULL: it is in this program */
    dev_t device;     /* of a file on disk, which may have several paths */
    ino_t inode;
};

struct include_set {
    int count;
    struct include_file *file; /* owned */
    const char *options;       /* borrowed; NULL: all texts are in this program */
};
void include_release(struct include_set *s); /* accepts a zeroed struct */

/* A text in this program and its headers. ERR_MISSING: there is no such text. */
enum err include_inside(const char *path, struct include_set *ret_set, struct errinfo *e);

/* A file and its headers; the folders are those that -I names in the compiler's blank-separated
 * options. ERR_USAGE: it cannot be read, or there are more than 4096 headers or 256 MiB. */
enum err include_disk(const char *path, const char *options, struct include_set *ret_set,
                      struct errinfo *e);

/* The headers of this program that it needs, as the compilers want them: borrowed. How many. */
int include_headers(const struct include_set *s,
                    struct source_file ret_header[BUILD_HEADERS_MAX]);

/* XXH3-128 over all texts; 33 bytes. */
enum err include_digest(const struct include_set *s, char *ret_hex, struct errinfo *e);

/* --- for those who rewrite the texts ---------------------------------------------------------
 */

/* One line, as far as the preprocessor cares. */
enum include_kind {
    INCLUDE_PLAIN, /* also every other directive */
    INCLUDE_HEADER,
    INCLUDE_OPEN,  /* #if, #ifdef, #ifndef */
    INCLUDE_CLOSE, /* #endif */
    INCLUDE_ONCE,  /* #pragma once */
};
struct include_line {
    enum include_kind kind;
    const char *begin, *end; /* with its newline */
    bool angle;              /* of a header: <name> */
    char name[512];          /* of a header; of a directive: its word */
};
struct include_scan {
    const char *at;
    bool comment; /* inside of one */
};
/* False at the end of the text. */
bool include_next(struct include_scan *s, struct include_line *ret_line);

/* The text that an #include in text number `from` means, or -1. */
int include_find(const struct include_set *s, int from, const struct include_line *l);

#endif
