"""The independent judge of tilings.

In: a graph and a tiling of one of its operators, from any source. Out: what is wrong with it. It takes the
memory from the graph and the options, and reads the operator with code of its own. It counts every figure
again, walks through every step with the tiles that are in the buffers, and looks for better tiles than the
tiling has, where this says that there are none.

`Family` tries all sizes and both places of the channels among the loops, or leaves them out by a bound: what
is counted of a tile grows with the figures of each cut, so the other directions at their best bound all that
still comes. What a tiling says is a bound as well, so that little is looked at where it is right.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from memstow.planner.model import Status
from memstow.planner.model.graph import Graph, Operator, index_of
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.model.tiling import (
    CHANNELS_INSIDE,
    CHANNELS_OUTSIDE,
    Chosen,
    FrontTile,
    Loop,
    Piece,
    Tile,
    Tiling,
    TilingOptions,
    Tilings,
    TilingTerm,
    together,
)
from memstow.planner.verify import judge
from memstow.planner.verify.tile_counts import (
    LOOPS,
    MOST_STEPS,
    Counted,
    Cut,
    Cuts,
    Direction,
    Memory,
    Need,
    Reading,
    Ways,
    counted,
    extents_of,
    keeps_output,
    memory_of,
    needs_of,
    pieces_of,
    ranges,
    read,
    walk,
    what_is_wrong_with_tile,
    whole_units,
)
from memstow.planner.verify.verdict import Claim, Claims, Code, Effort, Findings, Subject, TooMuch, Verdict


def check_pieces(reading: Reading, chosen: Chosen) -> Iterator[str]:
    """What is wrong with the pieces of a tile that the operator has."""
    pieces, tile = chosen.pieces, chosen.tile
    covered = (
        ("channels", [channel.output for channel in pieces.channels], reading.channels, tile.channels),
        ("rows", [row.output for row in pieces.rows], reading.rows.output_extent, tile.rows),
        (
            "columns",
            [column.output for column in pieces.columns],
            reading.columns.output_extent,
            tile.columns,
        ),
        ("inputs", list(pieces.inputs), reading.input_channels, tile.inputs),
    )
    for name, some, extent, size in covered:
        if not _covers(some, extent):
            yield f"the pieces of {name} do not cover 0 to {extent:,} exactly once"
            return
        if some != ranges(extent, size):
            yield f"the pieces of {name} do not have {size:,} each, as the tile says"
            return
    for name, direction, parts in (
        ("rows", reading.rows, pieces.rows),
        ("columns", reading.columns, pieces.columns),
    ):
        if not all(_reads_enough(direction, part) for part in parts):
            yield f"a piece of {name} does not read all that it is made from"
            return
    for channel in pieces.channels:
        first, last = reading.group_of(channel.output[0])[0], reading.group_of(channel.output[1] - 1)[1]
        if not 0 <= channel.input[0] <= first or not last <= channel.input[1] <= reading.input_channels:
            yield "a piece of channels does not read all that it is made from"
            return
    if pieces != pieces_of(reading, tile):
        yield "a piece reads more than it is made from"


def _covers(ranges: Sequence[tuple[int, int]], extent: int) -> bool:
    ends = [0, *(end for _, end in ranges)]
    each = all(begin < end and begin == before for (begin, end), before in zip(ranges, ends, strict=False))
    return each and ends[-1] == extent


def _reads_enough(direction: Direction, piece: Piece) -> bool:
    begin, end = piece.input
    if not 0 <= begin <= end <= direction.extent:
        return False
    if direction.is_point:
        return begin <= piece.output[0] and piece.output[1] <= end
    # Of every place of the output; what is empty needs nothing.
    for place in range(*piece.output):
        low, high = direction.needed(place)
        if low < high and not begin <= low < high <= end:
            return False
    return True


def check_buffers(
    needs: Sequence[Need], memory: Memory, options: TilingOptions, chosen: Chosen
) -> Iterator[str]:
    """What is wrong with the buffers, but for their places."""
    there = Counter((buffer.role, buffer.tensor, buffer.size) for buffer in chosen.buffers)
    for need in needs:
        size = whole_units(need.size, memory.unit)
        wanted = need.copies(options) if size else 0
        has = there.pop((need.role, need.tensor, size), 0)
        if has != wanted:
            what = need.role if need.tensor is None else f"{need.tensor!r} ({need.role})"
            yield f"{what} needs {wanted} of {size:,} bytes among the buffers, where {has} are"
    for role, tensor, size in there:
        yield f"nothing needs a buffer of {size:,} bytes for {tensor or role!r} ({role})"
    placed = {placement.buffer: (placement.pool, placement.offset) for placement in chosen.plan.placements}
    if len({buffer.id for buffer in chosen.buffers}) < len(chosen.buffers):
        yield "two buffers have one name"
    if placed != {buffer.id: (memory.pool.id, buffer.offset) for buffer in chosen.buffers}:
        yield "the buffers are not where the plan has them"


def problem_of(memory: Memory, chosen: Chosen) -> Problem:
    """The buffers as a problem: all of them live at once, in the memory of the tiles."""
    return Problem(
        buffers=[
            Buffer(id=buffer.id, size=buffer.size, lifetime=(0, 1), alignment=memory.unit)
            for buffer in chosen.buffers
        ],
        pools=(memory.pool,),
    )


def check_front(ways: Ways, memory: Memory, tiling: Tiling) -> tuple[tuple[FrontTile, ...] | None, list[str]]:
    """The points with whether each was walked through, and what is wrong with them.

    All points together have as many steps as one tiling may have; those of few steps come first.
    """
    if tiling.front is None:
        return None, []
    wrong: list[str] = []
    left, judged = MOST_STEPS, list(tiling.front)
    for number in sorted(range(len(judged)), key=lambda number: judged[number].tiles):
        point = judged[number]
        mistakes = list(_mistakes(ways, memory, point))
        wrong += mistakes
        left -= point.tiles
        walked = not mistakes and left >= 0
        if walked and not _is_as_walked(ways, point):
            wrong.append(f"a point of the front of {point.l1:,} bytes does not move {point.bytes:,}")
        elif point.replayed and not walked and not mistakes:
            wrong.append("a point of the front is said to be walked through, which takes too long")
        judged[number] = replace(point, replayed=walked)
    figures = [(entry.l1, entry.bytes) for entry in tiling.front]
    if any(a[0] >= b[0] or a[1] <= b[1] for a, b in pairwise(figures)):
        wrong.append("a point of the front is no better than another")
    return tuple(judged), wrong


def _mistakes(ways: Ways, memory: Memory, point: FrontTile) -> Iterator[str]:
    wrong = what_is_wrong_with_tile(ways.reading, point.tile)
    if wrong is not None:
        yield f"a point of the front is no tile: {wrong}"
        return
    if sorted(point.loops) != sorted(LOOPS):
        yield "the loops of a point of the front are not each direction once"
        return
    cuts = ways.cuts(point.tile)
    needs = needs_of(ways.reading, cuts, point.loops, ways.options)
    has = counted(needs, cuts, ways.options, memory)
    if not keeps_output(needs, cuts):
        yield "at a point of the front a tile of the output goes away before it is done"
    if (has.l1, has.bytes) != (point.l1, point.bytes):
        yield f"a point of the front does not need {point.l1:,} bytes and move {point.bytes:,}"
    if has.tiles != point.tiles:
        yield f"a point of the front has {has.tiles:,} tiles, not {point.tiles:,}"
    if has.l1 > memory.capacity:
        yield f"a point of the front needs {has.l1:,} bytes, more than the memory has"


def _is_as_walked(ways: Ways, point: FrontTile) -> bool:
    walked = walk(ways.reading, pieces_of(ways.reading, point.tile), point.loops)
    return walked.shows(needs_of(ways.reading, ways.cuts(point.tile), point.loops, ways.options))


LONGEST: Final = 2048
"""Of longer directions not all sizes are tried, and nobody can say that there is no better tile."""
MOST_LOOKED_AT: Final = 1_000_000
"""Tiles that are looked at for a tiling, some microseconds each."""
LAST: Final[tuple[TilingTerm, ...]] = ("bytes", "tiles", "l1")
"""What decides where the objective does not."""

Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """All tiles of an operator."""

    ways: Ways
    memory: Memory
    effort: Effort

    @property
    def reading(self) -> Reading:
        """The operator as the judge understands it."""
        return self.ways.reading

    @property
    def has_all_sizes(self) -> bool:
        """Whether no direction is too long for that."""
        *places, inputs = extents_of(self.reading)
        return max(*places, inputs if self.reading.adds_up else 1) <= LONGEST

    def least_key(self, terms: Sequence[TilingTerm], capacity: int | None, most: Key) -> "Key | None":
        """Of the tiles that fit, the least values of these terms, the first most important.

        None: those of all tiles are more than `most`.
        """
        best: Key | None = None

        def is_of_use(counted: Counted) -> bool:
            if capacity is not None and counted.l1 > capacity:
                return False
            key = key_of(counted, terms)
            return key <= most if best is None else key < best

        for tile in self._walk(is_of_use):
            best = key_of(tile, terms)
        return best

    def missing_point(self, points: Sequence[tuple[int, int]], capacity: int) -> tuple[int, int] | None:
        """Memory and bytes of a tile that fits and that none of the points, by memory, is as good as."""
        memories = [l1 for l1, _ in points]

        def is_of_use(counted: Counted) -> bool:
            if counted.l1 > capacity:
                return False
            at = bisect_right(memories, counted.l1)
            return at == 0 or points[at - 1][1] > counted.bytes

        return next(((entry.l1, entry.bytes) for entry in self._walk(is_of_use)), None)

    def _walk(self, is_of_use: Callable[[Counted], bool]) -> Iterator[Counted]:
        """The tiles that are of use: what is worse in every figure than one that is not is not, either."""
        self.effort.spend(1)
        options = self.ways.options
        # How each direction may be cut, without what is worse than another way in every figure.
        all_ways = [
            _best(
                self.ways.cut(loop, size)
                for size in (
                    [extent] if loop == "inputs" and not self.reading.adds_up else range(1, extent + 1)
                )
            )
            for loop, extent in zip(LOOPS, extents_of(self.reading), strict=True)
        ]
        least = Cuts(*(Cut(*map(min, zip(*some, strict=True))) for some in all_ways))
        by_loop = dict(zip(LOOPS, all_ways, strict=True))

        def look(some: Cuts, loops: tuple[Loop, ...]) -> Counted | None:
            self.effort.spend(1)
            figures = counted(needs_of(self.reading, some, loops, options), some, options, self.memory)
            return figures if is_of_use(figures) else None

        for loops in (CHANNELS_OUTSIDE, CHANNELS_INSIDE)[: 1 if self.reading.groups > 1 else 2]:
            for inputs in by_loop["inputs"]:
                for channels in by_loop["channels"]:
                    outer = least._replace(channels=channels, inputs=inputs)
                    if look(outer, loops) is None:
                        continue
                    for rows in by_loop["rows"]:
                        middle = outer._replace(rows=rows)
                        if look(middle, loops) is None:
                            continue
                        for columns in by_loop["columns"]:
                            figures = look(middle._replace(columns=columns), loops)
                            if figures is not None:
                                yield figures


def key_of(counted: Counted, terms: Sequence[TilingTerm]) -> Key:
    """The values of these terms."""
    return tuple(getattr(counted, term) for term in terms)


def _best(cuts: Iterable[Cut]) -> list[Cut]:
    best: list[Cut] = []
    for cut in sorted(cuts):
        if not any(all(a <= b for a, b in zip(other, cut, strict=True)) for other in best):
            best.append(cut)
    return best


_Finding = str | None


class Statements:
    """Gathers what is wrong with the statements of a tiling, and how each of the others was checked."""

    def __init__(self, family: Family, tiling: Tiling, claims: Claims) -> None:
        self._family, self._tiling, self._claims = family, tiling, claims
        self.wrong: list[str] = []

    def check(self, chosen: Counted | None) -> None:
        """Check all; `chosen`: the figures of the best tile as they were counted."""
        tiling = self._tiling
        if tiling.complete and not self._family.has_all_sizes:
            self.wrong.append(f"a direction of more than {LONGEST:,} is not tried in all sizes: not complete")
        if chosen is None:
            self._nothing_fits()
        else:
            self._is_best(chosen)
        if tiling.complete and tiling.front is not None:
            points = [(entry.l1, entry.bytes) for entry in self._tiling.front or ()]

            def missing() -> _Finding:
                point = self._family.missing_point(points, self._family.memory.capacity)
                if point is None:
                    return None
                return f"the front lacks a point: a tile needs {point[0]:,} bytes and moves {point[1]:,}"

            self._state("front", f"no tile is missing among the {len(points):,} points of the front", missing)

    def _nothing_fits(self) -> None:
        tiling, capacity = self._tiling, self._family.memory.capacity
        if tiling.bound is not None:
            self.wrong.append("bytes that move are bounded, where there is no tile")
        if tiling.needs is None:
            if tiling.complete:
                self.wrong.append("there is neither a tile nor what the smallest needs")
            return
        needs = tiling.needs
        if needs <= capacity:
            self.wrong.append(
                f"no tile is said to fit, and the smallest to need {needs:,} of {capacity:,} bytes"
            )

        def finding() -> _Finding:
            least = self._least(("l1",), None, (needs,))
            if least is None:
                return f"every tile needs more than {needs:,} bytes"
            if least[0] <= capacity:
                return f"a tile fits: it needs {least[0]:,} of {capacity:,} bytes"
            return None if least[0] == needs or not tiling.complete else f"a tile needs {least[0]:,} bytes"

        self._state("needs", f"no tile fits, and the smallest needs {needs:,} bytes", finding)

    def _is_best(self, chosen: Counted) -> None:
        tiling, capacity = self._tiling, self._family.memory.capacity
        if tiling.needs is not None:
            self.wrong.append("a tile is said to fit, and how much the smallest needs because none does")
        if tiling.complete:
            terms = (
                *tiling.options.objective,
                *(entry for entry in LAST if entry not in tiling.options.objective),
            )
            most = key_of(chosen, terms)

            def better() -> _Finding:
                least = self._least(terms, capacity, most)
                if least == most or least is None:
                    return None
                return f"a tile that fits is better: {_in_words(terms, least)}, not {_in_words(terms, most)}"

            self._state("best", f"no tile that fits is better in {', '.join(terms)}", better)
        if tiling.bound is None:
            if tiling.complete:
                self.wrong.append("all tiles are said to have been looked at, and no bound follows from it")
            return
        bound = tiling.bound
        if bound > chosen.bytes:
            self.wrong.append(f"the tile moves {chosen.bytes:,} bytes, less than the bound of {bound:,}")

        def moves_fewer() -> _Finding:
            least = self._least(("bytes",), capacity, (bound,))
            if least is None:
                return f"every tile that fits moves more than the bound of {bound:,} bytes"
            return (
                None
                if least[0] == bound
                else f"a tile that fits moves {least[0]:,} bytes: {bound:,} is no bound"
            )

        self._state("bound", f"no tile that fits moves fewer than {bound:,} bytes", moves_fewer)

    def _state(
        self, name: Literal["needs", "best", "bound", "front"], says: str, finding: Callable[[], _Finding]
    ) -> None:
        if not self._family.has_all_sizes:
            self._claims.claimed(Subject.TILES, name, says, None, holds=True)
            return
        try:
            wrong = finding()
        except TooMuch:
            self._claims.claimed(Subject.TILES, name, says, None, holds=True)
            return
        self._claims.counted(Subject.TILES, name, says, wrong is None)
        if wrong is not None:
            self.wrong.append(wrong)

    def _least(self, terms: tuple[TilingTerm, ...], capacity: int | None, most: Key) -> Key | None:
        return self._family.least_key(terms, capacity, most)


def _in_words(terms: tuple[TilingTerm, ...], key: Key) -> str:
    return ", ".join(f"{value:,} {term}" for term, value in zip(terms, key, strict=True))


_MOST_FOR_ALL = 4_000_000
"""Tiles that are looked at for all operators of a graph."""


@dataclass(frozen=True, slots=True)
class TilingVerdict:
    """The verdict on a tiling: what is wrong with it, and what of it was checked."""

    wrong: tuple[str, ...]
    replayed: bool = False
    """Whether it walked through every step: it does up to a number of them."""
    front: tuple[FrontTile, ...] | None = None
    """The points of the front, and of each whether it was walked through."""
    claims: tuple[Claim, ...] = ()
    """What the tiling says, and whether it was checked."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong; claims may be unchecked all the same."""
        return not self.wrong


