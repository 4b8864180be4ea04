"""Every figure of a tiling is changed, one at a time: what then says something false is refused."""

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

import pytest

from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Tensor, Window
from memstow.planner.model.problem import Pool, Reserved
from memstow.planner.model.tiling import Tile, Tiling, TilingOptions, together
from memstow.planner.tiling.tile import tile, tile_all
from memstow.planner.tiling.tiling_documents import all_as_data, parse_tilings, read_tiling, write_tiling
from memstow.planner.verify.tiling_verdict import judge_tilings, verify_tiling
from tests.campaign import gate_first
from tests.planner.tiling.layers import random_graph

Steps = tuple[str | int, ...]
MISSING: Final = object()


def layer(*pools: Pool, rows: int = 6, columns: int = 5, deep: int = 4, made: int = 6) -> Graph:
    return Graph(
        pools=pools,
        tensors=[
            Tensor(id="x", shape=(rows, columns, deep), type="int8"),
            Tensor(id="w", shape=(made, 3, 3, deep), type="int8", kind="constant"),
            Tensor(id="b", shape=(made,), type="int32", kind="constant"),
            Tensor(id="y", shape=(rows, columns, made), type="int8"),
        ],
        operators=[
            Operator(
                id="conv",
                type="conv2d",
                inputs=["x", "w", "b"],
                outputs=["y"],
                window=Window(kernel=(3, 3), padding=(1, 1, 1, 1)),
            )
        ],
        inputs=["x"],
        outputs=["y"],
    )


SMALL: Final = layer(Pool(id="l1", capacity=300, alignment=2), Pool(id="l2", capacity=150))
ROOMY: Final = layer(Pool(id="l1", capacity=4096, alignment=2), Pool(id="l2", capacity=150))
RESERVED: Final = layer(
    Pool(id="l1", capacity=600, base=8, alignment=16, reserved=(Reserved(offset=200, size=40),))
)
TINY: Final = layer(Pool(id="l1", capacity=90, alignment=2), rows=3, columns=2, deep=2, made=3)
OF_ELEMENTS: Final = random_graph(random.Random(7))
UNTILED: Final = replace(
    SMALL, operators=(Operator(id="conv", type="softmax", inputs=("x",), outputs=("y",)),)
)
CASES: Final[dict[str, tuple[Graph, TilingOptions]]] = {
    "two levels": (SMALL, TilingOptions(objective=("beyond", "bytes"), im2col=2)),
    "front": (TINY, TilingOptions(front=True, double_buffer=False)),
    "reserved": (
        RESERVED,
        TilingOptions(objective=("alignment", "bytes"), multiples=(("channels", 4), ("rows", 2))),
    ),
    "one tile": (ROOMY, TilingOptions()),
    "none fits": (SMALL, TilingOptions(capacity=24, front=True)),
    "not in the family": (UNTILED, TilingOptions()),
    "no pools": (OF_ELEMENTS, TilingOptions(capacity=64, front=True)),
}

# What may be changed without saying anything false, and why.
JUSTIFIED: Final = {
    r"looked_at=.*": "only the search knows how many combinations it has looked at",
    r"options\.work=.*": "the most that the search was to look at is what somebody has asked for",
    r"(front\.\d+\.)?replayed=(False|missing)": "that the steps were not walked through before says less",
    r"complete=False": "that not all tiles were looked at says less",
    r"why_not=.*": "the reason is prose; that there is one is judged",
    r"plan\.(pools|objective|work|seconds|solver|prover|version|digest).*": "the plan is judged as any plan, "
    "whose figures tests/planner/verify/test_mutations.py changes",
    r"plan\.placements=.*": "the order of placements means nothing, and which there are is judged",
    r"(front\.\d+\.)?loops=.*": "another order that moves the same, as was counted",
}


