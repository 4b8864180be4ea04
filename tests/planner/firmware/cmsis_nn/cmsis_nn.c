/* A stand-in for CMSIS-NN, so that what programs call is tried where the library is not: it wants as much scratch
   memory as that does with vectors (MVE) or DSP instructions, whichever is more, and overwrites all of it. */

#include <string.h>

#include "arm_nnfunctions.h"

#ifndef WANTS_MORE
#define WANTS_MORE 0
#endif

static int32_t greater(int32_t one, int32_t other) { return one > other ? one : other; }

static int32_t up_to(int32_t value, int32_t step) { return (value + step - 1) / step * step; }

static int8_t limited(int32_t value, cmsis_nn_activation limits) {
  return (int8_t)(value < limits.min ? limits.min : value > limits.max ? limits.max : value);
}

/* A value times a factor, rounded to nearest twice: the second time halves away from 0. */
static int32_t scaled(int64_t value, int32_t multiplier, int32_t shift) {
  const int32_t wide = (int32_t)(uint32_t)((uint64_t)value << (shift > 0 ? shift : 0));
  const int32_t upper = (int32_t)(((int64_t)wide * multiplier + (1 << 30)) >> 31);
  const int32_t right = shift < 0 ? -shift : 0;
  if (right == 0) {
    return upper;
  }
  const int64_t half = (int64_t)1 << (right - 1);
  return (int32_t)(upper >= 0 ? (upper + half) >> right : -((-(int64_t)upper + half) >> right));
}

static int overwrites(const cmsis_nn_context *context, int32_t size) {
  if (size > 0) {
    if (context->buf == NULL || (uintptr_t)context->buf % 4u != 0u) {
      return 0;
    }
    memset(context->buf, 0x5A, (size_t)size);
  }
  return 1;
}

/* The sum of the products of an element. `each`: channels of the output for each of the input; 0: of all of it. */
static int32_t sum_of(const cmsis_nn_conv_params *params, const cmsis_nn_dims *in, const int8_t *from,
                      const cmsis_nn_dims *filter, const int8_t *weights, int32_t row, int32_t column, int32_t channel,
                      int32_t channels, int32_t each) {
  int32_t sum = 0;
  for (int32_t y = 0; y < filter->h; ++y) {
    for (int32_t x = 0; x < filter->w; ++x) {
      const int32_t line = row * params->stride.h - params->padding.h + y * params->dilation.h;
      const int32_t place = column * params->stride.w - params->padding.w + x * params->dilation.w;
      if (line < 0 || line >= in->h || place < 0 || place >= in->w) {
        continue;
      }
      const int8_t *element = from + (line * in->w + place) * in->c;
      const int32_t at = y * filter->w + x;
      if (each > 0) {
        sum += (element[channel / each] + params->input_offset) * weights[at * channels + channel];
        continue;
      }
      for (int32_t k = 0; k < in->c; ++k) {
        sum += (element[k] + params->input_offset) * weights[(channel * filter->h * filter->w + at) * in->c + k];
      }
    }
  }
  return sum;
}

static void convolve(const cmsis_nn_conv_params *params, const cmsis_nn_per_channel_quant_params *factors,
                     const cmsis_nn_dims *in, const int8_t *from, const cmsis_nn_dims *filter, const int8_t *weights,
                     const int32_t *biases, const cmsis_nn_dims *out, int8_t *to, int32_t each) {
  for (int32_t row = 0; row < out->h; ++row) {
    for (int32_t column = 0; column < out->w; ++column) {
      for (int32_t channel = 0; channel < out->c; ++channel) {
        const int32_t sum = sum_of(params, in, from, filter, weights, row, column, channel, out->c, each);
        const int32_t value =
            scaled((int64_t)sum + biases[channel], factors->multiplier[channel], factors->shift[channel]);
        *to++ = limited(value + params->output_offset, params->activation);
      }
    }
  }
}