def verify_tiling(graph: "Graph", tiling: "Tiling") -> "TilingVerdict":
    """What is wrong with a tiling of an operator of the graph, and what of it could not be checked."""
    return _judged(graph, tiling, Effort(MOST_LOOKED_AT))


def recount_tiling(graph: Graph, tiling: Tiling) -> TilingVerdict:
    """What counting shows to be wrong: for tilings of a run, which has looked at all tiles just now."""
    return _judged(graph, tiling, Effort(0))


def judge_tilings(graph: Graph, tilings: Tiling | Tilings) -> Verdict:
    """The verdict on a tiling of a graph, or on those of all its operators."""
    findings = Findings()
    if isinstance(tilings, Tiling):
        judged = verify_tiling(graph, tilings)
        for wrong in judged.wrong:
            findings.add(Code.TILING, "{}", wrong)
        return Verdict(tuple(findings.violations()), judged.claims)
    effort = Effort(_MOST_FOR_ALL)
    claims: list[Claim] = []
    if [tiling.operator for tiling in tilings.tilings] != [operator.id for operator in graph.operators]:
        findings.add(
            Code.TILING, "the tilings are not those of the operators of the graph, each once in order"
        )
    for tiling in tilings.tilings:
        if findings.full(Code.TILING):
            findings.cut_short(Code.TILING)
            break
        judged = _judged(graph, tiling, effort)
        for wrong in judged.wrong:
            findings.add(Code.TILING, "{!r}: {}", tiling.operator, wrong)
        claims += (replace(claim, says=f"{tiling.operator!r}: {claim.says}") for claim in judged.claims)
    sums = together(tilings.tilings)
    for says, has, counts in (
        ("operators are tiled", tilings.tiled, sums.tiled),
        ("bytes move in all", tilings.bytes, sums.bytes),
        ("bytes are needed in all", tilings.least, sums.least),
    ):
        if has != counts:
            findings.add(Code.TILING, "{} {}, not {}", counts, says, has)
    return Verdict(tuple(findings.violations()), tuple(claims))


