/* SPDX-License-Identifier: Apache-2.0 */
#include "cudalane.h"

/* What lanes of a warp and threads of a block see of each other, and control flow. */

static void inputs_draw(uint32_t *x)
{
    for (uint64_t k = 0; k < THREADS; k++)
        x[k] = (uint32_t)mix(k * 0x9e3779b97f4a7c15 + 77);
}

typedef uint32_t lane_fn(const uint32_t *x, uint32_t thread);

/* The other lanes of thread t's warp. */
static const uint32_t *warp_of(const uint32_t *x, uint32_t t)
{
    return x + t / 32 * 32;
}

/* As the PTX manual describes shfl, for segments of `width` lanes. */
static uint32_t shuffled(const uint32_t *x, uint32_t t, char mode, int b, int width,
                         bool *ret_inside)
{
    int lane = (int)(t % 32), start = lane / width * width, from;
    switch (mode) {
    case 'u':
        from = lane - b;
        break;
    case 'd':
        from = lane + b;
        break;
    case 'b':
        from = lane ^ b;
        break;
    default:
        from = start + b % width;
    }
    *ret_inside = from >= start && from < start + width;
    return warp_of(x, t)[*ret_inside ? from : lane];
}

#define SHUFFLE(name, mode, b, width)                                                          \
    static uint32_t name(const uint32_t *x, uint32_t t)                                        \
    {                                                                                          \
        bool inside;                                                                           \
        uint32_t v = shuffled(x, t, mode, b, width, &inside);                                  \
        return inside ? v : v ^ 0x10000;                                                       \
    }
#define SHUFFLE_TEXT(mode, b, c)                                                               \
    "shfl.sync." mode ".b32 %y|%p0, %x, " b ", " c ", -1; @!%p0 xor.b32 %y, %y, 0x10000;"
SHUFFLE(up3, 'u', 3, 32)
SHUFFLE(down5, 'd', 5, 32)
SHUFFLE(cross7, 'b', 7, 32)
SHUFFLE(index9, 'i', 9, 32)
SHUFFLE(up2of8, 'u', 2, 8)
SHUFFLE(down3of8, 'd', 3, 8)
SHUFFLE(cross4of16, 'b', 4, 16)
SHUFFLE(index2of4, 'i', 2, 4)

static uint32_t odd_mask(const uint32_t *x, uint32_t t)
{
    uint32_t m = 0;
    for (int l = 0; l < 32; l++)
        m |= (warp_of(x, t)[l] & 1) << l;
    return m;
}

static uint32_t votes(const uint32_t *x, uint32_t t)
{
    uint32_t m = odd_mask(x, t);
    return (uint32_t)(m == UINT32_MAX) | (uint32_t)(m != 0) << 1 |
           (uint32_t)(m == UINT32_MAX || m == 0) << 2;
}

static uint32_t equals(const uint32_t *x, uint32_t t)
{
    uint32_t m = 0;
    for (int l = 0; l < 32; l++)
        m |= (uint32_t)((warp_of(x, t)[l] & 3) == (x[t] & 3)) << l;
    return m;
}

static uint32_t elected(const uint32_t *x, uint32_t t)
{
    (void)x;
    return t % 32 == 0 ? 1 : 0;
}

static uint32_t none(const uint32_t *x, uint32_t t)
{
    (void)x, (void)t;
    return 0;
}

#define REDUCE(name, type, start, step)                                                        \
    static uint32_t name(const uint32_t *x, uint32_t t)                                        \
    {                                                                                          \
        type r = start;                                                                        \
        for (int l = 0; l < 32; l++) {                                                         \
            type v = (type)warp_of(x, t)[l];                                                   \
            step;                                                                              \
        }                                                                                      \
        return (uint32_t)r;                                                                    \
    }
REDUCE(sum, uint32_t, 0, r += v)
REDUCE(least, int32_t, INT32_MAX, r = v < r ? v : r)
REDUCE(most, int32_t, INT32_MIN, r = v > r ? v : r)
REDUCE(least_u, uint32_t, UINT32_MAX, r = v < r ? v : r)
REDUCE(most_u, uint32_t, 0, r = v > r ? v : r)
REDUCE(all_bits, uint32_t, UINT32_MAX, r &= v)
REDUCE(any_bits, uint32_t, 0, r |= v)
REDUCE(parity, uint32_t, 0, r ^= v)

