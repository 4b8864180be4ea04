"""Figures of a report in words, and the table of its instances, the most interesting first."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from memstow.planner.bench.analysis import SHIFT, Bench, Best, RatedRun, Row
from memstow.planner.bench.compare import Duel
from memstow.planner.bench.journal import Run
from memstow.planner.bench.record import Instance, Layout, Machine, commands
from memstow.planner.model import Status
from memstow.planner.model.plan import Live, Placement, Plan, PoolUse, TermValue, gap_of
from memstow.planner.model.problem import PEAK, Problem, counted_once, profile, terms_of
from memstow.planner.show.formatting import count, human, plain, seconds


def recorded_plan(problem: Problem, run: Run, layout: Layout) -> Plan:
    """The plan, with what the solver claims of it; records have no certificates."""
    pools = problem.pools
    placements = tuple(
        Placement(buffer=buffer.id, pool=pools[pool].id, offset=offset)
        for buffer, pool, offset in zip(problem.buffers, layout.pool, layout.offset, strict=True)
    )
    return Plan(
        status=Status(run.record.status.value),
        placements=placements,
        pools=tuple(_use(problem, run, layout, index) for index in range(len(pools))),
        objective=tuple(
            TermValue(
                term=entry.term,
                value=entry.value,
                bound=entry.bound or 0,
                gap=float(gap_of(entry.value, entry.bound or 0)),
            )
            for entry in run.record.objective
        ),
        solver=run.solver,
        seconds=run.record.seconds,
    )


def _use(problem: Problem, run: Run, layout: Layout, index: int) -> PoolUse:
    pool = problem.pools[index]
    placed = zip(problem.buffers, layout.pool, layout.offset, strict=True)
    inside = {buffer.id: offset + buffer.size for buffer, at, offset in placed if at == index and buffer.size}
    # A record has the bound of the peak only if there is a single pool.
    bound = run.record.bound if len(problem.pools) == 1 and terms_of(problem)[:1] == (PEAK,) else None
    return PoolUse(
        pool=pool.id,
        capacity=pool.capacity,
        peak=max(inside.values(), default=0),
        bound=bound or 0,
        live=Live(bytes=profile(buffer for buffer in counted_once(problem) if buffer.id in inside).peak),
    )


NONE: Final = "–"
LONGEST_NAME: Final = 80

SUMMARY_HEAD: Final = (
    "solver",
    "runs",
    "solved",
    "proven",
    "checked",
    "best known",
    "ratio",
    "time",
    "processor",
    "plan integral",
    "bound integral",
    "memory",
)
SUMMARY_NOTE: Final = (
    "solved: a valid plan, or a proof that there is none. checked: the judge counted what was proven, or the "
    "checker accepted a proof of it. best known: as good as the best known. ratio: "
    "geometric mean of the value by the best known, of the runs with a plan. time and processor: "
    f"geometric means shifted by {SHIFT:g} s; a run that is not solved counts with its whole time limit. "
    "integrals: mean of the gap to the best known value, of the plan and of the bound, over the time "
    "given: less is better."
)
STATISTICS_HEAD: Final = (
    "solvers",
    "measure",
    "instances",
    "better",
    "equal",
    "worse",
    "mean",
    "95 %",
    "chance",
)
STATISTICS_NOTE: Final = (
    "Solvers are compared by pairs, on the instances that both ran: instances differ far more than solvers. "
    "Seeds are averaged first, since runs of one instance are not independent. better, worse: instances on "
    "which the second solver is. solved: by the sign test (McNemar's, exact), as the outcome is yes or no. "
    "value: of the plans where both have one, the geometric mean of second / first, since ratios are of one "
    "kind at any size; by Wilcoxon's signed-rank test of their logarithms, which assumes no normal "
    f"distribution. time: the same of the seconds with {SHIFT:g} s added, so that milliseconds count little; "
    "a run that is not solved counts with its whole limit. 95 %: a bootstrap of the mean. chance: how likely "
    "such a difference is where there is none, corrected for the number of tests (Holm). It is about "
    "instances like these."
)
SIGNIFICANT: Final = 0.05
INSTANCES_NOTE: Final = (
    "Of each solver the ratio to the best known and the seconds, medians over the seeds. "
    "✓: proven with every seed."
)


def name(text: str) -> str:
    """A name as it is shown."""
    return plain(text, most=LONGEST_NAME)


def instance_name(instance: Instance) -> str:
    """The name of an instance without the name of its family, which is shown beside it."""
    return name(instance.name.removeprefix(f"{instance.family},"))


def number(value: float | None) -> str:
    """A ratio or an integral."""
    return NONE if value is None else f"{value:.4f}"


def ratio(value: float) -> str:
    """A ratio; only an exact 1 is shown as 1."""
    if value == 1:
        return "1"
    return f"{value:.4f}" if value < 1_000 else f"{value:.3g}"


def best_known(best: Best | None) -> str:
    """The first term of the best plan known."""
    if best is None:
        return NONE
    return count(best.value[0]) if best.value else "fits"


def how_many(shown: int, there: int) -> str:
    """A sentence on the rows that a list leaves out; empty if there are none."""
    return f"The {count(shown)} of {count(there)} on which solvers differ most." if shown < there else ""


def facts(bench: Bench) -> list[tuple[str, str]]:
    """Solvers, limits and machines of the runs, as pairs of name and value."""
    records = [one.run.record for one in bench.rated]
    machines = {machine_text(record.machine) for record in records}
    versions = sorted({f"{r.solver.name} {r.solver.version}".strip() for r in records})
    seeds = {record.seed for record in records}
    limits = sorted({one.run.limit for one in bench.rated if "time_limit" in one.run.record.solver.options})
    pairs = [
        ("results", count(len(records))),
        ("instances", count(len({one.run.instance.digest for one in bench.rated}))),
        ("families", count(len(bench.families))),
        ("seeds", count(len(seeds))),
        ("solvers", ", ".join(map(name, versions))),
        ("time limit", ", ".join(map(seconds, limits)) or NONE),
        ("machine", "; ".join(sorted(map(plain, machines)))),
        ("load at the start", f"at most {max(r.machine.load for r in records):.2f}"),
    ]
    for one in commands(bench.results.path.parent):
        pairs.append(("command", plain(f"{one.command} ({one.began})")))
    if bench.results.unreadable:
        pairs.append(("lines that cannot be read", count(bench.results.unreadable)))
    return pairs


def machine_text(machine: Machine) -> str:
    """What counts for the figures of a machine, in a line."""
    memory = human(machine.memory)
    model = f" ({machine.model})" if machine.model else ""
    return f"{machine.cpus} processors{model}, {memory}, {machine.system}, Python {machine.python}"


def duel_cells(duel: Duel) -> tuple[str, ...]:
    """A comparison of two solvers as a row."""
    line = duel.line
    return (
        f"{name(duel.first)} -> {name(duel.second)}",
        line.measure,
        count(line.instances),
        count(line.better),
        count(line.instances - line.better - line.worse),
        count(line.worse),
        NONE if line.mean is None else f"{line.mean:.4f}",
        NONE if line.interval is None else f"{line.interval[0]:.4f}-{line.interval[1]:.4f}",
        NONE if line.chance is None else f"{line.chance:.2g}",
    )


_BETTER: Final = {"solved": "solved more", "value": "gave better plans", "time": "was faster"}


def duel_sentences(duels: Sequence[Duel]) -> list[str]:
    """What the comparisons show: a sentence for each difference that is hardly chance, one for the others."""
    sentences = []
    for duel in duels:
        line = duel.line
        if line.chance is None or line.chance >= SIGNIFICANT:
            continue
        second_wins = line.better > line.worse if line.mean is None else line.mean < 1
        winner, loser = (duel.second, duel.first) if second_wins else (duel.first, duel.second)
        better, worse = (line.better, line.worse) if second_wins else (line.worse, line.better)
        mean = "" if line.mean is None else f", mean ratio {line.mean if second_wins else 1 / line.mean:.4f}"
        sentences.append(
            f"{name(winner)} {_BETTER[line.measure]} than {name(loser)}: on {count(better)} of "
            f"{count(line.instances)} instances, worse on {count(worse)}{mean}, p = {line.chance:.2g}."
        )
    if len(sentences) < len(duels):
        rest = count(len(duels) - len(sentences))
        sentences.append(f"{rest} of {count(len(duels))} comparisons show no difference at {SIGNIFICANT:g}.")
    return sentences


def summary_cells(row: Row) -> tuple[str, ...]:
    """A row of the summary."""
    return (
        name(row.solver),
        _runs(row),
        count(row.solved),
        count(row.proven),
        count(row.checked),
        count(row.at_best),
        number(row.ratio),
        NONE if row.seconds is None else seconds(row.seconds),
        NONE if row.cpu_seconds is None else seconds(row.cpu_seconds),
        NONE if row.primal_integral is None else f"{row.primal_integral:.3f} s",
        NONE if row.dual_integral is None else f"{row.dual_integral:.3f} s",
        human(row.memory) if row.memory else NONE,
    )


def _runs(row: Row) -> str:
    less = [
        f"{count(many)} {what}"
        for many, what in ((row.failed, "failed"), (row.declined, "declined"), (row.missing, "missing"))
        if many
    ]
    return f"{count(row.runs)} ({', '.join(less)})" if less else count(row.runs)


@dataclass(frozen=True, slots=True)
class Cell:
    """The results of a solver on an instance, over all seeds."""

    value: str
    time: str
    proven: bool
    at_best: bool


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """An instance."""

    instance: Instance
    best: Best | None
    bound: int | None
    """The highest bound that nothing speaks against."""
    cells: tuple[Cell, ...]
    best_run: RatedRun | None
    """A run with the best plan of these results."""
    spread: float
    """How far solvers are apart: the worst ratio; infinite where one has no plan."""


def instance_rows(bench: Bench) -> list[InstanceRow]:
    """A row for each instance, in the order of family, size and name."""
    by_digest: dict[str, list[RatedRun]] = {}
    for one in bench.rated:
        by_digest.setdefault(one.run.instance.digest, []).append(one)
    refuted = {one.run.place for one in bench.contradictions}
    rows = [_row(runs, bench.solvers, refuted) for runs in by_digest.values()]
    return sorted(
        rows,
        key=lambda row: (
            row.instance.family,
            row.instance.features.get("buffers", 0),
            row.instance.name,
            row.instance.digest,
        ),
    )


def most_telling(rows: Iterable[InstanceRow], most: int) -> list[InstanceRow]:
    """The rows on which solvers differ most, at most `most`, in their order."""
    ordered = list(rows)
    if len(ordered) <= most:
        return ordered
    places = sorted(range(len(ordered)), key=lambda place: (-ordered[place].spread, place))[:most]
    return [ordered[place] for place in sorted(places)]


def _row(runs: Sequence[RatedRun], solvers: Sequence[str], refuted: set[int]) -> InstanceRow:
    by_solver: dict[str, list[RatedRun]] = {solver: [] for solver in solvers}
    for one in runs:
        by_solver[one.run.solver].append(one)
    bounds = [
        o.run.record.bound for o in runs if o.run.place not in refuted and o.run.record.bound is not None
    ]
    valid = [one for one in runs if one.run.value is not None]
    ratios = [math.inf if one.ratio is None else one.ratio for one in runs]
    return InstanceRow(
        instance=runs[0].run.instance,
        best=runs[0].best,
        bound=max(bounds, default=None),
        cells=tuple(_cell(mine) for mine in by_solver.values()),
        best_run=min(valid, key=lambda one: (one.run.value, not one.proven), default=None),
        spread=max(ratios),
    )


def _cell(runs: Sequence[RatedRun]) -> Cell:
    if not runs:
        return Cell(NONE, "", False, False)
    ratios = [one.ratio for one in runs if one.ratio is not None]
    proven = all(one.proven for one in runs)
    time = seconds(median(one.run.record.seconds for one in runs))
    if not ratios:
        return Cell(runs[0].run.record.status.value, time, proven, False)
    middle = median(ratios)
    less = f" ({len(ratios)} of {len(runs)})" if len(ratios) < len(runs) else ""
    return Cell(ratio(middle) + less, time, proven, middle <= 1)