def _judged(graph: Graph, tiling: Tiling, effort: Effort) -> TilingVerdict:
    tensors, operators = index_of(graph)
    operator = operators.get(tiling.operator)
    if operator is None:
        return TilingVerdict((f"the graph has no operator {tiling.operator!r}",))
    some = [tensors[name] for name in dict.fromkeys((*operator.inputs, *operator.outputs))]
    memory = memory_of(graph, tiling.options, some)
    if isinstance(memory, str):
        return TilingVerdict((memory,))
    wrong = _frame(operator, memory, tiling)
    reading = read(operator, tensors)
    if memory.has_too_many_choices:
        reading = "the choices of its tensors for the memory of whole tensors are too many"
    if isinstance(reading, str) or tiling.why_not is not None:
        return _without_tiles(tiling, reading, wrong)
    ways = Ways(reading, tiling.options)
    claims = Claims(
        Plan(status=Status.UNKNOWN) if tiling.chosen is None else tiling.chosen.plan, "the tiling"
    )
    wrong += _layer(ways, memory, tiling)
    front, mistakes = check_front(ways, memory, tiling)
    figures, replayed = None, False
    if tiling.chosen is not None:
        figures, replayed, more = _chosen(ways, memory, tiling.chosen)
        claims.counted(Subject.FIGURES, None, "what the tile needs and moves", not more)
        mistakes += more
    if tiling.replayed and not replayed and not mistakes:
        wrong.append("all steps are said to have been walked through, which takes too long")
    wrong += mistakes
    if not mistakes:
        statements = Statements(Family(ways, memory, effort), tiling, claims)
        statements.check(figures)
        wrong += statements.wrong
    return TilingVerdict(tuple(wrong), replayed, front, claims.settled())


