/* section fully_connected_layer_T: finish_T */
typedef struct {
  int32_t batches;
  int32_t depth;
  int32_t outputs;
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} fully_connected_T_layer;

/* section fully_connected_T: fully_connected_layer_T dense_T */
static void fully_connected_T(const fully_connected_T_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_T *from = (const elem_T *)(const void *)in;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t batch = 0; batch < layer->batches; ++batch) {
    dense_T(&layer->finish, layer->weights, from, layer->depth, layer->outputs, layer->zero, to);
    from += layer->depth;
    to += layer->outputs;
  }
}

/* section fully_connected_rows_T: image fully_connected_layer_T range_T dot_one_T */
/* The products of one row of an image at a time. */
static void fully_connected_rows_T(const fully_connected_T_layer *layer, const image *in, uint8_t *sums, int32_t row,
                                   int32_t first, int32_t end, int32_t columns, int32_t channels) {
  const elem_T *from = (const elem_T *)(const void *)place_in(in, row, first, channels * (int32_t)sizeof(elem_T));
  const weight_T *weights = layer->weights + (row * columns + first) * channels;
  total_T *to = (total_T *)(void *)sums;
  for (int32_t channel = 0; channel < layer->outputs; ++channel) {
    const int32_t count = (end - first) * channels;
    to[channel] = plus_products_T(to[channel], from, weights + channel * layer->depth, count, layer->zero);
  }
}

static void fully_connected_end_T(const fully_connected_T_layer *layer, const uint8_t *sums, uint8_t *out) {
  finish_all_T(&layer->finish, 0, (const total_T *)(const void *)sums, layer->outputs, (elem_T *)(void *)out);
}

/* section sum_rows_T: image range_T */
/* Adds columns of a row to a sum for each channel. */
static void sum_rows_T(const image *in, uint8_t *sums, int32_t row, int32_t first, int32_t end, int32_t channels) {
  const elem_T *from = (const elem_T *)(const void *)place_in(in, row, first, channels * (int32_t)sizeof(elem_T));
  total_T *to = (total_T *)(void *)sums;
  for (int32_t column = first; column < end; ++column) {
    for (int32_t channel = 0; channel < channels; ++channel) {
      to[channel] = to[channel] + from[channel];
    }
    from += channels;
  }
}

/* section max_rows_T: max_pool_layer_T limits_T */
/* The largest element of each channel so far. */
static void max_rows_T(const image *in, uint8_t *sums, int32_t row, int32_t first, int32_t end, int32_t channels) {
  const elem_T *from = (const elem_T *)(const void *)place_in(in, row, first, channels * (int32_t)sizeof(elem_T));
  total_T *to = (total_T *)(void *)sums;
  for (int32_t column = first; column < end; ++column) {
    for (int32_t channel = 0; channel < channels; ++channel) {
      to[channel] = from[channel] > to[channel] ? from[channel] : to[channel];
    }
    from += channels;
  }
}

static void max_begin_T(uint8_t *sums, int32_t channels) {
  total_T *to = (total_T *)(void *)sums;
  for (int32_t channel = 0; channel < channels; ++channel) {
    to[channel] = LOWEST_T;
  }
}

static void max_end_T(const max_pool_T_layer *layer, const uint8_t *sums, uint8_t *out) {
  const total_T *from = (const total_T *)(const void *)sums;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t channel = 0; channel < layer->window.out_channels; ++channel) {
    to[channel] = limited_T(from[channel], layer->least, layer->most);
  }
}

/* section average_end_T: average_pool_layer_T limits_T average_T */
static void average_end_T(const average_pool_T_layer *layer, const uint8_t *sums, uint8_t *out) {
  const int32_t count = layer->window.in_rows * layer->window.in_columns;
  const total_T *from = (const total_T *)(const void *)sums;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t channel = 0; channel < layer->window.out_channels; ++channel) {
    to[channel] = limited_T(averaged_T(from[channel], count), layer->least, layer->most);
  }
}

