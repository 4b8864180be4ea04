/* section image */
/* Rows of a tensor in memory: of a tensor as a whole, or the rows of a ring, of which row r is at r mod rows. */
typedef struct {
  uint8_t *base;
  int32_t rows;
  int32_t pitch; /* bytes from one row to the next */
  int32_t first; /* the column at the begin of a row */
} image;

static inline uint8_t *place_in(const image *in, int32_t row, int32_t column, int32_t pixel) {
  return in->base + (row % in->rows) * in->pitch + (column - in->first) * pixel;
}

/* section clamp */
static inline int32_t clamped(int32_t value, int32_t least, int32_t most) {
  return value < least ? least : value > most ? most : value;
}

/* section clamp_float */
static inline float clamped_float(float value, float least, float most) {
  const float raised = value < least ? least : value;
  return raised > most ? most : raised;
}

/* section wrapped */
/* A sum modulo 2^32: what no model that was trained has is not undefined either. */
static inline int32_t wrapped_sum(int32_t one, int32_t other) { return (int32_t)((uint32_t)one + (uint32_t)other); }

/* section high_product */
/* The upper half of twice the product: halves up. */
static inline int32_t high_product(int32_t one, int32_t other) {
  return (int32_t)(((int64_t)one * other + (1 << 30)) >> 31);
}

/* section products32: high_product */
/* Divided by a power of two: halves away from 0. */
static inline int32_t rounded_shift(int32_t value, int32_t bits) {
  const int32_t mask = (int32_t)((1u << bits) - 1u);
  const int32_t half = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> bits) + ((value & mask) > half ? 1 : 0);
}

/* section scale32: high_product */
/* A sum times a factor of 31 bits, rounded to nearest twice, as TensorFlow Lite does. */
static inline int32_t scaled(int32_t sum, int32_t multiplier, int32_t shift) {
  if (shift >= 0) {
    return high_product((int32_t)((uint32_t)sum << shift), multiplier);
  }
  const int32_t upper = high_product(sum, multiplier);
  return (((upper + (upper >> 31)) >> (-1 - shift)) + 1) >> 1;
}

/* section scale64 */
/* A wide sum times a factor, of which 15 bits are used, as TensorFlow Lite does for elements of 16 bits. */
static inline int32_t scaled_wide(int64_t sum, int32_t multiplier, int32_t shift) {
  const int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
  const int32_t bits = 15 - shift;
  const uint64_t product = (uint64_t)sum * (uint64_t)reduced + ((uint64_t)1 << (bits - 1));
  return (int32_t)((int64_t)product >> bits);
}

/* section rescaled_s8: scale32 */
static inline int32_t rescaled_s8(int32_t sum, int32_t multiplier, int32_t shift) { return scaled(sum, multiplier, shift); }

/* section rescaled_s16: scale64 */
static inline int32_t rescaled_s16(int64_t sum, int32_t multiplier, int32_t shift) {
  return scaled_wide(sum, multiplier, shift);
}

