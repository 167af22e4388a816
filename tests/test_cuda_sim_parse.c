/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

#include "config.h"

/* The PTX front end: what it reads, what it refuses and where, and that no bytes hurt it. */

static void refused(const char *text, int line, int column, const char *says)
{
    struct ptx_module m;
    struct ptx_error e;
    struct lower_options o = {true};
    bool ok = ptx_parse(text, strlen(text), &m, &e);
    for (const struct ptx_function *f = m.function; ok && f; f = f->next) {
        struct image im;
        if (!f->entry)
            continue;
        ok = image_init(&im, &m, f, &o, &e);
        image_release(&im);
    }
    ptx_release(&m);
    ck_assert_msg(!ok, "accepted:\n%s", text);
    ck_assert_msg(e.line == line && e.column == column && strstr(e.text, says) != NULL,
                  "%d:%d %s\nfor\n%s", e.line, e.column, e.text, text);
}

#define HEAD ".version 8.0\n.target sm_86\n.address_size 64\n"
#define BODY(text)                                                                             \
    HEAD ".entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %q<4>; .reg .pred %p<4>; "    \
         ".reg .b16 %h<4>;\n" text "\n}\n"

START_TEST(mistakes_are_placed)
{
    static const struct {
        const char *text;
        int line, column;
        const char *says;
    } cases[] = {
        {"", 1, 1, "'.version'"},
        {"hello", 1, 1, "'.version'"},
        {".version 8.0\n.target gfx1100\n", 2, 9, "sm_86"},
        {".version 8.0\n.target sm_86\n.address_size 32\n", 4, 1, "64"},
        {HEAD ".global .b32 a[;\n", 4, 16, "a number"},
        {HEAD ".global .b32 a[2] = {1, 2, 3};\n", 4, 29, "too many"},
        {HEAD ".global .align 3 .b32 a;\n", 4, 18, "power of two"},
        {HEAD ".global .b99 a;\n", 4, 9, "a type"},
        {HEAD ".entry k()\n{\n  add.s32 %x, %y, 1;\n}\n", 6, 11, "unknown name '%x'"},
        {BODY("frobnicate.b32 %r0, %r1;"), 7, 1, "unknown instruction"},
        {BODY("  add.s33 %r0, %r1, 2;"), 7, 3, "not supported"},
        {BODY("add.f32.rn %r0, %r1, %r2;"), 7, 1, "not supported"},
        {BODY("add.s32 %r0, %r1;"), 7, 1, "needs 3 operands, has 2"},
        {BODY("add.s32 %r0, %q1, 3;"), 7, 1, "register of 64 bits where 32"},
        {BODY("add.s64 %r0, %q1, 3;"), 7, 1, "result register of 32 bits"},
        {BODY("add.s32 5, %r1, 3;"), 7, 1, "must be a register"},
        {BODY("mov.u32 %r0, %r7;"), 7, 14, "only 4 of them"},
        {BODY("@%r0 bra L; L:"), 7, 1, "predicate register"},
        {BODY("bra L;"), 7, 5, "unknown name 'L'"},
        {BODY("L: ret; L: ret;"), 7, 9, "declared twice"},
        {BODY("ld.global.u32 %r0, %q0;"), 7, 1, "address in brackets"},
        {BODY("ld.global.u32 %r0, [%h0];"), 7, 1, "32 or 64 bits"},
        {BODY("ld.param.u32 %r0, [p+8];"), 7, 1, "outside parameter"},
        {BODY("st.param.u32 [p], %r0;"), 7, 1, "read-only"},
        {BODY("ld.global.v4.u32 {%r0, %r1}, [%q0];"), 7, 1, "vector of 4"},
        {BODY("mov.u32 %r0, 0xg;"), 7, 14, "cannot read"},
        {BODY("mov.u32 %r0, 99999999999999999999;"), 7, 14, "cannot read"},
        {BODY("mov.f32 %r0, 0f123;"), 7, 14, "cannot read"},
        {BODY("mov.u32 %r0, \"x\";"), 7, 14, "an operand"},
        {BODY("call f;"), 7, 6, "unknown name"},
        {BODY("mov.u32 %r0, 1"), 8, 1, "';'"},
        {BODY("{ {"), 9, 1, "end of the text"},
        {BODY("cp.async.ca.shared.global [%r0], [%q0], 5;"), 7, 1, "4, 8 or 16"},
        {BODY("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r0, %r0, %r0}, {%r1, "
              "%r1}, {%r2, %r2}, {%r0, %r0, %r0, %r0}, %r3, 0;"),
         7, 1, "sparse"},
        {BODY("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r0, %r0, %r0, %r0}, {%r1, "
              "%r1, %r1, %r1}, {%r2, %r2}, {%r0, %r0, %r0, %r0};"),
         7, 1, "sm_89"},
        {BODY("cvt.rn.satfinite.e5m2x2.f32 %h0, %r0, %r1;"), 7, 1, "sm_89"},
        {BODY("mbarrier.init.shared.b64 [%r0], 1;"), 7, 1, "mbarrier is not simulated"},
        {BODY("mov.u32 %r0, 0; tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%q0, {%r0, %r1}];"), 7,
         17, "textures are not simulated"},
        {BODY("suld.b.2d.b32.trap {%r0}, [%q0, {%r0, %r1}];"), 7, 1,
         "surfaces are not simulated"},
        {BODY("wgmma.fence.sync.aligned;"), 7, 1, "sm_90a"},
        {BODY("cp.async.bulk.commit_group;"), 7, 1, "sm_90"},
        {BODY("vadd4.u32.u32.u32 %r0, %r1, %r2, %r3;"), 7, 1, "video"},
        {BODY("lop3.b32 %r0, %r1, %r2, %r3, 256;"), 7, 1, "0 to 255"},
        {BODY("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0}, {%r1}, {%r2}, {%r3};"), 7,
         1, "2 registers"},
        {HEAD ".entry k() { .local .b8 a[16777216]; }\n", 0, 0, "8 MiB"},
        {HEAD ".entry k() { .reg .b32 %r<2000000>; }\n", 4, 35, "fewer registers"},
    };
    refused(cases[_i].text, cases[_i].line, cases[_i].column, cases[_i].says);
}
END_TEST