static uint32_t collatz(const uint32_t *x, uint32_t t)
{
    uint32_t v = (x[t] & 1023) + 1, n = 0;
    for (; v != 1; n++)
        v = v & 1 ? 3 * v + 1 : v / 2;
    return n;
}

static uint32_t switched(const uint32_t *x, uint32_t t)
{
    static const uint32_t table[] = {10, 21, 32, 21};
    return table[x[t] & 3] + 100;
}

static uint32_t divergent_masks(const uint32_t *x, uint32_t t)
{
    uint32_t odd = odd_mask(x, t);
    return x[t] & 1 ? odd : ~odd;
}

static uint32_t reversed_block(const uint32_t *x, uint32_t t)
{
    return x[THREADS - 1 - t];
}

static uint32_t odd_count(const uint32_t *x, uint32_t t)
{
    uint32_t n = 0;
    (void)t;
    for (int k = 0; k < THREADS; k++)
        n += x[k] & 1;
    return n | (uint32_t)(n != 0) << 8 | (uint32_t)(n == THREADS) << 9;
}

static uint32_t called(const uint32_t *x, uint32_t t)
{
    return (x[t] & 1 ? x[t] * 3 + 5 : x[t]) * 3 + 5;
}

static uint32_t called_by_address(const uint32_t *x, uint32_t t)
{
    return x[t] & 1 ? x[t] * 3 + 5 : x[t] ^ 0xff;
}

/* Every mask times a number of its own, so that none can stand for another. */
static uint32_t lane_masks(const uint32_t *x, uint32_t t)
{
    uint32_t l = t % 32, r = l + t / 32 * 1000;
    (void)x;
    for (uint32_t k = 0; k < 32; k++)
        r += ((uint32_t)(k == l) + 3 * (k <= l) + 5 * (k < l) + 7 * (k >= l) + 11 * (k > l))
             << k;
    return r;
}

static uint32_t counted(const uint32_t *x, uint32_t t)
{
    (void)x, (void)t;
    return THREADS;
}

/* x summed with its halves, by a function that calls itself. */
static uint32_t halves_summed(const uint32_t *x, uint32_t t)
{
    uint32_t sum = 0;
    for (uint32_t v = x[t]; v; v /= 2)
        sum += v;
    return sum;
}

static const char recursive[] =
    ".func (.param .b32 r) h(.param .b32 a)\n{\n.reg .b32 %v, %w; .reg .pred %p; ld.param.b32 "
    "%v, [a];\n"
    "setp.eq.u32 %p, %v, 0; mov.u32 %w, 0; @%p bra E;\nshr.u32 %w, %v, 1;\n"
    "{ .param .b32 pa; .param .b32 pr; st.param.b32 [pa], %w; call.uni (pr), h, (pa); "
    "ld.param.b32 %w, [pr]; }\n"
    "add.u32 %w, %w, %v;\nE: st.param.b32 [r], %w;\nret;\n}\n";

static const char function[] =
    ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %v;\nld.param.b32 %v, [a];\n"
    "mad.lo.u32 %v, %v, 3, 5;\nst.param.b32 [r], %v;\nret;\n}\n"
    ".func (.param .b32 r) g(.param .b32 a)\n{\n.reg .b32 %v;\nld.param.b32 %v, [a];\n"
    "xor.b32 %v, %v, 255;\nst.param.b32 [r], %v;\nret;\n}\n";

#define CALL_F(from, to)                                                                       \
    "{ .param .b32 pa; .param .b32 pr; st.param.b32 [pa], " from "; call.uni (pr), f, (pa); "  \
    "ld.param.b32 " to ", [pr]; } "

