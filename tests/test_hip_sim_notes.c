/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backends/backend.h"
#include "codeobject.h"
#include "config.h"
#include "suite.h"

/* Code linked from many objects, as rocBLAS is, has a note of metadata of each: the two kernels
 * of docs/kernels/saxpy.hsaco are put into a note each, in the room of their one. */

static uint8_t code[1 << 16];
static size_t size;

static uint8_t *find(uint8_t *from, const char *what, size_t n)
{
    uint8_t *p = memmem(from, (size_t)(code + size - from), what, n);
    ck_assert_ptr_nonnull(p);
    return p;
}

/* A note with one kernel; it takes `room` bytes of description, zeros behind what it needs. */
static uint8_t *note_put(uint8_t *at, const void *kernel, size_t n, uint32_t room)
{
    const uint32_t head[] = {7, room, 32};
    memcpy(at, head, sizeof head);
    memcpy(at + 12, "AMDGPU\0", 8);
    memset(at + 20, 0, room);
    memcpy(at + 20,
           "\x81\xae"
           "amdhsa.kernels\x91",
           17);
    memcpy(at + 37, kernel, n);
    return at + 20 + room;
}

static void notes_split(void)
{
    FILE *f = fopen(GPUPARITY_SOURCE_DIR "/docs/kernels/saxpy.hsaco", "rb");
    ck_assert_ptr_nonnull(f);
    size = fread(code, 1, sizeof code, f);
    fclose(f);
    uint8_t *note = find(code, "AMDGPU", 7) - 12,
            *list = find(note, "amdhsa.kernels\x92", 15) + 15;
    static uint8_t kernels[1 << 14];
    uint32_t description;
    memcpy(&description, note + 4, sizeof description);
    ck_assert_uint_lt(description, sizeof kernels);
    memcpy(kernels, list, (size_t)(note + 20 + description - list));
    size_t end[2] = {0};
    for (int i = 0; i < 2; i++) {
        msgpack_unpacked m;
        msgpack_unpacked_init(&m);
        end[i] = i ? end[0] : 0;
        ck_assert_int_eq(msgpack_unpack_next(&m, (char *)kernels, description, &end[i]),
                         MSGPACK_UNPACK_SUCCESS);
        msgpack_unpacked_destroy(&m);
    }
    uint32_t first = (uint32_t)(17 + end[0] + 3) / 4 * 4, whole = (description + 3) / 4 * 4;
    ck_assert_uint_ge(whole, first + 20 + 17 + (end[1] - end[0]));
    uint8_t *second = note_put(note, kernels, end[0], first);
    note_put(second, kernels + end[0], end[1] - end[0], whole - first - 20);
}

START_TEST(every_note_counts)
{
    struct sim_memory memory;
    struct codeobject o;
    struct kernel_list l = {0};
    struct backend_error e;
    char why[300] = "";
    notes_split();
    ck_assert_int_eq(sim_memory_init(&memory, 1 << 24), 0);
    ck_assert_msg(!codeobject_load(code, size, &memory, &o, why, sizeof why), "%s", why);
    ck_assert_int_eq(o.n_kernel, 2);
    ck_assert_str_eq(o.kernel[0].meta->name, "saxpy");
    ck_assert_str_eq(o.kernel[1].meta->name, "square");
    codeobject_release(&o);
    sim_memory_release(&memory);
    ck_assert_msg(!backend_find("hip")->kernels(code, size, &l, &e), "%s", e.text);
    ck_assert_int_eq(l.count, 2);
    ck_assert_str_eq(l.kernel[1].name, "square");
    kernel_list_release(&l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_notes");
    TCase *t = tcase_create("hip_sim_notes");
    suite_add_tcase(s, t);
    tcase_add_test(t, every_note_counts);
    return suite_run(s);
}
