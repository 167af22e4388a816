/* SPDX-License-Identifier: Apache-2.0 */
#include "repro.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "casecode.h"
#include "casekernel.h"
#include "codestore.h"
#include "includeprint.h"
#include "wrap.h"

enum { COLUMNS = 8, WIDTH = 96 };

static const char *bits_type(int bytes)
{
    return bytes == 8   ? "unsigned long long"
           : bytes == 4 ? "unsigned int"
           : bytes == 2 ? "unsigned short"
                        : "unsigned char";
}

static void print_array(FILE *out, const char *prefix, const char *name, const struct tensor *t)
{
    const struct dtype_info *d = dtype_info(t->dtype);
    fprintf(out, "static const %s %s_%s[] = {", bits_type(d->bytes), prefix, name);
    for (int64_t i = 0; i < t->count; i++)
        fprintf(out, "%s0x%0*" PRIx64 ",", i % COLUMNS ? " " : "\n    ", 2 * (int)d->bytes,
                tensor_bits(t, i));
    fprintf(out, "%s\n};\n", t->count ? "" : "\n    0,");
}

/* --- what is expected ------------------------------------------------------------------------
 */

/* The side whose results are right; of two that are, the first; -1: neither has any. */
static int expected_side(const struct repro *r)
{
    if (!r->n_out[0] || !r->n_out[1])
        return r->n_out[0] ? 0 : r->n_out[1] ? 1 : -1;
    return r->finding->verdict == VERDICT_A_WRONG ? 1 : 0;
}

static const struct record_out *out_find(const struct repro *r, int side, const char *name)
{
    for (int i = 0; i < r->n_out[side]; i++)
        if (!strcmp(r->out[side][i].name, name))
            return &r->out[side][i];
    return NULL;
}

/* --- parts of the file -----------------------------------------------------------------------
 */

/* The command with the options that the run-time compiler got for this side. */
static void print_compiler(FILE *out, const struct repro *r, const struct backend *b,
                           const char *command, const char *end)
{
    struct fp_mode mode = casecode_mode(&r->id->mode);
    struct casekernel k = {.options = ""};
    char options[256];
    b->toolchain->options(b->arch, &mode, options, sizeof options);
    if (r->id->family->file)
        casekernel_describe(r->id, b, &k, NULL);
    fprintf(out, "  %s %s%s%s%s FILE.cu\n", command, options, k.options[0] ? " " : "", k.options,
            end);
}

static void print_head(FILE *out, const struct repro *r, int expected)
{
    char id[CASEID_TEXT_MAX], text[1400];
    const struct cause_claim *c = finding_cause(r->finding);
    caseid_print(r->id, id);
    fprintf(out, "/* Reproduction written by gpuparity; it stands alone.\n *\n");
    snprintf(text, sizeof text, "shape of %s; A = %s, B = %s.", id, r->name[0], r->name[1]);
    wrap_print(out, text, 0, 0, WIDTH * 4);
    snprintf(text, sizeof text, "%s: %s", verdict_name(r->finding->verdict),
             r->finding->reason);
    wrap_print(out, text, 0, 0, WIDTH * 8);
    if (r->note)
        snprintf(text, sizeof text, "%s", r->note);
    else if (c)
        snprintf(text, sizeof text, "cause: %s: %s", cause_name(c->cause), c->evidence);
    if (r->note || c)
        wrap_print(out, text, 0, 0, WIDTH * 8);
    fputc('\n', out);
    print_compiler(out, r, backends[0], "nvcc -O3", "");
    print_compiler(out, r, backends[1], "hipcc", " -x hip");
    fputc('\n', out);
    fprintf(out,
            "Expected are the results of %s (%s). Status 1: something is not as expected. */\n",
            expected ? "B" : "A", r->name[expected]);
}

static void print_runtime(FILE *out)
{
    fprintf(out, "#include <stdio.h>\n#include <string.h>\n\n#ifdef __HIP__\n"
                 "#include <hip/hip_runtime.h>\n#define gpu(name) hip##name\n#else\n"
                 "#include <cuda_runtime.h>\n#define gpu(name) cuda##name\n#endif\n");
}

/* A case file's source for one vendor, its defines before it. */
static enum err print_side(FILE *out, const struct repro *r, const struct backend *b,
                           struct errinfo *e)
{
    const struct casefile *f = r->id->family->file;
    struct casekernel k;
    struct include_set source;
    char value[CASEFILE_TEXT_MAX];
    TRY(casekernel_describe(r->id, b, &k, e));
    if (k.binary)
        return err_set(e, ERR_USAGE, "%.200s gives a binary: there is no source to write",
                       f->path);
    TRY(casekernel_source(r->id, &k, &source, e));
    fprintf(out, "\n/* ===== %s ===== */\n", k.path);
    for (int i = 0; i < f->n_define; i++) {
        if (casefile_expand(f, r->id, f->define[i].value, value, sizeof value, NULL))
            value[0] = 0;
        fprintf(out, "#define %s %s\n", f->define[i].name, value);
    }
    enum err err = include_print(out, &source, e);
    include_release(&source);
    return err;
}

