"""One run that is asked for: which instance, which solver, which seed, with which options.

It travels as plain values: to a child, or to another machine first.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from memstow.planner.bench.records.record import Player, Values
from memstow.planner.bench.runs.repetition import REPEAT_SECONDS
from memstow.planner.processes.frames import Message


@dataclass(frozen=True, slots=True)
class Given:
    """An instance before it is read: bytes of a file, or what to generate."""

    name: str
    family: str
    data: bytes | None = None
    generated: Values | None = None  # the arguments of the generator, and its `kind`
    unreadable: str | None = None  # why there are no bytes
    file: str | None = None  # where the bytes are from

    @property
    def shown(self) -> str:
        """What who gave it would look for: the file, if there is one."""
        return self.name if self.file is None else self.file

    @property
    def content(self) -> str:
        """What the instance is made from, as SHA-256."""
        data = self.data
        if data is None:
            data = json.dumps(self.generated, sort_keys=True).encode()
        return sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """One solver and what is asked of it; an outside program has a command."""

    name: str
    options: Values
    command: tuple[str, ...] | None = None
    folder: str | None = None  # where the command runs
    repeat_seconds: float = REPEAT_SECONDS  # how it is measured, which is no part of the question

    def player(self, version: str) -> Player:
        """Who it is in a record."""
        command = {} if self.command is None else {"command": list(self.command)}
        return Player(self.name, version, self.command is not None, {**self.options, **command})


@dataclass(frozen=True, slots=True)
class Task:
    """One run."""

    given: Given
    content: str
    asked: Asked
    seed: int

    def message(self) -> Message:
        """As a child is told of it."""
        return {
            "data": self.given.data,
            "generated": self.given.generated,
            "instance": {
                "name": self.given.name,
                "family": self.given.family,
                "content": self.content,
            },
            "asked": {
                "name": self.asked.name,
                "options": self.asked.options,
                "command": self.asked.command,
                "folder": self.asked.folder,
            },
            "seed": self.seed,
            "repeat_seconds": self.asked.repeat_seconds,
        }


def asked_of(values: dict[str, Any]) -> Asked:
    """What is asked, from a message."""
    command = values["command"]
    return Asked(**{**values, "command": None if command is None else tuple(command)})


def tasks_of(given: Given, asked: Sequence[Asked], seeds: int) -> Iterator[Task]:
    """Every run on one instance."""
    content = given.content
    for seed in range(seeds):
        for one in asked:
            yield Task(given, content, one, seed)
