/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>

#include "exec_address.h"
#include "exec_inside.h"
#include "system.h"

/* Calls of the driver's functions, and the registers of recursive ones. Their arguments stand
 * in the frame that has just been entered. */

/* `size` bytes at frame offset `at` of lane l; NULL beyond the stack. */
static uint8_t *frame_bytes(struct warp *w, uint32_t frame, uint32_t l, uint64_t at,
                            uint32_t size)
{
    uint32_t room = w->block->launch->image->local_size;
    uint64_t offset = frame + at;
    return offset + size <= room ? w->local + (size_t)l * room + offset : NULL;
}

static int registers_move(struct warp *w, const struct inst *i, uint32_t mask, bool save)
{
    const struct image *im = w->block->launch->image;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left), n = i->n_list;
        uint8_t *at = frame_bytes(w, LANES32(i->a)[l], l, i->imm, n * 8);
        if (!at)
            return warp_fault(
                w, i, (uint32_t)1 << l, SIM_FAULT_ADDRESS,
                "the call stack of %u bytes a thread is used up (endless recursion?)",
                im->local_size);
        for (uint32_t k = 0; k < n; k++, at += 8) {
            uint32_t slot = i->list[k] & ~3u, kind = i->list[k] & 3, bit = (uint32_t)1 << l;
            uint64_t v = 0;
            if (save) {
                v = kind == 2   ? LANES64(slot)[l]
                    : kind == 1 ? LANES32(slot)[l]
                                : (PRED(slot) & bit) != 0;
                memcpy(at, &v, 8);
                continue;
            }
            memcpy(&v, at, 8);
            if (kind == 2)
                LANES64(slot)[l] = v;
            else if (kind == 1)
                LANES32(slot)[l] = (uint32_t)v;
            else
                PRED(slot) = v ? PRED(slot) | bit : PRED(slot) & ~bit;
        }
    }
    return RUN_NEXT;
}

EXECUTOR(frame_save)
{
    return registers_move(w, i, mask, true);
}

EXECUTOR(frame_restore)
{
    return registers_move(w, i, mask, false);
}

/* --- texts -----------------------------------------------------------------------------------
 */

enum { TEXT_MAX = 512 };

/* A zero-ended text in global memory; what cannot be read ends it. */
static void text_read(const struct sim_memory *m, uint64_t address, char *ret_text)
{
    size_t n = 0;
    for (; n < TEXT_MAX - 1 && sim_memory_ok(m, address + n, 1); n++)
        if (!(ret_text[n] = *(const char *)(uintptr_t)(address + n)))
            return;
    ret_text[n] = 0;
}

struct arguments {
    const uint8_t *bytes;
    size_t size, at;
};

static uint64_t argument_take(struct arguments *g, size_t size)
{
    uint64_t v = 0;
    g->at = (g->at + size - 1) / size * size;
    if (g->at + size <= g->size)
        memcpy(&v, g->bytes + g->at, size);
    g->at += size;
    return v;
}

/* One conversion from '%' on; returns what stands behind it. Only our own short formats reach
 * printf: flags, width and precision are copied, the length is chosen here. */
static const char *conversion_print(struct warp *w, const char *f, struct arguments *g)
{
    char format[40] = "%", text[TEXT_MAX];
    size_t n = 1;
    int longs = 0;
    for (f++; *f && strchr("-+ #0123456789.*", *f); f++) {
        if (*f == '*')
            n += (size_t)snprintf(format + n, 12, "%d", (int)argument_take(g, 4));
        else if (n < 16)
            format[n++] = *f;
    }
    for (; *f == 'l' || *f == 'h' || *f == 'z' || *f == 'j' || *f == 't'; f++)
        longs += *f != 'h';
    char kind = *f;
    if (!kind)
        return f;
    if (kind == '%') {
        putchar('%');
    } else if (strchr("diouxXc", kind)) {
        uint64_t v = argument_take(g, longs && kind != 'c' ? 8 : 4);
        bool sign = (kind == 'd' || kind == 'i') && !longs;
        snprintf(format + n, 8, kind == 'c' ? "c" : "ll%c", kind);
        if (kind == 'c')
            printf(format, (int)v);
        else
            printf(format, sign ? (long long)(int32_t)v : (long long)v);
    } else if (strchr("aAeEfFgG", kind)) {
        snprintf(format + n, 8, "%c", kind);
        printf(format, float64(argument_take(g, 8)));
    } else if (kind == 's') {
        text_read(w->block->launch->memory, argument_take(g, 8), text);
        snprintf(format + n, 8, "s");
        printf(format, text);
    } else if (kind == 'p') {
        printf("0x%llx", (unsigned long long)argument_take(g, 8));
    } else {
        putchar(kind);
    }
    return f + 1;
}

static void lane_print(struct warp *w, const char *format, struct arguments g)
{
    flockfile(stdout);
    while (*format)
        if (*format == '%')
            format = conversion_print(w, format, &g);
        else
            putchar(*format++);
    funlockfile(stdout);
}

/* Where the variadic arguments are: a generic address of local memory. */
static struct arguments arguments_at(struct warp *w, uint32_t l, uint64_t address)
{
    uint32_t room = w->block->launch->image->local_size;
    uint64_t offset = address - WINDOW_LOCAL;
    if (offset >= room)
        return (struct arguments){0};
    return (struct arguments){w->local + (size_t)l * room + offset, room - (size_t)offset, 0};
}

EXECUTOR(system_call)
{
    char text[TEXT_MAX], file[TEXT_MAX];
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = first_lane(left);
        uint8_t *at = frame_bytes(w, LANES32(i->a)[l], l, 0, 24);
        uint64_t argument[3];
        if (!at)
            return warp_fault(w, i, (uint32_t)1 << l, SIM_FAULT_ADDRESS,
                              "the call stack is used up");
        memcpy(argument, at, sizeof argument);
        text_read(w->block->launch->memory, argument[0], text);
        if (i->extra == SYSTEM_ASSERT) {
            text_read(w->block->launch->memory, argument[1], file);
            return warp_fault(w, i, (uint32_t)1 << l, SIM_FAULT_TRAP,
                              "assertion '%.60s' failed at %.80s:%u", text, file,
                              (uint32_t)argument[2]);
        }
        lane_print(w, text, arguments_at(w, l, argument[1]));
    }
    return RUN_NEXT;
}
