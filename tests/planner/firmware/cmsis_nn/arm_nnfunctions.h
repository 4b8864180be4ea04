/* A stand-in for CMSIS-NN: what programs call of it, declared as its documentation has it. */
#ifndef ARM_NNFUNCTIONS_H
#define ARM_NNFUNCTIONS_H

#include <stdint.h>

typedef enum { ARM_CMSIS_NN_SUCCESS = 0, ARM_CMSIS_NN_ARG_ERROR = -1 } arm_cmsis_nn_status;

typedef struct {
  void *buf;
  int32_t size;
} cmsis_nn_context;

typedef struct {
  int32_t n, h, w, c;
} cmsis_nn_dims;

typedef struct {
  int32_t w, h;
} cmsis_nn_tile;

typedef struct {
  int32_t min, max;
} cmsis_nn_activation;

typedef struct {
  int32_t *multiplier;
  int32_t *shift;
} cmsis_nn_per_channel_quant_params;

typedef struct {
  int32_t *multiplier;
  int32_t *shift;
  int32_t is_per_channel;
} cmsis_nn_quant_params;

typedef struct {
  int32_t input_offset, output_offset;
  cmsis_nn_tile stride, padding, dilation;
  cmsis_nn_activation activation;
} cmsis_nn_conv_params;

typedef struct {
  int32_t input_offset, output_offset;
  int32_t ch_mult;
  cmsis_nn_tile stride, padding, dilation;
  cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;

typedef struct {
  cmsis_nn_tile stride, padding;
  cmsis_nn_activation activation;
} cmsis_nn_pool_params;

typedef struct {
  int32_t input_offset, filter_offset, output_offset;
  cmsis_nn_activation activation;
} cmsis_nn_fc_params;

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *params, const cmsis_nn_dims *in,
                                                const cmsis_nn_dims *filter, const cmsis_nn_dims *out);
arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *context, const cmsis_nn_conv_params *params,
                                            const cmsis_nn_per_channel_quant_params *factors,
                                            const cmsis_nn_dims *in, const int8_t *from,
                                            const cmsis_nn_dims *filter, const int8_t *weights,
                                            const cmsis_nn_dims *bias, const int32_t *biases,
                                            const cmsis_nn_dims *out, int8_t *to);

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params *params, const cmsis_nn_dims *in,
                                                      const cmsis_nn_dims *filter, const cmsis_nn_dims *out);
arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *context,
                                                  const cmsis_nn_dw_conv_params *params,
                                                  const cmsis_nn_per_channel_quant_params *factors,
                                                  const cmsis_nn_dims *in, const int8_t *from,
                                                  const cmsis_nn_dims *filter, const int8_t *weights,
                                                  const cmsis_nn_dims *bias, const int32_t *biases,
                                                  const cmsis_nn_dims *out, int8_t *to);

int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims *filter);
arm_cmsis_nn_status arm_fully_connected_wrapper_s8(const cmsis_nn_context *context, const cmsis_nn_fc_params *params,
                                                   const cmsis_nn_quant_params *factors, const cmsis_nn_dims *in,
                                                   const int8_t *from, const cmsis_nn_dims *filter,
                                                   const int8_t *weights, const cmsis_nn_dims *bias,
                                                   const int32_t *biases, const cmsis_nn_dims *out, int8_t *to);

int32_t arm_avgpool_s8_get_buffer_size(const int columns, const int channels);
arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *context, const cmsis_nn_pool_params *params,
                                   const cmsis_nn_dims *in, const int8_t *from, const cmsis_nn_dims *filter,
                                   const cmsis_nn_dims *out, int8_t *to);
arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *context, const cmsis_nn_pool_params *params,
                                    const cmsis_nn_dims *in, const int8_t *from, const cmsis_nn_dims *filter,
                                    const cmsis_nn_dims *out, int8_t *to);

arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *one, const int8_t *other, const int32_t one_offset,
                                           const int32_t one_multiplier, const int32_t one_shift,
                                           const int32_t other_offset, const int32_t other_multiplier,
                                           const int32_t other_shift, const int32_t left_shift, int8_t *to,
                                           const int32_t offset, const int32_t multiplier, const int32_t shift,
                                           const int32_t least, const int32_t most, const int32_t count);
arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *one, const int8_t *other, const int32_t one_offset,
                                           const int32_t other_offset, int8_t *to, const int32_t offset,
                                           const int32_t multiplier, const int32_t shift, const int32_t least,
                                           const int32_t most, const int32_t count);

#endif
