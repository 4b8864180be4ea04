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
  places found = {0, kernel};
  if (begin < 0) {
    found.first = (dilation - 1 - begin) / dilation;
  }
  if (begin + (kernel - 1) * dilation >= extent) {
    found.end = begin < extent ? (extent - begin + dilation - 1) / dilation : 0;
  }
  if (found.first > found.end) {
    found.first = found.end;
  }
  return found;
}

/* section conv_patch_T: inside dot_T dot_one_T */
/* What a kernel covers of an image: runs of elements in each of some lines. */
typedef struct {
  const elem_T *lines[MOST_KERNEL_ROWS];
  int32_t rows;
  int32_t runs;
  int32_t run;
  int32_t step; /* elements from one run to the next */
  int32_t from; /* elements from the begin of a line to the first run */
  const weight_T *weights; /* of the first run in the first filter */
  int32_t line;            /* weights from one row of the kernel to the next */
  int32_t filter;          /* weights from one filter to the next */
  int32_t first_row;       /* of the kernel */
} conv_T_patch;

#define CONV_BLOCK 4

/* Adds the products of at most a block of channels. */
static inline void conv_add_T(const conv_T_patch *patch, int32_t channel, int32_t count, int32_t zero,
                              acc_T sums[CONV_BLOCK]) {
  const weight_T *weights = patch->weights + channel * patch->filter;
  for (int32_t row = 0; row < patch->rows; ++row) {
    const elem_T *from = patch->lines[row] + patch->from;
    const weight_T *with = weights;
    for (int32_t run = 0; run < patch->runs; ++run) {
      if (count == CONV_BLOCK) {
        add_products_T(sums, from, with, patch->filter, patch->run, zero);
      } else {
        for (int32_t at = 0; at < count; ++at) {
          sums[at] = plus_products_T(sums[at], from, with + at * patch->filter, patch->run, zero);
        }
      }
      from += patch->step;
      with += patch->run;
    }
    weights += patch->line;
  }
}

/* The lines that a row of the output is made from. */
static inline void conv_lines_T(const window *over, const image *in, int32_t row, conv_T_patch *patch) {
  const int32_t channels = over->in_channels;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, over->dilation_rows, over->kernel_rows, over->in_rows);
  patch->first_row = rows.first;
  patch->rows = rows.end - rows.first;
  patch->step = over->dilation_columns * channels;
  patch->line = over->kernel_columns * channels;
  patch->filter = over->kernel_rows * patch->line;
  for (int32_t at = 0; at < patch->rows; ++at) {
    const int32_t line = y + (rows.first + at) * over->dilation_rows;
    patch->lines[at] = (const elem_T *)(const void *)place_in(in, line, 0, channels * (int32_t)sizeof(elem_T));
  }
}

/* What one column of it is made from. */
static inline void conv_runs_T(const window *over, const weight_T *weights, int32_t column, conv_T_patch *patch) {
  const int32_t channels = over->in_channels;
  const int32_t x = column * over->stride_columns - over->left;
  const places columns = inside(x, over->dilation_columns, over->kernel_columns, over->in_columns);
  /* Neighbours lie one after the other: they are one run. */
  const int32_t is_joined = over->dilation_columns == 1;
  patch->runs = is_joined ? 1 : columns.end - columns.first;
  patch->run = is_joined ? (columns.end - columns.first) * channels : channels;
  patch->from = x * channels + columns.first * patch->step;
  patch->weights = weights + patch->first_row * patch->line + columns.first * channels;
}

/* section conv_T: conv_patch_T dense_T copies */
typedef struct {
  window window;
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} conv_T_layer;

/* All channels of a place where all of the kernel is one run. */
static CALLED void conv_dense_T(const conv_T_layer *layer, const elem_T *from, elem_T *to) {
  const int32_t depth = layer->window.kernel_rows * layer->window.kernel_columns * layer->window.in_channels;
  dense_T(&layer->finish, layer->weights, from, depth, layer->window.out_channels, layer->zero, to);
}

