/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "approx.h"
#include "config.h"
#include "backend.h"

/* Asks a card's special function unit for every operand there is and holds the answers against the
 * model of cuda-sim, the correctly rounded value: once a card has been asked, the model plus the
 * deltas written here is exact.
 *
 *   capture [--on card|sim] [--first HEX] [--count N] [--output FOLDER] [INSTRUCTION...]
 *
 * A line an instruction: XXH3-128 of the answers (little-endian words in the order of the operands)
 * and how many are how many places away from the model in the ordered list of floats. FOLDER gets
 * INSTRUCTION.delta.zst, a signed byte an operand (127: see the table), and INSTRUCTION.odd.tsv, the
 * answers further than 126 places away or NaN on one side only: operand, card, model.
 * Exit status: 0, 2 for usage or trouble, 77 where there is no card. */

enum kind { F32, HALF, HIGH };

static const struct unit {
    const char *name;
    enum kind kind;
    enum mark mark;
    bool ftz;
} units[] = {
#define UNIT(instruction, kind, mark, ftz) {instruction, kind, MARK_##mark, ftz},
#include "unit.def"
#undef UNIT
};
enum { UNIT_COUNT = sizeof units / sizeof *units, CHUNK = 1 << 22, FAR = 127, THREADS_MAX = 64 };

struct capture {
    const struct backend *backend;
    struct device *device;
    uint64_t address; /* CHUNK words on the device */
    uint64_t first, count;
    const char *folder; /* NULL: nothing is written */
    uint32_t *card;     /* answers of a chunk */
    uint32_t *model;
    int8_t *delta;
};

/* Counts of one instruction. */
struct tally {
    uint64_t by_delta[256], far; /* delta + 128 */
    int worst;
    uint32_t worst_operand;
    XXH3_state_t *digest;
    ZSTD_CCtx *pack;
    FILE *deltas, *odd;
};

static int trouble(const char *what, const char *why)
{
    fprintf(stderr, "capture: %s: %s\n", what, why);
    return 2;
}

/* --- the card ------------------------------------------------------------------------------- */

static void kernel_text(const struct unit *u, char *ret_text, size_t size)
{
    static const char *const body[] = {
        [F32] = "%s %%y, %%x;",
        [HALF] = "cvt.u16.u32 %%h, %%x; %s %%g, %%h; cvt.u32.u16 %%y, %%g;",
        [HIGH] = "mov.b64 %%a, {%%i, %%x}; %s %%b, %%a; mov.b64 {%%i, %%y}, %%b;"};
    char middle[200];
    snprintf(middle, sizeof middle, body[u->kind], u->name);
    snprintf(ret_text, size,
             ".version 7.1\n.target sm_86\n.address_size 64\n"
             ".visible .entry capture(.param .u64 out, .param .u32 first)\n{\n"
             ".reg .b32 %%i, %%n, %%t, %%x, %%y; .reg .b16 %%g, %%h; .reg .b64 %%a, %%b, %%p;\n"
             "ld.param.u64 %%p, [out]; ld.param.u32 %%x, [first];\n"
             "mov.u32 %%i, %%ctaid.x; mov.u32 %%n, %%ntid.x; mov.u32 %%t, %%tid.x;\n"
             "mad.lo.u32 %%i, %%i, %%n, %%t; mul.wide.u32 %%a, %%i, 4; add.u64 %%p, %%p, %%a;\n"
             "add.u32 %%x, %%x, %%i; mov.u32 %%i, 0;\n%s\nst.global.u32 [%%p], %%y;\nret;\n}\n",
             middle);
}

static int chunk_ask(struct capture *c, uint32_t first, uint32_t count)
{
    enum { BLOCK = 256 };
    struct backend_error e = {0};
    struct launch_arg arg[] = {{&c->address, sizeof c->address}, {&first, sizeof first}};
    struct launch l = {.entry = "capture",
                       .grid = {(count + BLOCK - 1) / BLOCK, 1, 1},
                       .block = {BLOCK, 1, 1},
                       .n_arg = 2,
                       .arg = arg};
    if (c->backend->launch(c->device, &l, &e) ||
        c->backend->read(c->device, c->address, c->card, count * sizeof *c->card, &e))
        return trouble("the kernel failed", e.text);
    return 0;
}

/* --- the model ------------------------------------------------------------------------------ */

struct slice {
    const struct unit *unit;
    uint32_t *to, first, from, count;
};

static uint32_t model_of(const struct unit *u, uint32_t x)
{
    if (u->kind == F32)
        return approx_f32(u->mark, x, 0, u->ftz, APPROX_NEAREST);
    if (u->kind == HALF)
        return approx_half(u->mark, x & 0xffff, false, u->ftz, APPROX_NEAREST);
    return (uint32_t)(approx_f64(u->mark, (uint64_t)x << 32, APPROX_NEAREST) >> 32);
}

