"""The self-check of a plan is a judge of its own: it fails if, and only if, live buffers share bytes."""

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memstow
from memstow.planner.exports import self_check, source_code
from memstow.planner.exports.naming import Naming
from memstow.planner.exports.source_code import MemoryMap
from memstow.planner.generate.network import network
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Problem
from memstow.planner.verify import Code, verify
from tests.campaign import rounds
from tests.planner.exports.toolchains import HOST, attempt, link
from tests.problems import problems, random_problem

OPTIONS = memstow.Options(deterministic=True, work_limit=20_000)


def bare_plan(problem: Problem) -> Plan | None:
    """The places of a plan; None where there is no plan."""
    planned = memstow.plan(problem, OPTIONS)
    return Plan(status=Status.FEASIBLE, placements=planned.placements) if planned.status in PLANNED else None


def sources(problem: Problem, plan: Plan, prefix: str) -> dict[str, str]:
    """The files of a plan that no judge was asked about."""
    memory = MemoryMap(problem, plan, Naming(prefix))
    return {
        f"{prefix}.h": source_code.write_c_header(memory),
        f"{prefix}.c": source_code.write_c_source(memory),
        f"{prefix}.check.c": self_check.write_c_check(memory),
    }


def answers(plans: list[tuple[Problem, Plan]]) -> list[bool]:
    """Whether the self-check of each plan finds nothing wrong; all are compiled into one program."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        texts: dict[str, str] = {}
        for index, (problem, plan) in enumerate(plans):
            texts |= sources(problem, plan, f"p{index}")
        calls = "".join(f'    printf("%d\\n", p{i}_check() == 0);\n' for i in range(len(plans)))
        declared = "".join(f"size_t p{i}_check(void);\n" for i in range(len(plans)))
        main = f"int main(void)\n{{\n{calls}    return 0;\n}}\n"
        texts["all.c"] = f"#include <stddef.h>\n#include <stdio.h>\n{declared}{main}"
        for file, text in texts.items():
            (folder / file).write_text(text)
        options = [
            f"-DP{i}_CHECK_{what}" for i in range(len(plans)) for what in ("WITHOUT_MAIN", "ANY_ADDRESS")
        ]
        objects = [HOST.compile(folder, file, *options) for file in texts if file.endswith(".c")]
        link(folder, "all", objects)
        ran = attempt(folder, str(folder / "all"))
        assert ran.returncode == 0
        return [line == "1" for line in ran.stdout.splitlines()]


@pytest.mark.rounds
@settings(max_examples=rounds(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(problems(), min_size=1, max_size=6))
def test_plans_pass_their_self_check(drawn: list[Problem]) -> None:
    planned = [(problem, plan) for problem in drawn if (plan := bare_plan(problem)) is not None]
    assert answers(planned) == [True] * len(planned)


def test_plans_of_networks_pass_their_self_check() -> None:
    drawn = [network(40, seed, element=1, alignment=16, in_place=seed % 2 == 0) for seed in range(4)]
    assert any(problem.in_place for problem in drawn)
    planned = [(problem, plan) for problem in drawn if (plan := bare_plan(problem)) is not None]
    assert answers(planned) == [True] * len(drawn)


def moved(problem: Problem, plan: Plan, rng: random.Random) -> Plan:
    """The plan with a buffer somewhere else, or two."""
    places = list(plan.placements)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(places))
        pool = places[at].pool if rng.random() < 0.7 else rng.choice(problem.pools).id
        places[at] = Placement(buffer=places[at].buffer, pool=pool, offset=rng.randrange(9))
    return replace(plan, placements=tuple(places))


def test_the_self_check_agrees_with_the_judge_on_plans_that_are_right_but_for_overlaps() -> None:
    rng = random.Random(15)
    plans: list[tuple[Problem, Plan]] = []
    expected: list[bool] = []
    while len(plans) < 80:
        problem = random_problem(rng, 5)
        plan = bare_plan(problem)
        for _ in range(100 if plan is not None else 0):
            assert plan is not None
            changed = moved(problem, plan, rng)
            codes = {violation.code for violation in verify(problem, changed)}
            # Every second one is to be wrong.
            if bool(codes) == bool(len(plans) % 2) and codes <= {Code.OVERLAP, Code.IN_PLACE}:
                plans.append((problem, changed))
                expected.append(not codes)
                break
    assert answers(plans) == expected
