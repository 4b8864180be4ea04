/* section nearest_even */
/* Of numbers between -2^22 and 2^22: halves to even, by what is left of a float above 2^23. */
static inline int32_t nearest_even(float value) {
  const float moved = value + 12582912.0f;
  int32_t bits;
  memcpy(&bits, &moved, sizeof(bits));
  return bits - 0x4B400000;
}

/* section rounded_product: clamp_float nearest_even copies */
/* A sum times a factor as floats have it, of which the upper 24 bits of a multiplier and a shift are made. */
static CALLED int32_t rounded_product(int32_t sum, int32_t multiplier, int32_t shift) {
  const uint32_t bits = (uint32_t)(125 - shift) << 23 | ((uint32_t)multiplier >> 7 & 0x7FFFFFu);
  float factor;
  memcpy(&factor, &bits, sizeof(factor));
  /* More than the range of any elements. */
  return nearest_even(clamped_float((float)sum * factor, -1024.0f, 1024.0f));
}

/* section finish_narrow_T: wrapped limits_T copies rounded_product */
/* How sums become elements of 8 bits: times a factor of 24 bits, as floats are multiplied and rounded. */
typedef struct {
  const int32_t *biases;
  const int32_t *multipliers; /* factors times 2 to the power of 32 + shift */
  const int8_t *shifts;
  int32_t zero;
  int32_t least;
  int32_t most;
} finish_T;

/* Floats are at most 2^-15 from the product of integers: where this is further from a half, they are not needed. */
static COPIED void finish_all_T(const finish_T *finish, int32_t channel, const acc_T *sums, int32_t count, elem_T *to) {
  const int32_t *biases = finish->biases + channel;
  const int32_t *multipliers = finish->multipliers + channel;
  const int8_t *shifts = finish->shifts + channel;
  const uint32_t near = 1u << 18;
  for (int32_t at = 0; at < count; ++at) {
    const int32_t sum = wrapped_sum(sums[at], biases[at]);
    const int32_t shift = shifts[at];
    int32_t value = 0;
    uint32_t part = 0x80000000u;
    if (shift > 0) {
      const int64_t product = (int64_t)sum * multipliers[at];
      const int32_t upper = (int32_t)(product >> 32);
      part = (uint32_t)product >> shift | (uint32_t)upper << (32 - shift);
      value = (upper >> shift) + (int32_t)(part >> 31);
    }
    if (part - (0x80000000u - near) <= 2u * near) {
      value = rounded_product(sum, multipliers[at], shift);
    }
    to[at] = limited_T(value + finish->zero, finish->least, finish->most);
  }
}

/* section types_z8 */
/* Elements of int8 with weights of uint8, which have a zero. */
typedef int8_t elem_z8;
typedef uint8_t weight_z8;
typedef int16_t tap_z8;
typedef int32_t acc_z8;

/* section lift_z8: types_z8 */
/* The lower 8 bits are the zero of elements, and those above the zero of weights. */
static inline tap_z8 lifted_z8(elem_z8 element, int32_t zeros) {
  const int32_t zero = zeros & 255;
  return (tap_z8)(element - (zero < 128 ? zero : zero - 256));
}

/* section weigh_z8: types_z8 */
static inline tap_z8 weighed_z8(weight_z8 weight, int32_t zeros) { return (tap_z8)(weight - (zeros >> 8)); }

/* section range_z8: types_z8 */
typedef int32_t ALIASING total_z8;

/* section limits_z8: types_z8 clamp */
static inline elem_z8 limited_z8(int32_t value, int32_t least, int32_t most) {
  return (elem_z8)clamped(value, least, most);
}

/* section finish_z8: finish_narrow_z8 */


/* section binary_finish_T */
/* How two elements become one: a sum of both times factors, or their product times a factor, as floats are added,
   multiplied and rounded; and the same in integers, which decide where they are not beside a half. */
typedef struct {
  float factors[2];
  float offset;
  int32_t zeros[2];
  int32_t multipliers[2]; /* of a sum with this shift; of a product as sums have it */
  int32_t begin;          /* the offset and a half */
  int32_t shift;          /* 0: floats alone */
  int32_t least;
  int32_t most;
} binary_finish_T;

