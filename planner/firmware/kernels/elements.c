/* section lookup: image */
/* Each byte of the output is what a table has for the byte of the input. */
typedef struct {
  int32_t channels;
  const uint8_t *table; /* of the lowest element first */
} lookup_layer;

static void lookup(const lookup_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                   int32_t end) {
  const uint8_t *from = place_in(in, row, first, layer->channels);
  uint8_t *to = place_in(out, row, first, layer->channels);
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    to[at] = layer->table[from[at] ^ 0x80u];
  }
}

/* section convert_T_U: image clamp wrapped scale32 elem_T elem_U */
/* Elements of one scale as elements of another. */
typedef struct {
  int32_t channels;
  int32_t in_zero;
  int32_t multiplier;
  int32_t shift;
  int32_t zero;
  int32_t least;
  int32_t most;
} convert_T_U_layer;

static void convert_T_U(const convert_T_U_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                        int32_t end) {
  const elem_T *from = (const elem_T *)(const void *)place_in(in, row, first, layer->channels * (int32_t)sizeof(elem_T));
  elem_U *to = (elem_U *)(void *)place_in(out, row, first, layer->channels * (int32_t)sizeof(elem_U));
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    const int32_t value = scaled(wrapped_sum(from[at], -layer->in_zero), layer->multiplier, layer->shift);
    to[at] = (elem_U)clamped(wrapped_sum(value, layer->zero), layer->least, layer->most);
  }
}

/* section quantize_U: image clamp elem_U types_f32 */
typedef struct {
  int32_t channels;
  float scale;
  int32_t zero;
  int32_t least;
  int32_t most;
} quantize_U_layer;

static void quantize_U(const quantize_U_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                       int32_t end) {
  const elem_f32 *from = (const elem_f32 *)(const void *)place_in(in, row, first, layer->channels * (int32_t)sizeof(elem_f32));
  elem_U *to = (elem_U *)(void *)place_in(out, row, first, layer->channels * (int32_t)sizeof(elem_U));
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    /* Within a range first: an integer cannot hold any float. What is no number is the least. */
    const float value = roundf(from[at] / layer->scale);
    const float inside = value > -1048576.0f ? (value < 1048576.0f ? value : 1048576.0f) : -1048576.0f;
    to[at] = (elem_U)clamped((int32_t)inside + layer->zero, layer->least, layer->most);
  }
}

/* section dequantize_T: image elem_T types_f32 */
typedef struct {
  int32_t channels;
  float scale;
  int32_t zero;
} dequantize_T_layer;

static void dequantize_T(const dequantize_T_layer *layer, const image *in, const image *out, int32_t row,
                         int32_t first, int32_t end) {
  const elem_T *from = (const elem_T *)(const void *)place_in(in, row, first, layer->channels * (int32_t)sizeof(elem_T));
  elem_f32 *to = (elem_f32 *)(void *)place_in(out, row, first, layer->channels * (int32_t)sizeof(elem_f32));
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    to[at] = layer->scale * (float)(from[at] - layer->zero);
  }
}

/* section operand */
/* How one of two tensors is read: a step of 0 reads the same again. */
typedef struct {
  int32_t row_step;
  int32_t column_step;
  int32_t channel_step;
  int32_t pixel; /* bytes of a column */
} operand;

/* section binary_T: image operand binary_finish_T NAME_of_T */
typedef struct {
  int32_t channels;
  operand operands[2];
  binary_finish_T finish;
} NAME_T_layer;

static void NAME_T(const NAME_T_layer *layer, const image *first_in, const image *second_in, const image *out,
                   int32_t row, int32_t first, int32_t end) {
  const operand *one = &layer->operands[0];
  const operand *two = &layer->operands[1];
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, layer->channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    const elem_T *left = (const elem_T *)(const void *)place_in(first_in, row * one->row_step, column * one->column_step, one->pixel);
    const elem_T *right = (const elem_T *)(const void *)place_in(second_in, row * two->row_step, column * two->column_step, two->pixel);
    for (int32_t channel = 0; channel < layer->channels; ++channel) {
      to[channel] = NAME_of_T(&layer->finish, left[channel * one->channel_step], right[channel * two->channel_step]);
    }
    to += layer->channels;
  }
}

/* section binary_finish_T */
/* How two elements become one. */
typedef struct {
  int32_t zeros[2];
  int32_t multipliers[2];
  int32_t shifts[2];
  int32_t left;
  int32_t multiplier;
  int32_t shift;
  int32_t zero;
  int32_t least;
  int32_t most;
} binary_finish_T;