static void *slice_fill(void *context)
{
    const struct slice *s = context;
    for (uint32_t k = 0; k < s->count; k++)
        s->to[s->from + k] = model_of(s->unit, s->first + s->from + k);
    return NULL;
}

static void model_fill(const struct capture *c, const struct unit *u, uint32_t first,
                       uint32_t count)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (uint32_t)cores, done = 0;
    pthread_t thread[THREADS_MAX];
    bool started[THREADS_MAX];
    struct slice slice[THREADS_MAX];
    for (uint32_t t = 0; t < n; t++) {
        uint32_t end = (uint32_t)((uint64_t)count * (t + 1) / n);
        slice[t] = (struct slice){u, c->model, first, done, end - done};
        done = end;
        started[t] = !pthread_create(&thread[t], NULL, slice_fill, &slice[t]);
        if (!started[t])
            slice_fill(&slice[t]);
    }
    for (uint32_t t = 0; t < n; t++)
        if (started[t])
            pthread_join(thread[t], NULL);
}

/* --- both ------------------------------------------------------------------------------------
 */

/* Place in the ordered list of all floats; both zeros are at 0. INT64_MAX for NaN. */
static int64_t place_of(const struct unit *u, uint32_t bits)
{
    uint32_t sign = u->kind == HALF ? 0x8000 : 0x80000000,
             top = u->kind == F32 ? 0x7f800000 : u->kind == HIGH ? 0x7ff00000 : 0x7c00,
             size = bits & (sign - 1);
    return size > top ? INT64_MAX : bits & sign ? -(int64_t)size : (int64_t)size;
}

static int delta_of(const struct unit *u, uint32_t card, uint32_t model)
{
    int64_t a = place_of(u, card), b = place_of(u, model);
    if (a == INT64_MAX || b == INT64_MAX)
        return a == b ? 0 : FAR;
    /* Zeros of different signs are the same place and not the same answer. */
    int64_t d = a - b;
    return d > -FAR && d < FAR && (d || card == model) ? (int)d : FAR;
}

static void delta_count(struct tally *t, uint32_t operand, uint32_t card, uint32_t model, int d)
{
    t->by_delta[d + 128]++;
    if (d == FAR && t->odd)
        fprintf(t->odd, "%08" PRIx32 "\t%08" PRIx32 "\t%08" PRIx32 "\n", operand, card, model);
    if (d != FAR && abs(d) > abs(t->worst)) {
        t->worst = d;
        t->worst_operand = operand;
    }
}

static int deltas_write(struct tally *t, const int8_t *delta, size_t size, bool last)
{
    static char room[1 << 16];
    ZSTD_inBuffer in = {delta, size, 0};
    for (size_t left = 1; left || in.pos < in.size;) {
        ZSTD_outBuffer out = {room, sizeof room, 0};
        left = ZSTD_compressStream2(t->pack, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left) || fwrite(room, 1, out.pos, t->deltas) != out.pos)
            return trouble("writing the deltas", strerror(errno));
        if (!last && in.pos == in.size)
            break;
    }
    return 0;
}

static int chunks_go(struct capture *c, const struct unit *u, uint64_t first, uint64_t count,
                     struct tally *t)
{
    for (uint64_t done = 0; done < count;) {
        uint32_t n = count - done < CHUNK ? (uint32_t)(count - done) : CHUNK,
                 operand = (uint32_t)(first + done);
        if (chunk_ask(c, operand, n))
            return 2;
        model_fill(c, u, operand, n);
        XXH3_128bits_update(t->digest, c->card, n * sizeof *c->card);
        for (uint32_t k = 0; k < n; k++) {
            int d = delta_of(u, c->card[k], c->model[k]);
            c->delta[k] = (int8_t)d;
            delta_count(t, operand + k, c->card[k], c->model[k], d);
        }
        done += n;
        if (c->folder && deltas_write(t, c->delta, n, done == count))
            return 2;
    }
    return 0;
}

static void line_print(const struct unit *u, uint64_t first, uint64_t count,
                       const struct tally *t)
{
    XXH128_hash_t h = XXH3_128bits_digest(t->digest);
    printf("%-22s %08" PRIx64 "+%" PRIx64 " %016" PRIx64 "%016" PRIx64, u->name, first, count,
           (uint64_t)h.high64, (uint64_t)h.low64);
    for (int d = -126; d < FAR; d++)
        if (t->by_delta[d + 128])
            printf(" %+d:%" PRIu64, d, t->by_delta[d + 128]);
    if (t->by_delta[FAR + 128])
        printf(" odd:%" PRIu64, t->by_delta[FAR + 128]);
    if (t->worst)
        printf(" worst at %08" PRIx32, t->worst_operand);
    putchar('\n');
    fflush(stdout);
}

static FILE *file_open(const char *folder, const char *name, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    FILE *f = fopen(path, "wb");
    if (!f)
        trouble(path, strerror(errno));
    return f;
}

