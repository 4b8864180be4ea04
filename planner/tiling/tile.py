"""Tiles for an operator of a graph, or for all: the best by the objective, placed and judged."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Final

from memstow.planner.model.errors import InputError, RefusedPlanError, closest_match
from memstow.planner.model.graph import Graph, Operator, Tensor, index_of
from memstow.planner.model.tiling import (
    CHANNELS_OUTSIDE,
    Chosen,
    FrontTile,
    Moved,
    Piece,
    Pieces,
    Tile,
    Tiling,
    TilingOptions,
    Whole,
)
from memstow.planner.tiling.homes import MOST_TENSORS
from memstow.planner.tiling.layer import Layer, UntiledError, layer_of
from memstow.planner.tiling.least import least_bytes
from memstow.planner.tiling.measures import Cuts, needs
from memstow.planner.tiling.memory import Memories, homes_in, memories_of, unit_of
from memstow.planner.tiling.options import check_options, require_home
from memstow.planner.tiling.placing import place_buffers
from memstow.planner.tiling.search import Candidate, Space, Work, best_of, front_of
from memstow.planner.tiling.spans import read_by_channels, read_by_rows, spans
from memstow.planner.verify.tiling_verdict import recount_tiling

# Combinations for all operators of a graph together; to place and judge one takes as long as some of them.
_WORK_OF_ALL: Final = 4_000_000
_WORK_OF_EACH: Final = 500
_USED_UP: Final = "the work for all operators together was used up before; ask for this one by itself"


def tile(graph: "Graph", operator: "str", options: "TilingOptions | None" = None) -> "Tiling":
    """The operator of the graph in the best tiles that fit a memory (docs/tiling.md).

    Raises InputError for an operator or a pool that the graph does not have, and for options that contradict
    it. An operator that has no tiles, or none that fit, is no error: `why_not` and `needs` tell.
    """
    options = options or TilingOptions()
    memories = _checked(graph, options)
    operators = index_of(graph).operators
    if operator in operators:
        return _judged(graph, _tiling(graph, operators[operator], options, memories, options.work))
    close = closest_match(operator, operators)
    hint = f"; did you mean {close}?" if close else ""
    raise InputError.single("unknown_operator", "operator", f"the graph has no operator {operator!r}{hint}")


def tile_all(graph: "Graph", options: "TilingOptions | None" = None) -> "tuple[Tiling, ...]":
    """Every operator of the graph by itself in the best tiles that fit a memory (docs/tiling.md)."""
    options = options or TilingOptions()
    memories = _checked(graph, options)
    return tuple(_all(graph, options, memories))


def _all(graph: Graph, options: TilingOptions, memories: Memories) -> Iterator[Tiling]:
    left = _WORK_OF_ALL
    for operator in graph.operators:
        if left <= 0:
            yield replace(_empty(graph, operator, options, memories), why_not=_USED_UP, complete=False)
            continue
        tiling = _judged(graph, _tiling(graph, operator, options, memories, min(options.work, left)))
        chosen = tiling.chosen
        steps = chosen.tiles // 2 if chosen is not None and tiling.replayed else 0
        left -= tiling.looked_at + steps + (1 if chosen is None else _WORK_OF_EACH)
        yield tiling


def _checked(graph: Graph, options: TilingOptions) -> Memories:
    check_options(options)
    memories = memories_of(graph, options)
    require_home(options, memories.home is not None)
    return memories


def _judged(graph: Graph, tiling: Tiling) -> Tiling:
    verdict = recount_tiling(graph, tiling)
    if verdict.wrong:
        raise RefusedPlanError(f"the tiles of {tiling.operator!r} are wrong: {verdict.wrong[0]}")
    return replace(tiling, replayed=verdict.replayed, front=verdict.front)


def _tiling(
    graph: Graph, operator: Operator, options: TilingOptions, memories: Memories, most: int
) -> Tiling:
    """The tiling, by looking at that many combinations at most for each question."""
    tiling = _empty(graph, operator, options, memories)
    try:
        layer = layer_of(graph, operator)
    except UntiledError as reason:
        return replace(tiling, why_not=str(reason))
    homes = homes_in(memories.home, _tensors(graph, operator))
    if homes is None:
        too_many = (
            f"more than {MOST_TENSORS} of its tensors may lie in {tiling.home!r}, and not all of them fit"
        )
        return replace(tiling, why_not=too_many)
    return _found(tiling, Space(layer, options, tiling.unit, homes), memories, most)


def _empty(graph: Graph, operator: Operator, options: TilingOptions, memories: Memories) -> Tiling:
    """What is known of the tiling before any tile is."""
    unit = unit_of(memories.pool, _tensors(graph, operator))
    return Tiling(
        operator=operator.id,
        type=operator.type,
        pool=memories.pool.id,
        capacity=memories.room(unit)[1],
        home=None if memories.home is None else memories.home.id,
        unit=unit,
        options=options,
    )


def _tensors(graph: Graph, operator: Operator) -> list[Tensor]:
    tensors = index_of(graph).tensors
    return [tensors[name] for name in dict.fromkeys((*operator.inputs, *operator.outputs))]


def _found(tiling: Tiling, space: Space, memories: Memories, most: int) -> Tiling:
    options, capacity = tiling.options, tiling.capacity
    least = least_bytes(space.layer)
    works = [Work(most)]
    best = best_of(space, options.objective, capacity, works[0])
    bound = needed = chosen = front = None
    if best is None and works[0].complete:
        works.append(Work(most))
        smallest = best_of(space, ("l1",), None, works[-1])
        needed = None if smallest is None else smallest.l1
    elif best is not None:
        fewest: Candidate | None = best
        if options.objective[:1] != ("bytes",):
            works.append(Work(most))
            fewest = best_of(space, ("bytes",), capacity, works[-1])
        bound = None if fewest is None or not works[-1].complete else fewest.bytes
        chosen = _chosen(tiling, space, best, memories, least)
    if options.front:
        works.append(Work(most))
        front = tuple(
            FrontTile(it.l1, it.bytes, it.tiles, _tile(it.cuts), it.loops)
            for it in front_of(space, capacity, works[-1])
        )
    complete = space.has_all_sizes and all(work.complete for work in works)
    return replace(
        tiling,
        needs=needed,
        bound=bound if space.has_all_sizes else None,
        least=sum(least.values()),
        whole=_whole(space, capacity),
        complete=complete,
        looked_at=sum(work.done for work in works),
        chosen=chosen,
        front=front,
    )


def _whole(space: Space, capacity: int) -> Whole:
    # The first way to cut a direction is into one piece.
    one = Cuts(space.channels[0], space.rows[0], space.columns[0], space.inputs[0])
    l1 = space.candidate(one, CHANNELS_OUTSIDE).l1
    return Whole(l1, l1 <= capacity)


def _chosen(
    tiling: Tiling, space: Space, best: Candidate, memories: Memories, least: dict[str, int]
) -> Chosen:
    found = list(needs(space.layer, best.cuts, best.loops, tiling.options))
    at_home = space.homes.best(found)
    begin, _ = memories.room(tiling.unit)
    placed = place_buffers(found, tiling.options, memories.pool, tiling.unit, begin)
    return Chosen(
        tile=_tile(best.cuts),
        loops=best.loops,
        tiles=prod(cut.number for cut in best.cuts),
        bytes=best.bytes,
        alignment=best.alignment,
        l1=best.l1,
        beyond=None if tiling.home is None else best.beyond,
        pieces=_pieces(space.layer, best.cuts),
        moved=tuple(
            Moved(
                need.tensor,
                need.role,
                need.bytes,
                need.times,
                least[need.tensor],
                at_home is not None and need.tensor not in at_home,
            )
            for need in found
            if need.tensor is not None
        ),
        buffers=placed.buffers,
        problem=placed.problem,
        plan=placed.plan,
    )


def _tile(cuts: Cuts) -> Tile:
    return Tile(cuts.channels.size, cuts.rows.size, cuts.columns.size, cuts.inputs.size)


def _pieces(layer: Layer, cuts: Cuts) -> Pieces:
    by_channels, by_rows, by_columns = read_by_channels(layer), read_by_rows(layer, 0), read_by_rows(layer, 1)
    return Pieces(
        tuple(Piece(it, by_channels(it)) for it in spans(layer.channels, cuts.channels.size)),
        tuple(Piece(it, by_rows(it)) for it in spans(layer.rows, cuts.rows.size)),
        tuple(Piece(it, by_columns(it)) for it in spans(layer.columns, cuts.columns.size)),
        tuple(spans(layer.input_channels, cuts.inputs.size)),
    )