def changes(value: object) -> Iterator[object]:
    """Other values in the place of this one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, 0, -value - 1, value * 2 + 1, 1 << 62, 1 << 70, None, "7", [value])
    elif isinstance(value, str):
        yield from (value + "x", "", None, 3)
    elif isinstance(value, list):
        for number in range(len(value)):
            yield value[:number] + value[number + 1 :]
            yield value[: number + 1] + value[number:]
            if number and value[number] != value[number - 1]:
                yield [*value[: number - 1], value[number], value[number - 1], *value[number + 1 :]]
        yield from ([], None, {})
    elif isinstance(value, dict):
        yield from ({**value, "other": 1}, {}, None, [])
    else:
        yield from (0, 1, 300, False, "x", [], {})


def places(value: object, at: Steps = ()) -> Iterator[tuple[Steps, object]]:
    if at:
        yield at, value
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, member in members:
        yield from places(member, (*at, name))


def changed(document: Any, at: Steps, value: object) -> Any:
    made = deepcopy(document)
    holder = made
    for step in at[:-1]:
        holder = holder[step]
    if value is MISSING:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    return made


def is_refused(graph: Graph, document: object) -> bool:
    try:
        return not judge_tilings(graph, parse_tilings(document)).valid
    except InputError:
        return True


def is_justified(at: Steps, value: object) -> bool:
    return any(
        re.fullmatch(entry, f"{'.'.join(map(str, at))}={'missing' if value is MISSING else value}", re.DOTALL)
        for entry in JUSTIFIED
    )


def is_answer_to_other_options(graph: Graph, document: Any) -> bool:
    """Whether the tiling is what these options give."""
    said = parse_tilings(document)
    assert isinstance(said, Tiling)
    tiling = tile(graph, said.operator, said.options)
    return replace(tiling, looked_at=said.looked_at) == said


@pytest.mark.parametrize("name", gate_first(CASES, 2))
def test_every_figure_that_is_changed_is_refused(name: str) -> None:
    graph, options = CASES[name]
    operator = graph.operators[0].id
    tiling = tile(graph, operator, options)
    assert read_tiling(write_tiling(tiling)) == tiling
    document = json.loads(write_tiling(tiling))
    assert not is_refused(graph, document)
    accepted = []
    for at, before in places(document):
        for value in (*changes(before), *([] if isinstance(at[-1], int) else [MISSING])):
            if (value == before and type(value) is type(before)) or is_justified(at, value):
                continue
            other = changed(document, at, value)
            if is_refused(graph, other) or parse_tilings(other) == tiling:
                continue
            if at[0] != "options" or not is_answer_to_other_options(graph, other):
                accepted.append((".".join(map(str, at)), value))
    assert accepted == []


def test_tilings_of_all_operators_have_their_sums() -> None:
    result = together(tile_all(SMALL, TilingOptions()))
    assert parse_tilings(all_as_data(result.tilings)) == result
    assert judge_tilings(SMALL, result).valid
    for wrong in (
        replace(result, tiled=0),
        replace(result, bytes=result.bytes + 1),
        replace(result, least=result.least - 1),
        replace(result, tilings=()),
        replace(result, tilings=result.tilings * 2),
    ):
        assert not judge_tilings(SMALL, wrong).valid


@pytest.mark.parametrize(
    ("alignment", "offset"), [(16, 8), (2, 1)], ids=["buffers at 8 of 16", "buffers at an odd offset"]
)
def test_buffers_are_aligned_as_the_graph_says(alignment: int, offset: int) -> None:
    loose, strict = (layer(Pool(id="l1", capacity=4096, alignment=entry)) for entry in (1, alignment))
    tiling = tile(loose, "conv", TilingOptions())
    assert tiling.chosen is not None
    places = {buffer.id: buffer.offset + offset for buffer in tiling.chosen.buffers}
    moved = replace(
        tiling.chosen,
        buffers=tuple(replace(buffer, offset=places[buffer.id]) for buffer in tiling.chosen.buffers),
        plan=replace(
            tiling.chosen.plan,
            placements=tuple(
                replace(placement, offset=places[placement.buffer])
                for placement in tiling.chosen.plan.placements
            ),
        ),
    )
    assert not verify_tiling(strict, replace(tiling, chosen=moved)).valid
    assert not verify_tiling(strict, replace(tiling, chosen=moved, unit=alignment)).valid


def test_a_tiling_for_a_larger_pool_is_refused() -> None:
    """The same layer with another memory, which the tiling says nothing of."""
    tiling = tile(layer(Pool(id="l1", capacity=1_000)), "conv", TilingOptions())
    assert tiling.chosen is not None
    assert not verify_tiling(layer(Pool(id="l1", capacity=24)), tiling).valid
    assert not verify_tiling(layer(Pool(id="l1", capacity=24)), replace(tiling, capacity=24)).valid
    assert not verify_tiling(layer(Pool(id="l1")), tiling).valid


def test_a_huge_document_is_judged_in_time() -> None:
    """Sizes of a document that would mean pieces without end are refused before these are made."""
    huge = layer(Pool(id="l1", capacity=1 << 62), rows=1 << 19, columns=1 << 10)
    tiling = tile(huge, "conv", TilingOptions(work=2_000))
    assert tiling.chosen is not None
    for tiny in (Tile(1, 1, 1, 1), Tile(1, 0, 1, 1), Tile(1 << 61, 1, 1, 1)):
        wrong = replace(tiling, chosen=replace(tiling.chosen, tile=tiny, tiles=1))
        assert not verify_tiling(huge, wrong).valid


def test_the_tensors_at_home_are_chosen_from_a_few_only() -> None:
    names = [f"x{number}" for number in range(40)]
    graph = Graph(
        pools=[Pool(id="l1", capacity=4096), Pool(id="l2", capacity=600)],
        tensors=[Tensor(id=name, shape=(4, 4, 4), type="int8") for name in (*names, "y")],
        operators=[Operator(id="add", type="add", inputs=names, outputs=["y"])],
        inputs=names,
        outputs=["y"],
    )
    tiling = tile(graph, "add", TilingOptions())
    assert "more than 12" in str(tiling.why_not)
    assert verify_tiling(graph, tiling).valid
    roomy = replace(graph, pools=(graph.pools[0], Pool(id="l2", capacity=1 << 20)))
    assert verify_tiling(roomy, tile(roomy, "add", TilingOptions())).valid


def test_tiles_of_more_than_the_pool_has_are_refused() -> None:
    large = layer(Pool(id="l1", capacity=1 << 20, alignment=2))
    tiling = tile(large, "conv", TilingOptions(pool="l1", capacity=1 << 18))
    assert verify_tiling(large, tiling).valid
    small = layer(Pool(id="l1", capacity=300, alignment=2))
    (wrong,) = verify_tiling(small, tiling).wrong
    assert wrong == "the pool 'l1' has 300 bytes, and the options take 262,144 of it"


def test_a_point_that_is_no_tile_is_not_said_to_take_too_long() -> None:
    tiling = tile(TINY, "conv", TilingOptions(front=True))
    assert tiling.front is not None
    assert tiling.front[0].replayed
    bad = replace(tiling.front[0], tile=replace(tiling.front[0].tile, rows=0))
    wrong = verify_tiling(TINY, replace(tiling, front=(bad, *tiling.front[1:]))).wrong
    assert any("is no tile" in entry for entry in wrong)
    assert not any("takes too long" in entry for entry in wrong)


def test_pixels_that_are_none_are_named_as_such() -> None:
    raw = json.loads(write_tiling(tile(TINY, "conv")))
    raw["options"]["im2col"] = 1 << 64
    with pytest.raises(InputError, match=r"options\.im2col: expected an integer from 0 below 2\^31"):
        parse_tilings(raw)
