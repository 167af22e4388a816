/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

/* Loads, stores, atomics and address spaces: bytes in memory against shifts and masks of what
 * was put there. */

#define E(name, expression)                                                                    \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                   \
    {                                                                                          \
        (void)a, (void)b, (void)c;                                                             \
        return (uint64_t)(expression);                                                         \
    }
E(a_, a)
E(b_, b)
E(u8_, a & 255)
E(s8_, (int64_t)(int8_t)a)
E(u16_, a & 0xffff)
E(s16_, (int64_t)(int16_t)a)
E(u32_, a & 0xffffffff)
E(s32_, (int64_t)(int32_t)a)
E(byte5, a >> 40 & 255)
E(half3, a >> 48)
E(word1, a >> 32)
E(sum, a + b)
E(merged, (a & ~(uint64_t)0xff00) | (b & 255) << 8)
E(merged16, (a & 0xffffffff0000ffff) | (b & 0xffff) << 16)
E(two, 2)
E(low_merged, (a & 0xffffffff00000000) | b)

/* A place of 32 bytes for each thread, in shared memory. */
#define SHARED_PLACE                                                                           \
    ".shared .align 16 .b8 sm[4096]; .reg .b32 %s, %u; mov.u32 %u, sm; mov.u32 %s, %tid.x; "   \
    "shl.b32 %s, %s, 5; add.u32 %s, %s, %u; "
#define LOCAL_PLACE ".local .align 16 .b8 lm[32]; "

