"""Solvers of other packages: their plans are judged, and whatever else they do stays with their process."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import memstow
from memstow import Buffer, Options, Phase, Plan, Pool, Problem, Status
from memstow.planner.backends import plugin_solver
from memstow.planner.generate.planted import planted
from memstow.planner.model.plan import ExhaustedWindow
from memstow.planner.plugins.installed import find, installed, names
from tests.planner.verify.test_windows import ABOVE_LIVE, problem_of
from tests.plugins import PROVING, Plugins
from tests.processes import wait_ended
from tests.waiting import wait_for

THREE = Problem(
    buffers=[
        Buffer(id="a", size=100, lifetime=(0, 2)),
        Buffer(id="b", size=50, lifetime=(1, 3)),
        Buffer(id="c", size=100, lifetime=(2, 4)),
    ]
)


def solved(
    name: str, problem: Problem = THREE, seconds: float = 300.0, **options: Any
) -> tuple[Plan, list[str]]:
    """The plan of this solver, and the notes of the run."""
    notes: list[str] = []

    def listen(event: memstow.Event) -> None:
        if isinstance(event, Phase) and event.is_note:
            notes.append(event.name)

    chosen = Options(solver=name, time_limit=seconds)
    return memstow.plan(problem, replace(chosen, **options), listen), notes


def failing(name: str, problem: Problem = THREE, seconds: float = 300.0) -> str:
    """What is said of a solver that fails."""
    with pytest.raises(memstow.PlugInError) as caught:
        solved(name, problem, seconds)
    return str(caught.value)


def test_the_example_solves_and_its_plans_are_judged_like_others(plugins: Plugins) -> None:
    plugins.template("solver")
    problem = planted(12, 3)
    plan, notes = solved("shuffle", problem, work_limit=100_000, deterministic=True)
    assert memstow.verify(problem, plan) == []
    assert plan.solver == "shuffle (memstow-shuffle 0.1.0)"
    assert notes == []
    assert solved("shuffle", problem, work_limit=100_000, deterministic=True)[0] == plan


def test_a_bound_that_memstow_counts_makes_its_plan_optimal(plugins: Plugins) -> None:
    plugins.template("solver")
    plan, _ = solved("shuffle", seconds=300.0)
    assert (plan.status, plan.solver, plan.prover) == (Status.OPTIMAL, "shuffle", "live bytes")


def test_plug_ins_are_found_by_name_and_only_as_one_of_that_name(plugins: Plugins) -> None:
    plugins.solver("stack", "return stacked(problem)")
    plugins.install("other", "memstow.solvers", "stack", "class Plugin: pass")
    plugins.install("odd", "memstow.solvers", "a,b", "class Plugin: pass")
    plugins.solver("exact", "raise RuntimeError('never')")
    assert [one.package for one in installed("solver")] == ["test-exact", "other", "test-stack"]
    assert names("solver", ["exact"]) == ("stack",)
    assert find("solver", "none") is find("format", "stack") is find("solver", "a,b") is None
    assert "in two packages, other and test-stack" in failing("stack")
    assert solved("exact")[0].solver != "exact"


def test_an_unknown_name_is_told_with_the_names_of_plug_ins(plugins: Plugins) -> None:
    plugins.solver("stack", "return stacked(problem)")
    with pytest.raises(memstow.UnknownSolverError, match=r"did you mean stack\? .* highs, stack"):
        solved("stak")


def test_what_it_declines_is_told(plugins: Plugins) -> None:
    plugins.solver("shy", "raise AssertionError", "def declines(self, problem): return 'three buffers'")
    with pytest.raises(memstow.DeclinedError, match="'shy' cannot honour three buffers"):
        solved("shy")
    with pytest.raises(memstow.DeclinedError, match="does not say that it is deterministic"):
        solved("shy", deterministic=True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('no such luck')", "ValueError: no such luck"),
        ("sys.exit(3)", "ended with status 3"),
        ("os._exit(4)", "ended with status 4"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by signal 11"),
        ("ctypes.string_at(0)", "killed by signal 11"),
        ("return [1, 2]", "returned list, and not a memstow.Plan"),
        ("search.offer('a plan')", "a memstow.Plan is offered, not str"),
        ("return Plan(status=Status.FEASIBLE)", "is not valid"),
        ("input()", "EOFError"),
        ("os.write(int(sys.argv[-1]), b'noise' * 100); time.sleep(600)", "garbage"),
        ("os.closerange(3, 100); time.sleep(600)", "closed its pipe"),
        ("held = bytearray(600 << 20); time.sleep(600)", "MiB of memory"),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_what_goes_wrong_in_it_is_told_and_stays_there(plugins: Plugins, body: str, said: str) -> None:
    plugins.solver("bad", body)
    with pytest.raises(memstow.PlugInError) as caught:
        solved("bad", memory_limit=400 << 20)
    assert said in str(caught.value)
    assert "'bad'" in str(caught.value)


def test_one_that_cannot_be_loaded_is_told(plugins: Plugins) -> None:
    plugins.install("broken", "memstow.solvers", "broken", "raise RuntimeError('half installed')")
    plugins.install("empty", "memstow.solvers", "empty", "", kind="Nothing")
    assert "of broken 1.0 failed: RuntimeError: half installed" in failing("broken")
    assert "no attribute 'Nothing'" in failing("empty")


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ("offset=0", {"overlap"}),
        ("pool='none', offset=0", {"unknown_pool"}),
        ("offset=1 << 40", {"beyond_capacity"}),
    ],
)
def test_a_plan_that_is_not_valid_is_an_error_with_what_the_judge_finds(
    plugins: Plugins, change: str, codes: set[str]
) -> None:
    place = "pool=problem.pools[0].id, " if "pool" not in change else ""
    plugins.solver(
        "wrong",
        f"places = [Placement(buffer=b.id, {place}{change}) for b in problem.buffers]\n"
        "return Plan(status=Status.FEASIBLE, placements=places)",
    )
    limited = replace(THREE, pools=(Pool(id="memory", capacity=1 << 20),))
    with pytest.raises(memstow.PlugInError, match="'wrong' is not valid") as caught:
        solved("wrong", limited)
    assert codes & set(caught.value.codes)


def test_its_output_does_not_reach_ours(plugins: Plugins, capfd: pytest.CaptureFixture[str]) -> None:
    plugins.solver(
        "loud", "print('x' * 100_000); os.write(1, b'y'); os.system('echo z'); return stacked(problem)"
    )
    assert solved("loud")[0].solver == "loud"
    assert capfd.readouterr() == ("", "")


@pytest.mark.campaign
def test_one_that_uses_the_time_it_has_left_is_not_ended(plugins: Plugins) -> None:
    # To load it takes a part of its time.
    plugins.solver(
        "patient",
        "while search.seconds_left > 0: time.sleep(0.001)\nreturn stacked(problem)",
        before="time.sleep(2)",
    )
    plan, notes = solved("patient", seconds=8.0)
    assert (plan.objective[0].value, notes) == (250, [])


@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(600)", "signal.pause()"])
def test_one_that_does_not_return_is_ended_at_the_limit(plugins: Plugins, body: str) -> None:
    plugins.solver("endless", body)
    plan, notes = solved("endless", seconds=1.0)
    assert plan.status is Status.UNKNOWN
    assert notes == ["endless ended early: it did not return in time, and was ended"]


@pytest.mark.parametrize(
    ("after", "note", "seconds"),
    [
        pytest.param("time.sleep(600)", "did not return in time", 20.0, marks=pytest.mark.campaign),
        ("raise ValueError('then')", "ValueError: then", 300.0),
        ("return Plan(status=Status.FEASIBLE)", "is not valid", 300.0),
        ("return None", None, 300.0),
    ],
)
def test_what_it_has_offered_is_not_lost(
    plugins: Plugins, after: str, note: str | None, seconds: float
) -> None:
    plugins.solver("late", f"search.offer(stacked(problem, 7)); search.offer(stacked(problem)); {after}")
    plan, notes = solved("late", seconds=seconds)
    assert plan.objective[0].value == 250
    assert (notes == []) if note is None else (len(notes) == 1 and note in notes[0])


def test_the_best_of_what_it_has_offered_counts(plugins: Plugins) -> None:
    plugins.solver("worse", "search.offer(stacked(problem)); return stacked(problem, 7)")
    assert solved("worse")[0].objective[0].value == 250


def test_thousands_of_offers_do_not_hold_the_run_up(plugins: Plugins) -> None:
    plugins.solver("eager", "while True: search.offer(stacked(problem))")
    plan, _ = solved("eager", seconds=300.0, gap=0.9)
    assert plan.objective[0].value == 250


@pytest.mark.parametrize(
    "end",
    [
        "return stacked(problem)",
        "os._exit(0)",
        "os.kill(os.getpid(), 9)",
        # It is ended as soon as its plan is good enough.
        "search.offer(stacked(problem)); time.sleep(600)",
    ],
)
def test_nothing_that_it_has_started_is_left(plugins: Plugins, tmp_path: Path, end: str) -> None:
    trace = tmp_path / "pids"
    plugins.solver(
        "parent",
        f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open({str(trace)!r}, 'a').write(f'{{os.getpid()}}\\n')
                time.sleep(600)
            os._exit(0)
        process = subprocess.Popen(['sleep', '600'], start_new_session=True)
        open({str(trace)!r}, 'a').write(f'{{process.pid}}\\n{{os.getpid()}}\\n')
        while len(open({str(trace)!r}).read().split()) < 3: time.sleep(0.01)
        {end}
        """,
    )
    with suppress(memstow.PlugInError):
        solved("parent", seconds=300.0, gap=0.9)
    started = [int(word) for word in trace.read_text().split()]
    assert len(started) == 3
    for process in started:
        wait_ended(process)


