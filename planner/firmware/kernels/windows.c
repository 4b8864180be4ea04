/* section window: image */
/* A window that slides over an image. */
typedef struct {
  int32_t in_rows, in_columns, in_channels;
  int32_t out_channels;
  int32_t kernel_rows, kernel_columns;
  int32_t stride_rows, stride_columns;
  int32_t dilation_rows, dilation_columns;
  int32_t top, left;
} window;

/* section inside: window */
/* The places [first, end) of a kernel that are inside of the image, if its first place is at `begin`. */
typedef struct {
  int32_t first, end;
} places;

static inline places inside(int32_t begin, int32_t dilation, int32_t kernel, int32_t extent) {
  places found;
  found.first = begin < 0 ? (dilation - 1 - begin) / dilation : 0;
  found.end = begin < extent ? (extent - begin + dilation - 1) / dilation : 0;
  if (found.end > kernel) {
    found.end = kernel;
  }
  if (found.first > found.end) {
    found.first = found.end;
  }
  return found;
}

/* section conv_T: inside dot_T dot_one_T finish_T */
typedef struct {
  window window;
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} conv_T_layer;

static void conv_T(const conv_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                   int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t line = over->kernel_columns * channels;
  const int32_t filter = over->kernel_rows * line;
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
    const int32_t inner = columns.end - columns.first;
    /* Neighbours lie one after the other: they are one run of products. */
    const int32_t runs = over->dilation_columns == 1 ? (inner > 0 ? 1 : 0) : inner;
    const int32_t run = over->dilation_columns == 1 ? inner * channels : channels;
    const int32_t from = (x + columns.first * over->dilation_columns) * channels;
    const weight_T *weights = layer->weights + columns.first * channels;
    const int32_t fours = over->out_channels / 4 * 4;
    for (int32_t channel = 0; channel < fours; channel += 4) {
      acc_T sums[4] = {0, 0, 0, 0};
      for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = 0; kx < runs; ++kx) {
          add_products_T(sums, lines[ky] + from + kx * over->dilation_columns * channels,
                         weights + channel * filter + ky * line + kx * channels, filter, run, layer->zero);
        }
      }
      for (int32_t at = 0; at < 4; ++at) {
        to[channel + at] = finished_T(&layer->finish, channel + at, sums[at]);
      }
    }
    for (int32_t channel = fours; channel < over->out_channels; ++channel) {
      acc_T sum = 0;
      for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = 0; kx < runs; ++kx) {
          sum = plus_products_T(sum, lines[ky] + from + kx * over->dilation_columns * channels,
                                   weights + channel * filter + ky * line + kx * channels, run, layer->zero);
        }
      }
      to[channel] = finished_T(&layer->finish, channel, sum);
    }
    to += over->out_channels;
  }
}

/* section depthwise_T: inside lift_T weigh_T finish_T */
typedef struct {
  window window;
  int32_t multiplier; /* channels of the output for each of the input */
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} depthwise_T_layer;

#define DEPTHWISE_BLOCK 16

static void depthwise_T(const depthwise_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                        int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t multiplier = layer->multiplier;
  /* Channels that are made together: of all inputs, or of one that makes several. */
  const int32_t width = multiplier == 1 ? channels : multiplier;
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
    for (int32_t group = 0; group < over->out_channels; group += width) {
      for (int32_t begin = group; begin < group + width; begin += DEPTHWISE_BLOCK) {
        const int32_t count = group + width - begin < DEPTHWISE_BLOCK ? group + width - begin : DEPTHWISE_BLOCK;
        acc_T sums[DEPTHWISE_BLOCK] = {0};
        for (int32_t ky = rows.first; ky < rows.end; ++ky) {
          for (int32_t kx = columns.first; kx < columns.end; ++kx) {
            const elem_T *from = lines[ky] + (x + kx * over->dilation_columns) * channels + begin / multiplier;
            const weight_T *weights = layer->weights + (ky * over->kernel_columns + kx) * over->out_channels + begin;
            if (multiplier > 1) {
              const tap_T tap = lifted_T(*from, layer->zero);
              for (int32_t at = 0; at < count; ++at) {
                sums[at] += tap * weighed_T(weights[at], layer->zero);
              }
            } else if (count == DEPTHWISE_BLOCK) {
              for (int32_t at = 0; at < DEPTHWISE_BLOCK; ++at) {
                sums[at] += lifted_T(from[at], layer->zero) * weighed_T(weights[at], layer->zero);
              }
            } else {
              for (int32_t at = 0; at < count; ++at) {
                sums[at] += lifted_T(from[at], layer->zero) * weighed_T(weights[at], layer->zero);
              }
            }
          }
        }
        for (int32_t at = 0; at < count; ++at) {
          to[begin + at] = finished_T(&layer->finish, begin + at, sums[at]);
        }
      }
    }
    to += over->out_channels;
  }
}

/* section transpose_conv_T: window dot_one_T finish_T */
typedef struct {
  window window;
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} transpose_conv_T_layer;