/* section add_of_T: types_T clamp clamp_float binary_finish_T nearest_even copies */
static CALLED int32_t added_T(const binary_finish_T *finish, int32_t one, int32_t other) {
  const float half = finish->offset + (float)other * finish->factors[1];
  return nearest_even(clamped_float(half + (float)one * finish->factors[0], -1024.0f, 1024.0f));
}

static inline elem_T add_of_T(const binary_finish_T *finish, int32_t one, int32_t other) {
  const int32_t near = 1024;
  int32_t value = 0;
  int32_t part = 0;
  int32_t whole = 2 * near;
  if (finish->shift > 0) {
    const int32_t sum = finish->begin + one * finish->multipliers[0] + other * finish->multipliers[1];
    value = sum >> finish->shift;
    whole = 1 << finish->shift;
    part = sum - value * whole;
  }
  if (part < near || part > whole - near) {
    value = added_T(finish, one, other);
  }
  return (elem_T)clamped(value, finish->least, finish->most);
}

/* section mul_of_T: types_T clamp clamp_float binary_finish_T nearest_even copies */
static CALLED int32_t multiplied_T(const binary_finish_T *finish, int32_t product) {
  return nearest_even(clamped_float((float)product * finish->factors[0] + finish->offset, -1024.0f, 1024.0f));
}

static inline elem_T mul_of_T(const binary_finish_T *finish, int32_t one, int32_t other) {
  const uint32_t near = 1u << 19;
  const int32_t product = (one - finish->zeros[0]) * (other - finish->zeros[1]);
  const int32_t shift = finish->shift;
  int32_t value = 0;
  uint32_t part = 0x80000000u;
  if (shift > 0) {
    const int64_t wide = (int64_t)product * finish->multipliers[0];
    const int32_t upper = (int32_t)(wide >> 32);
    part = (uint32_t)wide >> shift | (uint32_t)upper << (32 - shift);
    value = (upper >> shift) + (int32_t)(part >> 31) + finish->begin;
  }
  if (part - (0x80000000u - near) <= 2u * near) {
    value = multiplied_T(finish, product);
  }
  return (elem_T)clamped(value, finish->least, finish->most);
}

/* section mean_of_T: range_T clamp_float nearest_even */
typedef struct {
  int32_t in_zero;
  float factor;
  int32_t zero;
  float least; /* less the zero */
  float most;
} mean_finish_T;

static inline elem_T mean_of_T(const mean_finish_T *finish, int32_t sum, int32_t count) {
  const float real = (float)(sum - finish->in_zero * count) * finish->factor;
  return (elem_T)(nearest_even(clamped_float(real, finish->least, finish->most)) + finish->zero);
}

/* section mean_pool_layer_T: window */
/* The mean of a window, of what elements stand for. */
typedef struct {
  window window;
  int32_t places; /* of a window with margins that count; 0: only what is inside of the image counts */
  int32_t in_zero;
  float in_scale;
  float scale;
  float zero;
  float least;
  float most;
} mean_pool_T_layer;

/* section mean_pooled_T: mean_pool_layer_T types_T clamp_float nearest_even */
static inline elem_T mean_pooled_T(const mean_pool_T_layer *layer, float sum, int32_t count) {
  const float real = sum / (float)(layer->places > 0 ? layer->places : count) / layer->scale + layer->zero;
  return (elem_T)nearest_even(clamped_float(real, layer->least, layer->most));
}

/* section mean_pool_T: inside mean_pooled_T average_block */
static void mean_pool_T(const mean_pool_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                        int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, 1, over->kernel_rows, over->in_rows);
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, channels);
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column * over->stride_columns - over->left;
    const places columns = inside(x, 1, over->kernel_columns, over->in_columns);
    const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    for (int32_t begin = 0; begin < channels; begin += AVERAGE_POOL_BLOCK) {
      const int32_t width = channels - begin < AVERAGE_POOL_BLOCK ? channels - begin : AVERAGE_POOL_BLOCK;
      float sums[AVERAGE_POOL_BLOCK] = {0};
      for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
          const elem_T *from = (const elem_T *)(const void *)place_in(in, y + ky, x + kx, channels) + begin;
          for (int32_t at = 0; at < width; ++at) {
            sums[at] += layer->in_scale * (float)(from[at] - layer->in_zero);
          }
        }
      }
      for (int32_t at = 0; at < width; ++at) {
        to[begin + at] = mean_pooled_T(layer, sums[at], count);
      }
    }
    to += channels;
  }
}

