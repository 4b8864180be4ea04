"""`--lock`: a plan that is kept in a file, taken while it holds and made again when it does not."""

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.api.cli.io.output import STDOUT, write_out
from memstow.api.cli.io.problem_input import naming_file, read_bytes_of
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.formats.lock import Lock
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


def add_lock(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for a lock."""
    lock = parser.add_argument_group("lock")
    lock.add_argument(
        "--lock",
        metavar="FILE",
        help="take the plan in this file if it holds for the problem; else plan deterministically, starting "
        "from it, and write it",
    )
    lock.add_argument(
        "--locked", action="store_true", help="fail if the plan of --lock does not hold, instead of planning"
    )


def refuse_odd_locks(args: argparse.Namespace) -> None:
    """Reject options that contradict a lock."""
    from memstow.planner.model.errors import InputError

    if args.locked and args.lock is None:
        message = "it needs the file that holds the plan: add --lock FILE"
        raise InputError.single("no_lock", "--locked", message)
    if args.lock == STDOUT:
        message = "a lock is read and written: it cannot be standard input or output; name a file"
        raise InputError.single("no_lock", "--lock", message)
    if args.lock is not None and args.hint is not None:
        message = "with --lock, the plan in the lock is the hint; leave out --hint"
        raise InputError.single("two_hints", "--hint", message)


class LockFile:
    """The lock of a problem and options: the plan in it, if that holds, or why it does not."""

    def __init__(self, path: str, problem: "Problem | Graph", options: "Options") -> None:
        self._path = path
        self._problem = problem
        self._lock = _read(path)
        self.options = replace(
            options, deterministic=True, hint=None if self._lock is None else self._lock.plan
        )
        """For planning again."""
        self.stale = _why_stale(self._lock, problem, options)
        """Why the plan does not hold; None if it does."""

    @property
    def plan(self) -> "Plan | None":
        """The plan in the lock, if it holds."""
        return None if self.stale is not None or self._lock is None else self._lock.plan

    def write(self, plan: "Plan") -> None:
        """Keep a plan that was made with the options."""
        from memstow.planner.formats.lock import write_lock

        write_out(write_lock(self._problem, self.options, plan), self._path)

    def refuse(self, words: list[str]) -> None:
        """Raise the error of --locked, with the command that makes the lock hold."""
        import shlex

        from memstow.planner.model.errors import InputError

        command = shlex.join(["memstow", *(word for word in words if word != "--locked")])
        raise InputError.single("stale_lock", plain(self._path), f"{self.stale}; run: {command}")


def _read(path: str) -> "Lock | None":
    from memstow.planner.formats.lock import read_lock

    if not os.path.exists(path):
        return None
    data = read_bytes_of(path)
    with naming_file(path):
        return read_lock(data)


def _why_stale(lock: "Lock | None", problem: "Problem | Graph", options: "Options") -> str | None:
    from memstow.planner.formats.lock import choices_of, identity
    from memstow.planner.model import PLANNED
    from memstow.planner.verify import verify

    if lock is None:
        return "there is no such lock"
    if lock.problem != identity(problem):
        return "the lock is for another problem, or the problem has changed"
    if lock.choices != choices_of(options):
        return "the lock was made with other options"
    if lock.plan.status not in PLANNED:
        return "the lock holds no plan"
    found = verify(problem, lock.plan)
    return f"the plan in the lock is not valid: {plain(found[0].message)}" if found else None