/* section mean_of_T: limits_T wrapped scale32 */
typedef struct {
  int32_t in_zero;
  int32_t multiplier;
  int32_t shift;
  int32_t zero;
} mean_finish_T;

static inline elem_T mean_of_T(const mean_finish_T *finish, int32_t sum, int32_t count) {
  const int32_t value = scaled(sum - finish->in_zero * count, finish->multiplier, finish->shift);
  return limited_T(wrapped_sum(value, finish->zero), LOWEST_T, HIGHEST_T);
}

/* section mean_of_f32: types_f32 */
typedef struct {
  int32_t in_zero;
} mean_finish_f32;

static inline elem_f32 mean_of_f32(const mean_finish_f32 *finish, float sum, int32_t count) {
  (void)finish;
  return sum / (float)count;
}

/* section mean_layer_T: range_T mean_of_T */
/* The mean along some dimensions; those that are neighbours, and of one kind, are one. */
typedef struct {
  int32_t kept[3];
  int32_t kept_steps[3];
  int32_t summed[3];
  int32_t summed_steps[3];
  int32_t count;
  mean_finish_T finish;
} mean_T_layer;

/* section mean_T: mean_layer_T */
static inline total_T summed_T(const mean_T_layer *layer, const elem_T *from) {
  total_T sum = 0;
  for (int32_t first = 0; first < layer->summed[0]; ++first) {
    for (int32_t second = 0; second < layer->summed[1]; ++second) {
      const elem_T *at = from + first * layer->summed_steps[0] + second * layer->summed_steps[1];
      for (int32_t third = 0; third < layer->summed[2]; ++third) {
        sum += at[third * layer->summed_steps[2]];
      }
    }
  }
  return sum;
}

static void mean_T(const mean_T_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_T *from = (const elem_T *)(const void *)in;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t first = 0; first < layer->kept[0]; ++first) {
    for (int32_t second = 0; second < layer->kept[1]; ++second) {
      const elem_T *at = from + first * layer->kept_steps[0] + second * layer->kept_steps[1];
      for (int32_t third = 0; third < layer->kept[2]; ++third) {
        *to++ = mean_of_T(&layer->finish, summed_T(layer, at + third * layer->kept_steps[2]), layer->count);
      }
    }
  }
}

/* section mean_end_T: mean_layer_T */
static void mean_end_T(const mean_T_layer *layer, const uint8_t *sums, uint8_t *out) {
  const total_T *from = (const total_T *)(const void *)sums;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t channel = 0; channel < layer->kept[2]; ++channel) {
    to[channel] = mean_of_T(&layer->finish, from[channel], layer->count);
  }
}

/* section softmax_T_U: range_T limits_U reciprocal */
/* Of elements of 8 bits: a table has e to the power of each difference from the largest. */
typedef struct {
  int32_t outer;
  int32_t depth;
  int32_t entries;
  const int32_t *powers;
} softmax_T_U_layer;

static void softmax_T_U(const softmax_T_U_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_T *from = (const elem_T *)(const void *)in;
  elem_U *to = (elem_U *)(void *)out;
  for (int32_t outer = 0; outer < layer->outer; ++outer) {
    int32_t most = LOWEST_T;
    for (int32_t at = 0; at < layer->depth; ++at) {
      most = from[at] > most ? from[at] : most;
    }
    int32_t sum = 0;
    for (int32_t at = 0; at < layer->depth; ++at) {
      const int32_t difference = most - from[at];
      sum += difference < layer->entries ? rounded_shift(layer->powers[difference], 12) : 0;
    }
    int32_t bits = 0;
    const int32_t scale = reciprocal_of(sum, &bits);
    for (int32_t at = 0; at < layer->depth; ++at) {
      const int32_t difference = most - from[at];
      int32_t value = LOWEST_U;
      if (difference < layer->entries) {
        value += rounded_shift(high_product(scale, layer->powers[difference]), bits + 31 - 8 * (int32_t)sizeof(elem_U));
      }
      to[at] = limited_U(value, LOWEST_U, HIGHEST_U);
    }
    from += layer->depth;
    to += layer->depth;
  }
}

