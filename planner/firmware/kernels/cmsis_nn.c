/* section cmsis_nn */
/* Functions of CMSIS-NN compute whole operators. What they are given is not written to, but for scratch memory. */
static int has_failed; /* whether one wanted more scratch memory than there is, or could not compute */

static inline int32_t *not_written(const int32_t *numbers) { return (int32_t *)(uintptr_t)numbers; }

/* section vectors: cmsis_nn */
/* Whether it has vectors (MVE), with which more of its functions are faster. */
#ifndef HAS_VECTORS
#ifdef ARM_MATH_MVEI
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif
#endif

/* section cmsis_sums_s8: cmsis_nn */
/* How sums become elements of the output, by channel. */
typedef struct {
  const int32_t *biases;
  const int32_t *multipliers;
  const int32_t *shifts;
} cmsis_sums_s8;

static inline cmsis_nn_per_channel_quant_params cmsis_factors_s8(const cmsis_sums_s8 *sums) {
  const cmsis_nn_per_channel_quant_params factors = {not_written(sums->multipliers), not_written(sums->shifts)};
  return factors;
}

/* section cmsis_conv_layer_s8: cmsis_sums_s8 */
typedef struct {
  cmsis_nn_conv_params params;
  cmsis_nn_dims in, filter, out;
  const int8_t *weights;
  cmsis_sums_s8 sums;
  int32_t scratch; /* bytes */
} cmsis_conv_s8_layer;

