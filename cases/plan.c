/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <stdio.h>
#include <string.h>

int plan_tensor(struct case_plan *p, const char *name, enum tensor_role role, enum dtype d,
                int rank, const int64_t *dim, enum dist dist)
{
    struct case_tensor *t = &p->tensor[p->n_tensor];
    *t = (struct case_tensor){
        .role = role, .dtype = d, .rank = rank, .dist = dist, .axis = rank - 1};
    snprintf(t->name, sizeof t->name, "%s", name);
    memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
    return p->n_tensor++;
}

void plan_argument(struct case_plan *p, const char *name, enum tensor_role role, enum dtype d,
                   int64_t rows, int64_t columns, enum dist dist)
{
    const int64_t dim[2] = {rows, columns};
    push_tensor(&p->launch[0], plan_tensor(p, name, role, d, columns ? 2 : 1, dim, dist));
}

struct case_launch *plan_launch(struct case_plan *p, const char *entry, int64_t blocks,
                                int threads)
{
    struct case_launch *l = &p->launch[p->n_launch++];
    *l = (struct case_launch){.grid = {(uint32_t)blocks, 1, 1},
                              .block = {(uint32_t)threads, 1, 1}};
    snprintf(l->entry, sizeof l->entry, "%s", entry);
    return l;
}

uint32_t plan_blocks(int64_t n, int64_t size)
{
    return (uint32_t)((n + size - 1) / size);
}

void push_tensor(struct case_launch *l, int tensor)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_TENSOR, .tensor = tensor};
}

void push_i32(struct case_launch *l, int64_t i)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_I32, .i = i};
}

void push_i64(struct case_launch *l, int64_t i)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_I64, .i = i};
}

void push_f32(struct case_launch *l, float f)
{
    l->arg[l->n_arg++] = (struct case_arg){.kind = CASE_ARG_F32, .f = f};
}