def test_it_ends_with_the_process_that_wanted_its_plan(plugins: Plugins, tmp_path: Path) -> None:
    trace = tmp_path / "pid"
    # No thread of it hears anything: it is the process above that does.
    plugins.solver(
        "deaf", f"open({str(trace)!r}, 'w').write(f'{{os.getpid()}} '); ctypes.PyDLL(None).sleep(600)"
    )
    code = """
import memstow
problem = memstow.Problem(buffers=[memstow.Buffer(id="a", size=1, lifetime=(0, 1))])
memstow.plan(problem, memstow.Options(solver="deaf", time_limit=600.0))
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    wait_for(lambda: trace.exists() and trace.read_text().endswith(" "), "the solver to begin")
    process.kill()
    process.wait()
    wait_ended(int(trace.read_text()))


def test_one_that_starts_more_and_more_is_ended(plugins: Plugins) -> None:
    plugins.solver(
        "many",
        """
        for _ in range(8):  # not so many that the machine lacks room for others
            if os.fork() == 0:
                os.setsid()
                while True:
                    if os.fork(): os._exit(0)
                    time.sleep(0.01)
        search.offer(stacked(problem))
        time.sleep(600)
        """,
    )
    assert solved("many", seconds=300.0, gap=0.9)[0].objective[0].value == 250
    name = str(plugins.folder).encode()
    # Each lives for a moment, so that one look may miss all of them.
    looks = [
        wait_for(lambda: not any(name in each for each in _environments()), "their end") for _ in range(50)
    ]
    assert all(looks)


def _environments() -> Iterator[bytes]:
    """Of all other processes that have one that can be read."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            with suppress(OSError):  # it may have ended since
                yield Path("/proc", name, "environ").read_bytes()


