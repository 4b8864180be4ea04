"""The parts of the C that are the same for every plan. `@N` and `@n` stand for the prefix."""

from typing import Final

ERRORS: Final = """\
/* What the functions return. */
enum {
  @N_OK = 0,
  @N_OUT_OF_RANGE = 1, /* a symbol is outside of its range, or between its steps */
  @N_BAD_SIZE = 2, /* a size is negative, or a value of its formula above 2^62 or divided by 0 or less */
  @N_DOES_NOT_FIT = 3, /* an end is behind its pool, or above a pinned buffer */
};
"""

CHECKED: Final = """\
/* Arithmetic on values within +-2^62, as every value of a formula must be: not 0 where the result is not. */
#define @N_MOST INT64_C(4611686018427387904)

static inline int @n_add(int64_t a, int64_t b, int64_t *to) {
  if (b > 0 ? a > @N_MOST - b : a < -@N_MOST - b) return 1;
  *to = a + b;
  return 0;
}

static inline int @n_subtract(int64_t a, int64_t b, int64_t *to) {
  return @n_add(a, -b, to);
}

static inline int @n_multiply(int64_t a, int64_t b, int64_t *to) {
  const int64_t c = a < 0 ? -a : a, d = b < 0 ? -b : b;
  if (d != 0 && c > @N_MOST / d) return 1;
  *to = a * b;
  return 0;
}

/* Rounded down; what divides must be positive. */
static inline int @n_divide(int64_t a, int64_t b, int64_t *to) {
  if (b <= 0) return 1;
  *to = a / b - (a % b < 0 ? 1 : 0);
  return 0;
}

static inline int @n_remain(int64_t a, int64_t b, int64_t *to) {
  if (b <= 0) return 1;
  *to = a % b + (a % b < 0 ? b : 0);
  return 0;
}

/* Rounded up. */
static inline int @n_divide_up(int64_t a, int64_t b, int64_t *to) {
  if (b <= 0) return 1;
  *to = a / b + (a % b > 0 ? 1 : 0);
  return 0;
}

/* The least multiple of b at or above a. */
static inline int @n_align(int64_t a, int64_t b, int64_t *to) {
  int64_t times;
  return @n_divide_up(a, b, &times) != 0 || @n_multiply(times, b, to) != 0;
}
"""

SIZES: Final = """\
/* The sizes that differ, in a row. */
static inline int @n_different_sizes(const @n_symbols *at, uint64_t *sizes) {
  unsigned i;
  if (@n_out_of_range(at)) return @N_OUT_OF_RANGE;
@LOOPS  return @N_OK;
}

/* The size of each buffer: `sizes` has room for @N_BUFFERS. */
static inline int @n_sizes(const @n_symbols *at, uint64_t *sizes) {
  uint64_t different[@N_DIFFERENT_SIZES];
  unsigned i;
  const int error = @n_different_sizes(at, different);
  if (error != @N_OK) return error;
  for (i = 0; i < @N_BUFFERS; i++) sizes[i] = different[@n_size_of[i]];
  return @N_OK;
}
"""

OF_FORMULAS: Final = """\
  for (i = 0; i < @N_FORMULAS; i++) {
    int64_t size;
    if (@n_formulas[i](at, &size) != 0 || size < 0) return @N_BAD_SIZE;
    sizes[i] = (uint64_t)size;
  }
"""

OF_CONSTANTS: Final = """\
  for (i = @N_FORMULAS; i < @N_DIFFERENT_SIZES; i++) sizes[i] = @n_constants[i - @N_FORMULAS];
"""

RANGES: Final = """\
/* What is reserved above the bottom of a pool. */
typedef struct { uint64_t begin, end; unsigned pool; } @n_range;
"""

ON_RESERVED: Final = """\
static inline int @n_on_reserved(unsigned pool, uint64_t offset, uint64_t size) {
  unsigned i;
  for (i = 0; i < @COUNT; i++) {
    const @n_range *const it = &@n_reserved[i];
    if (it->pool == pool && size != 0 && offset < it->end && it->begin < offset + size) return 1;
  }
  return 0;
}
"""

IF_ON_RESERVED: Final = """\
    if (@n_on_reserved(@POOL, offset, size)) return 0;
"""

FIXED: Final = """\
/* Offsets and peaks; 0 where they do not fit. */
static inline int @n_place(unsigned order, const uint64_t *sizes, uint64_t *offsets, uint64_t *peaks) {
  unsigned i;
  (void)order;
  for (i = 0; i < @N_POOLS; i++) peaks[i] = 0;
  for (i = 0; i < @N_BUFFERS; i++) {
    const uint64_t size = sizes[@n_size_of[i]];
    uint64_t *const peak = &peaks[@n_pool_of[i]];
    const uint64_t offset = offsets[i] = @n_fixed[i];
@RESERVED    /* Neither is above 2^62. */
    if (size != 0 && offset + size > *peak) *peak = offset + size;
  }
  for (i = 0; i < @N_POOLS; i++) {
    if (peaks[i] > @n_ends[i]) return 0;
  }
  return 1;
}
"""

KINDS: Final = """\
/* What units have in common: where they begin at the lowest, and that the beginning less `residue` is a
 * multiple of `modulus`. A unit that is not pinned has a `pin` of UINT64_MAX. */
typedef struct { uint64_t floor, modulus, residue, pin; unsigned pool; } @n_kind;
/* The distance of a buffer from the first one of its unit. */
typedef struct { uint64_t up, down; } @n_distance;
"""