/* section softmax_wide: types_s16 clamp wrapped scale32 */
/* Of elements of 16 bits: tables have samples of e to the power of -10 to 0, and of 1 / (1 + x) for x of 0 to 1. */
typedef struct {
  int32_t outer;
  int32_t depth;
  int32_t multiplier;
  int32_t shift;
  const int16_t *powers;
  const int16_t *parts;
} softmax_wide_layer;

static inline int32_t between_samples(const int16_t *samples, int32_t value) {
  const int32_t place = clamped(value, INT16_MIN, INT16_MAX) + 32768;
  const int16_t *from = samples + (place >> 7);
  return from[0] + (((from[1] - from[0]) * (place & 127) + 64) >> 7);
}

static void softmax_wide(const softmax_wide_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_s16 *from = (const elem_s16 *)(const void *)in;
  elem_s16 *to = (elem_s16 *)(void *)out;
  for (int32_t outer = 0; outer < layer->outer; ++outer) {
    int32_t most = INT16_MIN;
    for (int32_t at = 0; at < layer->depth; ++at) {
      most = from[at] > most ? from[at] : most;
    }
    int32_t sum = 0;
    for (int32_t at = 0; at < layer->depth; ++at) {
      const int32_t difference = scaled(from[at] - most, layer->multiplier, layer->shift);
      to[at] = (elem_s16)between_samples(layer->powers, wrapped_sum(difference, 32767));
      sum += to[at];
    }
    int32_t leading = 0;
    while (leading < 31 && !((uint32_t)sum >> (31 - leading) & 1u)) {
      ++leading;
    }
    const int32_t shifted = (int32_t)((((int64_t)sum << (leading - 1)) + (1 << 13)) >> 14);
    const int32_t part = between_samples(layer->parts, shifted - (1 << 15) - (1 << 16));
    const int32_t bits = 31 - leading;
    for (int32_t at = 0; at < layer->depth; ++at) {
      const int64_t value = ((int64_t)to[at] * part + ((int64_t)1 << (bits - 1))) >> bits;
      to[at] = (elem_s16)clamped((int32_t)value, 0, INT16_MAX);
    }
    from += layer->depth;
    to += layer->depth;
  }
}

/* section softmax_f32: types_f32 */
typedef struct {
  int32_t outer;
  int32_t depth;
  float beta;
} softmax_f32_layer;

static void softmax_f32(const softmax_f32_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_f32 *from = (const elem_f32 *)(const void *)in;
  elem_f32 *to = (elem_f32 *)(void *)out;
  for (int32_t outer = 0; outer < layer->outer; ++outer) {
    float most = -FLT_MAX;
    for (int32_t at = 0; at < layer->depth; ++at) {
      most = from[at] > most ? from[at] : most;
    }
    float sum = 0.0f;
    for (int32_t at = 0; at < layer->depth; ++at) {
      to[at] = expf((from[at] - most) * layer->beta);
      sum += to[at];
    }
    for (int32_t at = 0; at < layer->depth; ++at) {
      to[at] /= sum;
    }
    from += layer->depth;
    to += layer->depth;
  }
}

/* section weighted_s8: dot_one_s8 */
static inline int32_t weighted_s8(const elem_s8 *from, const elem_s8 *weights, int32_t count, int32_t zero) {
  return plus_products_s8(0, from, weights, count, zero);
}

/* section weighted_s16: types_s16 wrapped */
static inline int32_t weighted_s16(const elem_s16 *from, const elem_s16 *weights, int32_t count, int32_t zero) {
  int32_t sum = 0;
  for (int32_t at = 0; at < count; ++at) {
    sum = wrapped_sum(sum, weights[at] * (from[at] - zero));
  }
  return sum;
}

