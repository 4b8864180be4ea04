"""A survey of a problem, as text and as data: counts, sizes, pools, live bytes, hardest moments."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.check import require_valid
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import (
    ALWAYS,
    Moment,
    Problem,
    Profile,
    allowed_pools,
    counted_once,
    hardest,
    has_bank_rule,
    profile,
    reserved_bytes,
    spans,
)
from memstow.planner.reduce import reduce
from memstow.planner.show.formatting import (
    count,
    human,
    names,
    plain,
    short_name,
    shown_label,
    table,
    time_text,
)
from memstow.planner.show.text_picture import Glyphs, chart
from memstow.planner.solve.bounds import Bounds
from memstow.records import as_dict, record

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label

CHART_ROWS: Final = 10
MOST_POOLS: Final = 50
MOST_ALIGNMENTS: Final = 8
MOST_LABELS: Final = 12


@record
class _BufferSummary:
    count: int
    bytes: int
    smallest: int
    median: int
    largest: int
    empty: int
    always: int
    timeless: int
    several_lifetimes: int
    pinned: int
    alignments: dict[str, int]
    """The number of buffers by alignment."""


@record
class _PoolSummary:
    pool: str
    capacity: int | None
    alignment: int
    reserved: int
    cost: int
    may_hold: int
    """Buffers that may be in the pool."""
    must_hold: int
    """Buffers that may be in no other."""
    bound: int | None


@record
class _Proven:
    """Proofs without a search: a bound on the peak of each pool, or why nothing fits."""

    bounds: Mapping[str, int]
    misfit: Explanation | None


def facts(problem: Problem, rows: int, labels: "Mapping[str, Label] | None" = None) -> dict[str, Any]:
    """The survey as a JSON object. `labels` say by id what buffers are."""
    known_labels = labels or {}
    proven = _proven(problem)
    counted = counted_once(problem)
    steps = profile(counted)
    return {
        "name": problem.name,
        "objective": list(problem.terms()),
        "buffers": as_dict(_buffers(problem)),
        "constraints": _constraints(problem),
        "time": _time(steps),
        "pools": [as_dict(pool) for pool in _pools(problem, proven.bounds)],
        "misfit": None if proven.misfit is None else proven.misfit.message,
        "peak_live": steps.peak,
        "hardest": [
            {
                "begin": moment.begin,
                "end": moment.end,
                "live": moment.live,
                "count": len(moment.buffers),
                "largest": [
                    {
                        "buffer": b.id,
                        "size": b.size,
                        **({"label": str(known_labels[b.id])} if b.id in known_labels else {}),
                    }
                    for b in moment.buffers[:5]
                ],
            }
            for moment in hardest(counted, steps, rows)
        ],
    }


def survey(
    problem: Problem, rows: int, width: int, glyphs: Glyphs, labels: "Mapping[str, Label] | None" = None
) -> str:
    """The survey in words, with a chart. `labels` say by id what buffers are."""
    counted = counted_once(problem)
    steps = profile(counted)
    proven = _proven(problem)
    lines = _heading(problem, steps)
    lines += ["", *_pool_table(_pools(problem, proven.bounds))]
    if proven.misfit is not None:
        lines += ["", f"nothing fits: {plain(proven.misfit.message)}"]
    drawn = chart(steps, width, CHART_ROWS, glyphs)
    if drawn:
        lines += ["", f"live bytes over time, at most {count(steps.peak)} ({human(steps.peak)})", *drawn]
    else:
        lines += _timeless(steps)
    moments = hardest(counted, steps, rows)
    if moments:
        cells = [
            (
                f"{time_text(m.begin)} until {time_text(m.end)}",
                names([b.id for b in m.buffers], 3),
                count(m.live),
                count(len(m.buffers)),
            )
            for m in moments
        ]
        lines += ["", *table(("hardest moments", "largest first", "live bytes", "buffers"), cells, left=2)]
        if labels:
            lines += ["", *_label_table(moments[0], labels, width)]
    return "\n".join(lines)


def _proven(problem: Problem) -> _Proven:
    require_valid(problem)
    reduction = reduce(problem)
    if isinstance(reduction, Explanation):
        return _Proven({}, reduction)
    bounds = Bounds(reduction)
    return _Proven(
        {pool.id: bounds.of_pool(i).value for i, pool in enumerate(problem.pools)}, bounds.misfit()
    )


def _buffers(problem: Problem) -> _BufferSummary:
    sizes = [buffer.size for buffer in problem.buffers]
    return _BufferSummary(
        count=len(sizes),
        bytes=sum(sizes),
        smallest=min(sizes, default=0),
        median=median_low(sizes) if sizes else 0,
        largest=max(sizes, default=0),
        empty=sizes.count(0),
        always=sum(buffer.lifetime == ALWAYS for buffer in problem.buffers),
        timeless=sum(buffer.lifetime is None and buffer.lifetimes is None for buffer in problem.buffers),
        several_lifetimes=sum(len(buffer.lifetimes or ()) > 1 for buffer in problem.buffers),
        pinned=sum(buffer.offset is not None for buffer in problem.buffers),
        alignments={str(a): n for a, n in sorted(Counter(b.alignment for b in problem.buffers).items())},
    )


def _constraints(problem: Problem) -> dict[str, int]:
    return {
        "conflicts": len(problem.conflicts),
        "exclusive": len(problem.exclusive),
        "relative": len(problem.relative),
        "in_place": len(problem.in_place),
        "reuse_costs": len(problem.reuse_costs),
        "bound_to_banks": sum(map(has_bank_rule, problem.buffers)),
        "bank_conflicts": len(problem.bank_conflicts),
    }


def _time(steps: Profile) -> dict[str, int] | None:
    if not steps.live:
        return None
    return {"begin": steps.times[0], "end": steps.times[-1], "steps": len(steps.live)}


def _pools(problem: Problem, bounds: Mapping[str, int]) -> list[_PoolSummary]:
    only: Counter[str] = Counter()
    may: Counter[str] = Counter()
    everywhere = 0
    for buffer in problem.buffers:
        if buffer.pool is None and buffer.pools is None and len(problem.pools) > 1:
            # Most buffers of a large problem name no pool: count them together.
            everywhere += 1
            continue
        allowed = allowed_pools(problem, buffer)
        if len(allowed) == 1:
            only[allowed[0]] += 1
        may.update(allowed)
    return [
        _PoolSummary(
            pool=pool.id,
            capacity=pool.capacity,
            alignment=pool.alignment,
            reserved=reserved_bytes(pool),
            cost=pool.cost,
            may_hold=may[pool.id] + everywhere,
            must_hold=only[pool.id],
            bound=bounds.get(pool.id),
        )
        for pool in problem.pools
    ]


def _heading(problem: Problem, steps: Profile) -> list[str]:
    buffers = _buffers(problem)
    lines = [f"name       {plain(problem.name, most=200)}"] if problem.name else []
    kinds = [
        ("empty", buffers.empty),
        ("always live", buffers.always),
        ("without lifetime", buffers.timeless),
    ]
    kinds += [("with several lifetimes", buffers.several_lifetimes), ("pinned", buffers.pinned)]
    listed = ", ".join(f"{n:,} {kind}" for kind, n in kinds if n)
    lines.append(f"buffers    {buffers.count:,} of {count(buffers.bytes)} bytes in all")
    if listed:
        lines.append(f"of these   {listed}")
    if problem.buffers:
        sizes = f"{count(buffers.smallest)} to {count(buffers.largest)}, median {count(buffers.median)}"
        lines.append(f"sizes      {sizes}")
        by_count = Counter(buffers.alignments).most_common()
        shown = ", ".join(f"{a} ({n:,})" for a, n in by_count[:MOST_ALIGNMENTS])
        more = ", ..." if len(by_count) > MOST_ALIGNMENTS else ""
        lines.append(f"alignment  {shown}{more}")
    if steps.live:
        lengths = sorted(end - begin for buffer in problem.buffers for begin, end in spans(buffer))
        noun = "step" if len(steps.live) == 1 else "steps"
        begin, end, shortest, median, longest = map(
            time_text, (steps.times[0], steps.times[-1], lengths[0], median_low(lengths), lengths[-1])
        )
        span = f"{begin} to {end}, {len(steps.live):,} {noun}"
        lines.append(f"time       {span}; lives of {shortest} to {longest}, median {median}")
    listed = ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in _constraints(problem).items() if n)
    if listed:
        lines.append(f"besides    {listed}")
    lines.append(f"objective  {', '.join(map(plain, problem.terms())) or 'any plan that fits'}")
    return lines


def _timeless(steps: Profile) -> list[str]:
    """Lines about buffers that are always live or have no lifetimes."""
    lines = []
    if steps.always:
        live = f"{count(steps.always)} bytes ({human(steps.always)})"
        lines = ["", f"always live: {live}; nothing changes over time"]
    if steps.timeless:
        lines += ["", "no lifetimes: what may not share bytes is what the problem lists as conflicts"]
    return lines


def _pool_table(pools: Sequence[_PoolSummary]) -> list[str]:
    header = ("pool", "capacity", "alignment", "reserved", "cost", "may hold", "must hold", "bound")
    rows = [
        (
            short_name(p.pool),
            "unlimited" if p.capacity is None else count(p.capacity),
            *map(count, (p.alignment, p.reserved, p.cost, p.may_hold, p.must_hold)),
            "-" if p.bound is None else count(p.bound),
        )
        for p in pools[:MOST_POOLS]
    ]
    more = [f"({len(pools) - MOST_POOLS:,} more pools)"] if len(pools) > MOST_POOLS else []
    return table(header, rows) + more


def _label_table(moment: Moment, labels: "Mapping[str, Label]", width: int) -> list[str]:
    """What the largest buffers of a moment are."""
    largest = moment.buffers[:MOST_LABELS]
    header = ("largest then", "bytes")
    lines = table(header, [(short_name(b.id), count(b.size)) for b in largest])
    room = width - max(map(len, lines)) - 2
    shown = [shown_label(labels[b.id], room) if b.id in labels else "" for b in largest]
    return [f"{line}  {what}".rstrip() for line, what in zip(lines, ["made by", *shown], strict=True)]