static const struct {
    const char *declare, *body;
    lane_fn *expect;
} rows[] = {
    {"", SHUFFLE_TEXT("up", "3", "0"), up3},
    {"", SHUFFLE_TEXT("down", "5", "31"), down5},
    {"", SHUFFLE_TEXT("bfly", "7", "31"), cross7},
    {"", SHUFFLE_TEXT("idx", "9", "31"), index9},
    {"", SHUFFLE_TEXT("up", "2", "6144"), up2of8},
    {"", SHUFFLE_TEXT("down", "3", "6175"), down3of8},
    {"", SHUFFLE_TEXT("bfly", "4", "4127"), cross4of16},
    {"", SHUFFLE_TEXT("idx", "2", "7199"), index2of4},
    {"", "and.b32 %r0, %x, 1; setp.ne.u32 %p0, %r0, 0; vote.sync.ballot.b32 %y, %p0, -1;",
     odd_mask},
    {"", "and.b32 %r0, %x, 1; setp.eq.u32 %p0, %r0, 0; vote.sync.ballot.b32 %y, !%p0, -1;",
     odd_mask},
    {"",
     "and.b32 %r0, %x, 1; setp.ne.u32 %p0, %r0, 0; vote.sync.all.pred %p1, %p0, -1; "
     "vote.sync.any.pred %p2, %p0, -1; "
     "vote.sync.uni.pred %p3, %p0, -1; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; "
     "selp.u32 %r3, 4, 0, %p3; "
     "or.b32 %y, %r1, %r2; or.b32 %y, %y, %r3;",
     votes},
    {"", "and.b32 %r0, %x, 3; match.any.sync.b32 %y, %r0, -1;", equals},
    {"",
     ".reg .b64 %w; and.b32 %r0, %x, 3; cvt.u64.u32 %w, %r0; match.any.sync.b64 %y, %w, -1;",
     equals},
    {"", "match.all.sync.b32 %y|%p0, %x, -1; @%p0 mov.u32 %y, 1;", none},
    {"", "elect.sync %r0|%p0, -1; selp.u32 %y, 1, %r0, %p0;", elected},
    {"", "redux.sync.add.u32 %y, %x, -1;", sum},
    {"", "redux.sync.add.s32 %y, %x, -1;", sum},
    {"", "redux.sync.min.s32 %y, %x, -1;", least},
    {"", "redux.sync.max.s32 %y, %x, -1;", most},
    {"", "redux.sync.min.u32 %y, %x, -1;", least_u},
    {"", "redux.sync.max.u32 %y, %x, -1;", most_u},
    {"", "redux.sync.and.b32 %y, %x, -1;", all_bits},
    {"", "redux.sync.or.b32 %y, %x, -1;", any_bits},
    {"", "redux.sync.xor.b32 %y, %x, -1;", parity},
    /* a loop of different length in every lane */
    {"",
     "and.b32 %r0, %x, 1023; add.u32 %r0, %r0, 1; L0: setp.eq.u32 %p0, %r0, 1; @%p0 bra L3; "
     "and.b32 %r1, %r0, 1; "
     "setp.eq.u32 %p1, %r1, 0; @%p1 bra L1; mad.lo.u32 %r0, %r0, 3, 1; bra.uni L2; L1: shr.u32 "
     "%r0, %r0, 1; "
     "L2: add.u32 %y, %y, 1; bra L0; L3:",
     collatz},
    /* lanes that have gone apart vote among themselves, and together again behind the join */
    {"",
     "and.b32 %r0, %x, 1; setp.ne.u32 %p0, %r0, 0; vote.sync.ballot.b32 %r1, %p0, -1; not.b32 "
     "%r2, %r1; "
     "@%p0 bra L1; activemask.b32 %y; vote.sync.ballot.b32 %r3, %p0, %r2; add.u32 %y, %y, %r3; "
     "bra L2; "
     "L1: vote.sync.any.pred %p1, %p0, %r1; @%p1 activemask.b32 %y; L2: bar.warp.sync -1; "
     "activemask.b32 %r5; setp.ne.u32 %p2, %r5, -1; @%p2 mov.u32 %y, 0;",
     divergent_masks},
    {"",
     "T: .branchtargets A, B, C, B; and.b32 %r0, %x, 3; brx.idx %r0, T; A: mov.u32 %y, 10; bra "
     "E; B: mov.u32 %y, 21; "
     "bra E; C: mov.u32 %y, 32; E: add.u32 %y, %y, 100;",
     switched},
    {".shared .align 4 .b8 sm[512];\n",
     "mov.u32 %r0, sm; shl.b32 %r1, %i, 2; add.u32 %r1, %r0, %r1; st.shared.u32 [%r1], %x; "
     "bar.sync 0; "
     "sub.u32 %r2, 127, %i; shl.b32 %r2, %r2, 2; add.u32 %r2, %r0, %r2; ld.shared.u32 %y, "
     "[%r2];",
     reversed_block},
    {".shared .align 4 .b8 sm[512];\n",
     "mov.u32 %r0, sm; shl.b32 %r1, %i, 2; add.u32 %r1, %r0, %r1; st.shared.u32 [%r1], %x; "
     "barrier.sync.aligned 3, 128; "
     "sub.u32 %r2, 127, %i; shl.b32 %r2, %r2, 2; add.u32 %r2, %r0, %r2; ld.shared.u32 %y, "
     "[%r2];",
     reversed_block},
    {"",
     "and.b32 %r0, %x, 1; setp.ne.u32 %p0, %r0, 0; bar.red.popc.u32 %y, 0, %p0; "
     "bar.red.or.pred %p1, 0, %p0; "
     "barrier.cta.red.aligned.and.pred %p2, 1, 128, %p0; selp.u32 %r1, 256, 0, %p1; selp.u32 "
     "%r2, 512, 0, %p2; "
     "or.b32 %y, %y, %r1; or.b32 %y, %y, %r2;",
     odd_count},
    {"",
     "and.b32 %r0, %x, 1; setp.ne.u32 %p0, %r0, 0; barrier.cta.red.aligned.popc.u32 %y, 0, "
     "%p0; "
     "barrier.red.or.pred %p1, 0, %p0; bar.cta.red.and.pred %p2, 1, %p0; selp.u32 %r1, 256, 0, "
     "%p1; "
     "selp.u32 %r2, 512, 0, %p2; or.b32 %y, %y, %r1; or.b32 %y, %y, %r2;",
     odd_count},
    /* two warps arrive, two wait */
    {".shared .align 4 .u32 n;\n",
     "setp.lt.u32 %p0, %i, 64; setp.eq.u32 %p1, %i, 0; @%p1 st.shared.u32 [n], 0; bar.sync 0; "
     "@!%p0 bra L1; red.shared.add.u32 [n], 2; bar.arrive 1, 128; bra L2; L1: bar.sync 1, 128; "
     "L2: bar.sync 0; ld.shared.u32 %y, [n];",
     counted},
    {".shared .align 4 .u32 n;\n",
     "setp.lt.u32 %p0, %i, 64; setp.eq.u32 %p1, %i, 0; @%p1 st.shared.u32 [n], 0; barrier.sync "
     "0; "
     "@!%p0 bra L1; red.shared.add.u32 [n], 2; barrier.arrive 1, 128; bra L2; L1: barrier.sync "
     "1, 128; "
     "L2: barrier.sync 0; ld.shared.u32 %y, [n];",
     counted},
    {function,
     "mov.u32 %y, %x; and.b32 %r0, %x, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; " CALL_F(
         "%x", "%y") "L: " CALL_F("%y", "%y"),
     called},
    {recursive,
     "{ .param .b32 pa; .param .b32 pr; st.param.b32 [pa], %x; call.uni (pr), h, (pa); "
     "ld.param.b32 %y, [pr]; }",
     halves_summed},
    {function,
     ".reg .b64 %a, %b; and.b32 %r0, %x, 1; setp.ne.u32 %p0, %r0, 0; mov.u64 %a, f; mov.u64 "
     "%b, g; "
     "selp.b64 %a, %a, %b, %p0; { .param .b32 pa; .param .b32 pr; st.param.b32 [pa], %x; "
     "P: .callprototype (.param .b32 _) _ (.param .b32 _); call (pr), %a, (pa), P; "
     "ld.param.b32 %y, [pr]; }",
     called_by_address},
    {"",
     "mov.u32 %r0, %laneid; mov.u32 %r1, %warpid; mad.lo.u32 %y, %r1, 1000, %r0; "
     "mov.u32 %r0, %lanemask_eq; add.u32 %y, %y, %r0; mov.u32 %r0, %lanemask_le; mad.lo.u32 "
     "%y, %r0, 3, %y; "
     "mov.u32 %r0, %lanemask_lt; mad.lo.u32 %y, %r0, 5, %y; mov.u32 %r0, %lanemask_ge; "
     "mad.lo.u32 %y, %r0, 7, %y; "
     "mov.u32 %r0, %lanemask_gt; mad.lo.u32 %y, %r0, 11, %y;",
     lane_masks},
};

START_TEST(each_row)
{
    uint32_t x[THREADS], y[THREADS];
    gpu_start();
    inputs_draw(x);
    kernel_run(rows[_i].declare, rows[_i].body, x, y, THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t want = rows[_i].expect(x, t);
        ck_assert_msg(y[t] == want, "%s\nthread %u: %#x, expected %#x", rows[_i].body, t, y[t],
                      want);
    }
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" elect activemask shfl vote match redux activemask bra brx call ret bar "
                "barrier ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_lane");
    TCase *t = tcase_create("lanes");
    tcase_add_loop_test(t, each_row, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
