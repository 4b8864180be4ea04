"""Stand-ins for the rooms behind the command line, so that the door is tested apart from the house.

`install()` puts one in place of each module that cannot be imported; `fake_engine` replaces the engine in
any case, where a test needs a run of a known kind: slow, infeasible, unknown, broken.
"""

import importlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

from pydantic import TypeAdapter, ValidationError

from planner.errors import InputError, Issue
from planner.events import Bound, Event, Incumbent, Phase
from planner.options import Options
from planner.plan import Explanation, Live, LiveBytes, Overflow, Placement, Plan, PoolUse, Status, TermValue
from planner.problem import Buffer, Problem

Listener = Callable[[Event], None]
_PROBLEM: TypeAdapter[Any] = TypeAdapter(Problem)
_PLAN: TypeAdapter[Any] = TypeAdapter(Plan)


def stacked(problem: Problem, status: Status = Status.FEASIBLE) -> Plan:
    """Every buffer above the one before, in the first pool: valid for plain problems, and poor."""
    pool = problem.pools[0]
    placements = []
    top = 0
    for buffer in problem.buffers:
        placements.append(Placement(buffer=buffer.id, pool=pool.id, offset=top))
        top += buffer.size
    bound = max((b.size for b in problem.buffers), default=0)
    gap = (top - bound) / top if top else 0.0
    names = tuple(b.id for b in problem.buffers)
    proof = LiveBytes(pool=pool.id, time=0, buffers=names)
    return Plan(
        status=status,
        placements=tuple(placements),
        pools=(
            PoolUse(
                pool=pool.id, capacity=pool.capacity, peak=top, bound=bound, live=Live(bytes=bound, time=0)
            ),
        ),
        objective=tuple(
            TermValue(term=term, value=top, bound=bound, gap=gap, certificate=proof)
            for term in problem.terms()
        ),
        solver="stack",
        prover="bounds",
        seconds=0.25,
        digest="0" * 64,
        version="0.1.0",
    )


def infeasible(problem: Problem) -> Plan:
    """A proof that names the first buffers."""
    pool = problem.pools[0]
    why = Explanation(
        code="live_bytes",
        message="the buffers live at 3 need 300 bytes and the pool has 100",
        pool=pool.id,
        time=3,
        needed=300,
        capacity=100,
        buffers=tuple(b.id for b in problem.buffers[:2]),
    )
    return Plan(status=Status.INFEASIBLE, explanation=why, seconds=0.01)


def unknown(problem: Problem) -> Plan:
    """No plan, no proof, an overflow."""
    return Plan(
        status=Status.UNKNOWN,
        closest=(Overflow(pool=problem.pools[0].id, peak=130, capacity=100),),
        seconds=1.5,
    )


@dataclass
class FakeEngine:
    """Answers with `answer(problem)` after `lasting` seconds or when cancelled; keeps what it was asked."""

    answer: Callable[[Problem], Plan] = stacked
    lasting: float = 0.0
    deaf: bool = False
    problem: Problem | None = None
    options: Options | None = None

    def plan(
        self,
        problem: Problem,
        options: Options | None = None,
        on_event: Listener | None = None,
        cancel: threading.Event | None = None,
    ) -> Plan:
        self.problem, self.options = problem, options
        if on_event is not None:
            for event in (Phase("search", 0.0), Incumbent(2_000, "stack", 0.1), Bound(1_000, "bounds", 0.2)):
                on_event(event)
        if self.deaf:
            time.sleep(self.lasting)
        else:
            (cancel or threading.Event()).wait(self.lasting)
        return self.answer(problem)


@contextmanager
def fake_engine(engine: FakeEngine) -> Iterator[FakeEngine]:
    """The engine in place of the real one."""
    with patch("planner.engine.plan", engine.plan):
        yield engine


def put(name: str, **members: Any) -> None:
    """A module of these members under this name."""
    module = ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    package, _, child = name.rpartition(".")
    setattr(importlib.import_module(package), child, module)


def install() -> None:
    """Stand-ins for what is not there."""
    for name, members in _STAND_INS.items():
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            put(name, **members)
        else:
            for member, value in members.items():
                if not hasattr(module, member):
                    setattr(module, member, value)


def _read_problem(data: bytes, name: str | None) -> Any:
    if name == "csv" or (name is None and data.startswith(b"id,")):
        rows = [line.split(",") for line in data.decode().splitlines()[1:]]
        return Problem(
            version=1,
            buffers=tuple(Buffer(id=r[0], lifetime=(int(r[1]), int(r[2])), size=int(r[3])) for r in rows),
        )
    return _validated(_PROBLEM, data)


def _read_plan(data: bytes, problem: Problem, name: str | None = None) -> Any:  # noqa: ARG001
    return _validated(_PLAN, data)


def _validated(adapter: TypeAdapter[Any], data: bytes) -> Any:
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        raise InputError(
            Issue(e["type"], ".".join(map(str, e["loc"])) or "$", e["msg"]) for e in error.errors()
        ) from None


def _write_problem(problem: Problem, name: str) -> bytes:
    if name == "csv":
        lives = ((b, b.lifetime if isinstance(b.lifetime, tuple) else (0, 1)) for b in problem.buffers)
        lines = ["id,lower,upper,size", *(f"{b.id},{life[0]},{life[1]},{b.size}" for b, life in lives)]
        return ("\n".join(lines) + "\n").encode()
    data: bytes = _PROBLEM.dump_json(problem, exclude_defaults=True)
    return data + b"\n"


def _write_plan(problem: Problem, plan: Plan, name: str) -> bytes:  # noqa: ARG001
    if name == "csv":
        return (
            "\n".join(["id,offset", *(f"{p.buffer},{p.offset}" for p in plan.placements)]) + "\n"
        ).encode()
    return _PLAN.dump_json(plan) + b"\n"


def _schema(kind: str) -> dict[str, Any]:
    return json.loads(json.dumps({"problem": _PROBLEM, "plan": _PLAN}.get(kind, _PLAN).json_schema()))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Solver:
    name: str = "stack"
    summary: str = "one above the other"
    supports: str = "alignment"
    missing: str | None = None


_STAND_INS: dict[str, dict[str, Any]] = {
    "planner.formats": {
        "read_problem": _read_problem,
        "write_problem": _write_problem,
        "read_plan": _read_plan,
        "write_plan": _write_plan,
    },
    "planner.schema": {"schema": _schema},
    "solvers.solver": {"describe": lambda: [_Solver()]},
}