/* Makes at most a block of channels. */
static CALLED void conv_block_T(const conv_T_layer *layer, const conv_T_patch *patch, int32_t channel, int32_t count,
                                elem_T *to) {
  acc_T sums[CONV_BLOCK] = {0, 0, 0, 0};
  conv_add_T(patch, channel, count, layer->zero, sums);
  finish_all_T(&layer->finish, channel, sums, count, to);
}

static void conv_T(const conv_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                   int32_t end) {
  const window *over = &layer->window;
  conv_T_patch patch;
  conv_lines_T(over, in, row, &patch);
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, over->out_channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    conv_runs_T(over, layer->weights, column, &patch);
    if (patch.rows == 1 && patch.runs == 1 && patch.run == patch.filter) {
      conv_dense_T(layer, patch.lines[0] + patch.from, to);
      to += over->out_channels;
      continue;
    }
    for (int32_t channel = 0; channel < over->out_channels; channel += CONV_BLOCK) {
      const int32_t left = over->out_channels - channel;
      conv_block_T(layer, &patch, channel, left < CONV_BLOCK ? left : CONV_BLOCK, to + channel);
    }
    to += over->out_channels;
  }
}

/* section sums_begin_T: conv_patch_T copies */
typedef struct {
  window window;
  int32_t zero;
  const weight_T *weights;
} sums_begin_T_layer;

/* Adds to the sums of at most a block of channels, which are where they were or elsewhere; NULL: they are 0. */
static CALLED void sums_block_T(const sums_begin_T_layer *layer, const conv_T_patch *patch, int32_t channel,
                                int32_t count, const uint8_t *from, uint8_t *to) {
  acc_T sums[CONV_BLOCK] = {0, 0, 0, 0};
  if (from != NULL) {
    memcpy(sums, from + channel * (int32_t)sizeof(acc_T), (size_t)count * sizeof(acc_T));
  }
  conv_add_T(patch, channel, count, layer->zero, sums);
  memcpy(to + channel * (int32_t)sizeof(acc_T), sums, (size_t)count * sizeof(acc_T));
}

static void sums_of_T(const sums_begin_T_layer *layer, const image *in, const image *before, const image *out,
                      int32_t row, int32_t first, int32_t end) {
  const window *over = &layer->window;
  const int32_t pixel = over->out_channels * (int32_t)sizeof(acc_T);
  conv_T_patch patch;
  conv_lines_T(over, in, row, &patch);
  const uint8_t *from = before == NULL ? NULL : place_in(before, row, first, pixel);
  uint8_t *to = place_in(out, row, first, pixel);
  for (int32_t column = first; column < end; ++column) {
    conv_runs_T(over, layer->weights, column, &patch);
    for (int32_t channel = 0; channel < over->out_channels; channel += CONV_BLOCK) {
      const int32_t left = over->out_channels - channel;
      sums_block_T(layer, &patch, channel, left < CONV_BLOCK ? left : CONV_BLOCK, from, to);
    }
    from = from == NULL ? NULL : from + pixel;
    to += pixel;
  }
}

/* The sums of a convolution of the first channels of an image. */
static inline void sums_begin_T(const sums_begin_T_layer *layer, const image *in, const image *out, int32_t row,
                                int32_t first, int32_t end) {
  sums_of_T(layer, in, NULL, out, row, first, end);
}

/* section sums_add_T: sums_begin_T */
typedef sums_begin_T_layer sums_add_T_layer;

/* The same sums with those of other channels. */
static inline void sums_add_T(const sums_add_T_layer *layer, const image *in, const image *before, const image *out,
                              int32_t row, int32_t first, int32_t end) {
  sums_of_T(layer, in, before, out, row, first, end);
}

/* section sums_end_T: image finish_T */
typedef struct {
  int32_t channels;
  finish_T finish;
} sums_end_T_layer;

#define SUMS_BLOCK 16