/* section mean_pool_rows_T: image mean_pooled_T range_f32 */
/* The same of an image as a whole, row by row. */
static void mean_pool_rows_T(const mean_pool_T_layer *layer, const image *in, uint8_t *sums, int32_t row, int32_t first,
                             int32_t end) {
  const int32_t channels = layer->window.in_channels;
  const elem_T *from = (const elem_T *)(const void *)place_in(in, row, first, channels);
  total_f32 *to = (total_f32 *)(void *)sums;
  for (int32_t column = first; column < end; ++column) {
    for (int32_t channel = 0; channel < channels; ++channel) {
      to[channel] += layer->in_scale * (float)(from[channel] - layer->in_zero);
    }
    from += channels;
  }
}

static void mean_pool_end_T(const mean_pool_T_layer *layer, const uint8_t *sums, uint8_t *out) {
  const int32_t count = layer->window.in_rows * layer->window.in_columns;
  const total_f32 *from = (const total_f32 *)(const void *)sums;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t channel = 0; channel < layer->window.in_channels; ++channel) {
    to[channel] = mean_pooled_T(layer, from[channel], count);
  }
}

/* section softmax_by_table_T: range_T clamp_float nearest_even */
/* A table has e to the power of each difference from the largest element. */
typedef struct {
  int32_t outer;
  int32_t depth;
  const float *powers;
  float factor;
  int32_t zero;
  float least; /* less the zero */
  float most;
} softmax_by_table_T_layer;

static void softmax_by_table_T(const softmax_by_table_T_layer *layer, const uint8_t *in, uint8_t *out) {
  const elem_T *from = (const elem_T *)(const void *)in;
  elem_T *to = (elem_T *)(void *)out;
  for (int32_t outer = 0; outer < layer->outer; ++outer) {
    int32_t most = LOWEST_T;
    for (int32_t at = 0; at < layer->depth; ++at) {
      most = from[at] > most ? from[at] : most;
    }
    float sum = 0.0f;
    for (int32_t at = 0; at < layer->depth; ++at) {
      sum += layer->powers[most - from[at]];
    }
    for (int32_t at = 0; at < layer->depth; ++at) {
      const float real = layer->powers[most - from[at]] * layer->factor / sum;
      to[at] = (elem_T)(nearest_even(clamped_float(real, layer->least, layer->most)) + layer->zero);
    }
    from += layer->depth;
    to += layer->depth;
  }
}

/* section quantize_U: image elem_U types_f32 nearest_even */
typedef struct {
  int32_t channels;
  float scale;
  int32_t zero;
  float least; /* less the zero */
  float most;
} quantize_U_layer;

static void quantize_U(const quantize_U_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                       int32_t end) {
  const elem_f32 *from = (const elem_f32 *)(const void *)place_in(in, row, first, layer->channels * (int32_t)sizeof(elem_f32));
  elem_U *to = (elem_U *)(void *)place_in(out, row, first, layer->channels * (int32_t)sizeof(elem_U));
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    const float value = from[at] / layer->scale;
    /* What is no number is the least. */
    const float inside = value > layer->least ? (value < layer->most ? value : layer->most) : layer->least;
    to[at] = (elem_U)(nearest_even(inside) + layer->zero);
  }
}

/* section grouped_conv_T: inside dot_one_T finish_T */
/* Channels in groups, each of which has weights of its own. */
typedef struct {
  window window;
  int32_t depth; /* channels of the input in each group */
  int32_t made;  /* channels of the output in each group */
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} grouped_conv_T_layer;

