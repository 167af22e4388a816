/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLANTALTER_H
#define GPUPARITY_PLANTALTER_H

#include "plant.h"

/* Private to plant*.c: what alters results, by values and by places. */

typedef int64_t plant_apply(struct tensor *t, const struct oracle *o, int step);

/* plantvalue.c */
plant_apply plant_scaled, plant_rows_scaled, plant_rows_off, plant_wave, plant_low_bits, plant_flush, plant_nan_lost,
    plant_inf_nan, plant_inf_largest, plant_minus_zero, plant_nan, plant_poison, plant_units,
    plant_exact, plant_toward_zero, plant_upward, plant_bias, plant_sign_bit;

/* plantplace.c */
plant_apply plant_tile, plant_column, plant_one, plant_unwritten, plant_from_power,
    plant_unwritten_from_power, plant_transposed, plant_next_row, plant_interleaved,
    plant_reversed, plant_wrapped, plant_count_lost, plant_carry_lost, plant_memory_added;

static inline int64_t plant_columns(const struct tensor *t)
{
    return t->rank ? t->dim[t->rank - 1] : 1;
}

/* Did that change anything? */
static inline bool plant_put(struct tensor *t, int64_t i, uint64_t bits)
{
    bool differs = tensor_bits(t, i) != bits;
    tensor_set_bits(t, i, bits);
    return differs;
}

static inline bool plant_put_value(struct tensor *t, int64_t i, double x)
{
    return plant_put(t, i, dtype_round(t->dtype, x));
}

#endif
