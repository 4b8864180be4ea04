"""Pictures as SVG."""

from xml.etree import ElementTree

from planner.plan import Placement, Plan
from planner.problem import ALWAYS, Buffer, Pool, Problem, Reserved
from planner.svg import MOST_BOXES, svg
from tests.api.cli.fakes import stacked

NAMESPACE = "{http://www.w3.org/2000/svg}"


def _boxes(text: str) -> list[str]:
    """The titles of the boxes that were drawn."""
    root = ElementTree.fromstring(text)
    return [title.text or "" for title in root.iterfind(f"{NAMESPACE}rect/{NAMESPACE}title")]


def _problem(count: int) -> Problem:
    return Problem(
        version=1,
        buffers=tuple(Buffer(id=f"b{i}", size=1 + i % 5, lifetime=(i, i + 3)) for i in range(count)),
    )


def test_every_life_of_every_buffer_is_a_box() -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="memory", reserved=(Reserved(offset=0, size=2),)),),
        buffers=(
            Buffer(id="a", size=4, lifetimes=((0, 2), (5, 7))),
            Buffer(id="w", size=4, lifetime=ALWAYS),
            Buffer(id="g", size=4),
            Buffer(id="none", size=0, lifetime=(0, 9)),
        ),
    )
    assert _boxes(svg(problem, stacked(problem))) == [
        "reserved",
        "a: 4 bytes at 0",
        "w: 4 bytes at 4",
        "g: 4 bytes at 8",
        "a: 4 bytes at 0",
    ]


def test_names_are_text_and_nothing_else() -> None:
    buffer = Buffer(id='<script>"&\x00', size=4, lifetime=(0, 1))
    problem = Problem(version=1, name="]]><!--", buffers=(buffer,))
    assert _boxes(svg(problem, stacked(problem))) == ['<script>"&\\x00: 4 bytes at 0']


def test_large_plans_are_drawn_in_part() -> None:
    problem = _problem(MOST_BOXES + 10)
    text = svg(problem, stacked(problem))
    assert len(_boxes(text)) == MOST_BOXES
    assert f"the largest {MOST_BOXES:,} of {MOST_BOXES + 10:,} boxes" in text


def test_times_of_any_size_can_be_drawn() -> None:
    problem = Problem(version=1, buffers=(Buffer(id="x", size=1 << 62, lifetime=(-(10**40), 10**40)),))
    assert len(_boxes(svg(problem, stacked(problem)))) == 1


def test_an_empty_plan_is_an_empty_picture() -> None:
    problem = _problem(0)
    assert _boxes(svg(problem, stacked(problem))) == []
    lost = Plan(status=stacked(problem).status, placements=(Placement(buffer="x", pool="memory", offset=0),))
    assert _boxes(svg(problem, lost)) == []
