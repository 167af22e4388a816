/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_CUDASIM_H
#define GPUPARITY_TESTS_CUDASIM_H

#include "api.h"
#include "form.h"
#include "suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Running single PTX instructions, or whole kernels, on the simulated GPU inside the test. */

SIM_API const char *gpuparity_sim_last_fault(void);

static uint32_t form_hits[FORM_COUNT_];

static inline void gpu_start(void)
{
    CUcontext c;
    ck_assert_int_eq(cuInit(0), CUDA_SUCCESS);
    ck_assert_int_eq(cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxSetCurrent(c), CUDA_SUCCESS);
}

static inline CUmodule ptx_load(const char *text)
{
    char log[600] = "";
    int option[] = {5, 6};
    void *value[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule m = NULL;
    CUresult r = cuModuleLoadDataEx(&m, text, 2, option, value);
    ck_assert_msg(r == CUDA_SUCCESS, "%s\nin\n%s", log, text);
    for (const struct sim_function *f = m->function; f; f = f->next)
        for (int k = 0; k < FORM_COUNT_; k++)
            form_hits[k] += f->image.form_count[k];
    return m;
}

/* Loads, runs kernel `k` with one pointer argument to `size` bytes, which come back. */
static inline CUresult ptx_try(const char *text, void *bytes, size_t size, unsigned blocks,
                               unsigned threads)
{
    CUmodule m = ptx_load(text);
    CUfunction f;
    CUdeviceptr p;
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, size), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyHtoD_v2(p, bytes, size), CUDA_SUCCESS);
    void *arg[] = {&p};
    CUresult r = cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, arg, NULL);
    if (r)
        return r;
    ck_assert_int_eq(cuMemcpyDtoH_v2(bytes, p, size), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemFree_v2(p), CUDA_SUCCESS);
    ck_assert_int_eq(cuModuleUnload(m), CUDA_SUCCESS);
    return CUDA_SUCCESS;
}

static inline void ptx_run(const char *text, void *bytes, size_t size, unsigned blocks,
                           unsigned threads)
{
    CUresult r = ptx_try(text, bytes, size, blocks, threads);
    ck_assert_msg(r == CUDA_SUCCESS, "error %d: %s\nin\n%s", r, gpuparity_sim_last_fault(),
                  text);
}

/* --- one instruction over many operands ------------------------------------------------------
 */

struct sample {
    uint64_t d, a, b, c;
};

static const char head[] = ".version 8.0\n.target sm_86\n.address_size 64\n";

/* A letter a register: p predicate, h 16, w 32, d 64 bits. */
static inline void register_text(char *to, size_t room, char letter, char name)
{
    size_t n = strlen(to);
    const char *type = letter == 'p'   ? "pred"
                       : letter == 'h' ? "b16"
                       : letter == 'w' ? "b32"
                                       : "b64";
    snprintf(to + n, room - n, ".reg .%s %%%c;\n", type, name);
}

static inline void load_text(char *to, size_t room, char letter, char name, int offset)
{
    size_t n = strlen(to);
    if (letter == 'p')
        snprintf(to + n, room - n, "ld.global.u32 %%t, [%%q+%d];\nsetp.ne.u32 %%%c, %%t, 0;\n",
                 offset, name);
    else
        snprintf(to + n, room - n, "ld.global.b%d %%%c, [%%q+%d];\n",
                 letter == 'h'   ? 16
                 : letter == 'w' ? 32
                                 : 64,
                 name, offset);
}

/* `types`: letters of %d %a %b %c (shorter when fewer); `text` uses those names. */
static inline void instruction_run(const char *text, const char *types, struct sample *s,
                                   unsigned n)
{
    static char ptx[8192];
    size_t room = sizeof ptx, t = strlen(types);
    snprintf(ptx, room,
             "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q, %%z;\n.reg .b32 %%t, %%i, "
             "%%n;\n",
             head);
    for (size_t k = 0; k < t; k++)
        register_text(ptx, room, types[k], "dabc"[k]);
    strcat(ptx, "ld.param.u64 %q, [p];\nmov.u32 %i, %ctaid.x;\nmov.u32 %n, %ntid.x;\n"
                "mul.lo.u32 %i, %i, %n;\nmov.u32 %t, %tid.x;\nadd.u32 %i, %i, %t;\n"
                "mul.wide.u32 %z, %i, 32;\nadd.u64 %q, %q, %z;\n");
    for (size_t k = 1; k < t; k++)
        load_text(ptx, room, types[k], "dabc"[k], 8 * (int)k);
    size_t m = strlen(ptx);
    snprintf(ptx + m, room - m, "%s\n", text);
    m = strlen(ptx);
    if (types[0] == 'p')
        snprintf(ptx + m, room - m,
                 "selp.u32 %%t, 1, 0, %%d;\nst.global.u32 [%%q], %%t;\nret;\n}\n");
    else
        snprintf(ptx + m, room - m, "st.global.b%d [%%q], %%d;\nret;\n}\n",
                 types[0] == 'h'   ? 16
                 : types[0] == 'w' ? 32
                                   : 64);
    ck_assert_uint_eq(n % 128, 0);
    ptx_run(ptx, s, n * sizeof *s, n / 128, 128);
}

