/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CASEFILESAMPLE_H
#define TESTS_CASEFILESAMPLE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "casefile.h"
#include "config.h"

/* For tests of case files: a folder with those of docs/kernels, and one for their binaries. */

static char folder[] = "/tmp/gpuparity-casefile-XXXXXX";

static inline void file_set(const char *name, const void *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

static inline void text_set(const char *name, const char *text)
{
    file_set(name, text, strlen(text));
}

static inline void setup(void)
{
    char command[1024];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "cp %s/docs/kernels/saxpy.* %s", GPUPARITY_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command,
             "sed 's/^source:.*/binary: {cuda: saxpy.ptx, hip: saxpy.hsaco}/' %s/saxpy.case.yaml "
             "> %s/bin.case.yaml",
             folder, folder);
    ck_assert_int_eq(system(command), 0);
    text_set("k.cu", "");
}

static inline void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

#endif