static int is_direct(const cmsis_nn_conv_params *params, const cmsis_nn_dims *filter) {
  return filter->h == 1 && filter->w == 1 && params->padding.h == 0 && params->padding.w == 0 &&
         params->dilation.h == 1 && params->dilation.w == 1;
}

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *params, const cmsis_nn_dims *in,
                                                const cmsis_nn_dims *filter, const cmsis_nn_dims *out) {
  (void)out;
  const int32_t length = filter->h * filter->w * in->c;
  return is_direct(params, filter) ? 0 : greater(4 * up_to(length, 16), 2 * 2 * up_to(length, 4)) + WANTS_MORE;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *context, const cmsis_nn_conv_params *params,
                                            const cmsis_nn_per_channel_quant_params *factors, const cmsis_nn_dims *in,
                                            const int8_t *from, const cmsis_nn_dims *filter, const int8_t *weights,
                                            const cmsis_nn_dims *bias, const int32_t *biases, const cmsis_nn_dims *out,
                                            int8_t *to) {
  if (filter->n != out->c || filter->c != in->c || bias->c != out->c || in->n != 1 || out->n != 1 ||
      !overwrites(context, arm_convolve_wrapper_s8_get_buffer_size(params, in, filter, out))) {
    return ARM_CMSIS_NN_ARG_ERROR;
  }
  convolve(params, factors, in, from, filter, weights, biases, out, to, 0);
  return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params *params, const cmsis_nn_dims *in,
                                                      const cmsis_nn_dims *filter, const cmsis_nn_dims *out) {
  const int32_t area = filter->h * filter->w;
  const int is_dense = params->dilation.h == 1 && params->dilation.w == 1;
  int32_t size = 0;
  if (in->c == out->c && is_dense) {
    size = greater(area * in->c * 2, 4 * 124 * area);
  }
  if (in->c == 1 && out->c > 1) {
    /* Weights are turned, for a convolution of all channels. */
    const cmsis_nn_conv_params plain = {0, 0, params->stride, params->padding, params->dilation, {0, 0}};
    const cmsis_nn_dims turned = {out->c, filter->h, filter->w, 1};
    size = greater(size, arm_convolve_wrapper_s8_get_buffer_size(&plain, in, &turned, out) + area * out->c);
  }
  return size == 0 ? 0 : size + WANTS_MORE;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *context,
                                                  const cmsis_nn_dw_conv_params *params,
                                                  const cmsis_nn_per_channel_quant_params *factors,
                                                  const cmsis_nn_dims *in, const int8_t *from,
                                                  const cmsis_nn_dims *filter, const int8_t *weights,
                                                  const cmsis_nn_dims *bias, const int32_t *biases,
                                                  const cmsis_nn_dims *out, int8_t *to) {
  if (filter->n != 1 || filter->c != out->c || params->ch_mult * in->c != out->c || bias->c != out->c ||
      !overwrites(context, arm_depthwise_conv_wrapper_s8_get_buffer_size(params, in, filter, out))) {
    return ARM_CMSIS_NN_ARG_ERROR;
  }
  const cmsis_nn_conv_params plain = {params->input_offset, params->output_offset, params->stride,
                                      params->padding,      params->dilation,      params->activation};
  convolve(&plain, factors, in, from, filter, weights, biases, out, to, params->ch_mult);
  return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims *filter) {
  return filter->c * (int32_t)sizeof(int32_t) + WANTS_MORE;
}

/* As with vectors: from the sums of filters that are there. */
arm_cmsis_nn_status arm_fully_connected_wrapper_s8(const cmsis_nn_context *context, const cmsis_nn_fc_params *params,
                                                   const cmsis_nn_quant_params *factors, const cmsis_nn_dims *in,
                                                   const int8_t *from, const cmsis_nn_dims *filter,
                                                   const int8_t *weights, const cmsis_nn_dims *bias,
                                                   const int32_t *biases, const cmsis_nn_dims *out, int8_t *to) {
  const int32_t *sums = context->buf;
  if (bias->c != out->c || filter->c != out->c || in->n != out->n || params->filter_offset != 0) {
    return ARM_CMSIS_NN_ARG_ERROR;
  }
  for (int32_t batch = 0; batch < in->n; ++batch) {
    for (int32_t channel = 0; channel < out->c; ++channel) {
      const int8_t *with = weights + channel * filter->n;
      int32_t sum = sums[channel];
      int32_t other = biases[channel];
      for (int32_t k = 0; k < filter->n; ++k) {
        sum += from[k] * with[k];
        other += (from[k] + params->input_offset) * with[k];
      }
      if (sum != other) {
        return ARM_CMSIS_NN_ARG_ERROR;
      }
      const int32_t at = factors->is_per_channel ? channel : 0;
      *to++ =
          limited(scaled(sum, factors->multiplier[at], factors->shift[at]) + params->output_offset, params->activation);
    }
    from += filter->n;
  }
  return ARM_CMSIS_NN_SUCCESS;
}