/* Sums become elements, which may take their place: a block is read before it is written. */
static void sums_end_T(const sums_end_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                       int32_t end) {
  const int32_t channels = layer->channels;
  const uint8_t *from = place_in(in, row, first, channels * (int32_t)sizeof(acc_T));
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    for (int32_t channel = 0; channel < channels; channel += SUMS_BLOCK) {
      const int32_t count = channels - channel < SUMS_BLOCK ? channels - channel : SUMS_BLOCK;
      acc_T sums[SUMS_BLOCK];
      memcpy(sums, from, (size_t)count * sizeof(acc_T));
      finish_all_T(&layer->finish, channel, sums, count, to);
      from += count * (int32_t)sizeof(acc_T);
      to += count;
    }
  }
}

/* section depthwise_layer_T: window finish_T */
typedef struct {
  window window;
  int32_t multiplier; /* channels of the output for each of the input */
  int32_t zero;
  const weight_T *weights;
  finish_T finish;
} depthwise_T_layer;

/* What a kernel covers of an image. */
typedef struct {
  const elem_T *lines[MOST_KERNEL_ROWS];
  int32_t rows;
  int32_t columns;
  int32_t step;            /* elements from one column of the kernel to the next */
  int32_t from;            /* elements from the begin of a line to the first column */
  const weight_T *weights; /* of the first place that is covered */
  int32_t line;            /* weights from one row of the kernel to the next */
} depthwise_T_patch;

/* section depthwise_some_T: depthwise_layer_T lift_T weigh_T copies */
#define DEPTHWISE_BLOCK 16

/* Compilers use vectors for a loop, and not for what was one. */
#if defined(__GNUC__) && !defined(__clang__)
#define AS_LOOP _Pragma("GCC unroll 1")
#else
#define AS_LOOP
#endif

/* Sums for some channels, from `channel` on. */
static CALLED void depthwise_some_T(const depthwise_T_layer *layer, const depthwise_T_patch *patch, int32_t channel,
                                    int32_t count, acc_T *sums) {
  acc_T block[DEPTHWISE_BLOCK] = {0};
  for (int32_t row = 0; row < patch->rows; ++row) {
    const elem_T *from = patch->lines[row] + patch->from + channel / layer->multiplier;
    const weight_T *weights = patch->weights + row * patch->line + channel;
    for (int32_t column = 0; column < patch->columns; ++column) {
      if (layer->multiplier > 1) {
        const tap_T tap = lifted_T(*from, layer->zero);
        for (int32_t at = 0; at < count; ++at) {
          block[at] += tap * weighed_T(weights[at], layer->zero);
        }
      } else if (count == DEPTHWISE_BLOCK) {
        AS_LOOP for (int32_t at = 0; at < DEPTHWISE_BLOCK; ++at) {
          block[at] += lifted_T(from[at], layer->zero) * weighed_T(weights[at], layer->zero);
        }
      } else {
        for (int32_t at = 0; at < count; ++at) {
          block[at] += lifted_T(from[at], layer->zero) * weighed_T(weights[at], layer->zero);
        }
      }
      from += patch->step;
      weights += layer->window.out_channels;
    }
  }
  memcpy(sums, block, (size_t)count * sizeof(*block));
}

/* section depthwise_sums_T: depthwise_some_T */
static inline void depthwise_sums_T(const depthwise_T_layer *layer, const depthwise_T_patch *patch, int32_t channel,
                                    int32_t count, acc_T *sums) {
  depthwise_some_T(layer, patch, channel, count, sums);
}

/* section depthwise_sums_s8: depthwise_pairs_s8 */


/* section depthwise_sums_u8: depthwise_pairs_u8 */


