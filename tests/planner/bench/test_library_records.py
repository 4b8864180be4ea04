"""Results of a bench break the records of a library, and nothing that is wrong in them does."""

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memstow.planner.bench.analysis import Best
from memstow.planner.bench.instances import files
from memstow.planner.bench.journal import Results, read
from memstow.planner.bench.library_records import Offered, submit_results, with_libraries
from memstow.planner.bench.record import Ending, Instance, JudgeResult, Layout, Record, SolverInfo, TermValue
from memstow.planner.generate import make_graph
from memstow.planner.graph.changes import with_order
from memstow.planner.instance_library.folder import Folder, answer_of, instance_of
from memstow.planner.instance_library.judging import Answer
from memstow.planner.instance_library.records import opened
from memstow.planner.model.digest import digest
from memstow.planner.model.library import LibraryInstance
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.proofs.check import proof_about
from tests.planner.bench.make import MACHINE, write
from tests.planner.instance_library.libraries import CREDIT, KNOT, add, answered, faults, stacked


@pytest.fixture
def library(tmp_path: Path) -> Folder:
    """A library with one problem, of which nothing is known."""
    folder = Folder(tmp_path / "library")
    with opened(folder) as one:
        add(one, "knot", KNOT, solved=False)
    return folder


def ran(
    places: tuple[int, ...] | None,
    value: int | None,
    *,
    problem: Problem = KNOT,
    solver: str = "mine",
    status: Ending = Ending.FEASIBLE,
    checked: str | None = None,
) -> Record:
    """The record of a run on the problem."""
    return Record(
        instance=Instance("any", "any", digest(problem), "content", {"buffers": len(problem.buffers)}),
        solver=SolverInfo(solver, "7.0", True, {"time_limit": 1.0}),
        seed=0,
        status=status,
        objective=() if value is None else (TermValue("peak", value, None),),
        peak=value,
        seconds=1.0,
        judged=JudgeResult(True, checked=checked),
        plan=None if places is None else Layout((0,) * len(places), places),
        machine=MACHINE,
    )


def offsets(problem: Problem, *, best: bool) -> tuple[int, ...]:
    """The places of the best plan, or of the worst."""
    plan = answered(problem).plan if best else stacked(problem)
    place_of = {place.buffer: place.offset for place in plan.placements}
    return tuple(place_of[buffer.id] for buffer in problem.buffers)


TOP = sum(buffer.size for buffer in KNOT.buffers)
LEAST = 21


def submit(library: Folder, *records: Record) -> list[Offered]:
    """What comes of these records."""
    results = library.path.parent / "results"
    write(results, *records)
    with opened(library) as one:
        return list(submit_results(one, read(results), CREDIT, threading.Event()))


def metadata(library: Folder, name: str = "knot") -> LibraryInstance:
    """What the library says, once all of it is right."""
    assert faults(library) == {}
    return instance_of(library, name)


def test_the_better_plan_is_taken_with_a_proof_and_credited(library: Folder) -> None:
    best = ran(offsets(KNOT, best=True), LEAST, solver="search", status=Ending.OPTIMAL, checked="proof")
    worse = ran(offsets(KNOT, best=False), TOP, solver="greedy")
    assert submit(library, worse, best) == [Offered("knot", "better", "value, proof by search")]
    instance = metadata(library)
    assert (instance.state, [term.value for term in instance.best]) == ("proven", [LEAST])
    (event,) = instance.history
    assert (event.by, event.solver, event.version) == (CREDIT.by, "search", "7.0")
    assert submit(library, worse, best) == [Offered("knot", "kept")]


def test_a_proof_comes_to_a_plan_that_is_there(library: Folder) -> None:
    places = offsets(KNOT, best=True)
    submit(library, ran(places, LEAST))
    assert metadata(library).state == "open"
    final = ran(places, LEAST, solver="exact", status=Ending.OPTIMAL, checked="proof")
    assert submit(library, final) == [Offered("knot", "better", "bound, proof by exact")]
    assert metadata(library).state == "proven"


def wrong_results() -> Iterator[Record]:
    """Records that say of a plan what it is not."""
    right = offsets(KNOT, best=True)
    yield ran((0,) * len(right), 5)
    yield ran(right[1:], 5)
    yield ran((-1, *right[1:]), 5)
    yield ran((1 << 70, *right[1:]), 5)
    outside = Layout((1,) * len(right), right)
    yield replace(ran(right, 5), plan=outside)
    yield replace(ran(right, 5), plan=Layout((-1,) * len(right), right))
    yield replace(ran(right, 5), plan=Layout((0,) * len(right), right, ("no", "such")))
    text = json.loads('["x"]') * len(right)
    yield replace(ran(right, 5), plan=Layout((0,) * len(right), tuple(text)))
    yield replace(ran(right, 5), plan=Layout(tuple(text), right))


@pytest.mark.parametrize("number", range(len(list(wrong_results()))))
def test_a_wrong_plan_breaks_no_record_and_the_next_one_does(library: Folder, number: int) -> None:
    wrong = list(wrong_results())[number]
    (refused,) = submit(library, wrong)
    assert (refused.name, refused.outcome) == ("knot", "refused")
    assert metadata(library).history == ()
    worse = ran(offsets(KNOT, best=False), TOP, solver="stack")
    assert submit(library, wrong, worse) == [Offered("knot", "better", "value by stack")]