def test_a_fork_that_returns_as_well_does_no_harm(plugins: Plugins) -> None:
    plugins.solver("twice", "os.fork(); return stacked(problem)")
    assert solved("twice")[0].objective[0].value == 250


def test_a_run_that_is_stopped_ends_it_and_keeps_its_plan(plugins: Plugins) -> None:
    plugins.solver("slow", "search.offer(stacked(problem)); time.sleep(600)")
    cancel = threading.Event()

    def listen(event: memstow.Event) -> None:
        if isinstance(event, memstow.Incumbent):
            cancel.set()

    plan = memstow.plan(THREE, Options(solver="slow", time_limit=300.0), listen, cancel)
    assert plan.objective[0].value == 250


def test_a_gap_ends_it_as_soon_as_that_is_reached(plugins: Plugins) -> None:
    plugins.solver("slow", "search.offer(stacked(problem)); time.sleep(600)")
    plan, _ = solved("slow", seconds=300.0, gap=0.9)
    assert plan.objective[0].value == 250


def test_any_place_may_be_taken_also_between_what_sizes_have_in_common(plugins: Plugins) -> None:
    plugins.solver("odd", "return stacked(problem, 3)")
    even = Problem(buffers=[Buffer(id=name, size=64, lifetime=(0, 2)) for name in "abc"])
    plan, _ = solved("odd", even)
    assert [place.offset for place in plan.placements] == [0, 67, 134]
    assert memstow.verify(even, plan) == []