static const struct row rows[] = {
    {"ld.global.u8 %d, [%q+8];", "hd", u8_},
    {"ld.global.u8 %d, [%q+8];", "wd", u8_},
    {"ld.global.b8 %d, [%q+13];", "dd", byte5},
    {"ld.global.s8 %d, [%q+8];", "hd", s8_},
    {"ld.global.s8 %d, [%q+8];", "wd", s8_},
    {"ld.global.s8 %d, [%q+8];", "dd", s8_},
    {"ld.global.u16 %d, [%q+8];", "hd", u16_},
    {"ld.global.u16 %d, [%q+14];", "wd", half3},
    {"ld.global.s16 %d, [%q+8];", "wd", s16_},
    {"ld.global.s16 %d, [%q+8];", "dd", s16_},
    {"ld.global.u16 %d, [%q+8];", "dd", u16_},
    {"ld.global.f32 %d, [%q+12];", "wd", word1},
    {"ld.global.s32 %d, [%q+8];", "dd", s32_},
    {"ld.global.u32 %d, [%q+8];", "dd", u32_},
    {"ld.global.f64 %d, [%q+8];", "dd", a_},
    {"ld.global.nc.b64 %d, [%q+8];", "dd", a_},
    {"ld.global.nc.L1::no_allocate.L2::128B.b32 %d, [%q+8];", "wd", u32_},
    {"ld.volatile.global.u32 %d, [%q+8];", "wd", u32_},
    {"ld.relaxed.gpu.global.u32 %d, [%q+8];", "wd", u32_},
    {"ld.acquire.sys.b64 %d, [%q+8];", "dd", a_},
    {"ld.global.cg.u32 %d, [%q+8];", "wd", u32_},
    /* as Triton writes them: vectors of one, qualifiers in its own order, cache policies */
    {"ld.global.b32 { %d }, [ %q + 8 ];", "wd", u32_},
    {"ld.global.acquire.gpu.b32 %d, [%q+8];", "wd", u32_},
    {"st.global.release.sys.b32 [%q+8], { %b }; ld.global.volatile.b64 %d, [%q+8];", "ddw",
     low_merged},
    {".reg .b64 %y; createpolicy.fractional.L2::evict_last.b64 %y, 1.0; "
     "ld.global.L1::evict_last.L2::cache_hint.b32 { %d }, [%q+8], %y;",
     "wd", u32_},
    {".reg .b64 %y, %z2; createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %y, "
     "[%q], 8, 16; createpolicy.cvt.L2.b64 %z2, 0x16f0000000000000; "
     "st.global.L2::cache_hint.b32 [%q+8], %b, %z2; ld.global.b64 %d, [%q+8];",
     "ddw", low_merged},
    {"atom.global.acq_rel.gpu.exch.b64 %d, [%q+8], 0;", "dd", a_},
    {"atom.gpu.global.relaxed.add.u64 %d, [%q+8], 2;", "dd", a_},
    {"ldu.global.u32 %d, [%q+8];", "wd", u32_},
    {"ld.u64 %d, [%q+8];", "dd", a_},
    {".reg .b32 %x; ld.global.v2.b32 {%x, %d}, [%q+8];", "wd", word1},
    {"ld.global.v2.b64 {_, %d}, [%q];", "dd", a_},
    {".reg .b16 %x<3>; ld.global.v4.u16 {%x0, %x1, %x2, %d}, [%q+8];", "hd", half3},
    {".reg .b32 %x<3>; ld.global.v4.s8 {%d, %x0, %x1, %x2}, [%q+8];", "wd", s8_},
    {".reg .b16 %x; ld.global.v2.s8 {%d, %x}, [%q+8];", "hd", s8_},
    {".reg .b64 %x; ld.global.v2.s32 {%d, %x}, [%q+8];", "dd", s32_},
    {"st.global.b8 [%q+9], %b; ld.global.b64 %d, [%q+8];", "ddw", merged},
    {"st.global.u16 [%q+10], %b; ld.global.b64 %d, [%q+8];", "ddh", merged16},
    {"st.global.u8 [%q+9], %b; ld.global.b64 %d, [%q+8];", "ddd", merged},
    {"st.volatile.global.u32 [%q+8], %b; st.release.gpu.global.u32 [%q+12], 0; ld.global.b64 "
     "%d, [%q+8];",
     "ddw", b_},
    {"st.global.v2.b32 [%q+8], {%b, %b}; ld.global.b32 %d, [%q+12];", "wdw", b_},
    {"st.global.v4.b16 [%q+8], {%b, %b, %b, 2}; ld.global.b16 %d, [%q+14];", "hdh", two},
    {"st.global.wb.v2.f64 [%q+16], {%a, %a}; ld.global.b64 %d, [%q+24];", "dd", a_},
    {SHARED_PLACE "st.shared.b64 [%s+8], %a; ld.shared.u8 %d, [%s+13];", "wd", byte5},
    {SHARED_PLACE "st.shared.v2.b64 [%s], {%b, %a}; ld.shared.b64 %d, [%s+8];", "ddd", a_},
    {SHARED_PLACE "st.shared::cta.b32 [%s], %a; atom.shared.exch.b32 %d, [%s], 0;", "ww", a_},
    {SHARED_PLACE ".reg .b64 %w; cvt.u64.u32 %w, %s; cvta.shared.u64 %w, %w; st.b64 [%w], %a; "
                  "ld.shared.b64 %d, [%s];",
     "dd", a_},
    {SHARED_PLACE
     ".reg .b64 %w; cvt.u64.u32 %w, %s; st.shared.b64 [%w], %a; cvta.shared.u64 %w, %w; "
     "cvta.to.shared.u64 %w, %w; ld.shared.b64 %d, [%w];",
     "dd", a_},
    {LOCAL_PLACE "st.local.b64 [lm+8], %a; ld.local.u16 %d, [lm+14];", "wd", half3},
    {LOCAL_PLACE
     ".reg .b64 %w; mov.u64 %w, lm; st.local.b64 [%w+16], %a; ld.local.b64 %d, [lm+16];",
     "dd", a_},
    {LOCAL_PLACE
     ".reg .b64 %w; mov.u64 %w, lm; cvta.local.u64 %w, %w; st.u64 [%w], %a; ld.u64 %d, [%w];",
     "dd", a_},
    {LOCAL_PLACE
     ".reg .b64 %w; mov.u64 %w, lm; cvta.local.u64 %w, %w; cvta.to.local.u64 %w, %w; "
     "st.local.v4.u16 [%w], {1, 2, 3, 4}; ld.local.u16 %d, [lm+2];",
     "hd", two},
    {".reg .b64 %w; cvta.global.u64 %w, %q; cvta.to.global.u64 %w, %w; ld.global.b64 %d, "
     "[%w+8];",
     "dd", a_},
    {".reg .b64 %w; add.u64 %w, %q, 4096; ld.global.b64 %d, [%w+-4088];", "dd", a_},
    {SHARED_PLACE
     ".reg .pred %p0; .reg .b64 %w; cvt.u64.u32 %w, %s; cvta.shared.u64 %w, %w; "
     "isspacep.shared %p0, %w; selp.u64 %d, %a, 0, %p0; isspacep.global %p0, %w; "
     "@%p0 mov.u64 %d, 0; isspacep.local %p0, %w; @%p0 mov.u64 %d, 0; isspacep.global %p0, %q; "
     "@!%p0 mov.u64 %d, 0;",
     "dd", a_},
    {SHARED_PLACE
     "cp.async.ca.shared.global [%s], [%q+8], 8; cp.async.commit_group; cp.async.wait_group 0; "
     "ld.shared.b64 %d, [%s];",
     "dd", a_},
    {SHARED_PLACE
     "st.shared.b64 [%s+8], -1; cp.async.cg.shared.global.L2::128B [%s], [%q], 16, 12; "
     "cp.async.wait_all; ld.shared.b64 %d, [%s+8];",
     "dd", u32_},
    {"membar.cta; membar.gl; membar.sys; fence.acq_rel.gpu; fence.sc.sys; prefetch.global.L2 "
     "[%q]; "
     "nanosleep.u32 5; prefetchu.L1 [%q]; pmevent 7; pmevent.mask 3; fence.proxy.async; "
     "discard.global.L2 [%q], 128; applypriority.global.L2::evict_normal [%q], 128; "
     "griddepcontrol.wait; mov.b64 %d, %a;",
     "dd", a_},
    {"red.global.add.u64 [%q+8], %b; ld.global.u64 %d, [%q+8];", "ddd", sum},
};