/* section reciprocal: products32 */
static inline int32_t doubled(int32_t value, int32_t bits) {
  const int64_t wide = (int64_t)value * ((int64_t)1 << bits);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* 1 / sum, where `sum` has 12 bits before the point: the result has 0 of them, times 2 to the power of what is in `bits`. */
static int32_t reciprocal_of(int32_t sum, int32_t *bits) {
  int32_t leading = 0;
  while (leading < 31 && !((uint32_t)sum >> (31 - leading) & 1u)) {
    ++leading;
  }
  *bits = 12 - leading;
  const int32_t fraction = (int32_t)(((uint32_t)sum << leading) - 0x80000000u);
  /* Newton's method, from 48/17 - 32/17 d; numbers have 2 bits before the point. */
  const int64_t whole = (int64_t)fraction + INT32_MAX;
  const int32_t half = (int32_t)((whole + (whole >= 0 ? 1 : -1)) / 2);
  int32_t value = 1515870810 + high_product(half, -1010580540);
  for (int32_t step = 0; step < 3; ++step) {
    const int32_t rest = (1 << 29) - high_product(half, value);
    value += doubled(high_product(value, rest), 2);
  }
  return doubled(value, 1);
}

/* section pairs */
/* Four elements of 8 bits become two pairs of 16 bits, and pairs are multiplied with one instruction. */
#if defined(__ARM_FEATURE_SIMD32) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 10))
#define HAS_PAIRS
#include <arm_acle.h>

typedef struct {
  int32_t word;
} __attribute__((packed, may_alias)) four_elements;

static inline int32_t four_at(const void *from) { return ((const four_elements *)from)->word; }

#define IN_ORDER __asm__ volatile("" ::: "memory")

static inline int32_t pair_of(int32_t number) { return (int32_t)(((uint32_t)number & 0xFFFFu) * 0x10001u); }

/* The instructions can turn what they read, which not all compilers know. */
#if defined(__arm__) && !defined(__clang__)
#define LIFTED(instruction, lift, four) \
  int32_t pair; \
  __asm__(#instruction " %0, %1, %2" : "=r"(pair) : "r"(lift), "r"(four)); \
  return pair
#define LIFTED_NEXT(instruction, lift, four) \
  int32_t pair; \
  __asm__(#instruction " %0, %1, %2, ror #8" : "=r"(pair) : "r"(lift), "r"(four)); \
  return pair
#define WIDE_NEXT(instruction, four) \
  int32_t pair; \
  __asm__(#instruction " %0, %1, ror #8" : "=r"(pair) : "r"(four)); \
  return pair
#else
#define NEXT(four) (int32_t)((uint32_t)(four) >> 8 | (uint32_t)(four) << 24)
#define LIFTED(instruction, lift, four) return __##instruction(lift, four)
#define LIFTED_NEXT(instruction, lift, four) return __##instruction(lift, NEXT(four))
#define WIDE_NEXT(instruction, four) return __##instruction(NEXT(four))
#endif
#endif

/* section copies: pairs */
/* CALLED: a function of its own, so that all registers are for its loops. COPIED: into what calls it, where its numbers
   are known; with pairs, registers count for more. */
#ifdef __GNUC__
#define CALLED __attribute__((noinline))
#else
#define CALLED
#endif
#if defined(__GNUC__) && !defined(HAS_PAIRS)
#define COPIED inline __attribute__((always_inline))
#else
#define COPIED CALLED
#endif

/* section pairs_s8: pairs */
#ifdef HAS_PAIRS
/* Of four elements those at 0 and 2, and those at 1 and 3. */
static inline int32_t even_taps_s8(int32_t lift, int32_t four) { LIFTED(sxtab16, lift, four); }
static inline int32_t odd_taps_s8(int32_t lift, int32_t four) { LIFTED_NEXT(sxtab16, lift, four); }

static inline int32_t even_weights_s8(int32_t lift, int32_t four) {
  (void)lift;
  return __sxtb16(four);
}

static inline int32_t odd_weights_s8(int32_t lift, int32_t four) {
  (void)lift;
  WIDE_NEXT(sxtb16, four);
}

static inline int32_t tap_lift_s8(int32_t zero) { return pair_of(-zero); }
static inline int32_t weight_lift_s8(int32_t zero) { return zero; }
#endif

/* section pairs_u8: pairs */
#ifdef HAS_PAIRS
/* Of four elements those at 0 and 2, and those at 1 and 3. */
static inline int32_t even_taps_u8(int32_t lift, int32_t four) { LIFTED(uxtab16, lift, four); }
static inline int32_t odd_taps_u8(int32_t lift, int32_t four) { LIFTED_NEXT(uxtab16, lift, four); }
static inline int32_t even_weights_u8(int32_t lift, int32_t four) { LIFTED(uxtab16, lift, four); }
static inline int32_t odd_weights_u8(int32_t lift, int32_t four) { LIFTED_NEXT(uxtab16, lift, four); }
static inline int32_t tap_lift_u8(int32_t zeros) { return pair_of(-(zeros & 255)); }
static inline int32_t weight_lift_u8(int32_t zeros) { return pair_of(-(zeros >> 8)); }
#endif

/* section finish_narrow_T: clamp wrapped limits_T copies */
/* How sums become elements of 8 bits. */
typedef struct {
  const int32_t *biases;
  const int32_t *multipliers; /* factors of 32 bits, less 2^32 */
  const int8_t *shifts;       /* to the right, before one more that rounds; below 0: to the left, from -1 on */
  int32_t zero;
  int32_t least;
  int32_t most;
} finish_T;

/* The upper half of the product with a factor: halves up. */
static inline int32_t upper_T(int32_t sum, int32_t multiplier) {
  const int64_t product = (int64_t)sum * multiplier;
  return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31) + sum;
}

/* Rounded to nearest twice, as TensorFlow Lite does: the second time halves away from 0. */
static COPIED void finish_all_T(const finish_T *finish, int32_t channel, const acc_T *sums, int32_t count, elem_T *to) {
  const int32_t *biases = finish->biases + channel;
  const int32_t *multipliers = finish->multipliers + channel;
  const int8_t *shifts = finish->shifts + channel;
  const int32_t zero = finish->zero;
  const int32_t twice = 2 * zero + 1;
  const int32_t least = finish->least;
  const int32_t most = finish->most;
  for (int32_t at = 0; at < count; ++at) {
    const int32_t sum = wrapped_sum(sums[at], biases[at]);
    const int32_t shift = shifts[at];
    int32_t value;
    if (shift > 0) {
      const int32_t upper = upper_T(sum, multipliers[at]);
      value = (((upper + (upper >> 31)) >> shift) + twice) >> 1;
    } else {
      /* What may be as large as an int32_t. */
      const int32_t upper = upper_T((int32_t)((uint32_t)sum << (shift < 0 ? -1 - shift : 0)), multipliers[at]);
      value = wrapped_sum(shift < 0 ? upper : (upper + (upper >> 31) + 1) >> 1, zero);
    }
    to[at] = limited_T(value, least, most);
  }
}

/* section types_s8 */
typedef int8_t elem_s8;
typedef int8_t weight_s8;
typedef int16_t tap_s8;
typedef int32_t acc_s8;
typedef int32_t bias_s8;

/* section lift_s8: types_s8 */
static inline tap_s8 lifted_s8(elem_s8 element, int32_t zero) { return (tap_s8)(element - zero); }

/* section weigh_s8: types_s8 */
static inline tap_s8 weighed_s8(weight_s8 weight, int32_t zero) {
  (void)zero;
  return weight;
}

/* section finish_s8: finish_narrow_s8 */


/* section types_u8 */
typedef uint8_t elem_u8;
typedef uint8_t weight_u8;
typedef int16_t tap_u8;
typedef int32_t acc_u8;
typedef int32_t bias_u8;

/* section lift_u8: types_u8 */
/* The lower 8 bits are the zero of elements, and those above the zero of weights. */
static inline tap_u8 lifted_u8(elem_u8 element, int32_t zeros) { return (tap_u8)(element - (zeros & 255)); }

/* section weigh_u8: types_u8 */
static inline tap_u8 weighed_u8(weight_u8 weight, int32_t zeros) { return (tap_u8)(weight - (zeros >> 8)); }

/* section finish_u8: finish_narrow_u8 */


/* section types_s16 */
typedef int16_t ALIASING elem_s16;
typedef int8_t weight_s16;
typedef int32_t tap_s16;
typedef int64_t acc_s16;
typedef int64_t bias_s16;

/* section lift_s16: types_s16 */
static inline tap_s16 lifted_s16(elem_s16 element, int32_t zero) { return element - zero; }

/* section weigh_s16: types_s16 */
static inline tap_s16 weighed_s16(weight_s16 weight, int32_t zero) {
  (void)zero;
  return weight;
}

/* section finish_s16: types_s16 clamp wrapped scale32 scale64 */
/* How sums become elements. */
typedef struct {
  const bias_s16 *biases;
  const int32_t *multipliers;
  const int8_t *shifts;
  int32_t is_narrow; /* 1: sums have 32 bits, and are multiplied with all bits of a factor */
  int32_t zero;
  int32_t least;
  int32_t most;
} finish_s16;

static inline elem_s16 finished_s16(const finish_s16 *finish, int32_t channel, acc_s16 sum) {
  const uint64_t bias = finish->biases ? (uint64_t)finish->biases[channel] : 0;
  const int64_t whole = (int64_t)((uint64_t)sum + bias);
  const int32_t multiplier = finish->multipliers[channel];
  const int32_t shift = finish->shifts[channel];
  const int32_t value = finish->is_narrow ? scaled((int32_t)whole, multiplier, shift) : scaled_wide(whole, multiplier, shift);
  return (elem_s16)clamped(wrapped_sum(value, finish->zero), finish->least, finish->most);
}

static inline void finish_all_s16(const finish_s16 *finish, int32_t channel, const acc_s16 *sums, int32_t count, elem_s16 *to) {
  for (int32_t at = 0; at < count; ++at) {
    to[at] = finished_s16(finish, channel + at, sums[at]);
  }
}

/* section types_f32 */
typedef float ALIASING elem_f32;
typedef float weight_f32;
typedef float tap_f32;
typedef float acc_f32;
typedef float bias_f32;

/* section lift_f32: types_f32 */
static inline tap_f32 lifted_f32(elem_f32 element, int32_t zero) {
  (void)zero;
  return element;
}

/* section weigh_f32: types_f32 */
static inline tap_f32 weighed_f32(weight_f32 weight, int32_t zero) {
  (void)zero;
  return weight;
}

/* section finish_f32: types_f32 clamp_float */
/* How sums become elements. */
typedef struct {
  const bias_f32 *biases;
  float least;
  float most;
} finish_f32;

static inline elem_f32 finished_f32(const finish_f32 *finish, int32_t channel, acc_f32 sum) {
  const float whole = finish->biases ? sum + finish->biases[channel] : sum;
  return clamped_float(whole, finish->least, finish->most);
}

static inline void finish_all_f32(const finish_f32 *finish, int32_t channel, const acc_f32 *sums, int32_t count, elem_f32 *to) {
  for (int32_t at = 0; at < count; ++at) {
    to[at] = finished_f32(finish, channel + at, sums[at]);
  }
}

/* section elem_s8: types_s8 */


/* section elem_s16: types_s16 */


/* section elem_f32: types_f32 */


/* section elem_u8: types_u8 */


/* section elem_s32 */
typedef int32_t ALIASING elem_s32;

/* section range_s8: types_s8 */
typedef int32_t limit_s8;
typedef int32_t ALIASING total_s8;
#define LOWEST_s8 INT8_MIN
#define HIGHEST_s8 INT8_MAX

/* section limits_s8: range_s8 clamp */
static inline elem_s8 limited_s8(int32_t value, int32_t least, int32_t most) {
  return (elem_s8)clamped(value, least, most);
}

/* section range_u8: types_u8 */
typedef int32_t limit_u8;
typedef int32_t ALIASING total_u8;
#define LOWEST_u8 0
#define HIGHEST_u8 UINT8_MAX

/* section limits_u8: range_u8 clamp */
static inline elem_u8 limited_u8(int32_t value, int32_t least, int32_t most) {
  return (elem_u8)clamped(value, least, most);
}

/* section range_s16: types_s16 */
typedef int32_t limit_s16;
typedef int32_t ALIASING total_s16;
#define LOWEST_s16 INT16_MIN
#define HIGHEST_s16 INT16_MAX

/* section limits_s16: range_s16 clamp */
static inline elem_s16 limited_s16(int32_t value, int32_t least, int32_t most) {
  return (elem_s16)clamped(value, least, most);
}

/* section range_f32: types_f32 */
typedef float limit_f32;
typedef float ALIASING total_f32;
#define LOWEST_f32 (-FLT_MAX)

/* section limits_f32: range_f32 clamp_float */
static inline elem_f32 limited_f32(float value, float least, float most) { return clamped_float(value, least, most); }

/* section dot_T: lift_T weigh_T */
/* Four sums of products of the same elements with four rows of weights, which are `apart` from each other. */
static inline void add_products_T(acc_T sums[4], const elem_T *from, const weight_T *weights, int32_t apart,
                                  int32_t count, int32_t zero) {
  const weight_T *second = weights + apart;
  const weight_T *third = second + apart;
  const weight_T *fourth = third + apart;
  acc_T one = sums[0];
  acc_T two = sums[1];
  acc_T three = sums[2];
  acc_T four = sums[3];
  for (int32_t at = 0; at < count; ++at) {
    const tap_T tap = lifted_T(from[at], zero);
    one += tap * weighed_T(weights[at], zero);
    two += tap * weighed_T(second[at], zero);
    three += tap * weighed_T(third[at], zero);
    four += tap * weighed_T(fourth[at], zero);
  }
  sums[0] = one;
  sums[1] = two;
  sums[2] = three;
  sums[3] = four;
}

/* section dot_s8: dot_pairs_s8 */


/* section dot_u8: dot_pairs_u8 */


/* section dot_pairs_T: lift_T weigh_T pairs_T */
#ifdef HAS_PAIRS
static inline int32_t plus_four_T(int32_t sum, int32_t even, int32_t odd, const weight_T *weights, int32_t lift) {
  const int32_t four = four_at(weights);
  return __smlad(odd, odd_weights_T(lift, four), __smlad(even, even_weights_T(lift, four), sum));
}
#endif

/* Four sums of products of the same elements with four rows of weights, which are `apart` from each other. */
static inline void add_products_T(acc_T sums[4], const elem_T *from, const weight_T *weights, int32_t apart,
                                  int32_t count, int32_t zero) {
  acc_T one = sums[0];
  acc_T two = sums[1];
  acc_T three = sums[2];
  acc_T four = sums[3];
#ifdef HAS_PAIRS
  const int32_t lift = tap_lift_T(zero);
  const int32_t weight_lift = weight_lift_T(zero);
  const int32_t thrice = 3 * apart;
  for (const elem_T *fours = from + count / 4 * 4; from != fours; from += 4) {
    const int32_t taps = four_at(from);
    const int32_t even = even_taps_T(lift, taps);
    const int32_t odd = odd_taps_T(lift, taps);
    /* One row of weights after the other: there are no registers for more. */
    two = plus_four_T(two, even, odd, weights + apart, weight_lift);
    IN_ORDER;
    three = plus_four_T(three, even, odd, weights + 2 * apart, weight_lift);
    IN_ORDER;
    four = plus_four_T(four, even, odd, weights + thrice, weight_lift);
    IN_ORDER;
    one = plus_four_T(one, even, odd, weights, weight_lift);
    weights += 4;
  }
  count %= 4;
#endif
  const weight_T *second = weights + apart;
  const weight_T *third = second + apart;
  const weight_T *fourth = third + apart;
  for (int32_t at = 0; at < count; ++at) {
    const tap_T tap = lifted_T(from[at], zero);
    one += tap * weighed_T(weights[at], zero);
    two += tap * weighed_T(second[at], zero);
    three += tap * weighed_T(third[at], zero);
    four += tap * weighed_T(fourth[at], zero);
  }
  sums[0] = one;
  sums[1] = two;
  sums[2] = three;
  sums[3] = four;
}

/* section dot_one_T: lift_T weigh_T */
/* A sum with the products of elements and weights added, one after the other. */
static inline acc_T plus_products_T(acc_T sum, const elem_T *from, const weight_T *weights, int32_t count, int32_t zero) {
  for (int32_t at = 0; at < count; ++at) {
    sum += lifted_T(from[at], zero) * weighed_T(weights[at], zero);
  }
  return sum;
}

/* section dot_one_s8: dot_one_pairs_s8 */


/* section dot_one_u8: dot_one_pairs_u8 */


/* section dot_one_pairs_T: lift_T weigh_T pairs_T */
/* A sum with the products of elements and weights added. */
static inline acc_T plus_products_T(acc_T sum, const elem_T *from, const weight_T *weights, int32_t count, int32_t zero) {
  int32_t at = 0;
#ifdef HAS_PAIRS
  const int32_t lift = tap_lift_T(zero);
  const int32_t weight_lift = weight_lift_T(zero);
  for (; at < count - 3; at += 4) {
    const int32_t taps = four_at(from + at);
    const int32_t four = four_at(weights + at);
    sum = __smlad(even_taps_T(lift, taps), even_weights_T(weight_lift, four), sum);
    sum = __smlad(odd_taps_T(lift, taps), odd_weights_T(weight_lift, four), sum);
  }
#endif
  for (; at < count; ++at) {
    sum += lifted_T(from[at], zero) * weighed_T(weights[at], zero);
  }
  return sum;
}

/* section dense_T: dot_T dot_one_T finish_T copies */
#define DENSE_BLOCK 16

/* All channels of one place, each from the same elements with weights of its own. */
static COPIED void dense_T(const finish_T *finish, const weight_T *weights, const elem_T *from, int32_t depth,
                          int32_t channels, int32_t zero, elem_T *to) {
  acc_T sums[DENSE_BLOCK];
  for (int32_t channel = 0; channel < channels; channel += DENSE_BLOCK) {
    const int32_t count = channels - channel < DENSE_BLOCK ? channels - channel : DENSE_BLOCK;
    for (int32_t at = 0; at < count; at += 4) {
      if (count - at >= 4) {
        sums[at] = sums[at + 1] = sums[at + 2] = sums[at + 3] = 0;
        add_products_T(sums + at, from, weights, depth, depth, zero);
      } else {
        for (int32_t last = at; last < count; ++last) {
          sums[last] = plus_products_T(0, from, weights + (last - at) * depth, depth, zero);
        }
      }
      weights += 4 * depth;
    }
    finish_all_T(finish, channel, sums, count, to + channel);
  }
}