def test_options_reach_it(plugins: Plugins, tmp_path: Path) -> None:
    trace = tmp_path / "told"
    plugins.solver(
        "curious",
        f"open({str(trace)!r}, 'w').write(repr((search.seed, search.workers, search.work, search.memory, "
        "search.seconds_left is None, search.hint is not None and len(search.hint.placements))))\n"
        "return stacked(problem)",
        "deterministic = True",
    )
    hint = memstow.plan(THREE)
    solved("curious", deterministic=True, work_limit=77, seed=5, memory_limit=1 << 29, hint=hint)
    assert trace.read_text() == repr((5, 1, 77, 1 << 29, True, 3))


# What counts of its claims


def test_that_a_plan_is_optimal_counts_only_as_far_as_the_judge_can_count(plugins: Plugins) -> None:
    plugins.solver(
        "boaster",
        "from dataclasses import replace\n"
        "value = memstow.TermValue(term='peak', value=250, bound=250, gap=0.0)\n"
        "return replace(stacked(problem), status=Status.OPTIMAL, objective=(value,))",
    )
    plan, notes = solved("boaster")
    assert (plan.status, plan.objective[0].bound) == (Status.FEASIBLE, 150)
    assert notes == ["boaster claims, and nobody has checked, that no plan has a peak below 250"]
    assert memstow.judge(THREE, plan).unchecked == ()


def test_that_nothing_fits_does_not_count(plugins: Plugins) -> None:
    plugins.solver("quitter", "return Plan(status=Status.INFEASIBLE)")
    plan, notes = solved("quitter", replace(THREE, pools=(Pool(id="memory", capacity=200),)))
    assert plan.status is Status.UNKNOWN
    assert notes == ["quitter claims, and nobody has checked, that nothing fits"]


@pytest.mark.parametrize("more", [0, 1])
def test_a_bound_counts_if_the_judge_can_check_its_certificate(plugins: Plugins, more: int) -> None:
    problem, value = problem_of(ABOVE_LIVE), 16
    plugins.solver(
        "prover",
        f"""
        best = memstow.plan(problem, memstow.Options(solver='exact'))
        names = tuple(buffer.id for buffer in problem.buffers)
        window = ExhaustedWindow(solver='mine', pool='memory', begin=0, end=10, buffers=names)
        bound = {value + more}
        term = memstow.TermValue(term='peak', value={value}, bound=bound, gap=0.0, certificate=window)
        return Plan(status=Status.OPTIMAL, placements=best.placements, objective=(term,))
        """,
        before="from memstow.planner.model.plan import ExhaustedWindow",
    )
    plan, notes = solved("prover", problem)
    assert memstow.verify(problem, plan) == []
    if more:
        assert plan.status is Status.FEASIBLE
        assert len(notes) == 1
    else:
        assert (plan.status, plan.prover, notes) == (Status.OPTIMAL, "prover", [])
        assert isinstance(plan.objective[0].certificate, ExhaustedWindow)


def test_a_deterministic_run_that_never_ends_fails_and_has_no_plan(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_solver, "_ENDLESS_SECONDS", 1.0)
    plugins.solver("endless", "time.sleep(600)", "deterministic = True")
    with pytest.raises(memstow.PlugInError, match="out of time"):
        solved("endless", deterministic=True)


