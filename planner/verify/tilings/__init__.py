"""The independent judge of tilings.

In: a graph and a tiling of one of its operators, from any source. Out: what is wrong with it. It takes the
memory from the graph and the options, and reads the operator with code of its own. It counts every figure
again, walks through every step with the tiles that are in the buffers, and looks for better tiles than the
tiling has, where this says that there are none.
"""

from dataclasses import dataclass, replace

from memstow.planner.model.graph import Graph, Operator
from memstow.planner.model.graph_index import index_of
from memstow.planner.model.plan import Plan, Status
from memstow.planner.model.tiling import Chosen, FrontTile, Tile, Tiling, Tilings, together
from memstow.planner.verify import judge
from memstow.planner.verify.effort import Effort
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.tilings.buffers import check_buffers, problem_of
from memstow.planner.verify.tilings.claims import Statements
from memstow.planner.verify.tilings.counts import (
    LOOPS,
    Counted,
    Need,
    Ways,
    counted,
    extents_of,
    keeps_output,
    needs_of,
    what_is_wrong_with_tile,
)
from memstow.planner.verify.tilings.family import MOST_LOOKED_AT, Family
from memstow.planner.verify.tilings.front import check_front
from memstow.planner.verify.tilings.memory import Memory, memory_of
from memstow.planner.verify.tilings.pieces import check_pieces
from memstow.planner.verify.tilings.reading import Reading, read
from memstow.planner.verify.tilings.walk import MOST_STEPS, walk
from memstow.planner.verify.verdict import Claim, Claims, Subject, Verdict

_MOST_FOR_ALL = 4_000_000
"""Tiles that are looked at for all operators of a graph."""


@dataclass(frozen=True, slots=True)
class TilingVerdict:
    """What the judge found."""

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
        found = verify_tiling(graph, tilings)
        for wrong in found.wrong:
            findings.add(Code.TILING, "{}", wrong)
        return Verdict(tuple(findings.violations()), found.claims)
    effort = Effort(_MOST_FOR_ALL)
    claims: list[Claim] = []
    if [it.operator for it in tilings.tilings] != [it.id for it in graph.operators]:
        findings.add(
            Code.TILING, "the tilings are not those of the operators of the graph, each once in order"
        )
    for tiling in tilings.tilings:
        if findings.full(Code.TILING):
            findings.cut_short(Code.TILING)
            break
        found = _judged(graph, tiling, effort)
        for wrong in found.wrong:
            findings.add(Code.TILING, "{!r}: {}", tiling.operator, wrong)
        claims += (replace(it, says=f"{tiling.operator!r}: {it.says}") for it in found.claims)
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
    if tiling.why_not is not None and any(it is not None for it in numbers):
        wrong.append("the operator has no tiles, and the tiling has figures of some")
    if tiling.looked_at or tiling.replayed:
        wrong.append("no tile was looked at where the operator has none")
    return TilingVerdict(tuple(wrong))


def _layer(ways: Ways, memory: Memory, tiling: Tiling) -> list[str]:
    """What is wrong with what is said of the operator as a whole."""
    wrong = []
    least = sum(ways.found.least().values())
    if tiling.least != least:
        wrong.append(f"{least:,} bytes are needed, not {tiling.least}")
    whole = Tile(*extents_of(ways.found))
    cuts = ways.cuts(whole)
    l1 = counted(needs_of(ways.found, cuts, LOOPS, ways.options), cuts, ways.options, memory).l1
    fits = l1 <= memory.capacity
    if tiling.whole is None or (tiling.whole.l1, tiling.whole.fits) != (l1, fits):
        wrong.append(f"as one tile it needs {l1:,} bytes, and {'fits' if fits else 'does not fit'}")
    if (tiling.front is not None) != tiling.options.front:
        wrong.append("there is a front" if tiling.front is not None else "there is no front")
        wrong[-1] += ", and the options say another thing"
    return wrong


def _chosen(ways: Ways, memory: Memory, chosen: Chosen) -> tuple[Counted | None, bool, list[str]]:
    """The figures of the best tile, whether all steps were walked through, and what is wrong with it."""
    found, options = ways.found, ways.options
    mistake = what_is_wrong_with_tile(found, chosen.tile)
    wrong = [mistake] if mistake is not None else list(check_pieces(found, chosen))
    if not wrong and sorted(chosen.loops) != sorted(LOOPS):
        wrong.append("the loops are not each direction once")
    if wrong:
        return None, False, wrong
    cuts = ways.cuts(chosen.tile)
    needs = needs_of(found, cuts, chosen.loops, options)
    has = counted(needs, cuts, options, memory)
    if not keeps_output(needs, cuts):
        wrong.append("a tile of the output goes away before it is done")
    replayed = has.tiles <= MOST_STEPS
    if replayed and not walk(found, chosen.pieces, chosen.loops).shows(needs):
        wrong.append("the steps do not need and move what was counted")
    wrong += _figures(has, memory, chosen)
    wrong += _moved(needs, found.least(), memory, chosen)
    wrong += check_buffers(needs, memory, options, chosen)
    if not wrong:
        problem = problem_of(memory, chosen)
        if chosen.problem != problem:
            wrong.append("the problem is not that of these buffers in this memory, all live at once")
        wrong += (str(it) for it in judge(problem, chosen.plan).violations)
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
        (it.tensor, it.role, it.bytes, it.times, least[it.tensor]) for it in needs if it.tensor is not None
    ]
    says = [(it.tensor, it.role, it.bytes, it.times, it.least) for it in chosen.moved]
    if says != counts:
        return [f"what moves is {counts}, not {says}"]
    away = sum(it.bytes for it in chosen.moved if it.beyond)
    at_home = [it.tensor for it in chosen.moved if not it.beyond]
    if away != (chosen.beyond or 0) or not memory.fits_home(at_home):
        return ["which tensors lie beyond is not what the bytes from beyond say"]
    return []