def _frame(operator: Operator, memory: Memory, tiling: Tiling) -> list[str]:
    """What is wrong with what is said of the operator and of the memory."""
    home = None if memory.home is None else memory.home.id
    options = tiling.options
    wrong = [
        f"{what} is {is_so!r}, not {says!r}"
        for what, is_so, says in (
            ("the type of the operator", operator.type, tiling.type),
            ("the pool of the tiles", memory.pool.id, tiling.pool),
            ("the pool of whole tensors", home, tiling.home),
            ("the bytes for tiles", memory.capacity, tiling.capacity),
            ("the unit of buffers", memory.unit, tiling.unit),
        )
        if is_so != says
    ]
    if len(set(options.objective)) < len(options.objective):
        wrong.append("a term of the objective is there twice")
    if len({loop for loop, _ in options.multiples}) < len(options.multiples):
        wrong.append("a direction has two multiples")
    if "beyond" in options.objective and memory.home is None:
        wrong.append("bytes from beyond a second memory count, and there is none")
    return wrong


def _without_tiles(tiling: Tiling, reading: Reading | str, wrong: list[str]) -> TilingVerdict:
    """The verdict where the operator has no tiles, or is said to have none."""
    if tiling.why_not is None:
        wrong.append(f"the operator has no tiles: {reading}")
    elif not isinstance(reading, str) and tiling.complete:
        wrong.append("the operator has tiles, and the tiling says that it has none")
    numbers = (tiling.needs, tiling.bound, tiling.least, tiling.whole, tiling.chosen, tiling.front)
    if tiling.why_not is not None and any(number is not None for number in numbers):
        wrong.append("the operator has no tiles, and the tiling has figures of some")
    if tiling.looked_at or tiling.replayed:
        wrong.append("no tile was looked at where the operator has none")
    return TilingVerdict(tuple(wrong))