/* Everything at once that compilers write and that means nothing to an execution. */
START_TEST(odd_but_right)
{
    static const char text[] =
        "/* comment\n over lines */\n.version 8.3 // end\n.target sm_90a, texmode_independent, "
        "debug\n.address_size 64\n"
        ".file 1 \"a b.cu\", 1234, 99\n.extern .func (.param .b32 r) vprintf(.param .b64 a, "
        ".param .b64 b);\n"
        ".visible .const .align 8 .b8 table[8] = {1, 0x2, 03, 0b100, -1};\n.global .f32 "
        "floats[3] = {1.5, 0f40000000, -2.0};\n"
        ".func f(.param .b32 x) .noreturn { .reg .b32 %r; "
        "exit; }\n"
        ".global .u64 address = generic(table)+4;\n.global .u64 code[2] = {f, 0};\n.extern "
        ".shared .align 16 .b8 dyn[];\n"
        ".weak .global .align 4 .u32 w;\n"
        ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 "
        "s[12])\n.maxntid 128, 1, 1\n"
        ".minnctapersm 2\n{\n.reg .b32 %r<6>; .reg .b64 %q<4>; .reg .pred %p, %p1<2>; .reg "
        ".f32 %f<3>; .reg .v2 .b32 %v;\n"
        ".loc 1 5 3\n.loc 1 6 0, function_name $L__info0, inlined_at 1 5 3\n.pragma "
        "\"nounroll\";\n"
        "ld.param.u64 %q0, [p]; ld.param.u32 %r0, [s+8]; mov.b64 %q1, s; ld.param.u32 %r1, "
        "[%q1+8];\n"
        "cvta.param.u64 %q2, %q1; ld.u32 %r2, [%q2+8];\n{ .reg .b32 %r0; mov.u32 %r0, 7; "
        "add.s32 %r3, %r0, 0; }\n"
        "add.s32 %r3, %r3, %r0; add.s32 %r3, %r3, %r1; add.s32 %r3, %r3, %r2;\nst.global.u32 "
        "[%q0], %r3;\n"
        "ld.global.u64 %q3, [address]; ld.u8 %r4, [%q3+-4]; st.global.u32 [%q0+4], "
        "%r4;\nld.global.f32 %f0, [floats+8]; st.global.f32 [%q0+8], %f0;\n"
        "mov.b64 %v, %q3; mov.u32 %v.x, 9; st.global.v2.b32 [%q0+16], %v;\n"
        "$L__x_1: setp.ne.u32 %p, %r4, %r4; @!%p bra.uni $end; trap;\n$end: ret;\n}\n"
        ".section .debug_str { .b8 65, 66 .b32 info }\n";
    uint32_t out[8] = {0}, twelve[3] = {0, 0, 1000};
    gpu_start();
    CUmodule m = ptx_load(text);
    CUfunction f;
    CUdeviceptr p;
    ck_assert_int_eq(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, sizeof out), CUDA_SUCCESS);
    void *arg[] = {&p, twelve};
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 129, 1, 1, 0, NULL, arg, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    CUresult r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, arg, NULL);
    ck_assert_msg(!r, "%s", gpuparity_sim_last_fault());
    ck_assert_int_eq(cuMemcpyDtoH_v2(out, p, sizeof out), CUDA_SUCCESS);
    ck_assert_uint_eq(out[0], 3007);
    ck_assert_uint_eq(out[1], 1);
    ck_assert_uint_eq(out[2], 0xc0000000);
    ck_assert_uint_eq(out[4], 9);
    ck_assert_uint_ne(out[5], 0);
}
END_TEST