/* section cmsis_conv_s8: cmsis_conv_layer_s8 */
static void cmsis_conv_s8(const cmsis_conv_s8_layer *layer, const uint8_t *in, uint8_t *out, uint8_t *scratch) {
  const cmsis_nn_context context = {scratch, layer->scratch};
  const cmsis_nn_per_channel_quant_params factors = cmsis_factors_s8(&layer->sums);
  const cmsis_nn_dims biases = {1, 1, 1, layer->out.c};
  /* Without scratch memory, some compilers have a slower way for one element. */
  const int is_short = layer->scratch > 0 && arm_convolve_wrapper_s8_get_buffer_size(
                                                 &layer->params, &layer->in, &layer->filter, &layer->out) >
                                                 layer->scratch;
  has_failed |= is_short || arm_convolve_wrapper_s8(&context, &layer->params, &factors, &layer->in, (const int8_t *)in,
                                                    &layer->filter, layer->weights, &biases, layer->sums.biases,
                                                    &layer->out, (int8_t *)out) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_pointwise_s8: image cmsis_conv_layer_s8 */
/* Some elements of a row, each of one of the input. There is no scratch memory: it may be left out. */
typedef cmsis_conv_s8_layer cmsis_pointwise_s8_layer;

static void cmsis_pointwise_s8(const cmsis_conv_s8_layer *layer, const image *in, const image *out, int32_t row,
                               int32_t first, int32_t end) {
  const cmsis_nn_context context = {NULL, 0};
  const cmsis_nn_per_channel_quant_params factors = cmsis_factors_s8(&layer->sums);
  const cmsis_nn_dims biases = {1, 1, 1, layer->out.c};
  const cmsis_nn_dims from = {1, 1, end - first, layer->in.c};
  const cmsis_nn_dims to = {1, 1, end - first, layer->out.c};
  has_failed |= arm_convolve_wrapper_s8(&context, &layer->params, &factors, &from,
                                        (const int8_t *)place_in(in, row, first, layer->in.c), &layer->filter,
                                        layer->weights, &biases, layer->sums.biases, &to,
                                        (int8_t *)place_in(out, row, first, layer->out.c)) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_depthwise_s8: cmsis_sums_s8 */
typedef struct {
  cmsis_nn_dw_conv_params params;
  cmsis_nn_dims in, filter, out;
  const int8_t *weights;
  cmsis_sums_s8 sums;
  int32_t scratch; /* bytes */
} cmsis_depthwise_s8_layer;

static void cmsis_depthwise_s8(const cmsis_depthwise_s8_layer *layer, const uint8_t *in, uint8_t *out,
                               uint8_t *scratch) {
  const cmsis_nn_context context = {scratch, layer->scratch};
  const cmsis_nn_per_channel_quant_params factors = cmsis_factors_s8(&layer->sums);
  const cmsis_nn_dims biases = {1, 1, 1, layer->out.c};
  has_failed |= arm_depthwise_conv_wrapper_s8_get_buffer_size(&layer->params, &layer->in, &layer->filter, &layer->out) >
                    layer->scratch ||
                arm_depthwise_conv_wrapper_s8(&context, &layer->params, &factors, &layer->in, (const int8_t *)in,
                                              &layer->filter, layer->weights, &biases, layer->sums.biases, &layer->out,
                                              (int8_t *)out) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_transpose_conv_s8: cmsis_sums_s8 */
typedef struct {
  cmsis_nn_transpose_conv_params params;
  cmsis_nn_dims in, filter, out;
  const int8_t *weights;
  cmsis_sums_s8 sums;
  int32_t scratch; /* bytes, and after them those for the filter */
  int32_t turned;  /* bytes of the filter, turned around */
} cmsis_transpose_conv_s8_layer;

static void cmsis_transpose_conv_s8(const cmsis_transpose_conv_s8_layer *layer, const uint8_t *in, uint8_t *out,
                                    uint8_t *scratch) {
  const cmsis_nn_context context = {scratch, layer->scratch};
  const cmsis_nn_context turned = {scratch + layer->scratch, layer->turned};
  const cmsis_nn_per_channel_quant_params factors = cmsis_factors_s8(&layer->sums);
  const cmsis_nn_dims biases = {1, 1, 1, layer->out.c};
  has_failed |=
      arm_transpose_conv_s8_get_buffer_size(&layer->params, &layer->in, &layer->filter, &layer->out) > layer->scratch ||
      arm_transpose_conv_s8_get_reverse_conv_buffer_size(&layer->params, &layer->in, &layer->filter) > layer->turned ||
      arm_transpose_conv_wrapper_s8(&context, &turned, &layer->params, &factors, &layer->in, (const int8_t *)in,
                                    &layer->filter, layer->weights, &biases, layer->sums.biases, &layer->out,
                                    (int8_t *)out) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_fully_connected_s8: cmsis_sums_s8 */
typedef struct {
  cmsis_nn_fc_params params;
  cmsis_nn_dims in, filter, out;
  const int8_t *weights;
  cmsis_sums_s8 sums;
  const int32_t *filter_sums; /* with biases, which processors with vectors want */
  int32_t is_per_channel;
} cmsis_fully_connected_s8_layer;

static void cmsis_fully_connected_s8(const cmsis_fully_connected_s8_layer *layer, const uint8_t *in, uint8_t *out,
                                     uint8_t *scratch) {
  (void)scratch;
  const int32_t size = layer->out.c * (int32_t)sizeof(int32_t);
  const cmsis_nn_context context = {not_written(layer->filter_sums), size};
  const cmsis_nn_quant_params factors = {not_written(layer->sums.multipliers), not_written(layer->sums.shifts),
                                         layer->is_per_channel};
  const cmsis_nn_dims biases = {1, 1, 1, layer->out.c};
  has_failed |= arm_fully_connected_s8_get_buffer_size(&layer->filter) > size ||
                arm_fully_connected_wrapper_s8(&context, &layer->params, &factors, &layer->in, (const int8_t *)in,
                                               &layer->filter, layer->weights, &biases, layer->sums.biases, &layer->out,
                                               (int8_t *)out) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_pool_s8: cmsis_nn */
typedef struct {
  cmsis_nn_pool_params params;
  cmsis_nn_dims in, filter, out;
  int32_t scratch; /* bytes */
} cmsis_pool_s8_layer;

/* section cmsis_average_pool_s8: cmsis_pool_s8 */
typedef cmsis_pool_s8_layer cmsis_average_pool_s8_layer;

static void cmsis_average_pool_s8(const cmsis_pool_s8_layer *layer, const uint8_t *in, uint8_t *out, uint8_t *scratch) {
  const cmsis_nn_context context = {scratch, layer->scratch};
  has_failed |= arm_avgpool_s8_get_buffer_size(layer->out.w, layer->in.c) > layer->scratch ||
                arm_avgpool_s8(&context, &layer->params, &layer->in, (const int8_t *)in, &layer->filter, &layer->out,
                               (int8_t *)out) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_max_pool_s8: cmsis_pool_s8 */
typedef cmsis_pool_s8_layer cmsis_max_pool_s8_layer;

static void cmsis_max_pool_s8(const cmsis_pool_s8_layer *layer, const uint8_t *in, uint8_t *out, uint8_t *scratch) {
  (void)scratch;
  const cmsis_nn_context context = {NULL, 0};
  has_failed |= arm_max_pool_s8(&context, &layer->params, &layer->in, (const int8_t *)in, &layer->filter, &layer->out,
                                (int8_t *)out) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_add_s8: cmsis_nn */
typedef struct {
  int32_t count;
  int32_t offsets[2];
  int32_t multipliers[2];
  int32_t shifts[2];
  int32_t left;
  int32_t offset;
  int32_t multiplier;
  int32_t shift;
  int32_t least;
  int32_t most;
} cmsis_add_s8_layer;

static void cmsis_add_s8(const cmsis_add_s8_layer *layer, const uint8_t *one, const uint8_t *other, uint8_t *out,
                         uint8_t *scratch) {
  (void)scratch;
  has_failed |=
      arm_elementwise_add_s8((const int8_t *)one, (const int8_t *)other, layer->offsets[0], layer->multipliers[0],
                             layer->shifts[0], layer->offsets[1], layer->multipliers[1], layer->shifts[1], layer->left,
                             (int8_t *)out, layer->offset, layer->multiplier, layer->shift, layer->least, layer->most,
                             layer->count) != ARM_CMSIS_NN_SUCCESS;
}

/* section cmsis_mul_s8: cmsis_nn */
typedef struct {
  int32_t count;
  int32_t offsets[2];
  int32_t offset;
  int32_t multiplier;
  int32_t shift;
  int32_t least;
  int32_t most;
} cmsis_mul_s8_layer;

static void cmsis_mul_s8(const cmsis_mul_s8_layer *layer, const uint8_t *one, const uint8_t *other, uint8_t *out,
                         uint8_t *scratch) {
  (void)scratch;
  has_failed |= arm_elementwise_mul_s8((const int8_t *)one, (const int8_t *)other, layer->offsets[0], layer->offsets[1],
                                       (int8_t *)out, layer->offset, layer->multiplier, layer->shift, layer->least,
                                       layer->most, layer->count) != ARM_CMSIS_NN_SUCCESS;
}