typedef int32_t (*combined)(int32_t so_far, int32_t element);

static int32_t added(int32_t so_far, int32_t element) { return so_far + element; }

static void pool(const cmsis_nn_pool_params *params, const cmsis_nn_dims *in, const int8_t *from,
                 const cmsis_nn_dims *filter, const cmsis_nn_dims *out, int8_t *to, int32_t first, combined with) {
  for (int32_t row = 0; row < out->h; ++row) {
    for (int32_t column = 0; column < out->w; ++column) {
      for (int32_t channel = 0; channel < in->c; ++channel) {
        int32_t value = first;
        int32_t count = 0;
        for (int32_t at = 0; at < filter->h * filter->w; ++at) {
          const int32_t y = row * params->stride.h - params->padding.h + at / filter->w;
          const int32_t x = column * params->stride.w - params->padding.w + at % filter->w;
          if (y >= 0 && y < in->h && x >= 0 && x < in->w) {
            value = with(value, from[(y * in->w + x) * in->c + channel]);
            ++count;
          }
        }
        if (with == added) {
          value = (value > 0 ? value + count / 2 : value - count / 2) / count;
        }
        *to++ = limited(value, params->activation);
      }
    }
  }
}

int32_t arm_avgpool_s8_get_buffer_size(const int columns, const int channels) {
  (void)columns;
  return channels * (int32_t)sizeof(int32_t) + WANTS_MORE;
}

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *context, const cmsis_nn_pool_params *params,
                                   const cmsis_nn_dims *in, const int8_t *from, const cmsis_nn_dims *filter,
                                   const cmsis_nn_dims *out, int8_t *to) {
  if (in->n != 1 || in->c != out->c || !overwrites(context, arm_avgpool_s8_get_buffer_size(out->w, in->c))) {
    return ARM_CMSIS_NN_ARG_ERROR;
  }
  pool(params, in, from, filter, out, to, 0, added);
  return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *context, const cmsis_nn_pool_params *params,
                                    const cmsis_nn_dims *in, const int8_t *from, const cmsis_nn_dims *filter,
                                    const cmsis_nn_dims *out, int8_t *to) {
  (void)context;
  if (in->n != 1 || in->c != out->c) {
    return ARM_CMSIS_NN_ARG_ERROR;
  }
  pool(params, in, from, filter, out, to, INT8_MIN, greater);
  return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *one, const int8_t *other, const int32_t one_offset,
                                           const int32_t one_multiplier, const int32_t one_shift,
                                           const int32_t other_offset, const int32_t other_multiplier,
                                           const int32_t other_shift, const int32_t left_shift, int8_t *to,
                                           const int32_t offset, const int32_t multiplier, const int32_t shift,
                                           const int32_t least, const int32_t most, const int32_t count) {
  const cmsis_nn_activation limits = {least, most};
  for (int32_t at = 0; at < count; ++at) {
    const int64_t first = (int64_t)(one[at] + one_offset) * (1 << left_shift);
    const int64_t second = (int64_t)(other[at] + other_offset) * (1 << left_shift);
    const int32_t sum = scaled(first, one_multiplier, one_shift) + scaled(second, other_multiplier, other_shift);
    to[at] = limited(scaled(sum, multiplier, shift) + offset, limits);
  }
  return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *one, const int8_t *other, const int32_t one_offset,
                                           const int32_t other_offset, int8_t *to, const int32_t offset,
                                           const int32_t multiplier, const int32_t shift, const int32_t least,
                                           const int32_t most, const int32_t count) {
  const cmsis_nn_activation limits = {least, most};
  for (int32_t at = 0; at < count; ++at) {
    const int32_t product = (one[at] + one_offset) * (other[at] + other_offset);
    to[at] = limited(scaled(product, multiplier, shift) + offset, limits);
  }
  return ARM_CMSIS_NN_SUCCESS;
}
