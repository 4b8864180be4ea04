"""What is seen of a map: what is found is brought into view, and the ground stays in it."""

import itertools
import re
from pathlib import Path

import pytest

from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.modules import run
from tests.api.page.samples import buffers, page_of, places

CHAIN = 400
"""Buffers one after the other: each is too small to be seen in all of them."""


@pytest.fixture(scope="module")
def chain() -> bytes:
    lives = [(64 + place % 3, place, place + 1) for place in range(CHAIN)]
    problem = buffers(*lives)
    for place, buffer in enumerate(problem["buffers"]):
        buffer["id"] = f"t{place}"
    plan = places(*[0] * CHAIN)
    for place, placed in enumerate(plan["placements"]):
        placed["buffer"] = f"t{place}"
    return page_of(problem, plan)


def seen(look: Look, axis: str = "across") -> tuple[float, float] | None:
    """The part of an axis that the address says is seen; None: all of it."""
    match = re.search(rf"[#&]{axis}=([\d.e+-]+)_([\d.e+-]+)", look.page.evaluate("location.hash"))
    return None if match is None else (float(match.group(1)), float(match.group(2)))


def test_bytes_that_buffers_share_are_filled_once(look: Look, tmp_path: Path) -> None:
    problem = buffers((8, 0, 2), (8, 0, 2), (8, 0, 1), exclusive=[["a", "b"]])
    look.show(page_of(problem, places(0, 0, 8)), tmp_path)
    assert "filled 75.0 %" in look.text(".facts")


def test_what_is_found_is_brought_into_view_one_after_the_other(
    look: Look, chain: bytes, tmp_path: Path
) -> None:
    look.show(chain, tmp_path)
    look.page.keyboard.press("/")
    look.page.keyboard.type("t30")
    look.page.keyboard.press("Enter")
    look.wait("location.hash.includes('buffer=t30')")
    left, right = seen(look) or (0, CHAIN)
    assert left <= 30
    assert 31 <= right < CHAIN / 4
    look.page.keyboard.press("Enter")
    look.wait("location.hash.includes('buffer=t300')")
    left, right = seen(look) or (0, CHAIN)
    assert 100 < left <= 300
    assert right >= 301
    assert look.text(".matches").startswith("2 of 11")
    look.page.keyboard.press("Shift+Enter")
    look.wait("/buffer=t30($|&)/.test(location.hash)")
    look.page.click("button[aria-label='next match']")
    look.wait("location.hash.includes('buffer=t300')")
    look.page.focus("canvas[data-pool]")
    look.page.keyboard.press("g")
    look.wait("location.hash.includes('buffer=t301')")
    look.page.keyboard.press("G")
    look.wait("location.hash.includes('buffer=t300')")
    assert look.violations() == []


def test_keys_show_the_chosen_and_everything(look: Look, chain: bytes, tmp_path: Path) -> None:
    look.show(chain, tmp_path, "#buffer=t200")
    look.page.keyboard.press("z")
    look.wait("location.hash.includes('across=')")
    left, right = seen(look) or (0, CHAIN)
    assert left < 200
    assert 201 < right < 203
    look.page.keyboard.press("]")
    look.wait("location.hash.includes('buffer=t201') && !location.hash.includes('across=199')")
    left, right = seen(look) or (0, CHAIN)
    assert left < 201
    assert 202 < right < 204
    look.page.click("button:has-text('Show all of it')")
    look.wait("!location.hash.includes('across=') && !location.hash.includes('up0=')")


@pytest.mark.parametrize("key", [None, "Shift", "Control", "Alt"])
def test_the_wheel_keeps_the_addresses_unless_a_key_is_held(
    look: Look, chain: bytes, tmp_path: Path, key: str | None
) -> None:
    look.show(chain, tmp_path)
    box = look.page.evaluate("document.querySelector('canvas[data-pool]').getBoundingClientRect().toJSON()")
    look.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    if key is not None:
        look.page.keyboard.down(key)
    look.page.mouse.wheel(0, -400)
    if key is not None:
        look.page.keyboard.up(key)
    look.wait("location.hash.includes('across=')")
    assert (seen(look, "up0") is None) == (key is None)


def test_the_side_follows_the_moment_that_is_chosen(look: Look, tmp_path: Path) -> None:
    problem = buffers((8, 0, 2), (4, 1, 3), (2, 3, 5))
    look.show(page_of(problem, places(0, 8, 0)), tmp_path)
    assert "At t =" not in look.text(".side")
    look.page.keyboard.press(".")
    look.page.keyboard.press(".")
    look.wait("document.querySelector('.side').innerText.includes('At t = 3')")
    text = look.text(".side")
    assert "2 B are live, 10 B less than the most: 1 buffer, largest first." in text
    assert "The proof, at t = 1" in text
    look.page.click("button[aria-label='back to the moment that decides']")
    look.wait("!document.querySelector('.side').innerText.includes('At t =')")