START_TEST(each_row)
{
    gpu_start();
    row_run(&rows[_i], integer_draw, NULL);
}
END_TEST

/* --- atomics: old value and new value --------------------------------------------------------
 */

#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MASK32 0xffffffff
E(min_s, MIN((int32_t)a, (int32_t)b))
E(max_s, MAX((int32_t)a, (int32_t)b))
E(min_s64, MIN((int64_t)a, (int64_t)b))
E(max_s64, MAX((int64_t)a, (int64_t)b))
E(min_u, MIN(a, b))
E(max_u, MAX(a, b))
E(inc, a >= b ? 0 : a + 1)
E(dec, a == 0 || a > b ? b : a - 1)
E(and_, a &b)
E(or_, a | b)
E(xor_, a ^ b)
E(cas, a == b ? c : a)

static const struct {
    const char *op;
    char letter;
    expect_fn *expect;
} atomics[] = {
    {"add.u32", 'w', sum},   {"add.s32", 'w', sum},     {"add.u64", 'd', sum},
    {"min.s32", 'w', min_s}, {"max.s32", 'w', max_s},   {"min.u32", 'w', min_u},
    {"max.u32", 'w', max_u}, {"min.s64", 'd', min_s64}, {"max.s64", 'd', max_s64},
    {"min.u64", 'd', min_u}, {"max.u64", 'd', max_u},   {"inc.u32", 'w', inc},
    {"dec.u32", 'w', dec},   {"and.b32", 'w', and_},    {"or.b32", 'w', or_},
    {"xor.b32", 'w', xor_},  {"and.b64", 'd', and_},    {"or.b64", 'd', or_},
    {"xor.b64", 'd', xor_},  {"exch.b32", 'w', b_},     {"exch.b64", 'd', b_},
    {"cas.b16", 'h', cas},   {"cas.b32", 'w', cas},     {"cas.b64", 'd', cas},
};

START_TEST(each_atomic)
{
    static const char *const space[] = {".global", "", ".relaxed.gpu.global", ".acq_rel.sys"};
    const char *op = atomics[_i].op;
    char text[256], types[5];
    bool three = !strncmp(op, "cas", 3), red = strncmp(op, "exch", 4) && !three;
    int bits = atomics[_i].letter == 'h' ? 16 : atomics[_i].letter == 'w' ? 32 : 64;
    memset(types, atomics[_i].letter, sizeof types);
    types[3 + three] = 0;
    gpu_start();
    for (int s = 0; s < 4; s++) {
        struct row old = {text, types, a_}, new = {text, types, atomics[_i].expect};
        snprintf(text, sizeof text, "atom%s.%s %%d, [%%q+8], %%b%s;", space[s], op,
                 three ? ", %c" : "");
        row_run(&old, integer_draw, NULL);
        snprintf(text, sizeof text,
                 "atom%s.%s %%d, [%%q+8], %%b%s; ld.global.b%d %%d, [%%q+8];", space[s], op,
                 three ? ", %c" : "", bits);
        row_run(&new, integer_draw, NULL);
        if (!red)
            continue;
        snprintf(text, sizeof text, "red%s.%s [%%q+8], %%b; ld.global.b%d %%d, [%%q+8];",
                 space[s], op, bits);
        row_run(&new, integer_draw, NULL);
    }
}
END_TEST