static enum err print_file_kernels(FILE *out, const struct repro *r, struct errinfo *e)
{
    const struct casefile *f = r->id->family->file;
    const struct casefile_side *a = casefile_side(f, backends[0]->name);
    const struct casefile_side *b = casefile_side(f, backends[1]->name);
    if (!b || (a && a->source == b->source))
        return print_side(out, r, backends[0], e);
    if (!a)
        return print_side(out, r, backends[1], e);
    fputs("\n#ifndef __HIP__\n", out);
    TRY(print_side(out, r, backends[0], e));
    fputs("\n#else\n", out);
    TRY(print_side(out, r, backends[1], e));
    fputs("\n#endif\n", out);
    return ERR_OK;
}

static enum err print_kernels(FILE *out, const struct repro *r, struct errinfo *e)
{
    struct include_set source;
    if (r->id->family->file)
        return print_file_kernels(out, r, e);
    TRY(codestore_source(r->id->family, r->id->variant, &source, e));
    fprintf(out, "\n/* ===== %s ===== */\n", source.file[0].path);
    enum err err = include_print(out, &source, e);
    include_release(&source);
    return err;
}

static void print_data(FILE *out, const struct repro *r, int expected)
{
    fputs("\n/* ===== inputs and results, as bits ===== */\n\n", out);
    for (int i = 0; i < r->plan->n_tensor; i++) {
        const struct case_tensor *t = &r->plan->tensor[i];
        if (t->role != TENSOR_OUT)
            print_array(out, "in", t->name, &r->input[i]);
        if (t->role == TENSOR_IN)
            continue;
        print_array(out, "want", t->name, &out_find(r, expected, t->name)->tensor);
        const struct record_out *other = out_find(r, !expected, t->name);
        if (other)
            print_array(out, "other", t->name, &other->tensor);
    }
}

static void print_helpers(FILE *out)
{
    fputs(
        "\n/* ===== the program ===== */\n\n"
        "static int trouble(int code, const char *what)\n{\n"
        "    if (code)\n"
        "        fprintf(stderr, \"%s: %s\\n\", what,\n"
        "                gpu(GetErrorString)((gpu(Error_t))code));\n"
        "    return code != 0;\n}\n\n"
        "static unsigned long long bits_at(const void *p, size_t bytes, size_t i)\n{\n"
        "    unsigned long long x = 0;\n"
        "    memcpy(&x, (const char *)p + i * bytes, bytes);\n"
        "    return x;\n}\n\n"
        "/* A NaN is as good as another. */\n"
        "static int same(unsigned long long x, unsigned long long y, unsigned long long "
        "exponent,\n"
        "                unsigned long long fraction)\n{\n"
        "    int nan_x = (x & exponent) == exponent && (x & fraction);\n"
        "    int nan_y = (y & exponent) == exponent && (y & fraction);\n"
        "    return x == y || (exponent && nan_x && nan_y);\n}\n\n"
        "static long check(const char *name, const void *got, const void *want, const void "
        "*other,\n"
        "                  size_t count, size_t bytes, unsigned long long exponent,\n"
        "                  unsigned long long fraction)\n{\n"
        "    long wrong = 0;\n"
        "    for (size_t i = 0; i < count; i++) {\n"
        "        unsigned long long x = bits_at(got, bytes, i), y = bits_at(want, bytes, i);\n"
        "        if (same(x, y, exponent, fraction))\n"
        "            continue;\n"
        "        wrong++;\n"
        "        printf(\"%s[%lu] got 0x%0*llx expected 0x%0*llx%s\\n\", name, (unsigned "
        "long)i,\n"
        "               2 * (int)bytes, x, 2 * (int)bytes, y,\n"
        "               other && same(x, bits_at(other, bytes, i), exponent, fraction)\n"
        "                   ? \" (as the other side)\" : \"\");\n"
        "    }\n"
        "    printf(\"%s: %ld of %lu elements are not as expected\\n\", name, wrong,\n"
        "           (unsigned long)count);\n"
        "    return wrong;\n}\n",
        out);
}