def test_all_that_is_live_at_a_moment_is_a_table(look: Look, tmp_path: Path) -> None:
    problem = buffers(*[(8, 0, 2)] * 9, (1, 2, 3))
    look.show(page_of(problem, places(*range(0, 72, 8), 0)), tmp_path, "#moment=0")
    look.page.click(".side button:has-text('2 more')")
    look.wait("document.querySelectorAll('dialog[open] tbody tr').length === 9")
    assert look.text("dialog h2").startswith("Live at t = 0: 9")
    assert look.violations() == []


def test_addresses_that_are_too_long_are_told_from_the_lowest_on() -> None:
    program = """
import { drawAxes } from "./draw/map.ts";
export default ({low, high}) => {
  const said = [];
  const pen = {
    line() {}, outline() {}, text: (x, y, text) => said.push([x, text]), measure: (text) => 6.5 * text.length,
  };
  const layout = { map: { x: 62, y: 0, wide: 300, tall: 300 }, operators: null };
  const scene = { axis: { kind: "always", times: Float64Array.of(0, 1) } };
  drawAxes(pen, { theme: {}, layout, scene, window: { left: 0, right: 1, low, high } });
  return said;
};
"""
    short = [text for x, text in run(program, {"low": 0, "high": 2**31}) if x < 62]
    assert short[:3] == ["0 B", "256 MiB", "512 MiB"]
    long = run(program, {"low": 2**40, "high": 2**40 + 4096})
    assert next(text for x, text in long if x >= 62) == f"{2**40:,}"
    beside = [text for x, text in long if x < 62]
    assert beside[:2] == ["+512 B", "+1 KiB"]
    assert all(6.5 * len(text) <= 54 for text in beside)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_buffers_that_lie_on_each_other_have_colours_that_are_told_apart(dark: bool) -> None:
    program = """
import { tintsOf } from "./model/tints.ts";
import { DARK, LIGHT, tint, rgb } from "./draw/colours.ts";
const light = (colour) => rgb(colour).map((part) => part / 255)
  .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4))
  .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0.05);
export default ({offsets, spans, dark}) => {
  const count = offsets.length;
  const scene = {
    sizes: Float64Array.from({ length: count }, () => 8), offsets: Float64Array.from(offsets),
    firstSpan: Int32Array.from({ length: count + 1 }, (_, place) => place),
    owner: Int32Array.from({ length: count }, (_, place) => place),
    begin: Int32Array.from(spans, (span) => span[0]), end: Int32Array.from(spans, (span) => span[1]),
    axis: { times: Float64Array.from({ length: 101 }, (_, time) => time) },
  };
  const theme = dark ? DARK : LIGHT;
  const ratios = [...theme.ramp, ...theme.groups].map((one) => light(one) / light(tint(one)));
  const tints = tintsOf(scene, [Int32Array.from(offsets.keys())], scene.axis.times);
  return { tints: [...tints], ratios: ratios.map((one) => Math.max(one, 1 / one)) };
};
"""
    offsets = [8 * (place * 7 % 20) for place in range(20)]
    result = run(
        program, {"offsets": offsets, "spans": [[place % 5, 90] for place in range(20)], "dark": dark}
    )
    upward = [result["tints"][offsets.index(8 * level)] for level in range(20)]
    assert all(one != other for one, other in itertools.pairwise(upward))
    assert min(result["ratios"]) > 1.2


@pytest.mark.parametrize("wide", [390, 1440])
@pytest.mark.parametrize("unit", [1, 2**28])
def test_no_column_of_the_side_is_cut_off(running: object, tmp_path: Path, wide: int, unit: int) -> None:
    look = Look(running, wide=wide)
    listed = [
        {
            "id": f"model.layers.{place}.attention.weights",
            "size": unit * (5 + place),
            "lifetime": [59990 + place, 60123 + place],
        }
        for place in range(12)
    ]
    problem = {"version": 1, "buffers": listed}
    look.show(page_of(*samples.solved(samples.problem_of(problem))), tmp_path)
    over = look.page.evaluate(
        "[...document.querySelectorAll('.side td, .side thead th')].filter((it) => {"
        " const room = it.closest('section').getBoundingClientRect();"
        " return it.scrollWidth > it.clientWidth + 1 || it.getBoundingClientRect().right > room.right + 1; })"
        ".map((it) => it.innerText)"
    )
    assert over == []
    look.close()