/* section binary_finish_f32 */
typedef struct {
  float least;
  float most;
} binary_finish_f32;

/* section sum_of_T: types_T clamp wrapped scale32 binary_finish_T */
static inline int32_t scaled_operand_T(const binary_finish_T *finish, int32_t which, int32_t element) {
  const int32_t lifted = (element - finish->zeros[which]) * (1 << finish->left);
  return scaled(lifted, finish->multipliers[which], finish->shifts[which]);
}

static inline elem_T finished_sum_T(const binary_finish_T *finish, int32_t sum) {
  const int32_t value = wrapped_sum(scaled(sum, finish->multiplier, finish->shift), finish->zero);
  return (elem_T)clamped(value, finish->least, finish->most);
}

/* section add_of_T: sum_of_T */
static inline elem_T add_of_T(const binary_finish_T *finish, int32_t one, int32_t other) {
  return finished_sum_T(finish, scaled_operand_T(finish, 0, one) + scaled_operand_T(finish, 1, other));
}

/* section sub_of_T: sum_of_T */
static inline elem_T sub_of_T(const binary_finish_T *finish, int32_t one, int32_t other) {
  return finished_sum_T(finish, scaled_operand_T(finish, 0, one) - scaled_operand_T(finish, 1, other));
}

/* section mul_of_T: types_T clamp wrapped scale32 binary_finish_T */
static inline elem_T mul_of_T(const binary_finish_T *finish, int32_t one, int32_t other) {
  const int32_t product = (one - finish->zeros[0]) * (other - finish->zeros[1]);
  const int32_t value = wrapped_sum(scaled(product, finish->multiplier, finish->shift), finish->zero);
  return (elem_T)clamped(value, finish->least, finish->most);
}

/* section max_of_T: types_T binary_finish_T */
static inline elem_T max_of_T(const binary_finish_T *finish, elem_T one, elem_T other) {
  (void)finish;
  return one > other ? one : other;
}

/* section min_of_T: types_T binary_finish_T */
static inline elem_T min_of_T(const binary_finish_T *finish, elem_T one, elem_T other) {
  (void)finish;
  return one < other ? one : other;
}

/* section add_of_f32: types_f32 clamp_float binary_finish_f32 */
static inline elem_f32 add_of_f32(const binary_finish_f32 *finish, float one, float other) {
  return clamped_float(one + other, finish->least, finish->most);
}

/* section sub_of_f32: types_f32 clamp_float binary_finish_f32 */
static inline elem_f32 sub_of_f32(const binary_finish_f32 *finish, float one, float other) {
  return clamped_float(one - other, finish->least, finish->most);
}

/* section mul_of_f32: types_f32 clamp_float binary_finish_f32 */
static inline elem_f32 mul_of_f32(const binary_finish_f32 *finish, float one, float other) {
  return clamped_float(one * other, finish->least, finish->most);
}

/* section unary_f32: image types_f32 NAME_of_f32 */
typedef struct {
  int32_t channels;
  float least;
  float most;
  float slope;
} NAME_f32_layer;

static void NAME_f32(const NAME_f32_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                     int32_t end) {
  const int32_t pixel = layer->channels * (int32_t)sizeof(elem_f32);
  const elem_f32 *from = (const elem_f32 *)(const void *)place_in(in, row, first, pixel);
  elem_f32 *to = (elem_f32 *)(void *)place_in(out, row, first, pixel);
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    to[at] = NAME_of_f32(layer->least, layer->most, layer->slope, from[at]);
  }
}

/* section bounded_of_f32: clamp_float */
static inline float bounded_of_f32(float least, float most, float slope, float value) {
  (void)slope;
  return clamped_float(value, least, most);
}

/* section logistic_of_f32 */
static inline float logistic_of_f32(float least, float most, float slope, float value) {
  (void)slope;
  /* Beyond these the result would be 0 or 1 in any case, as TensorFlow Lite has it. */
  if (value > most) {
    return 1.0f;
  }
  if (value < least) {
    return expf(value);
  }
  return 1.0f / (1.0f + expf(-value));
}

/* section tanh_of_f32 */
static inline float tanh_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  (void)slope;
  return tanhf(value);
}

/* section leaky_of_f32 */
static inline float leaky_of_f32(float least, float most, float slope, float value) {
  (void)least;
  (void)most;
  return value > 0 ? value : value * slope;
}