def test_graphs_and_banks_come_as_problems(plugins: Plugins) -> None:
    plugins.solver("stack", "return stacked(problem)")
    graph = memstow.read_graph(
        b'{"version": 1, "inputs": ["x"], "tensors": [{"id": "x", "size": 8}, {"id": "y", "size": 8}], '
        b'"operators": [{"id": "f", "inputs": ["x"], "outputs": ["y"]}]}'
    )
    plan = memstow.plan(graph, Options(solver="stack"))
    assert plan.objective[0].value == 16
    banked = Problem(
        buffers=[Buffer(id="a", size=8, lifetime=(0, 1)), Buffer(id="b", size=8, lifetime=(0, 1))],
        pools=[Pool(id="memory", banks=[memstow.Banks(size=8, count=2)])],
        bank_conflicts=[memstow.BankConflict(buffers=["a", "b"])],
    )
    plan, _ = solved("stack", banked)
    assert (plan.solver, memstow.verify(banked, plan)) == ("stack", [])


def test_a_solve_without_a_plug_in_loads_none(plugins: Plugins) -> None:
    plugins.install("trap", "memstow.solvers", "trap", "import os; os._exit(99)")
    assert memstow.plan(THREE).solver != "trap"


# What its proofs show


def proving(plugins: Plugins, change: str = "proof") -> None:
    """A solver `prover` that offers its plan with its proof, changed so."""
    body = f"plan, proof = proven(search, problem)\nsearch.offer(plan, {change})\nreturn plan"
    plugins.solver("prover", body, before=PROVING)


def with_proofs(problem: Problem, **options: Any) -> tuple[Plan, list[str], list[bytes]]:
    """The plan of that solver, the notes of the run, and the proofs that were accepted."""
    notes: list[str] = []
    proofs: list[bytes] = []

    def listen(event: memstow.Event) -> None:
        if isinstance(event, Phase) and event.is_note:
            notes.append(event.name)

    chosen = Options(**{"solver": "prover", "time_limit": 300.0, **options})
    return memstow.plan(problem, chosen, listen, on_proof=proofs.append), notes, proofs


def test_a_proof_makes_its_plan_optimal(plugins: Plugins, tmp_path: Path) -> None:
    problem = problem_of(ABOVE_LIVE)
    proving(plugins)
    plan, notes, proofs = with_proofs(problem)
    assert (plan.status, plan.solver, plan.prover) == (Status.OPTIMAL, "prover", "prover")
    assert (plan.objective[0].value, plan.objective[0].bound, notes) == (16, 16, [])
    assert memstow.verify(problem, plan) == []
    # By itself the plan makes a claim, which the proof shows: it is about the problem as memstow writes it.
    assert memstow.judge(problem, plan).unchecked != ()
    (tmp_path / "proof").write_bytes(proofs[0])
    document = memstow.write_problem(problem, "json")
    assert memstow.check_proof(document, plan, tmp_path / "proof").bounds == (16,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("proof[:-1] + b'\\7'", "prover has a proof that does not count: "),
        ("proof[:16] + bytes(32) + proof[48:]", "prover has a proof that does not count: "),
        ("b''", "prover has a proof that does not count: "),
        ("b'memstow order proof 1\\n' + proof[16:]", "prover has a proof that does not count: "),
    ],
)
def test_a_wrong_or_foreign_proof_is_refused_and_its_plan_stays(
    plugins: Plugins, change: str, said: str
) -> None:
    proving(plugins, change)
    plan, notes, proofs = with_proofs(problem_of(ABOVE_LIVE))
    assert (plan.status, plan.objective[0].value, plan.objective[0].bound) == (Status.FEASIBLE, 16, 15)
    assert [note[: len(said)] for note in notes] == [said]
    assert proofs == []


