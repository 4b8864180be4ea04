"""What the author of a plug-in writes, and what a solver is given beside the problem.

An entry point names an object with these members, or a class of such objects that is made without arguments.
docs/plugins.md has examples; `memstow.testing` tries a plug-in out.
"""

import time
from collections.abc import Callable
from typing import Protocol

from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

LARGEST_PROOF = 64 << 20
"""Bytes of a proof."""


class Search:
    """The limits of a solve, what may help, and where better plans go."""

    def __init__(
        self,
        seconds: float | None,
        work: int | None,
        seed: int,
        workers: int,
        memory: int,
        hint: Plan | None,
        on_plan: Callable[[Plan, bytes | None], None],
        document: bytes,
    ) -> None:
        self._end = None if seconds is None else time.monotonic() + max(seconds, 0.0)
        self.work = work
        """Steps of work, as the solver counts them, in a deterministic run; else None."""
        self.seed = seed
        self.workers = workers
        """Threads that it may use."""
        self.memory = memory
        """Bytes that its process may use; with more it is ended."""
        self.hint = hint
        """A plan of the user to start from, which need not be valid."""
        self._on_plan = on_plan
        self.document = document
        """The problem as a file in JSON, which a proof is about: its SHA-256 is in that."""

    @property
    def seconds_left(self) -> float | None:
        """Seconds until it has to return; then its process is ended. None in a deterministic run."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    def offer(self, plan: Plan, proof: bytes | None = None) -> None:
        """Offer a plan that is better than those before: the last one counts if there is no time for more.

        With a proof (docs/proofs.md) of what no plan can be better than, or, beside a plan that is
        `infeasible`, that nothing fits. Of several the last one counts, once memstow's checker accepts it.
        """
        if not isinstance(plan, Plan):
            raise TypeError(f"a memstow.Plan is offered, not {type(plan).__name__}")
        if not isinstance(proof, bytes | None):
            raise TypeError(f"a proof is bytes, not {type(proof).__name__}")
        if proof is not None and len(proof) > LARGEST_PROOF:
            raise ValueError(f"a proof has at most {LARGEST_PROOF:,} bytes, and this has {len(proof):,}")
        self._on_plan(plan, proof)


class Solver(Protocol):
    """A solver of another package."""

    summary: str
    """One line about it."""
    supports: str
    """Which problems it takes."""
    deterministic: bool
    """Whether the same problem, seed and work always give the same plan: only then may a run want that."""

    def declines(self, problem: Problem) -> str | None:
        """What of the problem it cannot honour; None if it can honour all of it."""

    def solve(self, problem: Problem, search: Search) -> Plan | None:
        """A plan of the problem, None where it has none beside those that it offered.

        Placements are enough. What else the plan says of itself is a claim: a bound counts if the judge can
        check its certificate, and that nothing fits does not count. A proof is offered (`Search.offer`).
        """


class Reader(Protocol):
    """What a format that can be read has. Bytes that it cannot read raise `memstow.InputError`."""

    def read_problem(self, data: bytes) -> Problem | Graph:
        """The problem or the graph in the bytes."""


class Writer(Protocol):
    """What a format that can be written has. What it has no place for raises `memstow.InputError`."""

    def write_problem(self, problem: Problem) -> bytes:
        """The problem as bytes."""


class PlanReader(Protocol):
    """What a format with plans that can be read has."""

    def read_plan(self, data: bytes, problem: Problem) -> Plan:
        """The plan of this problem in the bytes; placements are enough."""


class PlanWriter(Protocol):
    """What a format with plans that can be written has."""

    def write_plan(self, problem: Problem, plan: Plan) -> bytes:
        """The plan as bytes."""


FORMAT_METHODS = ("read_problem", "write_problem", "read_plan", "write_plan")
"""A format has at least one of them, and a `summary`."""
