"""The curve of the search: what its axis says can be read at any width."""

from itertools import pairwise

import pytest

from tests.api.page.modules import run

TEXTS = """
import {drawSearch} from "./draw/search.ts";
import {LIGHT} from "./draw/colours.ts";
const TALL = 90;
export default ({seconds, wide}) => {
  const texts = [];
  const nothing = () => undefined;
  const measure = (text) => text.length * 6;
  const text = (x, y, said) => {
    if (y === TALL - 6) texts.push([x - measure(said) / 2, x + measure(said) / 2, said]);
  };
  const pen = {rect: nothing, line: nothing, area: nothing, text, measure};
  const steps = seconds.map((at, place) => ({seconds: at, value: 900 - place, bound: null, solver: ""}));
  drawSearch(pen, steps, wide, TALL, LIGHT, true, false);
  return texts;
};
"""


@pytest.mark.parametrize("wide", [320, 390, 1000])
@pytest.mark.parametrize("seconds", [[0.1, 1, 18], [0.001, 3, 900], [2, 3, 9]])
def test_no_text_of_the_axis_lies_on_another(seconds: list[float], wide: int) -> None:
    texts = run(TEXTS, {"seconds": seconds, "wide": wide})
    assert len(texts) >= 2
    for (_, end, before), (begin, _, after) in pairwise(texts):
        assert end < begin, (before, after)