STACKED: Final = """\
/* One pass over the units of an order; 0 where they do not fit. */
static inline int @n_place(unsigned order, const uint64_t *sizes, uint64_t *offsets, uint64_t *peaks) {
  const uint64_t most = UINT64_C(4611686018427387904);
  const @n_word *at = @n_orders[order];
  unsigned i, unit, above;
  for (i = 0; i < @N_POOLS; i++) peaks[i] = 0;
  /* A compiler cannot see that units are in an order in which nothing is read before it is written. */
  for (i = 0; i < @N_BUFFERS; i++) offsets[i] = 0;
  for (unit = 0; unit < @n_units[order]; unit++) {
    /* The kind, how many buffers, then of each: its number, its distance, how many it is above, and those. */
    const @n_kind *const kind = &@n_kinds[at[0]];
    const unsigned members = at[1];
    const @n_word *const first = at += 2;
    uint64_t begin = kind->floor;
    for (i = 0; i < members; i++) {
      const @n_distance *const distance = &@n_distances[at[1]];
      above = at[2];
      for (at += 3; above > 0; above--, at++) {
        const uint64_t need = offsets[*at] + sizes[@n_size_of[*at]] + distance->down;
        if (need > distance->up && need - distance->up > begin) begin = need - distance->up;
      }
    }
    if (begin > most) return 0;
    if (kind->pin != UINT64_MAX) {
      if (begin > kind->pin) return 0;
      begin = kind->pin;
    } else if (kind->modulus > 1) {
      const uint64_t rest = begin % kind->modulus;
      begin += rest <= kind->residue ? kind->residue - rest : kind->modulus - (rest - kind->residue);
      if (begin > most) return 0;
    }
    at = first;
    for (i = 0; i < members; i++) {
      const uint64_t size = sizes[@n_size_of[at[0]]];
      const uint64_t offset = begin + @n_distances[at[1]].up - @n_distances[at[1]].down;
      if (offset > most || size > most - offset) return 0;
@RESERVED      offsets[at[0]] = offset;
      if (size != 0 && offset + size > peaks[kind->pool]) peaks[kind->pool] = offset + size;
      at += 3 + at[2];
    }
  }
  for (i = 0; i < @N_POOLS; i++) {
    if (peaks[i] > @n_ends[i]) return 0;
  }
  return 1;
}
"""

OFFSETS_OF_ONE: Final = """\
/* The offset of each buffer in its pool, and the peak of each pool: `offsets` has room for @N_BUFFERS,
 * `peaks` for @N_POOLS. Where it does not return @N_OK, what they hold means nothing. */
static inline int @n_offsets(const @n_symbols *at, uint64_t *offsets, uint64_t *peaks) {
  uint64_t sizes[@N_DIFFERENT_SIZES];
  const int error = @n_different_sizes(at, sizes);
  if (error != @N_OK) return error;
  return @n_place(0, sizes, offsets, peaks) ? @N_OK : @N_DOES_NOT_FIT;
}
"""

OFFSETS_OF_SEVERAL: Final = """\
/* The offset of each buffer in its pool, and the peak of each pool: `offsets` has room for @N_BUFFERS,
 * `peaks` for @N_POOLS. Where it does not return @N_OK, what they hold means nothing. The order with the
 * least objective counts, the first of equals. */
static inline int @n_offsets(const @n_symbols *at, uint64_t *offsets, uint64_t *peaks) {
  uint64_t sizes[@N_DIFFERENT_SIZES];
  uint64_t low, high, best_low = 0, best_high = 0;
  unsigned order, best = @N_ORDERS;
  const int error = @n_different_sizes(at, sizes);
  if (error != @N_OK) return error;
  for (order = 0; order < @N_ORDERS; order++) {
    if (!@n_place(order, sizes, offsets, peaks)) continue;
    @n_objective(peaks, &low, &high);
    if (best == @N_ORDERS || high < best_high || (high == best_high && low < best_low)) {
      best = order;
      best_low = low;
      best_high = high;
    }
  }
  if (best == @N_ORDERS) return @N_DOES_NOT_FIT;
  if (best != @N_ORDERS - 1) (void)@n_place(best, sizes, offsets, peaks);
  return @N_OK;
}
"""

SUM_OF_PEAKS: Final = """\
/* The sum of the peaks, in two words. */
static inline void @n_objective(const uint64_t *peaks, uint64_t *low, uint64_t *high) {
  unsigned i;
  *low = *high = 0;
  for (i = 0; i < @N_POOLS; i++) {
    *low += peaks[i];
    *high += *low < peaks[i] ? 1 : 0;
  }
}
"""

LARGEST_PEAK: Final = """\
/* The largest peak. */
static inline void @n_objective(const uint64_t *peaks, uint64_t *low, uint64_t *high) {
  unsigned i;
  *low = *high = 0;
  for (i = 0; i < @N_POOLS; i++) {
    if (peaks[i] > *low) *low = peaks[i];
  }
}
"""

PEAK_OF_ONE: Final = """\
/* The peak of one pool. */
static inline void @n_objective(const uint64_t *peaks, uint64_t *low, uint64_t *high) {
  *low = peaks[@POOL];
  *high = 0;
}
"""
