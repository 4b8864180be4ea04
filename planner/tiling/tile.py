"""Tiles for an operator of a graph, or for all: the best by the objective, placed and judged.

First the memories: where tiles lie, and which whole tensors lie in the memory behind that (`Homes`). Then
the best tile, and the front of memory against bytes moved, by looking at all that may be best: directions
are fixed one after the other; what is counted grows with the figures of every cut, so the others at their
best give a bound on all that can still come, and most combinations are never looked at (`Space`). The
engine finds places for the buffers of the chosen tile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import lcm, prod
from typing import Final, NamedTuple

from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, RefusedPlanError, closest_match, require_kind
from memstow.planner.model.graph import Graph, Operator, Tensor, free_id, index_of, size_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.model.tiling import (
    CHANNELS_INSIDE,
    CHANNELS_OUTSIDE,
    Chosen,
    FrontTile,
    Loop,
    Moved,
    Piece,
    Pieces,
    Tile,
    TileBuffer,
    Tiling,
    TilingOptions,
    TilingTerm,
    Whole,
)
from memstow.planner.solve.engine import plan
from memstow.planner.tiling.layers import (
    Cut,
    Cuts,
    Layer,
    Need,
    UntiledError,
    copies,
    cuts,
    ideal,
    is_every_size,
    l1_bytes,
    layer_of,
    least_bytes,
    needs,
    read_by_channels,
    read_by_rows,
    read_the_same,
    spans,
)
from memstow.planner.tiling.tiling_documents import check_options, require_home
from memstow.planner.verify.tiling_verdict import recount_tiling

MOST_TENSORS: Final = 12
"""Of more, all choices are too many to look at."""


@dataclass(frozen=True, slots=True)
class Homes:
    """The choices of tensors that fit there together, none part of another; None: nothing is limited."""

    choices: tuple[frozenset[str], ...] | None

    def beyond(self, wanted: Sequence[Need], moved: int) -> int:
        """The bytes that come from beyond, or go there, in the best choice."""
        if self.choices is None:
            return 0
        return moved - max(_at_home(wanted, choice) for choice in self.choices)

    def best(self, wanted: Sequence[Need]) -> frozenset[str] | None:
        """The tensors of the best choice; None: all."""
        if self.choices is None:
            return None
        return max(self.choices, key=lambda choice: (_at_home(wanted, choice), sorted(choice)))


def _at_home(wanted: Sequence[Need], choice: frozenset[str]) -> int:
    return sum(need.bytes for need in wanted if need.tensor in choice)


def homes_of(sizes: dict[str, int], capacity: int) -> Homes | None:
    """The choices of these tensors that fit the capacity; None where there are too many to look at."""
    if sum(sizes.values()) <= capacity:
        return Homes((frozenset(sizes),))
    if len(sizes) > MOST_TENSORS:
        return None
    choices: list[frozenset[str]] = []
    for number in range(len(sizes), -1, -1):
        for names in combinations(sizes, number):
            choice = frozenset(names)
            if sum(sizes[name] for name in names) <= capacity and not any(
                choice < entry for entry in choices
            ):
                choices.append(choice)
    return Homes(tuple(choices))


UNNAMED: Final = "memory"
"""The pool of a graph that has none."""


@dataclass(frozen=True, slots=True)
class Memories:
    """Where tiles lie, and where whole tensors lie; without `home` that is not limited."""

    pool: Pool
    capacity: int
    home: Pool | None

    def room(self, unit: int) -> tuple[int, int]:
        """Begin and bytes of the largest free stretch for tiles, in whole units."""
        base = self.pool.base or 0
        best, at, begin = 0, 0, 0
        reserved = sorted((entry.offset, entry.size) for entry in self.pool.reserved)
        for offset, size in (*reserved, (self.capacity, 0)):
            first = begin + -(base + begin) % unit
            room = (offset - first) // unit * unit
            if room > best:
                best, at = room, first
            begin = max(begin, offset + size)
        return at, best


def memories_of(graph: Graph, options: TilingOptions) -> Memories:
    """The memories that the options ask for; InputError where there are none."""
    pool = _pool_of(graph, options)
    if options.capacity is not None:
        if pool.capacity is not None and options.capacity > pool.capacity:
            message = f"the pool {pool.id!r} has {pool.capacity:,} bytes; give so many or fewer"
            raise InputError.single("beyond_pool", "capacity", message)
        pool = replace(
            pool,
            capacity=options.capacity,
            reserved=tuple(
                replace(entry, size=min(entry.size, options.capacity - entry.offset))
                for entry in pool.reserved
                if entry.offset < options.capacity
            ),
        )
    if pool.capacity is None:
        message = f"the pool {pool.id!r} has no capacity; give one, such as 64KiB"
        if not graph.pools:
            message = "the graph names no pools, and so no capacity; give one, such as 64KiB"
        raise InputError.single("no_capacity", "capacity", message)
    return Memories(pool, pool.capacity, _home_of(graph, options, pool))


def _pool_of(graph: Graph, options: TilingOptions) -> Pool:
    if options.pool is not None and (graph.pools or options.pool != UNNAMED):
        return _pool_named(graph, options.pool, "pool")
    limited = [pool for pool in graph.pools if pool.capacity is not None]
    return (limited or list(graph.pools) or [Pool(id=UNNAMED)])[0]


def _home_of(graph: Graph, options: TilingOptions, pool: Pool) -> Pool | None:
    if options.home == pool.id:
        message = f"{pool.id!r} is the pool of the tiles; whole tensors lie in another"
        raise InputError.single("same_pool", "home", message)
    if options.home is not None:
        return _pool_named(graph, options.home, "home")
    names = [entry.id for entry in graph.pools]
    after = graph.pools[names.index(pool.id) + 1 :] if pool.id in names else ()
    return after[0] if after else None


def _pool_named(graph: Graph, name: str, option: str) -> Pool:
    for pool in graph.pools:
        if pool.id == name:
            return pool
    names = [pool.id for pool in graph.pools]
    close = closest_match(name, names)
    there = (
        f"did you mean {close}?"
        if close
        else f"there are {', '.join(names[:8])}"
        if names
        else f"leave {option} out, since the graph names no pools"
    )
    raise InputError.single("unknown_pool", option, f"the graph has no pool {name!r}; {there}")


def unit_of(pool: Pool, tensors: Iterable[Tensor]) -> int:
    """Every buffer of tiles takes whole units, and begins at a multiple of it."""
    return lcm(pool.alignment, *(tensor.alignment for tensor in tensors))


def homes_in(home: Pool | None, tensors: Iterable[Tensor]) -> Homes | None:
    """Which tensors of a layer may lie whole in `home` together; None: there are too many choices."""
    if home is None:
        return Homes(None)
    sizes = {tensor.id: size_of(tensor) for tensor in tensors if _may_lie_in(tensor, home)}
    if home.capacity is None:
        return Homes((frozenset(sizes),))
    return homes_of(sizes, max(home.capacity - sum(entry.size for entry in home.reserved), 0))


def _may_lie_in(tensor: Tensor, home: Pool) -> bool:
    if tensor.pools is not None:
        return home.id in tensor.pools and tensor.kind != "external"
    return tensor.kind in ("data", "state")


# What decides where the objective does not.
_LAST: Final[tuple[TilingTerm, ...]] = ("bytes", "tiles", "l1")

Key = tuple[int, ...]


class Candidate(NamedTuple):
    """A tile and an order of loops, and what is counted of them."""

    cuts: Cuts
    loops: tuple[Loop, ...]
    bytes: int
    tiles: int
    alignment: int
    l1: int
    beyond: int


@dataclass(slots=True)
class Work:
    """Counts what is looked at."""

    most: int
    done: int = 0
    complete: bool = True

    def more(self) -> bool:
        """Whether there may be one more."""
        if self.done >= self.most:
            self.complete = False
            return False
        self.done += 1
        return True


@dataclass(frozen=True, slots=True)
class Space:
    """All tiles of a layer that may be best."""

    layer: Layer
    options: TilingOptions
    unit: int
    homes: Homes
    channels: Sequence[Cut] = field(init=False)
    rows: Sequence[Cut] = field(init=False)
    columns: Sequence[Cut] = field(init=False)
    inputs: Sequence[Cut] = field(init=False)

    def __post_init__(self) -> None:
        layer, multiple = self.layer, dict(self.options.multiples)
        ways = {
            "channels": cuts(layer.channels, multiple.get("channels", 1), read_by_channels(layer)),
            "rows": cuts(layer.rows, multiple.get("rows", 1), read_by_rows(layer, 0)),
            "columns": cuts(layer.columns, multiple.get("columns", 1), read_by_rows(layer, 1)),
            "inputs": cuts(layer.input_channels, multiple.get("inputs", 1), read_the_same),
        }
        if not layer.splits_inputs:
            ways["inputs"] = [cut for cut in ways["inputs"] if cut.number == 1]
        for name, cuts_of_loop in ways.items():
            object.__setattr__(self, name, cuts_of_loop)

    @property
    def has_all_sizes(self) -> bool:
        """Whether no direction is too long for all sizes of its pieces."""
        layer = self.layer
        extents = (layer.channels, layer.rows, layer.columns)
        return all(map(is_every_size, (*extents, layer.input_channels if layer.splits_inputs else 1)))

    def loops(self) -> tuple[tuple[Loop, ...], ...]:
        """The orders of loops, one of which is as good as any: what they move differs by where channels are.

        Where every operand needs the tile's channels, channels outside are never worse.
        """
        if self.layer.groups > 1 or len(self.channels) == 1:
            return (CHANNELS_OUTSIDE,)
        return (CHANNELS_OUTSIDE, CHANNELS_INSIDE)

    def candidate(self, cut: Cuts, loops: tuple[Loop, ...]) -> Candidate:
        """What is counted of a tile."""
        wanted = list(needs(self.layer, cut, loops, self.options))
        moved = sum(need.bytes for need in wanted)
        return Candidate(
            cut,
            loops,
            moved,
            prod(entry.number for entry in cut),
            sum(entry.misaligned for entry in cut),
            sum(l1_bytes(need, self.options, self.unit) for need in wanted),
            self.homes.beyond(wanted, moved),
        )

    def walk(self, is_of_use: Callable[[Candidate], bool], work: Work) -> Iterator[Candidate]:
        """All candidates but those that a bound, which is not of use, shows to be of none."""
        best = Cuts(*(ideal(entry) for entry in (self.channels, self.rows, self.columns, self.inputs)))

        def look(cut: Cuts, loops: tuple[Loop, ...]) -> Candidate | None:
            candidate = self.candidate(cut, loops) if work.more() else None
            return candidate if candidate is not None and is_of_use(candidate) else None

        for loops, inputs, channels in product(self.loops(), self.inputs, self.channels):
            outer = best._replace(channels=channels, inputs=inputs)
            if look(outer, loops) is None:
                continue
            for rows in self.rows:
                if look(outer._replace(rows=rows), loops) is None:
                    continue
                for columns in self.columns:
                    candidate = look(outer._replace(rows=rows, columns=columns), loops)
                    if candidate is not None:
                        yield candidate


def best_of(
    space: Space, objective: Sequence[TilingTerm], capacity: int | None, work: Work
) -> Candidate | None:
    """The best tile that fits; None where none does."""
    terms = (*objective, *(term for term in _LAST if term not in objective))
    best: Candidate | None = None
    best_key: Key = ()

    def is_of_use(candidate: Candidate) -> bool:
        return (capacity is None or candidate.l1 <= capacity) and (
            best is None or _key(candidate, terms) < best_key
        )

    for better in space.walk(is_of_use, work):
        best, best_key = better, _key(better, terms)
    return best


def front_of(space: Space, capacity: int | None, work: Work) -> list[Candidate]:
    """The tiles that need less memory than all that move no more bytes; little memory first."""
    front: dict[tuple[int, int], Candidate] = {}

    def is_of_use(candidate: Candidate) -> bool:
        if capacity is not None and candidate.l1 > capacity:
            return False
        return not any(l1 <= candidate.l1 and moved <= candidate.bytes for l1, moved in front)

    for better in space.walk(is_of_use, work):
        for l1, moved in [key for key in front if better.l1 <= key[0] and better.bytes <= key[1]]:
            del front[l1, moved]
        front[better.l1, better.bytes] = better
    return [front[key] for key in sorted(front)]


def _key(candidate: Candidate, terms: Sequence[TilingTerm]) -> Key:
    return tuple(getattr(candidate, term) for term in terms)


@dataclass(frozen=True, slots=True)
class Placed:
    """The buffers of a tile with their offsets, and the problem and plan that these are of."""

    buffers: tuple[TileBuffer, ...]
    problem: Problem
    plan: Plan


def place_buffers(
    wanted: Sequence[Need], options: TilingOptions, pool: Pool, unit: int, begin: int
) -> Placed:
    """The buffers with their places: all of them live at once."""
    named = list(_named_buffers(wanted, options))
    problem = Problem(
        buffers=[
            Buffer(id=name, size=-(-need.size // unit) * unit, lifetime=(0, 1), alignment=unit)
            for name, need in named
        ],
        pools=(pool,),
    )
    # One after the other in the largest free stretch, which the search has measured.
    places = []
    for buffer in problem.buffers:
        places.append(Placement(buffer=buffer.id, pool=problem.pools[0].id, offset=begin))
        begin += buffer.size
    placed = plan(problem, Options(deterministic=True, hint=Plan(status=Status.FEASIBLE, placements=places)))
    offsets = {placement.buffer: placement.offset for placement in placed.placements}
    buffers = tuple(
        TileBuffer(name, need.role, need.tensor, -(-need.size // unit) * unit, offsets[name])
        for name, need in named
    )
    return Placed(buffers, problem, placed)


def _named_buffers(wanted: Sequence[Need], options: TilingOptions) -> Iterator[tuple[str, Need]]:
    """Buffers by name: that of the tensor, with .a and .b for two; of what no tensor has, its role."""
    taken: set[str] = set()
    for need in wanted:
        if not need.size:
            continue
        base = need.tensor if need.tensor is not None else need.role
        for ending in (".a", ".b") if copies(need, options) == 2 else ("",):
            yield free_id(base + ending, taken), need


# Combinations for all operators of a graph together; to place and judge one takes as long as some of them.
_WORK_OF_ALL: Final = 4_000_000
_WORK_OF_EACH: Final = 500
_USED_UP: Final = "the work for all operators together was used up before; ask for this one by itself"


def tile(graph: "Graph", operator: "str", options: "TilingOptions | None" = None) -> "Tiling":
    """The operator of the graph in the best tiles that fit a memory (docs/tiling.md).

    Raises InputError for an operator or a pool that the graph does not have, and for options that contradict
    it. An operator that has no tiles, or none that fit, is no error: `why_not` and `needs` tell.
    """
    require_kind(graph, Graph, "tile takes a Graph")
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
    return _best_tiling(tiling, Space(layer, options, tiling.unit, homes), memories, most)


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


def _best_tiling(tiling: Tiling, space: Space, memories: Memories, most: int) -> Tiling:
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
            FrontTile(entry.l1, entry.bytes, entry.tiles, _tile(entry.cuts), entry.loops)
            for entry in front_of(space, capacity, works[-1])
        )
    complete = space.has_all_sizes and all(work.complete for work in works)
    # The first way to cut a direction is into one piece.
    one = Cuts(space.channels[0], space.rows[0], space.columns[0], space.inputs[0])
    l1 = space.candidate(one, CHANNELS_OUTSIDE).l1
    return replace(
        tiling,
        needs=needed,
        bound=bound if space.has_all_sizes else None,
        least=sum(least.values()),
        whole=Whole(l1, l1 <= capacity),
        complete=complete,
        looked_at=sum(work.done for work in works),
        chosen=chosen,
        front=front,
    )


def _chosen(
    tiling: Tiling, space: Space, best: Candidate, memories: Memories, least: dict[str, int]
) -> Chosen:
    wanted = list(needs(space.layer, best.cuts, best.loops, tiling.options))
    at_home = space.homes.best(wanted)
    begin, _ = memories.room(tiling.unit)
    placed = place_buffers(wanted, tiling.options, memories.pool, tiling.unit, begin)
    by_channels, by_rows, by_columns = (
        read_by_channels(space.layer),
        read_by_rows(space.layer, 0),
        read_by_rows(space.layer, 1),
    )
    return Chosen(
        tile=_tile(best.cuts),
        loops=best.loops,
        tiles=prod(cut.number for cut in best.cuts),
        bytes=best.bytes,
        alignment=best.alignment,
        l1=best.l1,
        beyond=None if tiling.home is None else best.beyond,
        pieces=Pieces(
            tuple(
                Piece(span, by_channels(span))
                for span in spans(space.layer.channels, best.cuts.channels.size)
            ),
            tuple(Piece(span, by_rows(span)) for span in spans(space.layer.rows, best.cuts.rows.size)),
            tuple(
                Piece(span, by_columns(span)) for span in spans(space.layer.columns, best.cuts.columns.size)
            ),
            tuple(spans(space.layer.input_channels, best.cuts.inputs.size)),
        ),
        moved=tuple(
            Moved(
                need.tensor,
                need.role,
                need.bytes,
                need.times,
                least[need.tensor],
                at_home is not None and need.tensor not in at_home,
            )
            for need in wanted
            if need.tensor is not None
        ),
        buffers=placed.buffers,
        problem=placed.problem,
        plan=placed.plan,
    )


def _tile(cuts: Cuts) -> Tile:
    return Tile(cuts.channels.size, cuts.rows.size, cuts.columns.size, cuts.inputs.size)