/* section depthwise_pairs_T: depthwise_layer_T depthwise_some_T pairs_T copies */
#ifdef HAS_PAIRS
/* Four channels, each of an input of its own. */
static CALLED void depthwise_four_T(const depthwise_T_layer *layer, const depthwise_T_patch *patch, int32_t channel,
                                    acc_T *sums) {
  const int32_t lift = tap_lift_T(layer->zero);
  const int32_t weight_lift = weight_lift_T(layer->zero);
  const int32_t out_channels = layer->window.out_channels;
  const int32_t skipped = patch->line - patch->columns * out_channels;
  const int32_t step = patch->step;
  const weight_T *weights = patch->weights + channel;
  const elem_T *const *end = patch->lines + patch->rows;
  acc_T one = 0;
  acc_T two = 0;
  acc_T three = 0;
  acc_T four = 0;
  for (const elem_T *const *line = patch->lines; line != end; ++line) {
    const elem_T *from = *line + patch->from + channel;
    for (int32_t left = patch->columns; left > 0; --left) {
      const int32_t taps = four_at(from);
      const int32_t even_taps = even_taps_T(lift, taps);
      const int32_t odd_taps = odd_taps_T(lift, taps);
      const int32_t with = four_at(weights);
      const int32_t even = even_weights_T(weight_lift, with);
      const int32_t odd = odd_weights_T(weight_lift, with);
      one = __smlabb(even_taps, even, one);
      two = __smlabb(odd_taps, odd, two);
      three = __smlatt(even_taps, even, three);
      four = __smlatt(odd_taps, odd, four);
      from += step;
      weights += out_channels;
    }
    weights += skipped;
  }
  sums[0] = one;
  sums[1] = two;
  sums[2] = three;
  sums[3] = four;
}
#endif

static inline void depthwise_sums_T(const depthwise_T_layer *layer, const depthwise_T_patch *patch, int32_t channel,
                                    int32_t count, acc_T *sums) {
#ifdef HAS_PAIRS
  if (layer->multiplier == 1) {
    for (; count >= 4; count -= 4) {
      depthwise_four_T(layer, patch, channel, sums);
      channel += 4;
      sums += 4;
    }
  }
#endif
  if (count > 0) {
    depthwise_some_T(layer, patch, channel, count, sums);
  }
}

/* section depthwise_T: inside depthwise_sums_T copies */
/* Makes at most a block of channels. */
static void depthwise_block_T(const depthwise_T_layer *layer, const depthwise_T_patch *patch, int32_t channel,
                              int32_t count, elem_T *to) {
  acc_T sums[DEPTHWISE_BLOCK];
  depthwise_sums_T(layer, patch, channel, count, sums);
  finish_all_T(&layer->finish, channel, sums, count, to);
}

static void depthwise_T(const depthwise_T_layer *layer, const image *in, const image *out, int32_t row, int32_t first,
                        int32_t end) {
  const window *over = &layer->window;
  const int32_t channels = over->in_channels;
  /* Channels that are made together: of all inputs, or of one that makes several. */
  const int32_t width = layer->multiplier == 1 ? channels : layer->multiplier;
  const int32_t y = row * over->stride_rows - over->top;
  const places rows = inside(y, over->dilation_rows, over->kernel_rows, over->in_rows);
  depthwise_T_patch patch;
  patch.rows = rows.end - rows.first;
  patch.step = over->dilation_columns * channels;
  patch.line = over->kernel_columns * over->out_channels;
  for (int32_t at = 0; at < patch.rows; ++at) {
    const int32_t line = y + (rows.first + at) * over->dilation_rows;
    patch.lines[at] = (const elem_T *)(const void *)place_in(in, line, 0, channels * (int32_t)sizeof(elem_T));
  }
  elem_T *to = (elem_T *)(void *)place_in(out, row, first, over->out_channels * (int32_t)sizeof(elem_T));
  for (int32_t column = first; column < end; ++column) {
    const int32_t x = column * over->stride_columns - over->left;
    const places columns = inside(x, over->dilation_columns, over->kernel_columns, over->in_columns);
    patch.columns = columns.end - columns.first;
    patch.from = x * channels + columns.first * patch.step;
    patch.weights = layer->weights + rows.first * patch.line + columns.first * over->out_channels;
    for (int32_t group = 0; group < over->out_channels; group += width) {
      for (int32_t channel = group; channel < group + width; channel += DEPTHWISE_BLOCK) {
        const int32_t left = group + width - channel;
        depthwise_block_T(layer, &patch, channel, left < DEPTHWISE_BLOCK ? left : DEPTHWISE_BLOCK, to + channel);
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
      finish_all_T(&layer->finish, channel, &sum, 1, to + channel);
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
