"""The record of a run, from what its child told on the way and at the end, and from how that ended."""

import platform
from functools import cache
from typing import Any

from memstow.planner.bench.records.record import (
    Ending,
    Instance,
    Judged,
    Layout,
    Machine,
    Moment,
    Record,
    Term,
)
from memstow.planner.bench.runs.task import asked_of
from memstow.planner.model.plan import gap_of
from memstow.planner.processes import machine
from memstow.planner.processes.frames import GarbageError, Message


class Heard:
    """What a child has told so far."""

    def __init__(self) -> None:
        self.problem: Message = {}
        self.events: list[Moment] = []

    def hear(self, message: Message) -> None:
        """Take in one message."""
        match message["kind"]:
            case "problem":
                self.problem = message
            case "event":
                bound, incumbent = message.get("bound"), message.get("incumbent")
                self.events.append(Moment(message["seconds"], incumbent, bound))
            case "judging":
                pass
            case kind:
                raise GarbageError(f"a message of kind {kind!r}")

    def bound(self) -> int | None:
        """The best that was proven of the first term."""
        return max((event.bound for event in self.events if event.bound is not None), default=None)


def record_of(request: Message, heard: Heard, done: Message) -> Record:
    """The record; of a run that was cut short, all that is known."""
    about, instance = heard.problem, request["instance"]
    objective = tuple(Term(*term) for term in done.get("objective", ()))
    bound = objective[0].bound if objective else heard.bound()
    judged, plan = done.get("judged"), done.get("plan")
    return Record(
        instance=Instance(
            **instance,
            # Where the problem could not even be read, its content is all that is known of it.
            digest=about.get("digest", f"unread-{instance['content']}"),
            features=about.get("features", {}),
        ),
        solver=asked_of(request["asked"]).player(about.get("version", "")),
        seed=request["seed"],
        status=Ending(done["status"]),
        objective=objective,
        peak=done.get("peak"),
        bound=bound,
        gap=gap_of(objective[0].value, bound) if objective and bound is not None else None,
        max_live=about.get("max_live", 0),
        capacity=about.get("capacity"),
        events=tuple(heard.events),
        repeats=done.get("repeats", 1),
        seconds=done.get("seconds", 0.0),
        cpu_seconds=done.get("cpu_seconds", 0.0),
        peak_memory=done.get("peak_memory", 0),
        reported_seconds=done.get("reported_seconds"),
        work=done.get("work", {}),
        judged=None if judged is None else Judged(judged["valid"], tuple(judged["violations"])),
        plan=None if plan is None else Layout(tuple(plan["pool"]), tuple(plan["offset"])),
        machine=Machine(**_machine(), load=about.get("load", 0.0)),
        error=done.get("error"),
    )


@cache
def _machine() -> dict[str, Any]:
    return {
        "cpus": machine.processors(),
        "memory": machine.memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