/* section svdf_T: clamp wrapped scale32 range_T dot_one_s8 weighted_T */
typedef struct {
  int32_t batches;
  int32_t inputs;
  int32_t units;
  int32_t rank;
  int32_t memory;
  int32_t in_zero;
  int32_t state_zero;
  int32_t zero;
  int32_t multipliers[2];
  int32_t shifts[2];
  const int8_t *feature;
  const elem_T *time;
  const int32_t *biases;
  elem_T *state;
} svdf_T_layer;

static void svdf_T(const svdf_T_layer *layer, const uint8_t *in, uint8_t *out) {
  const int32_t filters = layer->units * layer->rank;
  const int32_t memory = layer->memory;
  const int32_t state_zero = layer->state_zero;
  const int8_t *from = (const int8_t *)(const void *)in;
  int8_t *to = (int8_t *)(void *)out;
  memmove(layer->state, layer->state + 1,
          (size_t)(layer->batches * filters * layer->memory - 1) * sizeof(*layer->state));
  for (int32_t batch = 0; batch < layer->batches; ++batch) {
    for (int32_t unit = 0; unit < layer->units; ++unit) {
      int32_t sum = layer->biases ? layer->biases[unit] : 0;
      for (int32_t part = 0; part < layer->rank; ++part) {
        const int32_t filter = unit * layer->rank + part;
        const int8_t *feature = layer->feature + filter * layer->inputs;
        const int32_t product = plus_products_s8(0, from + batch * layer->inputs, feature, layer->inputs, layer->in_zero);
        elem_T *state = layer->state + (batch * filters + filter) * memory;
        const int32_t value = clamped(scaled(product, layer->multipliers[0], layer->shifts[0]), LOWEST_T, HIGHEST_T);
        state[memory - 1] = (elem_T)(state_zero + value);
        const elem_T *time = layer->time + filter * memory;
        sum = wrapped_sum(sum, weighted_T(state, time, memory, state_zero));
      }
      const int32_t result = wrapped_sum(scaled(sum, layer->multipliers[1], layer->shifts[1]), layer->zero);
      to[batch * layer->units + unit] = (int8_t)clamped(result, INT8_MIN, INT8_MAX);
    }
  }
}

/* section lstm_step_T: clamp wrapped scale32 rescaled_T dot_one_T logistic_curve tanh_curve */
/* What one gate makes of the input and of the hidden state. */
typedef struct {
  const weight_T *weights[2];
  const bias_T *biases;
  int32_t multipliers[2];
  int32_t shifts[2];
} lstm_T_gate;

/* A layer with a long and a short memory: a hidden state, and cells of 16 bits. */
typedef struct {
  int32_t batches;
  int32_t steps;
  int32_t is_time_major;
  int32_t inputs;
  int32_t units;
  int32_t zeros[2];
  lstm_T_gate gates[4]; /* of the input, to forget, of the cell, of the output */
  int32_t multipliers[3]; /* of the cell that is kept, of what is added to it, of the output */
  int32_t shifts[3];
  int32_t cell_multiplier;
  int32_t cell_shift;
  int32_t clip; /* 0: cells are not cut off */
  int32_t least;
  int32_t most;
  const uint16_t *table;
  elem_T *hidden;
  int16_t *cells;
} lstm_T_layer;

/* The sum of a gate for one unit, with 12 bits after the point. */
static int32_t gate_sum_T(const lstm_T_layer *layer, const lstm_T_gate *gate, const elem_T *from,
                          const elem_T *hidden, int32_t unit) {
  const acc_T bias = gate->biases ? gate->biases[unit] : 0;
  const acc_T input = plus_products_T(bias, from, gate->weights[0] + unit * layer->inputs, layer->inputs, layer->zeros[0]);
  const acc_T state = plus_products_T(0, hidden, gate->weights[1] + unit * layer->units, layer->units, layer->zeros[1]);
  const int32_t one = clamped(rescaled_T(input, gate->multipliers[0], gate->shifts[0]), INT16_MIN, INT16_MAX);
  const int32_t other = clamped(rescaled_T(state, gate->multipliers[1], gate->shifts[1]), INT16_MIN, INT16_MAX);
  return clamped(one + other, INT16_MIN, INT16_MAX);
}

