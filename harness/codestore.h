/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CODESTORE_H
#define GPUPARITY_CODESTORE_H

#include "../backends/backend.h"
#include "case.h"
#include "codefile.h"
#include "include.h"

/* Kernel sources and their compiled forms.
 *
 * Sources (kerneltext.h) are embedded in the program. Compiled forms lie in
 * golden/code/<family>/<file>.<arch>.<mode>.zst: zstd of a small header (source digest,
 * options, compiler version; see codefile.h) and the code object. Only modes "default" and
 * "strict" are kept. A stale or damaged file is refused, never silently used. */

/* A variant's kernel file and the headers it includes. */
enum err codestore_source(const struct family *f, const struct variant *v,
                          struct include_set *ret_set, struct errinfo *e);

/* Such a set as the compilers get it: sets source and headers of `r`, all borrowed. */
void codestore_request(const struct variant *v, const struct include_set *s,
                       struct source_file header[BUILD_HEADERS_MAX], struct build_request *r);

/* XXH3-128 over these texts; 33 bytes. */
enum err codestore_source_digest(const struct family *f, const struct variant *v, char *ret_hex,
                                 struct errinfo *e);

/* Where compiled kernels lie: $GPUPARITY_GOLDEN, else ../share/gpuparity/golden from the
 * program (an installed tree, wherever it was moved), else the build's source tree. */
void codestore_folder(char *ret_path, size_t size);

/* The kept code object. ERR_MISSING when there is none for this mode or arch; ERR_FORMAT when
 * it is stale (with the command that regenerates it) or damaged. `ret_code` is owned. */
enum err codestore_load(const struct backend *b, const char *arch, const struct case_id *id,
                        struct code *ret_code, struct errinfo *e);

/* Is code kept for this mode? */
bool codestore_keeps(const struct case_mode *mode);

/* The file of a kept code object. */
void codestore_path(const char *arch, const struct family *f, const struct variant *v,
                    const struct case_mode *mode, char *ret_path, size_t size);

/* ERR_FORMAT, saying what changed, when the file is not of these sources and options. */
enum err codestore_check(const struct backend *b, const char *arch, const struct family *f,
                         const struct variant *v, const struct case_mode *mode,
                         const struct codefile *file, struct errinfo *e);

/* Keeps code that the backend's toolchain has made for its standard architecture. */
enum err codestore_save(const struct backend *b, const struct family *f,
                        const struct variant *v, const struct case_mode *mode,
                        const struct code *code, struct errinfo *e);

#endif
