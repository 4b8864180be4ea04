/* section grouped_conv_T: inside dot_one_T finish_T */
/* Channels in groups, each of which has weights of its own. */
typedef struct {
  window window;
  int32_t depth; /* channels of the input in each group */
  int32_t made;  /* channels of the output in each group */
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
          sum = plus_products_T(sum, from, weights + ky * line + kx * layer->depth, layer->depth, 0);
        }
      }
      to[channel] = finished_T(&layer->finish, channel, sum);
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