def test_a_false_word_that_nothing_is_better_proves_nothing(library: Folder) -> None:
    lie = ran(offsets(KNOT, best=False), TOP, status=Ending.OPTIMAL, checked="proof")
    (one,) = submit(library, lie)
    assert one.outcome == "better"
    instance = metadata(library)
    assert instance.state == "open"
    assert all(term.bound < term.value for term in instance.best)


def test_the_value_is_counted_and_not_what_the_record_says(library: Folder) -> None:
    submit(library, ran(offsets(KNOT, best=False), 1))
    assert [term.value for term in metadata(library).best] == [TOP]


def test_that_nothing_fits_is_taken_with_its_proof_alone(tmp_path: Path) -> None:
    pool, life = Pool(id="m", capacity=20), KNOT.buffers
    full = Problem(buffers=[replace(one, pools=None) for one in life], pools=(pool,))
    loose = Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 1))], pools=(pool,))
    library = Folder(tmp_path / "library")
    with opened(library) as one:
        add(one, "full", full, solved=False)
        add(one, "loose", loose, solved=False)
    says = [
        ran(None, None, problem=problem, status=Ending.INFEASIBLE, checked="proof")
        for problem in (full, loose)
    ]
    assert submit(library, *says) == [
        Offered("full", "better", "infeasible, proof by mine"),
        Offered("loose", "kept", "no proof that nothing fits was written in time"),
    ]
    assert metadata(library, "full").state == "infeasible"
    assert metadata(library, "loose").state == "open"


def test_a_plan_too_large_to_be_kept_is_named(library: Folder) -> None:
    (one,) = submit(library, ran(None, LEAST))
    assert (one.outcome, one.says) == ("kept", "the results have no plan of so many buffers")


def test_runs_on_other_problems_are_left_alone(library: Folder) -> None:
    other = Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 1))])
    assert submit(library, ran((0,), 4, problem=other)) == []


def test_libraries_say_what_is_best(library: Folder) -> None:
    submit(library, ran(offsets(KNOT, best=True), LEAST, solver="exact"))
    results: Results = read(library.path.parent / "results")
    sources, key = [files(str(library.path))], digest(KNOT)
    known = with_libraries({}, sources, results.runs)
    assert known == {key: Best("knot", ("peak",), (LEAST,), False, "exact", "7.0")}
    lower = {key: Best("x", ("peak",), (LEAST - 1,), False, "y", "1")}
    assert with_libraries(lower, sources, results.runs) == lower
    higher = {key: Best("x", ("peak",), (LEAST + 1,), False, "y", "1")}
    assert with_libraries(higher, sources, results.runs) == known
    assert with_libraries({}, sources, ()) == {}


def test_of_a_graph_the_order_is_taken(tmp_path: Path) -> None:
    from memstow.planner.bench import child
    from memstow.planner.bench.record import from_line, to_line
    from memstow.planner.bench.supervisor import RunBatch
    from memstow.planner.bench.task import SolverRequest, Task

    graph = with_order(make_graph({"n": 12, "seed": 3, "family": "wiring"}), "free")
    library = Folder(tmp_path / "library")
    with opened(library) as one:
        add(one, "graph", graph, solved=False)
    (source,) = files(str(library.path))
    solver = SolverRequest(
        "auto",
        {
            "format": None,
            "target": None,
            "capacity": None,
            "fit_only": False,
            "time_limit": 10.0,
            "memory": None,
            "gap": 0.0,
            "deterministic": True,
            "work_limit": 1_000_000,
            "workers": 1,
            "order": "free",
        },
        repeat_seconds=0.0,
    )
    batch = RunBatch([Task(source, source.content, solver, 0)], 0.0)
    over = child.perform(
        batch.tasks[0], 1 << 30, lambda message: batch.receive({"kind": "batch", "messages": [message]})
    )
    batch.finish(over)
    record = from_line(batch.results[0]["line"])
    assert record.plan is not None
    assert sorted(record.plan.order) == sorted(operator.id for operator in graph.operators)
    assert from_line(to_line(record)) == record
    (offer,) = submit(library, record)
    assert (offer.name, offer.outcome) == ("graph", "better")
    instance = metadata(library, "graph")
    answer = answer_of(library, instance)
    assert answer is not None
    assert answer.plan.schedule is not None
    assert answer.plan.schedule.order == record.plan.order


def test_the_proof_of_a_solver_is_taken_where_none_can_be_written(
    library: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the solver proves in hours what memstow does not."""
    monkeypatch.setattr("memstow.planner.bench.library_records.proved", lambda *_all: Answer(_all[1]))
    best = answered(KNOT)
    assert best.proof is not None
    whole = replace(
        ran(offsets(KNOT, best=True), LEAST, status=Ending.OPTIMAL, checked="proof"),
        proof=b64encode(proof_about(b"another file", best.proof)).decode(),
    )
    # What is recorded is anybody's: a proof that is none proves nothing.
    for proof in (b64encode(best.proof[:-1]).decode(), b64encode(b"").decode(), "no Base64"):
        offered = submit(library, replace(whole, proof=proof))
        assert metadata(library).state == "open"
        assert [entry.outcome for entry in offered] != ["kept"] or metadata(library).best
    assert [entry.outcome for entry in submit(library, whole)] == ["better"]
    known = metadata(library)
    assert (known.state, known.best[0].bound, known.best[0].shown_by) == ("proven", LEAST, "proof")
