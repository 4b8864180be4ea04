"""The report of a plan for people: figures, who found it, why not, and a picture."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.model import Status
from memstow.planner.model.plan import Arena, Arenas, Explanation, Plan, PoolUse, gap_of, peaks
from memstow.planner.model.problem import PEAK, Problem, parse_term
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import PlainPlan, plan_of, problem_of
from memstow.planner.show.formatting import count, names, percent, plain, seconds, table, time_text
from memstow.planner.show.text_picture import Glyphs, columns_in, maps, shaded_map

if TYPE_CHECKING:
    # It brings all of the engine, which a report of a plan does not need.
    from memstow.planner.explain.needs import Kind, Need, Needs
    from memstow.planner.explain.shortfall import Change, Shortfall
    from memstow.planner.graph.graph_document import Label
    from memstow.planner.model.programs import Programs

PICTURE_ROWS: Final = 12
MOST_RELEASES: Final = 20
MOST_MOMENTS: Final = 5
_CONFIRMED: Final = {
    "shrunk": "confirmed by a plan: with these buffers smaller by so much, one exists",
    "left_out": "confirmed by a plan: without these buffers, one exists; with them smaller, none was found",
    None: "by live bytes alone: whether a plan exists then, the solvers have not found out",
}
# One of them, and several.
_KINDS: Final[dict["Kind", tuple[str, str]]] = {
    "reserved": ("reserved range", "reserved ranges"),
    "pool_alignment": ("alignment of a pool", "alignments of pools"),
    "offset": ("pin to an offset", "pins to an offset"),
    "pool": ("pin to a pool", "pins to a pool"),
    "pools": ("list of allowed pools", "lists of allowed pools"),
    "alignment": ("alignment of a buffer", "alignments of buffers"),
    "conflict": ("listed conflict", "listed conflicts"),
    "relative": ("tie of `relative`", "ties of `relative`"),
}


def plan_report(
    problem: Problem, plan: Plan, width: int, glyphs: Glyphs, labels: "Mapping[str, Label] | None" = None
) -> str:
    """The answer for a person: figures, who found it, and a picture. `labels` say by id what buffers are."""
    match plan.status:
        case Status.INFEASIBLE:
            lines = _infeasible(plan)
        case Status.UNKNOWN:
            lines = _unknown(plan)
        case _:
            bases = {pool.id: pool.base for pool in problem.pools if pool.base is not None}
            drawn = maps(problem, plan, width, PICTURE_ROWS, glyphs, labels)
            lines = plan_lines(plan, len(plan.placements), bases, drawn)
    return "\n".join(lines)


def use_by_program(programs: "Programs", problem: Problem, plan: Plan) -> str:
    """Up to where each program needs each pool, of the plan of all."""
    from memstow.planner.programs import program_plans

    cells = []
    own = program_plans(plan)
    for program in programs.programs:
        highest = peaks(program.problem, own[program.id].placements) if program.id in own else {}
        cells += [
            (plain(program.id, most=60), plain(pool.id, most=60), count(highest[pool.id]))
            for pool in problem.pools
            if pool.id in highest
        ]
    return "\n".join(table(("program", "pool", "bytes"), cells))


def plan_lines(plan: Plan, placed: int, bases: dict[str, int], drawn: list[str]) -> list[str]:
    """The figures of a plan, so many buffers of which are placed, and its picture."""
    lines = table(
        ("pool", "capacity", "peak", "bound", "gap", *(["addresses"] if bases else [])),
        [
            (
                plain(use.pool, most=40),
                "unlimited" if use.capacity is None else count(use.capacity),
                count(use.peak),
                count(use.bound),
                _gap(plan, use),
                *([_addresses(bases.get(use.pool), use.peak)] if bases else []),
            )
            for use in plan.pools
        ],
    )
    if [term.term for term in plan.objective] not in ([], [str(PEAK)]) or (
        len(plan.pools) > 1 and plan.objective
    ):
        rows = [
            (plain(t.term, most=40), count(t.value), count(t.bound), percent(t.gap)) for t in plan.objective
        ]
        lines += ["", *table(("objective", "value", "bound", "gap"), rows)]
    # Nothing was to be minimised: that it fits is all there is to say.
    status = plan.status if plan.objective else "fits"
    parts = [f"{status}: {placed:,} {'buffer' if placed == 1 else 'buffers'} placed"]
    if plan.solver is not None:
        parts.append(f"found by {plain(plan.solver)}")
    kinds = dict.fromkeys(term.certificate.kind for term in plan.objective if term.certificate is not None)
    if plan.status is Status.OPTIMAL and plan.objective:
        by = f" by {plain(plan.prover)}" if plan.prover is not None else ""
        how = f" ({', '.join(kinds)})" if kinds else ""
        parts.append(f"proven{by}{how}")
    lines += ["", ", ".join(parts) + f", {seconds(plan.seconds)}"]
    return lines + (["", *drawn] if drawn else [])


def _addresses(base: int | None, peak: int) -> str:
    """From the base of the pool to behind its last buffer."""
    return "" if base is None or not peak else f"{base:#x}-{base + peak:#x}"


def _gap(plan: Plan, use: PoolUse) -> str:
    """The gap of a pool whose peak is the first term; no other pool has one."""
    first = parse_term(plan.objective[0].term) if plan.objective else None
    wanted = first is not None and first.is_peak_of(use.pool, len(plan.pools))
    return percent(gap_of(use.peak, use.bound)) if wanted else "-"


def _infeasible(plan: Plan) -> list[str]:
    lines = [f"infeasible: proven in {seconds(plan.seconds)} that no plan fits"]
    return lines if plan.explanation is None else lines + _why(plan.explanation)


def _why(why: Explanation) -> list[str]:
    lines = [f"  {plain(why.message)}"]
    facts = [
        ("pool", None if why.pool is None else plain(why.pool)),
        ("time", None if why.time is None else str(why.time)),
        ("needed", None if why.needed is None else count(why.needed)),
        ("capacity", None if why.capacity is None else count(why.capacity)),
        ("reserved", None if not why.reserved else count(why.reserved)),
        ("buffers", names(why.buffers) if why.buffers else None),
    ]
    return lines + [f"  {fact:<9} {text}" for fact, text in facts if text is not None]


def _unknown(plan: Plan) -> list[str]:
    lines = [
        f"unknown: no plan that fits was found in {seconds(plan.seconds)}, and no proof that there is none"
    ]
    return lines + [
        f"  the closest attempt needs {count(over.peak)} in {plain(over.pool)}, "
        f"{count(over.peak - over.capacity)} more than its capacity of {count(over.capacity)}"
        for over in plan.closest
    ]


def needs_report(needs: "Needs") -> str:
    """The changes that would make a plan possible, as text."""
    match needs.plan.status:
        case Status.INFEASIBLE:
            lines = _infeasible(needs.plan)
        case Status.UNKNOWN:
            lines = ["not decided within the time whether a plan exists"]
        case _:
            lines = ["a plan exists"]
    if needs.pools:
        lines += ["", *table(("pool", "capacity", "needs"), [_need_row(need) for need in needs.pools])]
    for shortfall in needs.shortfalls or ():
        lines += ["", *_shortfall_lines(shortfall)]
    if needs.shortfalls:
        lines.append(_CONFIRMED[needs.confirmed])
    return "\n".join([*lines, *_release_lines(needs)])


def _shortfall_lines(shortfall: "Shortfall") -> list[str]:
    """The moments that need more than there is, and the fewest buffers that must change."""
    pool, several = plain(shortfall.pool, most=40), shortfall.moments > 1
    moments = f"{shortfall.moments:,} moments have" if several else "1 moment has"
    lines = [f"{pool}: {moments} more live than {count(shortfall.room)} bytes"]
    rows = [
        (
            "always"
            if entry.begin is None or entry.end is None
            else f"{time_text(entry.begin)} until {time_text(entry.end)}",
            names(entry.buffers, 3),
            count(entry.live),
            count(len(entry.buffers)),
        )
        for entry in shortfall.hardest[:MOST_MOMENTS]
    ]
    lines += table(("when", "largest first", "live bytes", "buffers"), rows, left=2)
    if shortfall.moments > len(rows):
        lines.append(f"  and {shortfall.moments - len(rows):,} more")
    buffers = "1 buffer" if shortfall.count == 1 else f"{shortfall.count:,} buffers"
    if shortfall.least == shortfall.count:
        proof = "and no fewer will do" if shortfall.count > 1 else "which is enough for live bytes"
    else:
        proof = f"perhaps fewer will do, but not fewer than {shortfall.least:,}"
    lines += ["", f"{pool}: {buffers} must change, {proof}; for each of them, one of:"]
    header = ("buffer", "size", "smaller by", "or not there", "or in", "or instead")
    lines += table(header, [_change_row(change) for change in shortfall.changes], left=1)
    if shortfall.count > len(shortfall.changes):
        lines.append(f"  and {shortfall.count - len(shortfall.changes):,} smaller buffers")
    return lines


def _change_row(change: "Change") -> tuple[str, ...]:
    away = change.away
    if away is None:
        when = "at all"
    elif not away.lives_after:
        when = f"from {time_text(away.begin)} on"
    elif not away.lives_before:
        when = f"before {time_text(away.end)}"
    else:
        when = f"{time_text(away.begin)} until {time_text(away.end)}"
    return (
        plain(change.buffer, most=40),
        count(change.size),
        count(change.shrink),
        when,
        _first_names(change.pools),
        _first_names(change.instead),
    )


def _first_names(ids: Sequence[str]) -> str:
    return ", ".join([*(plain(name, most=40) for name in ids[:2]), *(["..."] if len(ids) > 2 else [])]) or "-"


def _need_row(need: "Need") -> tuple[str, str, str]:
    if need.bound is None:
        needs = "no capacity of it alone is enough"
    elif need.least is not None:
        needs = count(need.least)
    else:
        enough = "not known" if need.enough is None else count(need.enough)
        needs = f"at least {count(need.bound)}; enough: {enough}"
    return plain(need.pool, most=40), count(need.capacity), needs


def _release_lines(needs: "Needs") -> list[str]:
    """A line for each constraint that the problem was tried without, with the result."""
    if needs.plan.status is not Status.INFEASIBLE:
        return []
    helping = [release.removal for release in needs.releases if release.helps]
    everything = len(needs.releases) + needs.untried
    open_ended = sum(release.helps is None for release in needs.releases) + needs.untried
    lines = [""]
    if helping:
        lines.append("a plan exists without any one of these:")
    elif not everything:
        lines += [
            "no reserved range, alignment, pin, list of pools, conflict or tie stands in the way:",
            f"  {_advice(needs)}",
        ]
    elif not open_ended:
        # Imported late: few reports say this.
        from textwrap import wrap

        lines += [
            *wrap(f"tried without one constraint at a time: {_kinds(needs)}", 100, subsequent_indent="  "),
            f"leaving out any one of them is not enough: {_advice(needs)}",
        ]
    lines += [f"  {plain(removal.message)} ({removal.path})" for removal in helping[:MOST_RELEASES]]
    if len(helping) > MOST_RELEASES:
        lines.append(f"  and {len(helping) - MOST_RELEASES:,} more")
    if open_ended:
        lines.append(f"constraints not decided within the time: {open_ended:,} of {everything:,}")
    return lines


def _kinds(needs: "Needs") -> str:
    """How many of each kind of constraint were tried."""
    counted = Counter(_KINDS[release.removal.kind] for release in needs.releases)
    return ", ".join(f"{number:,} {kind[number > 1]}" for kind, number in counted.items())


def _advice(result: "Needs") -> str:
    """The advice where no single constraint is to blame."""
    larger = [plain(need.pool, most=40) for need in result.pools if need.bound is not None]
    if larger:
        return f"it takes more capacity, as above, of {' or '.join(larger[:8])}, or smaller buffers"
    return "it takes more than one change"


# Few buffers are named by letters, and few objects take no time.
_FEW: Final = 200


def plain_report(columns: Columns, plan: PlainPlan, width: int, glyphs: Glyphs) -> str:
    """The answer for a person: figures, who found it, and a picture."""
    drawable = len(columns) if len(columns) <= _FEW else len(columns) - columns.sizes.tolist().count(0)
    if drawable <= _FEW:
        problem = problem_of(columns)
        return plan_report(problem, plan_of(columns, plan, problem), width, glyphs)
    room = columns_in(width)
    raw, levels = columns.picture(plan.offsets, room, PICTURE_ROWS)
    times = array("q")
    times.frombytes(raw)
    rows = [levels[begin : begin + room] for begin in range(0, len(levels), room)]
    drawn = shaded_map(plan.frame.pools[0], drawable, times, rows, width, glyphs)
    return "\n".join(plan_lines(plan.frame, len(columns), {}, drawn))


_UNKNOWN: Final = "?"
_NO_MORE: Final = "-"


def arena_report(arenas: Arenas, is_written: bool, width: int) -> str:
    """The arena of a model as it is and with the plan, and why it shrinks or does not."""
    from textwrap import wrap

    shown = [entry for entry in (arenas.before, arenas.after) if entry is not None]
    headings = ("as it is", "as written" if is_written else "with the plan")
    lines = _table(shown, headings[: len(shown)]) if shown else []
    for note in arenas.notes:
        lines += wrap(plain(note), width, subsequent_indent="  ")
    return "\n".join(lines)


def _table(arenas: Sequence[Arena], headings: Sequence[str]) -> list[str]:
    rows: Sequence[tuple[str, Callable[[Arena], str]]] = (
        ("head: tensors and scratch", lambda entry: _figure(entry.head, _UNKNOWN)),
        ("planning, in its place", lambda entry: _figure(entry.planning, _NO_MORE)),
        ("tail: what stays", lambda entry: _figure(entry.tail, _UNKNOWN)),
        ("least arena", _least),
    )
    cells = [(f"  {name}", *(pick(arena) for arena in arenas)) for name, pick in rows]
    return table(("TensorFlow Lite Micro, bytes", *headings), cells)


def _least(arena: Arena) -> str:
    if arena.least is not None:
        return count(arena.least)
    return _UNKNOWN if arena.head is None else f"tail + {max(arena.head, arena.planning or 0):,}"


def _figure(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else count(value)