/* Floating adds on one word: subnormals are flushed in global memory and kept in shared. */
START_TEST(atomic_floats)
{
    static const struct {
        const char *text, *types;
        uint64_t a, b, want;
    } cases[] = {
        {"atom.global.add.f32 %d, [%q+8], %b; ld.global.b32 %d, [%q+8];", "www", 0x3f800000,
         0x40000000, 0x40400000},
        {"red.global.add.f32 [%q+8], %b; ld.global.b32 %d, [%q+8];", "www", 0x00000001,
         0x00000001, 0},
        {"red.global.add.f32 [%q+8], %b; ld.global.b32 %d, [%q+8];", "www", 0x80000001,
         0x80000001, 0x80000000},
        {"red.global.add.f32 [%q+8], %b; ld.global.b32 %d, [%q+8];", "www", 0x00800001,
         0x80800000, 0},
        {SHARED_PLACE
         "st.shared.b32 [%s], %a; red.shared.add.f32 [%s], %b; ld.shared.b32 %d, [%s];",
         "www", 0x00000001, 0x00000001, 0x00000002},
        {"atom.add.f64 %d, [%q+8], %b; ld.global.b64 %d, [%q+8];", "ddd", 0x3ff0000000000000,
         0x4000000000000000, 0x4008000000000000},
        {"atom.global.add.noftz.f16 %d, [%q+8], %b; ld.global.b16 %d, [%q+8];", "hhh", 0x0001,
         0x0001, 0x0002},
        {"red.global.add.noftz.f16x2 [%q+8], %b; ld.global.b32 %d, [%q+8];", "www", 0x3c000001,
         0x3c000001, 0x40000002},
        {"red.add.noftz.bf16x2 [%q+8], %b; ld.global.b32 %d, [%q+8];", "www", 0x3f803f80,
         0x3f804000, 0x40004040},
        {"atom.add.noftz.bf16 %d, [%q+8], %b; ld.global.b16 %d, [%q+8];", "hhh", 0x3f80, 0x3f80,
         0x4000},
    };
    gpu_start();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static struct sample s[128];
        for (int n = 0; n < 128; n++)
            s[n] = (struct sample){0, cases[k].a, cases[k].b, 0};
        instruction_run(cases[k].text, cases[k].types, s, 128);
        uint64_t have = s[99].d & letter_mask(cases[k].types[0]);
        ck_assert_msg(have == cases[k].want, "%s: %" PRIx64 ", expected %" PRIx64,
                      cases[k].text, have, cases[k].want);
    }
}
END_TEST

/* All threads of all blocks on one word. */
START_TEST(atomic_crowd)
{
    char text[1024];
    uint32_t word[4] = {0, 0xffffffff, 0, 0};
    gpu_start();
    snprintf(
        text, sizeof text,
        "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q; .reg .b32 %%r<4>;\nld.param.u64 "
        "%%q, [p];\n"
        "mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%tid.x; mad.lo.u32 %%r2, %%r0, 64, %%r1;\n"
        "red.global.add.u32 [%%q], 1; red.global.min.u32 [%%q+4], %%r2; red.global.max.u32 "
        "[%%q+8], %%r2;\n"
        "atom.global.add.u32 %%r3, [%%q+12], 3;\nret;\n}\n",
        head);
    ptx_run(text, word, sizeof word, 50, 64);
    ck_assert_uint_eq(word[0], 3200);
    ck_assert_uint_eq(word[1], 0);
    ck_assert_uint_eq(word[2], 3199);
    ck_assert_uint_eq(word[3], 9600);
}
END_TEST

/* --- faults ----------------------------------------------------------------------------------
 */

