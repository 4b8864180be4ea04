"""A long run tells of its best plan while it goes on, better ones each time, and nothing behind its end."""

import threading
from dataclasses import replace

from memstow.api.operations.solve import Publisher, solve_fully
from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.options import Event, Options
from memstow.planner.model.plan import Plan, TermValue
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.waiting import PATIENCE, wait_for


def publishers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memstow publisher"]


def worth(value: int) -> Plan:
    term = TermValue(term="peak", value=value, bound=1, gap=0.5, certificate=None)
    return Plan(status=Status.FEASIBLE, objective=(term,))


def test_a_long_run_tells_of_judged_plans_before_its_end() -> None:
    problem = planted(500, 2, slack=0.1)
    output: list[Plan] = []
    enough = threading.Event()

    def on_plan(result: Plan) -> None:
        output.append(result)
        if len(output) == 2:
            enough.set()

    last = solve_fully(problem, Options(time_limit=36_000.0), None, on_plan, lambda _: None, enough)
    assert len(output) >= 2, "it was told while the run went on, which ended it"
    assert all(verify(problem, entry) == [] for entry in output)
    values = [one_plan.objective[0].value for one_plan in output]
    assert values == sorted(set(values), reverse=True)
    assert values[-1] >= last.objective[0].value


def test_a_run_is_never_worse_than_what_is_known_and_says_nothing_that_is() -> None:
    problem = planted(300, 4, slack=0.1)
    known = plan(problem, Options(time_limit=2.0))
    output: list[Plan] = []
    options = Options(time_limit=0.5, solver="greedy")
    last = solve_fully(problem, options, known, output.append, lambda _: None, threading.Event())
    assert last.objective[0].value <= known.objective[0].value
    assert all(one_plan.objective[0].value < known.objective[0].value for one_plan in output)


def test_what_is_proven_already_is_not_solved_again() -> None:
    problem = planted(40, 4, slack=0.01)
    known = replace(plan(problem, Options(time_limit=5.0)), seconds=0.0)
    assert known.status is Status.OPTIMAL
    heard: list[Event] = []
    last = solve_fully(
        problem, Options(time_limit=60.0), known, lambda _: None, heard.append, threading.Event()
    )
    assert replace(last, seconds=0.0) == known
    assert heard == []


def test_only_the_newest_is_judged_and_worse_ones_are_not_told() -> None:
    output: list[int] = []
    judged: list[int] = []
    publisher = Publisher(lambda one_plan: output.append(one_plan.objective[0].value), None)

    def offer(value: int) -> None:
        def judge() -> Plan:
            judged.append(value)
            return worth(value)

        publisher.offer(judge)

    for value in (9, 8, 7):
        offer(value)
    publisher.start()
    wait_for(lambda: output, "the first plan")
    offer(8)
    wait_for(lambda: len(judged) == 2, "the second look")
    offer(5)
    wait_for(lambda: len(output) == 2, "a better plan")
    publisher.close()
    offer(1)
    wait_for(lambda: not publishers(), "its thread to end")
    assert (judged, output) == ([7, 8, 5], [7, 5])


def test_a_plan_that_is_judged_when_the_run_ends_is_not_told() -> None:
    output: list[Plan] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> Plan:
        begun.set()
        go_on.wait(PATIENCE)
        return worth(3)

    publisher = Publisher(output.append, None)
    publisher.offer(slow)
    publisher.start()
    assert begun.wait(PATIENCE)
    publisher.close()
    go_on.set()
    wait_for(lambda: not publishers(), "its thread to end")
    assert output == []
