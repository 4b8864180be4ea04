"""The documents of a batch: its table of jobs, and its results. A thousand jobs take a moment to write."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Final

from memstow.api.http.responses import JsonObject
from memstow.api.store.job import Batch, Job, timestamp

_FIGURES: Final = ("state", "status", "value", "peak", "bound", "gap", "solver", "error")
COLUMNS: Final = ("problem", "setting", "job", *_FIGURES[:-1], "seconds", "error")
"""Of the results as CSV."""


def batch_document(batch: Batch, jobs: Sequence[Job]) -> JsonObject:
    """The batch, with the figures of each job by problem and setting."""
    table: dict[str, JsonObject] = {}
    for job in jobs:
        table.setdefault(job.name or "", {})[job.setting or ""] = {"job": job.id, **_figures(job)}
    return {
        "id": batch.id,
        "name": batch.name,
        "created": timestamp(batch.created),
        "jobs": len(jobs),
        "states": dict(Counter(job.state.value for job in jobs)),
        "done": all(job.over for job in jobs),
        "table": table,
    }


def results(jobs: Sequence[Job]) -> list[JsonObject]:
    """A row for each job."""
    return [_row(job) for job in jobs]


def results_csv(jobs: Sequence[Job]) -> bytes:
    """The same as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(results(jobs))
    return text.getvalue().encode()


def _row(job: Job) -> JsonObject:
    took = None if job.started is None or job.finished is None else round(job.finished - job.started, 3)
    return {
        "problem": job.name,
        "setting": job.setting,
        "job": job.id,
        "seconds": took,
        **_figures(job),
    }


def _figures(job: Job) -> JsonObject:
    return {
        "state": job.state.value,
        "status": job.status,
        "value": job.value,
        "peak": job.plan_peak,
        "bound": job.bound,
        "gap": job.gap,
        "solver": job.solver,
        "error": job.error,
    }
