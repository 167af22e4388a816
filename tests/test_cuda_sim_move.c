/* SPDX-License-Identifier: Apache-2.0 */
#include "cudasim.h"

/* mov, whole and in parts. */

#define E(name, expression)                                                                    \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                   \
    {                                                                                          \
        (void)a, (void)b, (void)c;                                                             \
        return (uint64_t)(expression);                                                         \
    }
E(same_a, a)
E(join32, a << 16 | b)
E(join64, a << 32 | b)
E(four, (a & 0xffff) | b << 16 | c << 32 | a << 48)
E(swapped, (a >> 32 | a << 32))
E(third, a >> 32 & 0xffff)
E(bytes4, (a & 255) | (b & 255) << 8 | (b & 255) << 16 | (a & 255) << 24)
E(bytes2, (b & 255) | (a & 255) << 8)
E(turned, (uint64_t)__builtin_bswap32((uint32_t)a))
E(byte2_signed, (uint64_t)(int64_t)(int8_t)(a >> 16))
E(one_float, 0x3f800000)
E(one_double, 0x3ff0000000000000)
E(negative, 0xfffffffffffffffb)

static const struct row moves[] = {
    {"mov.b16 %d, %a;", "hh", same_a},
    {"mov.u32 %d, %a;", "ww", same_a},
    {"mov.f64 %d, %a;", "dd", same_a},
    {"mov.b32 %d, {%b, %a};", "whh", join32},
    {"mov.b64 %d, {%b, %a};", "dww", join64},
    {"mov.b64 %d, {%a, %b, %c, %a};", "dhhh", four},
    {".reg .b32 %x, %y; mov.b64 {%x, %y}, %a; mov.b64 %d, {%y, %x};", "dd", swapped},
    {".reg .b32 %x; mov.b64 {%x, _}, %a; cvt.u64.u32 %d, %x; mov.b64 {_, %x}, %a; mov.b64 %d, "
     "{%x, %x}; "
     "shl.b64 %d, %a, 32; shr.u64 %a, %a, 32; or.b64 %d, %d, %a;",
     "dd", swapped},
    {"mov.b64 {_, _, %d, _}, %a;", "hd", third},
    {".reg .b16 %x, %y; mov.b32 {%x, %y}, %a; mov.b32 %d, {%x, %y};", "ww", same_a},
    {"mov.b32 { %d }, %a;", "ww", same_a},
    {"mov.b32 %d, {%a, %b, %b, %a};", "whh", bytes4},
    {"mov.b16 %d, {%b, %a};", "hhh", bytes2},
    {".reg .s8 %x<4>; mov.b32 {%x0, %x1, %x2, %x3}, %a; mov.b32 %d, {%x3, %x2, %x1, %x0};",
     "ww", turned},
    {".reg .s8 %x; mov.b32 {_, _, %x, _}, %a; cvt.s32.s8 %d, %x;", "ww", byte2_signed},
    {".reg .b16 %x, %y; mov.b16 {%x, %y}, %a; mov.b16 %d, {%x, %y};", "hh", same_a},
    {"mov.f32 %d, 0f3F800000;", "w", one_float},
    {"mov.f32 %d, 1.0;", "w", one_float},
    {"mov.f64 %d, 0d3FF0000000000000;", "d", one_double},
    {"mov.s64 %d, -5;", "d", negative},
    {"mov.b32 %d, 0xFFFFFFFB;", "w", negative},
};

START_TEST(each_move)
{
    gpu_start();
    row_run(&moves[_i], integer_draw, NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_move");
    TCase *t = tcase_create("mov");
    tcase_add_loop_test(t, each_move, 0, (int)(sizeof moves / sizeof *moves));
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
