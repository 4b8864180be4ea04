"""Kernels that multiply pairs of elements, as processors with such instructions run them.

The instructions are written in C here, so that programs that use them run on the host.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.planner.firmware.campaign import try_models
from tests.planner.firmware.random_models import model_of
from tests.planner.firmware.running import needs_compiler, needs_runtime

pytestmark = [needs_compiler, needs_runtime]
_INSTRUCTIONS: Final = """#include <stdint.h>

static inline int32_t half(int32_t pair, int which) { return (int16_t)((uint32_t)pair >> (16 * which)); }
static inline int32_t pair_from(int32_t low, int32_t high) {
  return (int32_t)(((uint32_t)low & 0xFFFFu) | (uint32_t)high << 16);
}
static inline int32_t plus(int32_t one, int32_t other) { return (int32_t)((uint32_t)one + (uint32_t)other); }
static inline int32_t byte_s(int32_t four, int which) { return (int8_t)((uint32_t)four >> (8 * which)); }
static inline int32_t byte_u(int32_t four, int which) { return (uint8_t)((uint32_t)four >> (8 * which)); }

static inline int32_t __smlad(int32_t a, int32_t b, int32_t sum) {
  return plus(plus(sum, half(a, 0) * half(b, 0)), half(a, 1) * half(b, 1));
}
static inline int32_t __smlabb(int32_t a, int32_t b, int32_t sum) {
  return plus(sum, half(a, 0) * half(b, 0));
}
static inline int32_t __smlatt(int32_t a, int32_t b, int32_t sum) {
  return plus(sum, half(a, 1) * half(b, 1));
}
static inline int32_t __sxtb16(int32_t four) { return pair_from(byte_s(four, 0), byte_s(four, 2)); }
static inline int32_t __sxtab16(int32_t to, int32_t four) {
  return pair_from(half(to, 0) + byte_s(four, 0), half(to, 1) + byte_s(four, 2));
}
static inline int32_t __uxtab16(int32_t to, int32_t four) {
  return pair_from(half(to, 0) + byte_u(four, 0), half(to, 1) + byte_u(four, 2));
}
"""
_OPERATORS: Final = ("convolution", "depthwise", "transpose_conv", "dense")


@pytest.mark.campaign
def test_pairs_make_the_same_sums(tmp_path: Path) -> None:
    (tmp_path / "arm_acle.h").write_text(_INSTRUCTIONS)
    models = [
        model_of(what, kind, seed)
        for kind in ("int8", "uint8")
        for what in (*_OPERATORS, *(("svdf", "lstm") if kind == "int8" else ()))
        for seed in range(4)
    ]
    models += [model_of("network", kind, 3) for kind in ("int8", "uint8")]
    flags = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    tally = try_models(models, tmp_path, "-D__ARM_FEATURE_SIMD32=1", "-isystem", ".", *flags)
    assert not tally.wrong, tally.wrong[:5]
    assert tally.same >= len(models) // 2, (tally.refused, tally.not_run)
