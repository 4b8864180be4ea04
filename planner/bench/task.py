"""Tasks of a bench: a run of a solver on an instance with a seed, repeated until it can be measured."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NotRequired, TypedDict

from memstow.planner.bench.record import SolverInfo
from memstow.planner.processes.frames import Message
from memstow.solvers.registry import BACK_ENDS

REPEAT_SECONDS: Final = 0.02
"""The time to measure by default."""


class RunOptions(TypedDict):
    """The options of a run, as a record has them; the optional ones are for solvers of memstow only."""

    format: str | None
    target: Mapping[str, object] | None
    capacity: int | None
    fit_only: bool
    time_limit: float
    memory: int | None
    gap: NotRequired[float]
    deterministic: NotRequired[bool]
    work_limit: NotRequired[int | None]
    workers: NotRequired[int]
    order: NotRequired[str]  # who orders the operators; the problem is then a graph whose order is free


@dataclass(frozen=True, slots=True)
class InstanceSource:
    """An instance before it is read: the bytes of a file, or what to generate."""

    name: str
    family: str
    data: bytes | None = None
    generated: Mapping[str, object] | None = None  # the arguments of the generator, and its `kind`
    unreadable: str | None = None  # why there are no bytes
    file: str | None = None  # its path

    @property
    def label(self) -> str:
        """The file, if there is one, else the name."""
        return self.name if self.file is None else self.file

    @property
    def content(self) -> str:
        """SHA-256 of the bytes, or of the arguments of the generator."""
        data = self.data
        if data is None:
            data = json.dumps(self.generated, sort_keys=True).encode()
        return sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class SolverRequest:
    """A solver with its options; an outside program has a command."""

    name: str
    options: RunOptions
    command: tuple[str, ...] | None = None
    folder: str | None = None  # where the command runs
    repeat_seconds: float = REPEAT_SECONDS  # how it is measured, not a part of the key of a record

    @property
    def title(self) -> str:
        """The name in records: with who orders the operators, if anybody."""
        order = self.options.get("order")
        return self.name if order is None else f"{order}+{self.name}"

    @property
    def back_ends(self) -> tuple[str, ...]:
        """The back ends that the run needs."""
        if self.command is not None:
            return ()
        return tuple(name for name in (self.name, self.options.get("order")) if name in BACK_ENDS)

    def solver_info(self, version: str) -> SolverInfo:
        """The solver as a record has it."""
        command = {} if self.command is None else {"command": list(self.command)}
        return SolverInfo(self.title, version, self.command is not None, {**self.options, **command})


@dataclass(frozen=True, slots=True)
class Task:
    """One run."""

    source: InstanceSource
    content: str
    solver: SolverRequest
    seed: int

    def message(self) -> Message:
        """The task as a message."""
        return {
            "data": self.source.data,
            "generated": self.source.generated,
            "instance": {
                "name": self.source.name,
                "family": self.source.family,
                "content": self.content,
            },
            "solver": {
                "name": self.solver.name,
                "options": self.solver.options,
                "command": self.solver.command,
                "folder": self.solver.folder,
                "repeat_seconds": self.solver.repeat_seconds,
            },
            "seed": self.seed,
        }


def task_from(message: Message) -> Task:
    """The task of a message."""
    instance, solver = message["instance"], message["solver"]
    command = solver["command"]
    return Task(
        InstanceSource(instance["name"], instance["family"], message["data"], message["generated"]),
        instance["content"],
        SolverRequest(**{**solver, "command": None if command is None else tuple(command)}),
        message["seed"],
    )


def tasks_of(source: InstanceSource, solvers: Sequence[SolverRequest], seeds: int) -> Iterator[Task]:
    """Every run on one instance."""
    content = source.content
    for seed in range(seeds):
        for solver in solvers:
            yield Task(source, content, solver, seed)
