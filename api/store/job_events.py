"""The events of jobs in the store."""

import json
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, func, insert, select

from memstow.api.store.database import Database
from memstow.api.store.job import JobEvent, Progress, State, StoredEvent
from memstow.api.store.tables import events, jobs

# Events that are kept of one job; the last one is always written.
MOST_EVENTS: Final = 2_000
_JOBS_AT_ONCE: Final = 500


def append_events(connection: Connection, job: str, added: Sequence[JobEvent], *, last: bool = False) -> None:
    """Add events to a job, unless it has too many."""
    if not added:
        return
    newest = connection.execute(select(func.max(events.c.number)).where(events.c.job_id == job)).scalar()
    number = (newest or 0) + 1
    if number > MOST_EVENTS and not last:
        return
    rows = [
        {"job_id": job, "number": number + i, "kind": event.kind, "data": event.data}
        for i, event in enumerate(added)
    ]
    connection.execute(insert(events), rows)


def done_event(state: State, progress: Progress | None = None) -> JobEvent:
    """The last event of a job."""
    data: dict[str, str | int | None] = {"state": state.value}
    if progress is not None:
        data |= {"status": progress.status, "value": progress.value, "bound": progress.bound}
    return JobEvent("done", json.dumps(data))


class JobEvents:
    """Reads the events of jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def after(self, job: str, number: int, limit: int = 500) -> list[StoredEvent]:
        """The events after `number`."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(events.c.number, events.c.kind, events.c.data)
                .where(events.c.job_id == job, events.c.number > number)
                .order_by(events.c.number)
                .limit(limit)
            )
            return [StoredEvent(row.number, row.kind, row.data) for row in rows]

    def last_numbers(self, names: Sequence[str]) -> dict[str, int]:
        """The number of the last event of each job, 0 where there is none; without removed jobs."""
        last: dict[str, int] = {}
        with self._database.read() as connection:
            for start in range(0, len(names), _JOBS_AT_ONCE):
                rows = connection.execute(
                    select(jobs.c.id, func.max(events.c.number).label("last"))
                    .outerjoin(events, events.c.job_id == jobs.c.id)
                    .where(jobs.c.id.in_(names[start : start + _JOBS_AT_ONCE]))
                    .group_by(jobs.c.id)
                )
                last.update((row.id, row.last or 0) for row in rows)
        return last