static void grouped_conv_T(const grouped_conv_T_layer *layer, const image *in, const image *out, int32_t row,
                           int32_t first, int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t line = over->kernel_columns * layer->depth;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, over->dilation_rows, over->kernel_rows, over->in_rows);
  const elem_T *lines[MOST_KERNEL_ROWS] = {NULL};
  for (int32_t ky = rows.first; ky < rows.end; ++ky) {
    lines[ky] = (const elem_T *)(const void *)place_in(in, y + ky * over->dilation_rows, 0, channels * (int32_t)sizeof(elem_T));
  }
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, over->out_channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column * over->stride_columns - over->left;
    const places columns = inside(x, over->dilation_columns, over->kernel_columns, over->in_columns);
    for (int32_t channel = 0; channel < over->out_channels; ++channel) {
      const int32_t begin = channel / layer->made * layer->depth;
      const weight_T *weights = layer->weights + channel * over->kernel_rows * line;
      acc_T sum = 0;
      for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
          const elem_T *from = lines[ky] + (x + kx * over->dilation_columns) * channels + begin;
          sum = plus_products_T(sum, from, weights + ky * line + kx * layer->depth, layer->depth, layer->zero);
        }
      }
      finish_all_T(&layer->finish, channel, &sum, 1, to + channel);
    }
    to += over->out_channels;
  }
}

/* section padded_average_pool_f32: inside limits_f32 */
/* The mean of a window in which margins count as zeros; what is behind the margins does not count. */
typedef struct {
  window window;
  int32_t bottom, right;
  float least;
  float most;
} padded_average_pool_f32_layer;

static void padded_average_pool_f32(const padded_average_pool_f32_layer *layer, const image *in, const image *out,
                                    int32_t row, int32_t first, int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, 1, over->kernel_rows, over->in_rows);
  const int32_t room = over->in_rows + layer->bottom - y;
  const int32_t high = room < over->kernel_rows ? room : over->kernel_rows;
  elem_f32 *to = (elem_f32 *)(void *)place_in(out, row, first, channels * (int32_t)sizeof(elem_f32));
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column * over->stride_columns - over->left;
    const places columns = inside(x, 1, over->kernel_columns, over->in_columns);
    const int32_t space = over->in_columns + layer->right - x;
    const int32_t wide = space < over->kernel_columns ? space : over->kernel_columns;
    for (int32_t channel = 0; channel < channels; ++channel) {
      float sum = 0.0f;
      for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
          const elem_f32 *from = (const elem_f32 *)(const void *)place_in(in, y + ky, x + kx, channels * (int32_t)sizeof(elem_f32));
          sum += from[channel];
        }
      }
      to[channel] = limited_f32(sum / (float)(high * wide), layer->least, layer->most);
    }
    to += channels;
  }
}

/* section div_of_T: types_T clamp_float binary_finish_T */
static inline elem_T div_of_T(const binary_finish_T *finish, elem_T one, elem_T other) {
  return clamped_float(one / other, finish->least, finish->most);
}

/* section prelu_of_T: types_T binary_finish_T */
static inline elem_T prelu_of_T(const binary_finish_T *finish, elem_T one, elem_T slope) {
  (void)finish;
  return one >= 0.0f ? one : one * slope;
}

/* section hard_sigmoid_of_f32: clamp_float */
/* A line of this slope, which is `least` at 0, from 0 to `most`. */
static inline float hard_sigmoid_of_f32(float least, float most, float slope, float value) {
  return clamped_float(slope * value + least, 0.0f, most);
}

/* section elu_of_f32 */
static inline float elu_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  return value > 0.0f ? value : slope * expm1f(value);
}

/* section magnitude_of_f32 */
static inline float magnitude_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return fabsf(value);
}

/* section negative_of_f32 */
static inline float negative_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return -value;
}

/* section power_of_e_of_f32 */
static inline float power_of_e_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return expf(value);
}

/* section square_root_of_f32 */
static inline float square_root_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return sqrtf(value);
}

/* section error_function_of_f32 */
static inline float error_function_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return erff(value);
}

/* section softplus_of_f32 */
static inline float softplus_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return value > 0.0f ? value + log1pf(expf(-value)) : log1pf(expf(value));
}

/* section reciprocal_of_f32 */
static inline float reciprocal_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return 1.0f / value;
}
