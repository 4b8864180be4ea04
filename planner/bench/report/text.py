"""Figures of a report in words, the same in the page and in Markdown."""

from typing import Final

from memstow.planner.bench.analysis.best_known import Best
from memstow.planner.bench.analysis.means import SHIFT
from memstow.planner.bench.analysis.ratios import Bench
from memstow.planner.bench.analysis.summary import Row
from memstow.planner.bench.records.folder import commands
from memstow.planner.bench.records.record import Instance, Machine
from memstow.planner.show.formatting import count, human, plain, seconds

NONE: Final = "–"
LONGEST_NAME: Final = 80

SUMMARY_HEAD: Final = (
    "solver",
    "runs",
    "solved",
    "proven",
    "best known",
    "ratio",
    "time",
    "processor",
    "plan integral",
    "bound integral",
    "memory",
)
SUMMARY_NOTE: Final = (
    "solved: a valid plan, or a proof that there is none. best known: as good as the best known. ratio: "
    "geometric mean of the value by the best known, of the runs with a plan. time and processor: "
    f"geometric means shifted by {SHIFT:g} s; a run that is not solved counts with its whole time limit. "
    "integrals: mean of the gap to the best known value, of the plan and of the bound, over the time "
    "given: less is better."
)
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
    machines = {_machine(record.machine) for record in records}
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


def _machine(machine: Machine) -> str:
    memory = human(machine.memory)
    model = f" ({machine.model})" if machine.model else ""
    return f"{machine.cpus} processors{model}, {memory}, {machine.system}, Python {machine.python}"


def summary_cells(row: Row) -> tuple[str, ...]:
    """A row of the summary."""
    return (
        name(row.solver),
        _runs(row),
        count(row.solved),
        count(row.proven),
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