def _layer(ways: Ways, memory: Memory, tiling: Tiling) -> list[str]:
    """What is wrong with what is said of the operator as a whole."""
    wrong = []
    least = sum(ways.reading.least().values())
    if tiling.least != least:
        wrong.append(f"{least:,} bytes are needed, not {tiling.least}")
    whole = Tile(*extents_of(ways.reading))
    cuts = ways.cuts(whole)
    l1 = counted(needs_of(ways.reading, cuts, LOOPS, ways.options), cuts, ways.options, memory).l1
    fits = l1 <= memory.capacity
    if tiling.whole is None or (tiling.whole.l1, tiling.whole.fits) != (l1, fits):
        wrong.append(f"as one tile it needs {l1:,} bytes, and {'fits' if fits else 'does not fit'}")
    if (tiling.front is not None) != tiling.options.front:
        wrong.append("there is a front" if tiling.front is not None else "there is no front")
        wrong[-1] += ", and the options say another thing"
    return wrong


def _chosen(ways: Ways, memory: Memory, chosen: Chosen) -> tuple[Counted | None, bool, list[str]]:
    """The figures of the best tile, whether all steps were walked through, and what is wrong with it."""
    reading, options = ways.reading, ways.options
    mistake = what_is_wrong_with_tile(reading, chosen.tile)
    wrong = [mistake] if mistake is not None else list(check_pieces(reading, chosen))
    if not wrong and sorted(chosen.loops) != sorted(LOOPS):
        wrong.append("the loops are not each direction once")
    if wrong:
        return None, False, wrong
    cuts = ways.cuts(chosen.tile)
    needs = needs_of(reading, cuts, chosen.loops, options)
    has = counted(needs, cuts, options, memory)
    if not keeps_output(needs, cuts):
        wrong.append("a tile of the output goes away before it is done")
    replayed = has.tiles <= MOST_STEPS
    if replayed and not walk(reading, chosen.pieces, chosen.loops).shows(needs):
        wrong.append("the steps do not need and move what was counted")
    wrong += _figures(has, memory, chosen)
    wrong += _moved(needs, reading.least(), memory, chosen)
    wrong += check_buffers(needs, memory, options, chosen)
    if not wrong:
        problem = problem_of(memory, chosen)
        if chosen.problem != problem:
            wrong.append("the problem is not that of these buffers in this memory, all live at once")
        wrong += (str(violation) for violation in judge(problem, chosen.plan).violations)
    return has, replayed, wrong


