/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backends/backend.h"
#include "casefile.h"

/* Fuzz target of what a user may hand in as a case: the file's text, down to its plan and
 * reference, and code objects of both vendors. As a program it reads each file it is given:
 *
 *   fuzz_casefile FILE...          *.yaml as a case file, others as code
 *
 * With libFuzzer (-DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined) the first byte of the input
 * chooses. Seeds: tests/data/fuzz_casefile, docs/kernels. */

enum { ELEMENTS_MAX = 4096 }; /* of a reference that is computed here */

static int64_t elements(const struct case_plan *p)
{
    int64_t all = 0;
    for (int i = 0; i < p->n_tensor; i++) {
        int64_t n = 1;
        for (int k = 0; k < p->tensor[i].rank; k++)
            n *= p->tensor[i].dim[k] < ELEMENTS_MAX ? p->tensor[i].dim[k] : ELEMENTS_MAX;
        all += n < ELEMENTS_MAX ? n : ELEMENTS_MAX;
    }
    return all;
}

static void reference_run(const struct case_id *id, const struct case_plan *p)
{
    struct tensor made[CASE_TENSOR_MAX] = {0};
    const struct tensor *input[CASE_TENSOR_MAX] = {NULL};
    for (int i = 0; i < p->n_tensor; i++)
        if ((p->tensor[i].role != TENSOR_OUT || p->tensor[i].reference) &&
            !case_input(id, p, i, &made[i], NULL))
            input[i] = &made[i];
    for (int i = 0; i < p->n_tensor; i++) {
        struct oracle o = {0};
        if (p->tensor[i].role != TENSOR_IN && !p->tensor[i].reference)
            case_oracle(id, p, input, i, 1, &o, NULL);
        oracle_release(&o);
    }
    for (int i = 0; i < p->n_tensor; i++)
        tensor_release(&made[i]);
}

static enum err read_text(const char *path, const char *text, size_t size, struct errinfo *e)
{
    struct casefiles l = {0};
    const struct casefile *f;
    struct case_id id;
    struct case_plan *p = calloc(1, sizeof *p);
    char canonical[CASEID_TEXT_MAX];
    enum err err = casefiles_add_text(&l, path, text, size, &f, e);
    if (!err)
        err = caseid_parse_values(&f->family, path, "", &id, e);
    if (!err) {
        caseid_print(&id, canonical);
        err = f->family.plan(&id, p, e);
    }
    if (!err && elements(p) <= ELEMENTS_MAX)
        reference_run(&id, p);
    free(p);
    casefiles_release(&l);
    return err;
}

static void read_code(int side, const void *bytes, size_t size, bool tell)
{
    struct kernel_list l = {0};
    struct backend_error e = {0};
    if (backends[side]->kernels(bytes, size, &l, &e) && tell)
        printf("%s: %s\n", backends[side]->name, e.text);
    for (int i = 0; i < l.count && tell; i++)
        printf("%s: %s %s, %d arguments\n", backends[side]->name, l.arch, l.kernel[i].name,
               l.kernel[i].n_arg);
    kernel_list_release(&l);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 4 < 2)
        read_text("f.case.yaml", (const char *)data + 1, size - 1, NULL);
    else
        read_code(data[0] % 2, data + 1, size - 1, false);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
    static char bytes[1 << 22];
    for (int i = 1; i < argc; i++) {
        struct errinfo e = {0};
        FILE *f = fopen(argv[i], "r");
        size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0, length = strlen(argv[i]);
        if (f)
            fclose(f);
        if (length > 5 && !strcmp(argv[i] + length - 5, ".yaml")) {
            enum err err = length < 200 ? read_text(argv[i], bytes, n, &e) : ERR_USAGE;
            printf("%s: %s\n", argv[i], err ? e.text : "a case");
        } else {
            for (int side = 0; backends[side]; side++)
                read_code(side, bytes, n, true);
        }
    }
    return 0;
}
#endif