static int unit_capture(struct capture *c, const struct unit *u)
{
    char text[2048];
    struct tally t = {.digest = XXH3_createState(), .pack = ZSTD_createCCtx()};
    struct backend_error e = {0};
    uint64_t all = u->kind == HALF ? 1 << 16 : (uint64_t)1 << 32,
             first = c->first < all ? c->first : 0,
             count = c->count && c->count < all - first ? c->count : all - first;
    kernel_text(u, text, sizeof text);
    if (!t.digest || !t.pack)
        return trouble(u->name, "out of memory");
    XXH3_128bits_reset(t.digest);
    int status = 0;
    if (c->backend->load(c->device, text, strlen(text) + 1, &e))
        status = trouble(u->name, e.text);
    if (!status && c->folder)
        status = (t.deltas = file_open(c->folder, u->name, ".delta.zst")) &&
                         (t.odd = file_open(c->folder, u->name, ".odd.tsv"))
                     ? 0
                     : 2;
    if (!status)
        status = chunks_go(c, u, first, count, &t);
    if ((t.deltas && fclose(t.deltas)) | (t.odd && fclose(t.odd)))
        status = trouble(c->folder, strerror(errno));
    if (!status)
        line_print(u, first, count, &t);
    XXH3_freeState(t.digest);
    ZSTD_freeCCtx(t.pack);
    return status;
}

/* --- the command line ------------------------------------------------------------------------ */

static bool wanted(const char *name, int n, char *const *list)
{
    for (int k = 0; k < n; k++)
        if (!strcmp(list[k], name))
            return true;
    return !n;
}

static int names_check(int n, char *const *list)
{
    for (int k = 0; k < n; k++) {
        bool known = false;
        for (int u = 0; u < UNIT_COUNT; u++)
            known |= !strcmp(units[u].name, list[k]);
        if (known)
            continue;
        fprintf(stderr, "capture: unknown instruction '%s'; there are", list[k]);
        for (int u = 0; u < UNIT_COUNT; u++)
            fprintf(stderr, " %s", units[u].name);
        fputc('\n', stderr);
        return 2;
    }
    return 0;
}

static int device_start(struct capture *c, bool simulated, const char *folder)
{
    struct backend_error e = {0};
    struct device_info i;
    c->backend = backend_find("cuda");
    if (c->backend->open(simulated ? DEVICE_SIMULATED : DEVICE_REAL, folder, 0, &c->device, &e)) {
        fprintf(stderr, "capture: UNTESTED: %s; --on sim asks the simulated card\n", e.text);
        return 77;
    }
    c->backend->describe(c->device, &i);
    if (c->backend->alloc(c->device, CHUNK * sizeof *c->card, &c->address, &e))
        return trouble("memory", e.text);
    printf("%s (%s), driver %s, %s%s\n", i.name, i.arch, *i.driver ? i.driver : "-", i.library,
           i.simulated ? "\nSIMULATED: no card was asked" : "");
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "capture [--on card|sim] [--first HEX] [--count N] [--output FOLDER] "
                    "[INSTRUCTION...]\n");
    return 2;
}

static bool number_read(const char *text, int base, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, base);
    return *text && *text != '-' && !*end && !errno && *ret <= (uint64_t)1 << 32;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"on", 1, NULL, 'd'},
                                            {"first", 1, NULL, 'f'},
                                            {"count", 1, NULL, 'c'},
                                            {"output", 1, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    struct capture c = {0};
    bool simulated = false;
    for (int o; (o = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        if (o == 'd' && (!strcmp(optarg, "card") || !strcmp(optarg, "sim")))
            simulated = !strcmp(optarg, "sim");
        else if (o == 'o')
            c.folder = optarg;
        else if ((o != 'f' && o != 'c') ||
                 !number_read(optarg, o == 'f' ? 16 : 10, o == 'f' ? &c.first : &c.count))
            return usage();
    }
    const char *folder = getenv("GPUPARITY_SIM_DIR");
    int status = names_check(argc - optind, argv + optind);
    if (!status && c.folder && mkdir(c.folder, 0777) && errno != EEXIST)
        status = trouble(c.folder, strerror(errno));
    if (!status)
        status = device_start(&c, simulated, folder ? folder : GPUPARITY_BUILD_DIR);
    c.card = malloc(CHUNK * sizeof *c.card);
    c.model = malloc(CHUNK * sizeof *c.model);
    c.delta = malloc(CHUNK);
    if (!status && (!c.card || !c.model || !c.delta))
        status = trouble("memory", strerror(errno));
    for (int u = 0; !status && u < UNIT_COUNT; u++)
        if (wanted(units[u].name, argc - optind, argv + optind))
            status = unit_capture(&c, &units[u]);
    if (c.backend)
        c.backend->close(c.device);
    free(c.card);
    free(c.model);
    free(c.delta);
    return status;
}