static void print_launch(FILE *out, const struct repro *r, int n)
{
    const struct case_launch *l = &r->plan->launch[n];
    fprintf(out, "    {\n");
    for (int i = 0; i < l->n_arg; i++) {
        const struct case_arg *a = &l->arg[i];
        if (a->kind == CASE_ARG_TENSOR)
            fprintf(out, "        void *arg%d = gpu_%s;\n", i, r->plan->tensor[a->tensor].name);
        else if (a->kind == CASE_ARG_BITS)
            fprintf(out, "        %s arg%d = 0x%" PRIx64 ";\n", bits_type(a->bytes), i,
                    a->bits);
        else if (a->kind == CASE_ARG_F32)
            fprintf(out, "        float arg%d = %af;\n", i, (double)a->f);
        else
            fprintf(out, "        %s arg%d = %" PRId64 "%s;\n",
                    a->kind == CASE_ARG_I32 ? "int" : "long long", i, a->i,
                    a->kind == CASE_ARG_I32 ? "" : "LL");
    }
    fprintf(out, "        void *args[] = {");
    for (int i = 0; i < l->n_arg; i++)
        fprintf(out, "%s&arg%d", i ? ", " : "", i);
    fprintf(out,
            "};\n        if (trouble(gpu(LaunchKernel)((const void *)%s, dim3(%" PRIu32
            ", %" PRIu32 ", %" PRIu32 "),\n                                      dim3(%" PRIu32
            ", %" PRIu32 ", %" PRIu32 "), args, %" PRIu32 ", 0),\n"
            "                    \"%s\"))\n            return 2;\n    }\n",
            l->entry, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
            l->shared, l->entry);
}

static int64_t tensor_count(const struct case_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

/* Outputs start as bytes that no result has by chance. */
static void print_upload(FILE *out, const struct case_tensor *t)
{
    int64_t bytes = tensor_count(t) * (int64_t)dtype_info(t->dtype)->bytes;
    bool in = t->role != TENSOR_OUT;
    fprintf(out, "    void *gpu_%s = 0;\n    static char host_%s[%" PRId64 " + 1];\n", t->name,
            t->name, bytes);
    if (in)
        fprintf(out, "    memcpy(host_%s, in_%s, %" PRId64 ");\n", t->name, t->name, bytes);
    else
        fprintf(out, "    memset(host_%s, %s, %" PRId64 ");\n", t->name,
                t->zeroed ? "0" : "0xa5", bytes);
    fprintf(out,
            "    if (trouble(gpu(Malloc)(&gpu_%s, %" PRId64 " + 1), \"malloc\") ||\n"
            "        trouble(gpu(Memcpy)(gpu_%s, host_%s, %" PRId64
            ", gpu(MemcpyHostToDevice)), \"memcpy\"))\n        return 2;\n",
            t->name, bytes, t->name, t->name, bytes);
}

static void print_check(FILE *out, const struct repro *r, int expected,
                        const struct case_tensor *t)
{
    const struct dtype_info *d = dtype_info(t->dtype);
    int64_t count = tensor_count(t);
    uint64_t fraction = 0, exponent = 0;
    if (d->kind == DTYPE_KIND_FLOAT) {
        uint64_t nan = dtype_round(t->dtype, (double)__builtin_nanf(""));
        uint64_t magnitude =
            d->bytes == 8 ? INT64_MAX : (UINT64_C(1) << (8 * d->bytes - 1)) - 1;
        fraction = (UINT64_C(1) << d->fraction) - 1;
        exponent = dtype_is_nan(t->dtype, nan) && d->bytes > 1 ? magnitude & ~fraction : 0;
    }
    fprintf(out,
            "    if (trouble(gpu(Memcpy)(host_%s, gpu_%s, %" PRId64
            ", gpu(MemcpyDeviceToHost)), \"memcpy\"))\n        return 2;\n"
            "    wrong += check(\"%s\", host_%s, want_%s, %s%s, %" PRId64 ", %d, 0x%" PRIx64
            "ull, 0x%" PRIx64 "ull);\n",
            t->name, t->name, count * (int64_t)d->bytes, t->name, t->name, t->name,
            out_find(r, !expected, t->name) ? "other_" : "",
            out_find(r, !expected, t->name) ? t->name : "0", count, (int)d->bytes, exponent,
            fraction);
}

static void print_main(FILE *out, const struct repro *r, int expected)
{
    fputs("\nint main(void)\n{\n    long wrong = 0;\n", out);
    for (int i = 0; i < r->plan->n_tensor; i++)
        print_upload(out, &r->plan->tensor[i]);
    for (int i = 0; i < r->plan->n_launch; i++)
        print_launch(out, r, i);
    fputs("    if (trouble(gpu(DeviceSynchronize)(), \"running\"))\n        return 2;\n", out);
    for (int i = 0; i < r->plan->n_tensor; i++)
        if (r->plan->tensor[i].role != TENSOR_IN)
            print_check(out, r, expected, &r->plan->tensor[i]);
    fputs("    return wrong != 0;\n}\n", out);
}

enum err repro_write(FILE *out, const struct repro *r, struct errinfo *e)
{
    int expected = expected_side(r);
    if (expected < 0)
        return err_set(e, ERR_USAGE, "neither side gave a result: there is nothing to expect");
    print_head(out, r, expected);
    print_runtime(out);
    TRY(print_kernels(out, r, e));
    print_data(out, r, expected);
    print_helpers(out);
    print_main(out, r, expected);
    return ERR_OK;
}
