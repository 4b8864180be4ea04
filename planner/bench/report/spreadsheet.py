"""The report as CSV: every run in full, and the summary."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields

from memstow.planner.bench.analysis.ratios import Bench, RatedRun
from memstow.planner.bench.analysis.summary import Row

WORK = ("nodes", "steps")


def runs_csv(bench: Bench) -> str:
    """A line for each run."""
    head = [
        "family",
        "instance",
        "digest",
        "buffers",
        "solver",
        "version",
        "seed",
        "status",
        "valid",
        "value",
        "bound",
        "best",
        "ratio",
        "proven",
        "repeats",
        "seconds",
        "cpu_seconds",
        "reported_seconds",
        "limit",
        "peak_memory",
        "primal_integral",
        "dual_integral",
    ]
    return _written((*head, *WORK, "error"), map(_run, bench.rated))


def summary_csv(rows: Sequence[Row]) -> str:
    """A line for each solver and family."""
    return _written([field.name for field in fields(Row)], (asdict(row).values() for row in rows))


def _run(one: RatedRun) -> tuple[object, ...]:
    run, record = one.run, one.run.record
    return (
        run.instance.family,
        run.instance.name,
        run.instance.digest,
        run.instance.features.get("buffers"),
        run.solver,
        record.solver.version,
        record.seed,
        record.status.value,
        int(run.valid),
        " ".join(map(str, run.value)) if run.value is not None else None,
        record.bound,
        " ".join(map(str, one.best.value)) if one.best is not None else None,
        one.ratio,
        int(one.proven),
        record.repeats,
        record.seconds,
        record.cpu_seconds,
        record.reported_seconds,
        run.limit,
        record.peak_memory,
        round(one.primal_integral, 6),
        round(one.dual_integral, 6),
        *(record.work.get(kind) for kind in WORK),
        record.error,
    )


def _written(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