/* One step: what the hidden state will be goes to the output, since all units read what it was. */
static void lstm_step_T(const lstm_T_layer *layer, const elem_T *from, elem_T *to, elem_T *hidden, int16_t *cells) {
  for (int32_t unit = 0; unit < layer->units; ++unit) {
    int32_t gates[4];
    for (int32_t at = 0; at < 4; ++at) {
      const int32_t place = 3 * gate_sum_T(layer, &layer->gates[at], from, hidden, unit);
      gates[at] = at == 2 ? tanh_at(layer->table, place) : logistic_at(layer->table, place);
    }
    const int32_t kept = clamped(scaled(gates[1] * cells[unit], layer->multipliers[0], layer->shifts[0]), INT16_MIN, INT16_MAX);
    const int32_t more = clamped(scaled(gates[0] * gates[2], layer->multipliers[1], layer->shifts[1]), INT16_MIN, INT16_MAX);
    int32_t cell = clamped(kept + more, INT16_MIN, INT16_MAX);
    if (layer->clip > 0) {
      cell = clamped(cell, -layer->clip, layer->clip);
    }
    cells[unit] = (int16_t)cell;
    const int32_t curved = tanh_at(layer->table, place_of(cell, layer->cell_multiplier, layer->cell_shift));
    const int32_t value = scaled(curved * gates[3], layer->multipliers[2], layer->shifts[2]);
    to[unit] = (elem_T)clamped(wrapped_sum(value, layer->zeros[1]), layer->least, layer->most);
  }
  memcpy(hidden, to, (size_t)layer->units * sizeof(*hidden));
}

/* section lstm_step_f32: dot_one_f32 logistic_of_f32 */
typedef struct {
  const float *weights[2];
  const float *biases;
} lstm_f32_gate;

typedef struct {
  int32_t batches;
  int32_t steps;
  int32_t is_time_major;
  int32_t inputs;
  int32_t units;
  lstm_f32_gate gates[4]; /* of the input, to forget, of the cell, of the output */
  float clip; /* 0: cells are not cut off */
  float least; /* of the logistic function */
  float most;
  elem_f32 *hidden;
  elem_f32 *cells;
} lstm_f32_layer;

static void lstm_step_f32(const lstm_f32_layer *layer, const elem_f32 *from, elem_f32 *to, elem_f32 *hidden, elem_f32 *cells) {
  for (int32_t unit = 0; unit < layer->units; ++unit) {
    float gates[4];
    for (int32_t at = 0; at < 4; ++at) {
      const lstm_f32_gate *gate = &layer->gates[at];
      const float input = plus_products_f32(0.0f, from, gate->weights[0] + unit * layer->inputs, layer->inputs, 0);
      const float state = plus_products_f32(0.0f, hidden, gate->weights[1] + unit * layer->units, layer->units, 0);
      const float sum = input + gate->biases[unit] + state;
      gates[at] = at == 2 ? tanhf(sum) : logistic_of_f32(layer->least, layer->most, 0.0f, sum);
    }
    float cell = gates[1] * cells[unit] + gates[0] * gates[2];
    if (layer->clip > 0.0f) {
      cell = cell < -layer->clip ? -layer->clip : cell > layer->clip ? layer->clip : cell;
    }
    cells[unit] = cell;
    to[unit] = gates[3] * tanhf(cell);
  }
  memcpy(hidden, to, (size_t)layer->units * sizeof(*hidden));
}

/* section lstm_T: lstm_step_T */
static void lstm_T(const lstm_T_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_T *from = (const elem_T *)(const void *)in;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t batch = 0; batch < layer->batches; ++batch) {
    for (int32_t step = 0; step < layer->steps; ++step) {
      const int32_t at = layer->is_time_major ? step * layer->batches + batch : batch * layer->steps + step;
      lstm_step_T(layer, from + at * layer->inputs, to + at * layer->units, layer->hidden + batch * layer->units,
                  layer->cells + batch * layer->units);
    }
  }
}