START_TEST(bad_addresses)
{
    static const struct {
        const char *text, *says;
        CUresult result;
    } cases[] = {
        {"ld.global.u32 %r0, [%q+64];", "after the 64-byte allocation",
         CUDA_ERROR_ILLEGAL_ADDRESS},
        {"ld.global.u32 %r0, [%q+-4];", "access of 4 bytes", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"st.global.v4.u32 [%q+56], {%r0, %r0, %r0, %r0};", "access of 16 bytes",
         CUDA_ERROR_MISALIGNED_ADDRESS},
        {"st.global.v2.u64 [%q+64], {%q, %q};", "line", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"ld.global.u32 %r0, [%q+2];", "not a multiple of 4", CUDA_ERROR_MISALIGNED_ADDRESS},
        {"mov.u64 %q, 0; ld.global.u32 %r0, [%q];", "0x0", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"mov.u64 %q, -8; ld.u64 %q, [%q];", "0xfffffffffffffff8", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"mov.u32 %r0, 64; ld.shared.u32 %r0, [%r0];", "shared memory has 64 bytes",
         CUDA_ERROR_ILLEGAL_ADDRESS},
        {"mov.u32 %r0, -4; st.shared.u32 [%r0], %r0;", "shared", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"ld.local.u32 %r0, [lm+32];", "local", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"add.u64 %q, %q, 0x10000000000; red.global.add.u32 [%q], 1;", "line",
         CUDA_ERROR_ILLEGAL_ADDRESS},
        {"trap;", "trap", CUDA_ERROR_LAUNCH_FAILED},
        {"brkpt;", "trap", CUDA_ERROR_LAUNCH_FAILED},
        {"L: bra L;", "budget", CUDA_ERROR_LAUNCH_TIMEOUT},
    };
    char text[1024];
    uint32_t bytes[16] = {0};
    gpu_start();
    setenv("GPUPARITY_SIM_BUDGET", "100000", 1);
    snprintf(text, sizeof text,
             "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q; .reg .b32 %%r<4>;\n.shared "
             ".b8 sm[64];\n"
             ".local .align 16 .b8 lm[32];\nld.param.u64 %%q, [p];\nst.shared.u32 [sm], "
             "1;\n%s\nret;\n}\n",
             head, cases[_i].text);
    CUresult r = ptx_try(text, bytes, sizeof bytes, 1, 32);
    unsetenv("GPUPARITY_SIM_BUDGET");
    const char *fault = gpuparity_sim_last_fault();
    ck_assert_msg(r == cases[_i].result, "%s: error %d, %s", cases[_i].text, r, fault);
    ck_assert_msg(strstr(fault, cases[_i].says) != NULL, "%s: %s", cases[_i].text, fault);
    ck_assert_int_eq(cuCtxSynchronize(), r);
    ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ck_assert_int_eq(cuCtxSynchronize(), CUDA_SUCCESS);
}
END_TEST

START_TEST(use_after_free)
{
    char text[512];
    uint64_t stale;
    CUdeviceptr p;
    gpu_start();
    ck_assert_int_eq(cuMemAlloc_v2(&p, 256), CUDA_SUCCESS);
    ck_assert_int_eq(cuMemFree_v2(p), CUDA_SUCCESS);
    stale = p;
    snprintf(text, sizeof text,
             "%s.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%q;\nld.param.u64 %%q, "
             "[p];\nld.global.u64 %%q, "
             "[%%q];\nld.global.u64 %%q, [%%q];\nret;\n}\n",
             head);
    ck_assert_int_eq(ptx_try(text, &stale, sizeof stale, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_msg(strstr(gpuparity_sim_last_fault(), "freed") != NULL, "%s",
                  gpuparity_sim_last_fault());
    ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" createpolicy ld ldu st atom red cp cvta isspacep membar fence prefetch prefetchu "
                "nanosleep pmevent "
                "discard applypriority griddepcontrol trap brkpt ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_memory");
    TCase *t = tcase_create("memory");
    tcase_add_loop_test(t, each_row, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(t, each_atomic, 0, (int)(sizeof atomics / sizeof *atomics));
    tcase_add_test(t, atomic_floats);
    tcase_add_test(t, atomic_crowd);
    tcase_add_loop_test(t, bad_addresses, 0, 14);
    tcase_add_test(t, use_after_free);
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