static inline uint64_t letter_mask(char letter)
{
    return letter == 'p' ? 1 : letter == 'h' ? 0xffff : letter == 'w' ? 0xffffffff : UINT64_MAX;
}

/* --- operands --------------------------------------------------------------------------------
 */

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Value `k` of an endless series: edges of integers first, then anything. */
static inline uint64_t integer_draw(uint64_t k, uint64_t seed)
{
    static const uint64_t edge[] = {0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    15,
                                    16,
                                    31,
                                    32,
                                    33,
                                    63,
                                    64,
                                    65,
                                    127,
                                    128,
                                    255,
                                    256,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x10000,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x100000000,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    UINT64_MAX,
                                    UINT64_MAX - 1,
                                    0x5555555555555555,
                                    0xffffffff80000000,
                                    0xffffffffffff8000,
                                    0x123456789abcdef0};
    enum { EDGES = sizeof edge / sizeof *edge };
    uint64_t r = mix(k * 0x9e3779b97f4a7c15 + seed);
    if (r % 3)
        return edge[(r >> 8) % EDGES];
    return r % 5 ? mix(r) : mix(r) & 0x3f;
}

enum { SAMPLES = 1024 };

typedef uint64_t expect_fn(uint64_t a, uint64_t b, uint64_t c);

struct row {
    const char *text, *types;
    expect_fn *expect;
};

static inline void row_check(const struct row *r, const struct sample *in,
                             const struct sample *out, unsigned n,
                             bool (*same)(uint64_t, uint64_t, char))
{
    char type = r->types[0];
    for (unsigned k = 0; k < n; k++) {
        const struct sample *s = &in[k];
        uint64_t want = r->expect(s->a, s->b, s->c) & letter_mask(type);
        uint64_t have = out[k].d & letter_mask(type);
        bool ok = same ? same(have, want, type) : have == want;
        ck_assert_msg(ok,
                      "%s with a=%#" PRIx64 " b=%#" PRIx64 " c=%#" PRIx64 ": %#" PRIx64
                      ", expected %#" PRIx64,
                      r->text, s->a, s->b, s->c, have, want);
    }
}

/* Runs a row on drawn operands and compares. */
static inline void row_run(const struct row *r, uint64_t (*draw)(uint64_t k, uint64_t seed),
                           bool (*same)(uint64_t, uint64_t, char))
{
    static struct sample in[SAMPLES], out[SAMPLES];
    size_t t = strlen(r->types);
    for (unsigned k = 0; k < SAMPLES; k++) {
        in[k].d = 0xcdcdcdcdcdcdcdcd;
        in[k].a = t > 1 ? draw(k, 1) & letter_mask(r->types[1]) : 0;
        in[k].b = t > 2 ? draw(k, 2) & letter_mask(r->types[2]) : 0;
        in[k].c = t > 3 ? draw(k, 3) & letter_mask(r->types[3]) : 0;
    }
    memcpy(out, in, sizeof in);
    instruction_run(r->text, r->types, out, SAMPLES);
    row_check(r, in, out, SAMPLES, same);
}

/* --- coverage --------------------------------------------------------------------------------
 */

/* Every form of these operations (blank-separated) must have been lowered by now. */
static inline void forms_check(const char *operations)
{
    int missing = 0;
    for (int k = 0; k < FORM_COUNT_; k++) {
        char word[32];
        snprintf(word, sizeof word, " %s ", forms[k].op);
        if (!strstr(operations, word) || form_hits[k])
            continue;
        fprintf(stderr, "no test of %s%s\n", forms[k].op, forms[k].words);
        missing++;
    }
    ck_assert_int_eq(missing, 0);
}

#endif