static void transpose_conv_T(const transpose_conv_T_layer *layer, const image *in, const image *out, int32_t row,
                             int32_t first, int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t line = over->kernel_columns * channels;
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, over->out_channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    for (int32_t channel = 0; channel < over->out_channels; ++channel) {
      const weight_T *weights = layer->weights + channel * over->kernel_rows * line;
      acc_T sum = 0;
      for (int32_t y = 0; y < over->in_rows; ++y) {
        const int32_t ky = row + over->top - y * over->stride_rows;
        if (ky < 0 || ky >= over->kernel_rows) {
          continue;
        }
        for (int32_t x = 0; x < over->in_columns; ++x) {
          const int32_t kx = column + over->left - x * over->stride_columns;
          if (kx >= 0 && kx < over->kernel_columns) {
            const elem_T *from = (const elem_T *)(const void *)place_in(in, y, x, channels * (int32_t)sizeof(elem_T));
            sum = plus_products_T(sum, from, weights + ky * line + kx * channels, channels, layer->zero);
          }
        }
      }
      to[channel] = finished_T(&layer->finish, channel, sum);
    }
    to += over->out_channels;
  }
}

/* section average_s8 */
/* Rounded to nearest, halves away from zero. */
static inline int32_t averaged_s8(int32_t sum, int32_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

/* section average_u8 */
/* Rounded to nearest, halves away from zero. */
static inline int32_t averaged_u8(int32_t sum, int32_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

/* section average_s16 */
/* Rounded to nearest, halves away from zero. */
static inline int32_t averaged_s16(int32_t sum, int32_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

/* section average_f32 */
static inline float averaged_f32(float sum, int32_t count) { return sum / (float)count; }

/* section average_block */
#define AVERAGE_POOL_BLOCK 16

/* section average_pool_layer_T: window range_T */
typedef struct {
  window window;
  limit_T least;
  limit_T most;
} average_pool_T_layer;

/* section average_pool_T: average_pool_layer_T inside limits_T average_T average_block */
static void average_pool_T(const average_pool_T_layer *layer, const image *in, const image *out, int32_t row,
                           int32_t first, int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, 1, over->kernel_rows, over->in_rows);
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column * over->stride_columns - over->left;
    const places columns = inside(x, 1, over->kernel_columns, over->in_columns);
    const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    for (int32_t begin = 0; begin < channels; begin += AVERAGE_POOL_BLOCK) {
      const int32_t width = channels - begin < AVERAGE_POOL_BLOCK ? channels - begin : AVERAGE_POOL_BLOCK;
      total_T sums[AVERAGE_POOL_BLOCK] = {0};
      for (int32_t ky = rows.first; ky < rows.end; ++ky) {
        for (int32_t kx = columns.first; kx < columns.end; ++kx) {
          const elem_T *from = (const elem_T *)(const void *)place_in(in, y + ky, x + kx, channels * (int32_t)sizeof(elem_T)) + begin;
          for (int32_t at = 0; at < width; ++at) {
            sums[at] += from[at];
          }
        }
      }
      for (int32_t at = 0; at < width; ++at) {
        to[begin + at] = limited_T(averaged_T(sums[at], count), layer->least, layer->most);
      }
    }
    to += channels;
  }
}

/* section max_pool_layer_T: window range_T */
typedef struct {
  window window;
  limit_T least;
  limit_T most;
} max_pool_T_layer;

/* section max_pool_T: max_pool_layer_T inside limits_T */
static void max_pool_T(const max_pool_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                       int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, 1, over->kernel_rows, over->in_rows);
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column * over->stride_columns - over->left;
    const places columns = inside(x, 1, over->kernel_columns, over->in_columns);
    for (int32_t channel = 0; channel < channels; ++channel) {
      to[channel] = LOWEST_T;
    }
    for (int32_t ky = rows.first; ky < rows.end; ++ky) {
      for (int32_t kx = columns.first; kx < columns.end; ++kx) {
        const elem_T *from = (const elem_T *)(const void *)place_in(in, y + ky, x + kx, channels * (int32_t)sizeof(elem_T));
        for (int32_t channel = 0; channel < channels; ++channel) {
          to[channel] = from[channel] > to[channel] ? from[channel] : to[channel];
        }
      }
    }
    for (int32_t channel = 0; channel < channels; ++channel) {
      to[channel] = limited_T(to[channel], layer->least, layer->most);
    }
    to += channels;
  }
}

/* section pad_T: window types_T */
/* Rows and columns around an image. */
typedef struct {
  window window;
  elem_T value;
} pad_T_layer;

static void pad_T(const pad_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                  int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  const int32_t y = row - over->top;
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column - over->left;
    if (y >= 0 && y < over->in_rows && x >= 0 && x < over->in_columns) {
      memcpy(to, place_in(in, y, x, channels * (int32_t)sizeof(elem_T)), (size_t)channels * sizeof(elem_T));
    } else {
      for (int32_t channel = 0; channel < channels; ++channel) {
        to[channel] = layer->value;
      }
    }
    to += channels;
  }
}

/* section nearest: image */
/* Each element is that of the nearest place of a smaller image. */
typedef struct {
  int32_t in_rows;
  int32_t in_columns;
  int32_t pixel;
  const int16_t *rows;    /* the row of the input for each of the output */
  const int16_t *columns;
} nearest_layer;

static void nearest(const nearest_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                    int32_t end) {
  uint8_t *to = place_in(out, row, first, layer->pixel);
  for (int32_t column = first; column < end; ++column) {
    memcpy(to, place_in(in, layer->rows[row], layer->columns[column], layer->pixel), (size_t)layer->pixel);
    to += layer->pixel;
  }
}