/* Dynamic shared memory starts behind the static part, with the alignment it asks for. */
START_TEST(dynamic_shared)
{
    static const char text[] =
        HEAD ".extern .shared .align 16 .b8 dyn[];\n.entry k(.param .u64 p)\n{\n.shared .b8 "
             "fix[20]; .reg .b32 %r<4>; .reg .b64 %q;\n"
             "ld.param.u64 %q, [p]; mov.u32 %r0, dyn; mov.u32 %r1, fix; st.global.v2.u32 [%q], "
             "{%r0, %r1};\n"
             "st.shared.u32 [dyn+60], %r0; mov.u32 %r2, %dynamic_smem_size; st.global.u32 "
             "[%q+8], %r2; ret;\n}\n";
    uint32_t out[4];
    CUfunction f;
    CUdeviceptr p;
    gpu_start();
    ck_assert_int_eq(cuModuleGetFunction(&f, ptx_load(text), "k"), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemAlloc_v2(&p, sizeof out), CUDA_SUCCESS);
    void *arg[] = {&p};
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 64, NULL, arg, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemcpyDtoH_v2(out, p, sizeof out), CUDA_SUCCESS);
    ck_assert_uint_eq(out[0], 32);
    ck_assert_uint_eq(out[1], 0);
    ck_assert_uint_eq(out[2], 64);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 63, NULL, arg, NULL),
                     CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 60 << 10, NULL, arg, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cuFuncSetAttribute(f, 8, 60 << 10), CUDA_SUCCESS);
    ck_assert_int_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 60 << 10, NULL, arg, NULL),
                     CUDA_SUCCESS);
}
END_TEST

/* Real modules with bytes changed, removed and repeated: an error or a module, never harm. What
 * still loads is run for a while too. */
START_TEST(hostile_text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/cuda_sim/gemm.ptx", GPUPARITY_SOURCE_DIR);
    FILE *file = fopen(path, "rb");
    ck_assert(file != NULL);
    static char good[65536], bad[65536];
    size_t size = fread(good, 1, sizeof good - 1, file);
    fclose(file);
    gpu_start();
    setenv("GPUPARITY_SIM_BUDGET", "20000", 1);
    int loaded = 0;
    for (uint64_t n = 0; n < 300; n++) {
        uint64_t r = mix(n * 0x9e3779b97f4a7c15 + 11);
        memcpy(bad, good, size + 1);
        size_t at = (r >> 8) % size, from = (r >> 24) % size, length = (r >> 40) % 64;
        for (uint64_t k = 0; k <= r % 3; k++) {
            static const char letters[] = "0123456789.,;{}[]()%@!+-_abfprsux $\n\xff";
            uint64_t q = mix(r + k);
            size_t digit = (at + q % 4096) % size;
            if (n % 2 && bad[digit] >= '0' && bad[digit] <= '9')
                bad[digit] = (char)('0' + (q >> 16) % 10);
            else if (n % 2)
                continue;
            else if (q % 4)
                bad[(at + q % 4096) % size] = letters[(q >> 16) % (sizeof letters - 1)];
            else if (from + length < size && at + length < size)
                memmove(bad + at, bad + from, length);
        }
        if (r % 14 == 0)
            bad[at] = 0;
        CUmodule m;
        if (cuModuleLoadData(&m, bad))
            continue;
        loaded++;
        uint64_t arg_bytes[8] = {64, 64, 64, mix(r), 8, 1u << 20, 3, 3};
        void *arg[8];
        for (int k = 0; k < 8; k++)
            arg[k] = &arg_bytes[k];
        for (struct sim_function *f = m->function; f; f = f->next) {
            int params = 0;
            for (const struct ptx_symbol *s = f->image.entry->param; s; s = s->next)
                params += s->size <= 8 ? 1 : 100;
            if (params <= 8)
                (void)cuLaunchKernel(f, 2, 1, 1, 40, 1, 1, 0, NULL, arg, NULL);
            ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        }
        ck_assert_int_eq(cuModuleUnload(m), CUDA_SUCCESS);
    }
    unsetenv("GPUPARITY_SIM_BUDGET");
    ck_assert_int_gt(loaded, 20);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_parse");
    TCase *t = tcase_create("parse");
    tcase_add_loop_test(t, mistakes_are_placed, 0, 46);
    tcase_add_test(t, odd_but_right);
    tcase_add_test(t, dynamic_shared);
    tcase_add_test(t, hostile_text);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