def test_a_proof_of_another_problem_shows_nothing_of_this_one(plugins: Plugins) -> None:
    body = """
    other = replace(problem, buffers=tuple(replace(b, size=b.size + 1) for b in problem.buffers))
    other_search = type(search)(9, 0, 0, 1, 0, None, print, memstow.write_problem(other, 'json'))
    proof = proven(other_search, other)[1]
    if BOUND:
        import hashlib
        proof = proof[:16] + hashlib.sha256(search.document).digest() + proof[48:]
    search.offer(proven(search, problem)[0], proof)
    """
    for bound in ("", "1"):
        plugins.solver(f"foreign{bound}", body.replace("BOUND", repr(bound)), before=PROVING)
        plan, notes, proofs = with_proofs(problem_of(ABOVE_LIVE), solver=f"foreign{bound}")
        assert (plan.status, plan.objective[0].bound, proofs) == (Status.FEASIBLE, 15, [])
        assert "a proof that does not count" in notes[0]


@pytest.mark.parametrize("is_right", [True, False])
def test_that_nothing_fits_counts_with_its_proof(plugins: Plugins, is_right: bool) -> None:
    problem = replace(problem_of(ABOVE_LIVE), pools=(Pool(id="memory", capacity=15),))
    proving(plugins, "proof" if is_right else "proof[:-1]")
    plan, notes, proofs = with_proofs(problem)
    if is_right:
        assert (plan.status, plan.prover, notes) == (Status.INFEASIBLE, "prover", [])
        assert plan.explanation is not None
        assert "as a proof of it has shown" in plan.explanation.message
        assert len(proofs) == 1
    else:
        assert (plan.status, proofs) == (Status.UNKNOWN, [])
        assert "a proof that does not count" in notes[0]
        assert notes[1] == "prover claims, and nobody has checked, that nothing fits"


def test_a_proof_that_a_plan_is_the_best_is_none_that_nothing_fits(plugins: Plugins) -> None:
    problem = replace(problem_of(ABOVE_LIVE), pools=(Pool(id="memory", capacity=16),))
    body = "_, proof = proven(search, problem)\nsearch.offer(Plan(status=Status.INFEASIBLE), proof)"
    plugins.solver("prover", body, before=PROVING)
    plan, notes, proofs = with_proofs(problem)
    assert (plan.status, proofs) == (Status.UNKNOWN, [])
    assert "that does not count" in notes[0]


def test_every_term_that_is_shown_counts(plugins: Plugins) -> None:
    buffers = [Buffer(id=f"tile{i}", size=4, lifetime=(i, i + 1)) for i in range(3)]
    costs = [
        memstow.ReuseCost(buffers=(f"tile{i}", f"tile{k}"), cost=cost)
        for i, k, cost in ((0, 1, 5), (1, 2, 1), (0, 2, 5))
    ]
    problem = Problem(
        buffers=buffers,
        pools=[Pool(id="memory", capacity=10)],
        reuse_costs=costs,
        objective=["reuse_cost", "peak"],
    )
    proving(plugins)
    plan, notes, _ = with_proofs(problem)
    assert [(term.value, term.bound) for term in plan.objective] == [(1, 1), (8, 8)]
    assert (plan.status, plan.prover, notes) == (Status.OPTIMAL, "prover", [])


def test_a_proof_is_not_lost_for_a_plan_that_comes_after_it(plugins: Plugins) -> None:
    proving(plugins)
    body = "plan, proof = proven(search, problem)\nsearch.offer(plan, proof)\nsearch.offer(plan)\nreturn plan"
    plugins.solver("again", body, before=PROVING)
    plan, _, proofs = with_proofs(problem_of(ABOVE_LIVE), solver="again")
    assert (plan.status, len(proofs)) == (Status.OPTIMAL, 1)


@pytest.mark.parametrize("proof", ["'text'", "bytes(64 * 2**20 + 1)"])
def test_what_is_no_proof_is_an_error_where_it_is_offered(plugins: Plugins, proof: str) -> None:
    plugins.solver("prover", f"search.offer(stacked(problem), {proof})")
    assert "a proof " in failing("prover")


def test_there_is_no_time_beyond_the_limit_to_check_a_proof(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    proving(plugins)
    monkeypatch.setattr(plugin_solver, "_stop_of", lambda *_budget, **_how: lambda: True)
    plan, notes, proofs = with_proofs(problem_of(ABOVE_LIVE))
    assert (plan.status, proofs) == (Status.FEASIBLE, [])
    assert notes == ["prover has a proof that does not count: no time was left to check it"]