def _figures(has: Counted, memory: Memory, chosen: Chosen) -> list[str]:
    beyond = None if memory.home is None else has.beyond
    wrong = [
        f"{what} {is_so}, not {says}"
        for what, is_so, says in (
            ("bytes moved:", has.bytes, chosen.bytes),
            ("number of tiles:", has.tiles, chosen.tiles),
            ("distance from multiples:", has.alignment, chosen.alignment),
            ("bytes of the buffers:", has.l1, chosen.l1),
            ("bytes from or to beyond:", beyond, chosen.beyond),
        )
        if is_so != says
    ]
    if has.l1 > memory.capacity:
        wrong.append(f"the buffers need {has.l1:,} bytes, more than the memory has")
    return wrong


def _moved(needs: list[Need], least: dict[str, int], memory: Memory, chosen: Chosen) -> list[str]:
    """What is wrong with what is said of each tensor."""
    counts = [
        (need.tensor, need.role, need.bytes, need.times, least[need.tensor])
        for need in needs
        if need.tensor is not None
    ]
    says = [(entry.tensor, entry.role, entry.bytes, entry.times, entry.least) for entry in chosen.moved]
    if says != counts:
        return [f"what moves is {counts}, not {says}"]
    away = sum(entry.bytes for entry in chosen.moved if entry.beyond)
    at_home = [entry.tensor for entry in chosen.moved if not entry.beyond]
    if away != (chosen.beyond or 0) or not memory.fits_home(at_home):
        return ["which tensors lie beyond is not what the bytes from beyond say"]
    return []