/* section hard_swish_of_f32: clamp_float */
static inline float hard_swish_of_f32(float least, float most, float slope, float value) {
  (void)slope;
  return value * clamped_float(value + 3.0f, least, most) / 6.0f;
}

/* section leaky_s16: image types_s16 clamp wrapped scale32 */
/* One factor for elements from zero on, and another for those below. */
typedef struct {
  int32_t channels;
  int32_t in_zero;
  int32_t multipliers[2];
  int32_t shifts[2];
  int32_t zero;
} leaky_s16_layer;

static void leaky_s16(const leaky_s16_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                      int32_t end) {
  const int32_t pixel = layer->channels * (int32_t)sizeof(elem_s16);
  const elem_s16 *from = (const elem_s16 *)(const void *)place_in(in, row, first, pixel);
  elem_s16 *to = (elem_s16 *)(void *)place_in(out, row, first, pixel);
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    const int32_t element = from[at] - layer->in_zero;
    const int32_t which = element < 0 ? 1 : 0;
    const int32_t value = scaled(element, layer->multipliers[which], layer->shifts[which]);
    to[at] = (elem_s16)clamped(wrapped_sum(value, layer->zero), INT16_MIN, INT16_MAX);
  }
}

/* section curve */
/* Functions of numbers with 12 bits after the point, times 3 (logistic) or 3/2: between places of a table. */
static inline int32_t between_places(const uint16_t *table, int32_t size, int32_t bits, int32_t most) {
  const int32_t before = size >> bits;
  if (before >= 255) {
    return most;
  }
  const int32_t step = table[before + 1] - table[before];
  return table[before] * (1 << bits) + (size & ((1 << bits) - 1)) * step;
}

/* An element as a place in the table, with the sign that it has. */
static inline int32_t place_of(int32_t element, int32_t multiplier, int32_t shift) {
  const int32_t half = shift > 0 ? (int32_t)(1u << (shift - 1)) : 0;
  return (element * multiplier + half) >> shift;
}

/* section logistic_curve: curve */
/* With 15 bits after the point. */
static inline int32_t logistic_at(const uint16_t *table, int32_t place) {
  const int32_t value = between_places(table, place < 0 ? -place : place, 9, 0x7FFF << 10);
  return (place < 0 ? (1 << 25) - value + (1 << 9) - 1 : value + (1 << 9)) >> 10;
}

/* section tanh_curve: curve */
/* 2 logistic(2 x) - 1, with 15 bits after the point. */
static inline int32_t tanh_at(const uint16_t *table, int32_t place) {
  const int32_t value = between_places(table, place < 0 ? -place : place, 8, 0xFFFF << 8) - (1 << 23);
  return (place < 0 ? (1 << 7) - 1 - value : value + (1 << 7)) >> 8;
}

/* section curve_layer */
typedef struct {
  int32_t channels;
  int32_t multiplier;
  int32_t shift;
  const uint16_t *table; /* of the logistic function */
} curve_layer;

/* section logistic_s16: image types_s16 logistic_curve curve_layer */
typedef curve_layer logistic_s16_layer;

static void logistic_s16(const logistic_s16_layer *layer, const image *in, const image *out, int32_t row,
                         int32_t first, int32_t end) {
  const int32_t pixel = layer->channels * (int32_t)sizeof(elem_s16);
  const elem_s16 *from = (const elem_s16 *)(const void *)place_in(in, row, first, pixel);
  elem_s16 *to = (elem_s16 *)(void *)place_in(out, row, first, pixel);
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    to[at] = (elem_s16)logistic_at(layer->table, place_of(from[at], layer->multiplier, layer->shift));
  }
}

/* section tanh_s16: image types_s16 tanh_curve curve_layer */
typedef curve_layer tanh_s16_layer;

static void tanh_s16(const tanh_s16_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                     int32_t end) {
  const int32_t pixel = layer->channels * (int32_t)sizeof(elem_s16);
  const elem_s16 *from = (const elem_s16 *)(const void *)place_in(in, row, first, pixel);
  elem_s16 *to = (elem_s16 *)(void *)place_in(out, row, first, pixel);
  for (int32_t at = 0; at < (end - first) * layer->channels; ++at) {
    to[at] = (elem_s16)tanh_at(layer->table, place_of(from[at], layer->multiplier, layer->shift));
  }
}
