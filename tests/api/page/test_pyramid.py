"""The largest value of a range of steps, and of each column of pixels, is the one that counting finds."""

from itertools import pairwise
from random import Random
from typing import Any

from tests.api.page.modules import run

MOST_IN = """
import { mostIn } from "./draw/pyramid.ts";
export default (cases) => cases.map(({values, ranges}) => {
  const series = Float64Array.from(values);
  return ranges.map(([from, to]) => mostIn(series, from, to));
});
"""
COLUMNS = """
import { columnsOf, Scale } from "./draw/scale.ts";
export default (cases) => cases.map(({values, positions, wide, left, right}) => {
  const scale = new Scale({x: 0, y: 0, wide, tall: 1}, {left, right, low: 0, high: 1});
  return [...columnsOf(Float64Array.from(values), Float64Array.from(positions), scale)];
});
"""


def test_the_most_of_a_range_is_found_at_every_length() -> None:
    random = Random(1)
    cases: list[dict[str, Any]] = []
    for length in (1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 100):
        values = [random.randrange(50) for _ in range(length)]
        ranges = [(begin, end) for begin in range(length + 1) for end in range(begin, length + 1)]
        cases.append({"values": values, "ranges": ranges})
    result = run(MOST_IN, cases)
    for case, most in zip(cases, result, strict=True):
        assert most == [max(case["values"][begin:end], default=0) for begin, end in case["ranges"]]


def test_each_column_has_the_most_of_the_steps_that_touch_it() -> None:
    random = Random(2)
    cases: list[dict[str, Any]] = []
    for _ in range(200):
        steps = random.randint(1, 60)
        positions = [0]
        for _ in range(steps):
            positions.append(positions[-1] + random.randint(1, 9))
        left = random.uniform(0, positions[-1] - 0.5)
        cases.append(
            {
                "values": [random.randrange(1, 1000) for _ in range(steps)],
                "positions": positions,
                "wide": random.randint(1, 40),
                "left": left,
                "right": random.uniform(left + 0.1, positions[-1]),
            }
        )
    for case, result in zip(cases, run(COLUMNS, cases), strict=True):
        assert result == _columns(**case)


def _columns(values: list[int], positions: list[int], wide: int, left: float, right: float) -> list[int]:
    """By looking at every step."""
    per_column = (right - left) / wide
    columns = []
    for column in range(wide):
        begin = left + column * per_column
        end = begin + per_column
        touching = [
            value
            for value, (first, last) in zip(values, pairwise(positions), strict=True)
            if first < end and last > begin
        ]
        columns.append(max(touching, default=0))
    return columns
