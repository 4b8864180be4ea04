"""The kit for authors finds what is wrong with plug-ins, and its brute force agrees with the referee."""

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memstow import InputError, Placement, Plan, Problem, Status, TermValue
from memstow.planner.plugins.kit import FEATURES, least, tiny_problems
from memstow.plugins import Search
from memstow.testing import check_format, check_solver
from tests import referee
from tests.plugins import TEMPLATES, Plugins


def test_brute_force_agrees_with_the_referee() -> None:
    nothing = 0
    for problem in tiny_problems(FEATURES, 150, 1):
        small = Problem(
            buffers=[
                replace(one, size=min(one.size, 6), alignment=min(one.alignment, 4))
                for one in problem.buffers[:4]
            ],
            pools=[replace(pool, capacity=7, alignment=1, reserved=()) for pool in problem.pools[:2]],
        )
        names = {pool.id for pool in small.pools}
        small = replace(
            small,
            buffers=tuple(replace(one, pool=None, pools=None, offset=None) for one in small.buffers),
            objective=("peak",),
        )
        assert names
        status, vector = referee.best(small)
        best = least(small)
        assert (best is None) == (status is Status.INFEASIBLE)
        if best is None:
            nothing += 1
        else:
            assert vector == (best[0],)
    assert 10 < nothing < 140


class Stack:
    """One buffer on top of the other."""

    def solve(self, problem: Problem, _search: Search) -> Plan | None:
        places, top = [], 0
        for buffer in problem.buffers:
            places.append(Placement(buffer=buffer.id, pool=problem.pools[0].id, offset=top))
            top += buffer.size
        return Plan(status=Status.FEASIBLE, placements=places)


class Changed(Stack):
    """The same, changed before it is returned."""

    def __init__(self, change: Callable[[Plan], Plan | None]) -> None:
        self._change = change

    def solve(self, problem: Problem, search: Search) -> Plan | None:
        plan = super().solve(problem, search)
        assert plan is not None
        return self._change(plan)


class Fickle(Stack):
    deterministic = True
    calls = 0

    def solve(self, problem: Problem, search: Search) -> Plan | None:
        self.calls += 1
        plan = super().solve(problem, search)
        assert plan is not None
        moved = tuple(replace(place, offset=place.offset + self.calls) for place in plan.placements)
        return replace(plan, placements=moved)


class Boaster(Stack):
    """Its proof is about another problem."""

    def solve(self, problem: Problem, search: Search) -> Plan | None:
        plan = super().solve(problem, search)
        assert plan is not None
        search.offer(plan, b"memstow proof 1\n" + bytes(32) + b"\0\0")
        return plan


def _with_bound(plan: Plan, bound: int) -> Plan:
    return replace(plan, objective=(TermValue(term="peak", value=bound, bound=bound, gap=0.0),))


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (Changed(lambda plan: replace(plan, placements=plan.placements[:-1])), "is not valid"),
        (Changed(lambda plan: replace(plan, status=Status.OPTIMAL)), "is optimal, and the least is"),
        (Changed(lambda plan: _with_bound(plan, 1 << 20)), "its bound is 1048576"),
        (Changed(lambda _plan: Plan(status=Status.INFEASIBLE)), "nothing fits, and there is a plan"),
        (Changed(lambda _plan: None), "it had no plan for any"),
        (Changed(lambda _plan: [1]), "returned list"),  # type: ignore[arg-type, return-value]
        (Fickle(), "two runs give two plans"),
        (Boaster(), "its proof does not count: "),
    ],
)
def test_a_solver_that_is_wrong_is_found_out(solver: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_solver(solver)


def test_a_solver_that_is_right_passes_and_not_as_one_that_finds_the_best() -> None:
    assert check_solver(Stack()) == check_solver(Stack) == 200
    with pytest.raises(AssertionError, match="and the least is"):
        check_solver(Stack(), finds_optimum=True)
    with pytest.raises(AssertionError, match="is not valid"):
        check_solver(Stack(), features=("capacities",))


def test_a_feature_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="colours: use some of alignments"):
        check_solver(Stack(), features=("colours",))


@pytest.mark.parametrize("kind", ["solver", "format"])
def test_the_examples_pass_their_own_tests(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    plugins.template(kind)
    monkeypatch.syspath_prepend(str(TEMPLATES[kind]))
    (file,) = TEMPLATES[kind].glob("test_*.py")
    module = importlib.import_module(file.stem)
    tests = [getattr(module, name) for name in dir(module) if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
    for name in (file.stem, *(path.stem for path in plugins.folder.glob("*.py"))):
        sys.modules.pop(name, None)


def test_the_page_tries_the_examples_out_as_it_says(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (TEMPLATES["solver"].parents[1] / "docs" / "plugins.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (entry,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert entry in (TEMPLATES["solver"] / "pyproject.toml").read_text()
    names = {}
    for kind, module, name in (("solver", "memstow_shuffle", "Shuffle"), ("format", "memstow_rows", "Rows")):
        plugins.template(kind)
        names[name] = getattr(importlib.import_module(module), name)
        monkeypatch.delitem(sys.modules, module)
    exec(code, names)


class Lines:
    """A format of names and sizes; what is wrong with it is asked for."""

    def __init__(self, **wrong: bool) -> None:
        self._wrong = wrong

    def write_problem(self, problem: Problem) -> bytes:
        if "refuses" in self._wrong:
            raise InputError.single("no", "$", "no")
        buffers = problem.buffers[1:] if "loses" in self._wrong else problem.buffers
        lives = ((one.id, one.size, *one.lifetime) for one in buffers if isinstance(one.lifetime, tuple))
        return "".join(f"{name} {size} {begin} {end}\n" for name, size, begin, end in lives).encode()

    def read_problem(self, data: bytes) -> Problem:
        from memstow import Buffer

        try:
            rows = [line.split() for line in data.decode().splitlines()]
            buffers = [
                Buffer(id=name, size=int(size), lifetime=(int(begin), int(end)))
                for name, size, begin, end in rows
            ]
        except ValueError as error:
            if "raises" in self._wrong:
                raise
            raise InputError.single("damaged", "$", str(error)) from None
        return Problem(buffers=buffers)

    def write_plan(self, _problem: Problem, plan: Plan) -> bytes:
        places = plan.placements[1:] if "loses_places" in self._wrong else plan.placements
        return "".join(f"{place.buffer} {place.offset}\n" for place in places).encode()

    def read_plan(self, data: bytes, problem: Problem) -> Plan:
        rows = [line.split() for line in data.decode().splitlines()]
        pool = problem.pools[0].id
        places = [Placement(buffer=name, pool=pool, offset=int(offset)) for name, offset in rows]
        return Plan(status=Status.FEASIBLE, placements=places)


def test_a_format_that_is_right_passes() -> None:
    assert check_format(Lines()) == 50


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("loses", "it comes back else"),
        ("raises", "raises ValueError, and not memstow.InputError"),
        ("loses_places", "the plan comes back else"),
        ("refuses", "could write none of the problems"),
    ],
)
def test_a_format_that_is_wrong_is_found_out(wrong: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_format(Lines(**{wrong: True}))
    with pytest.raises(AssertionError, match="neither read nor write"):
        check_format(object())
