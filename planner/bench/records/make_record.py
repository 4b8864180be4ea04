"""Makes the record of a run from its task, the messages of its child, and how it ended."""

import platform
from dataclasses import replace
from functools import cache

from memstow.planner.bench.records.record import (
    Ending,
    Instance,
    JudgeResult,
    Layout,
    Machine,
    ProgressEvent,
    Record,
    Term,
)
from memstow.planner.bench.runs.task import Task
from memstow.planner.model.plan import gap_of
from memstow.planner.processes import machine
from memstow.planner.processes.frames import GarbageError, Message


class RunEvents:
    """The messages of a child about its current run."""

    def __init__(self) -> None:
        self.problem: Message = {}
        self.events: list[ProgressEvent] = []

    def receive(self, message: Message) -> None:
        """Handle one message."""
        match message["kind"]:
            case "problem":
                self.problem = message
            case "event":
                bound, incumbent = message.get("bound"), message.get("incumbent")
                self.events.append(ProgressEvent(message["seconds"], incumbent, bound))
            case "judging":
                pass
            case kind:
                raise GarbageError(f"a message of kind {kind!r}")

    def bound(self) -> int | None:
        """The best proven bound of the first term."""
        return max((event.bound for event in self.events if event.bound is not None), default=None)


def record_of(task: Task, received: RunEvents, done: Message) -> Record:
    """The record of a run; of one that was killed, as much as its messages tell."""
    about = received.problem
    objective = tuple(Term(*term) for term in done.get("objective", ()))
    bound = objective[0].bound if objective else received.bound()
    judged, plan = done.get("judged"), done.get("plan")
    return Record(
        instance=Instance(
            name=task.source.name,
            family=task.source.family,
            content=task.content,
            # A problem that was not read to its end has no digest.
            digest=about.get("digest", f"unread-{task.content}"),
            features=about.get("features", {}),
        ),
        solver=task.solver.solver_info(about.get("version", "")),
        seed=task.seed,
        status=Ending(done["status"]),
        objective=objective,
        peak=done.get("peak"),
        bound=bound,
        gap=gap_of(objective[0].value, bound) if objective and bound is not None else None,
        max_live=about.get("max_live", 0),
        capacity=about.get("capacity"),
        events=tuple(received.events),
        repeats=done.get("repeats", 1),
        seconds=done.get("seconds", 0.0),
        cpu_seconds=done.get("cpu_seconds", 0.0),
        peak_memory=done.get("peak_memory", 0),
        reported_seconds=done.get("reported_seconds"),
        work=done.get("work", {}),
        judged=None if judged is None else JudgeResult(judged["valid"], tuple(judged["violations"])),
        plan=None if plan is None else Layout(tuple(plan["pool"]), tuple(plan["offset"])),
        machine=replace(_machine(), load=about.get("load", 0.0)),
        error=done.get("error"),
    )


@cache
def _machine() -> Machine:
    return Machine(
        cpus=machine.processors(),
        memory=machine.memory(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        load=0.0,
        model=machine.processor_model(),
    )
