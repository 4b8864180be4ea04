"""A comparison tells what got better or worse, and keeps quiet about what chance does."""

import random
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memstow.planner.bench.compare import (
    DECIDING,
    NAMES,
    OF_TWO_SOLVERS,
    Comparison,
    Line,
    Strictness,
    Verdict,
    compare,
    comparison_json,
    comparison_text,
)
from memstow.planner.bench.journal import read
from memstow.planner.bench.record import RESULTS, Ending, Record, TermValue
from memstow.planner.model.errors import InputError, MissingBackEndError
from tests.planner.bench.make import made, results, write

pytest.importorskip("scipy", reason="comparing runs needs the extra bench")

EXACT = {"time_limit": 10.0, "deterministic": True}


def _compared(folder: Path, old: list[Record], new: list[Record], tolerance: float = 0.01) -> Comparison:
    before, after = results(folder / "old", *old), results(folder / "new", *new)
    return compare(before, after, Strictness(tolerance), NAMES)


def _line(comparison: Comparison, measure: str, solver: str = "x") -> Line:
    return next(line for line in comparison.lines if (line.solver, line.measure) == (solver, measure))


def _noisy(factor: float, seed: int, *, many: int = 30, seeds: int = 3) -> list[Record]:
    chance = random.Random(seed)
    return [
        made(f"i{k}", "x", 100, seed=s, seconds=(k + 1) * factor * chance.uniform(0.7, 1.4))
        for k in range(many)
        for s in range(seeds)
    ]


def test_noise_is_no_difference(tmp_path: Path) -> None:
    called = []
    for trial in range(20):
        comparison = _compared(tmp_path / str(trial), _noisy(1, 2 * trial), _noisy(1, 2 * trial + 1))
        called.append(any(line.verdict is not Verdict.SAME for line in comparison.lines))
    assert sum(called) <= 2


def test_what_is_slower_throughout_is_seen_through_noise(tmp_path: Path) -> None:
    comparison = _compared(tmp_path, _noisy(1, 1), _noisy(1.3, 2))
    line = _line(comparison, "seconds")
    assert line.verdict is Verdict.WORSE
    assert line.mean is not None
    assert line.interval is not None
    assert 1.1 < line.interval[0] < line.mean < line.interval[1] < 1.5
    assert not comparison.worse(DECIDING)
    assert comparison.worse(["seconds"])
    assert _line(_compared(tmp_path, _noisy(1.3, 2), _noisy(1, 1)), "seconds").verdict is Verdict.BETTER


@pytest.mark.parametrize("factor", [1.05, 1.2])
def test_what_is_printed_is_what_was_measured_however_short_the_runs(tmp_path: Path, factor: float) -> None:
    def slower(by: float) -> list[Record]:
        return [made(f"i{k}", "x", 100, seconds=0.001 * by, reported=0.0005 * by) for k in range(20)]

    comparison = _compared(tmp_path, slower(1), slower(factor))
    for measure in ("seconds", "cpu", "reported"):
        line = _line(comparison, measure)
        assert line.mean == pytest.approx(factor)
        assert line.interval == pytest.approx((factor, factor))
        assert line.verdict is Verdict.WORSE
        assert f"{factor:.4f}" in comparison_text(comparison, [])


def test_counts_and_bounds_are_compared_as_they_are(tmp_path: Path) -> None:
    def run(steps: int, nodes: int, bound: int) -> Record:
        return made("a", "x", 100, options=EXACT, bound=bound, work={"steps": steps, "nodes": nodes})

    comparison = _compared(tmp_path, [run(10, 0, 8)], [run(20, 3, 4)])
    assert _line(comparison, "steps").mean == pytest.approx(2)
    # Of 0 there is no multiple: both count one more.
    assert _line(comparison, "nodes").mean == pytest.approx(4)
    bound = _line(comparison, "bound")
    assert bound.mean == pytest.approx(2)
    assert bound.verdict is Verdict.WORSE


def test_what_was_not_measured_is_not_compared(tmp_path: Path) -> None:
    old, new = made("a", "x", 10, seconds=0.0), made("a", "x", 10, reported=1.0)
    comparison = _compared(tmp_path, [old], [new])
    assert {line.measure for line in comparison.lines} & {"seconds", "cpu", "reported"} == set()


def test_a_verdict_of_clocks_tells_whether_runs_were_side_by_side(tmp_path: Path) -> None:
    def runs(seconds: float, turn: int | None) -> list[Record]:
        return [made(f"i{k}", "x", 100, seconds=seconds, turn=turn) for k in range(12)]

    apart = _compared(tmp_path / "apart", runs(1, None), runs(2, None))
    assert "note: the runs were not side by side, so in seconds, cpu a drift" in comparison_text(apart, [])
    assert comparison_json(apart, [])["side_by_side"] is False
    beside = _compared(tmp_path / "beside", runs(1, 1), runs(2, 2))
    assert "side by side" not in comparison_text(beside, [])
    assert comparison_json(beside, [])["side_by_side"] is True
    same = _compared(tmp_path / "same", runs(1, None), runs(1, None))
    assert "side by side" not in comparison_text(same, [])


def test_seeds_of_one_instance_are_not_as_good_as_instances(tmp_path: Path) -> None:
    old, new = _noisy(1, 1, many=2, seeds=30), _noisy(2, 2, many=2, seeds=30)
    line = _line(_compared(tmp_path, old, new), "seconds")
    assert (line.instances, line.verdict) == (2, Verdict.SAME)


def test_in_deterministic_runs_every_difference_counts(tmp_path: Path) -> None:
    old = [made(f"i{k}", "x", 100, options=EXACT, work={"steps": 1000, "nodes": 50}) for k in range(4)]
    new = [*old[:3], replace(old[3], work={"steps": 1300, "nodes": 50})]
    comparison = _compared(tmp_path, old, new)
    steps = _line(comparison, "steps")
    assert (steps.verdict, steps.better, steps.worse, steps.chance) == (Verdict.WORSE, 0, 1, None)
    assert [name for name, _ in steps.worst] == ["i3"]
    assert _line(comparison, "nodes").verdict is Verdict.SAME
    assert comparison.worse(DECIDING)
    assert not _compared(tmp_path, old, new, tolerance=0.1).worse(DECIDING)
    assert _line(_compared(tmp_path, new, old), "steps").verdict is Verdict.BETTER
    undecided = [replace(r, solver=replace(r.solver, options={"time_limit": 10.0})) for r in old]
    changed = [replace(r, solver=replace(r.solver, options={"time_limit": 10.0})) for r in new]
    assert _line(_compared(tmp_path, undecided, changed), "steps").verdict is Verdict.SAME


def test_a_lost_proof_and_a_lost_plan_are_told(tmp_path: Path) -> None:
    old = [made(f"i{k}", "x", 100, options=EXACT, status=Ending.OPTIMAL) for k in range(3)]
    new = [
        old[0],
        made("i1", "x", 100, options=EXACT),
        made("i2", "x", options=EXACT, status=Ending.ERROR),
    ]
    comparison = _compared(tmp_path, old, new)
    assert (_line(comparison, "proven").worse, _line(comparison, "solved").worse) == (2, 1)
    assert comparison.worse(["solved"])
    # What failed at once was not faster.
    assert _line(comparison, "seconds").instances == 2


def test_values_are_compared_term_by_term(tmp_path: Path) -> None:
    old, new = made("a", "x", (5, 9), options=EXACT), made("a", "x", (5, 18), options=EXACT)
    line = _line(_compared(tmp_path, [old], [new]), "value")
    assert line.mean == pytest.approx(2.0)
    assert line.verdict is Verdict.WORSE


def test_a_false_claim_is_worse_than_any_figure(tmp_path: Path) -> None:
    old = [made("a", "x", 10), made("b", "x", 10)]
    new = [made("a", "x", 10), made("b", "x", status=Ending.INFEASIBLE)]
    comparison = _compared(tmp_path, old, new)
    assert comparison.worse([])
    assert "nothing fits" in comparison_text(comparison, [])


def test_what_is_missing_from_the_new_results_is_told(tmp_path: Path) -> None:
    old = [made(name, "x", 10) for name in ("a", "gone")]
    comparison = _compared(tmp_path, old, [old[0], made("more", "x", 10)])
    text = comparison_text(comparison, [])
    assert comparison.worse([])
    assert "missing: gone by x" in text
    assert "only in the new results: 1 runs" in text
    assert "gone" not in comparison_text(_compared(tmp_path, [old[0]], [old[0]]), [])


def test_a_line_that_cannot_be_read_is_told_where_its_run_is_missing(tmp_path: Path) -> None:
    old, kept = results(tmp_path / "old", made("a", "x", 10), made("b", "x", 10)), made("a", "x", 10)
    write(tmp_path / "new", kept, made("b", "x", 10))
    file = tmp_path / "new" / RESULTS
    file.write_text(file.read_text()[:-9])
    comparison = compare(old, read(tmp_path / "new"), Strictness(), NAMES)
    assert "missing: b by x" in comparison_text(comparison, [])
    assert f"note: {file}: 1 of its lines cannot be read" in comparison_text(comparison, [])


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no instance"):
        _compared(tmp_path, [made("a", "x", 10)], [made("a", "y", 10)])


def test_other_options_are_noted_and_equal_ones_belong_together(tmp_path: Path) -> None:
    slow, fast = {"time_limit": 10.0}, {"time_limit": 1.0}
    comparison = _compared(tmp_path, [made("a", "x", 10, options=slow)], [made("a", "x", 11, options=fast)])
    assert comparison.pairs.notes == ("x: time_limit was 10.0 and is 1.0",)
    both = [made("a", "x", 10, options=slow), made("a", "x", 12, options=fast)]
    comparison = _compared(tmp_path, both, both)
    assert [
        pair.old.record.solver.options == pair.new.record.solver.options for pair in comparison.pairs.pairs
    ] == [
        True,
        True,
    ]


def test_the_words_and_the_json_say_the_same(tmp_path: Path) -> None:
    old, new = made("a", "x", 10, options=EXACT), made("a", "x", 11, options=EXACT)
    comparison = _compared(tmp_path, [old], [new])
    text, data = comparison_text(comparison, DECIDING), comparison_json(comparison, DECIDING)
    assert data["worse"] is True
    assert [line["measure"] for line in data["lines"] if line["verdict"] == "worse"] == ["value"]
    assert "worse in value of x: a (1.1000)" in text
    assert text.endswith("\nworse in value: 1 pairs of runs compared")


def test_the_last_line_says_what_is_worse_whether_or_not_it_decides(tmp_path: Path) -> None:
    old, slow = _noisy(1, 1), _noisy(1.3, 2)
    slower = _compared(tmp_path / "slower", old, slow)
    unnamed = "which does not decide"
    rest = "90 pairs of runs compared"
    assert (
        comparison_text(slower, DECIDING).splitlines()[-1] == f"worse in seconds and cpu, {unnamed}: {rest}"
    )
    assert (
        comparison_text(slower, ["seconds"]).splitlines()[-1]
        == f"worse in seconds; worse in cpu, {unnamed}: {rest}"
    )
    larger = [replace(run, objective=(TermValue("term0", 200, None),)) for run in slow]
    both = _compared(tmp_path / "both", old, larger[1:])
    assert comparison_text(both, DECIDING).splitlines()[-1] == (
        "worse in value; worse, since results are missing; "
        f"worse in seconds and cpu, {unnamed}: 89 pairs of runs compared"
    )
    same = _compared(tmp_path / "equal", old, old)
    assert comparison_text(same, DECIDING).splitlines()[-1] == f"nothing is worse: {rest}"


def test_runs_that_only_the_new_results_have_are_nothing_worse(tmp_path: Path) -> None:
    old = made("a", "x", 10)
    assert not _compared(tmp_path, [old], [old, made("more", "x", 10)]).worse([])


def test_what_one_measure_in_many_shows_by_chance_is_no_difference(tmp_path: Path) -> None:
    old, new = ([made(f"i{k}", "x", 100, seconds=s) for k in range(6)] for s in (1.0, 2.0))
    before, after = results(tmp_path / "old", *old), results(tmp_path / "new", *new)
    # Six of six are less likely than one in twenty, and among eight measures not unlikely.
    alone = _line(compare(before, after, Strictness(), ["seconds"]), "seconds")
    assert (alone.chance, alone.verdict) == (2 / 64, Verdict.WORSE)
    among = _line(compare(before, after, Strictness(), NAMES), "seconds")
    assert among.chance is not None
    assert among.chance > 0.2
    assert among.verdict is Verdict.SAME


def test_clocks_are_chance_in_deterministic_runs_too(tmp_path: Path) -> None:
    old, new = (
        [made(f"i{k}", "x", 100, options=EXACT, seconds=seconds) for k in range(3)] for seconds in (1.0, 2.0)
    )
    line = _line(_compared(tmp_path, old, new), "seconds")
    assert line.verdict is Verdict.SAME
    assert line.chance is not None


def test_the_instances_that_lost_most_are_named_first(tmp_path: Path) -> None:
    lost = {"little": 110, "most": 200, "some": 150, "none": 100, "gained": 50}
    old = [made(name, "x", 100, options=EXACT) for name in lost]
    new = [made(name, "x", value, options=EXACT) for name, value in lost.items()]
    assert [name for name, _ in _line(_compared(tmp_path, old, new), "value").worst] == [
        "most",
        "some",
        "little",
    ]


def test_where_it_was_measured_is_noted_if_it_is_told_and_differs(tmp_path: Path) -> None:
    here = made("a", "x", 10)
    kept = replace(here, machine=replace(here.machine, cpus=0))
    other = replace(here, machine=replace(here.machine, cpus=64))
    assert _compared(tmp_path / "kept", [kept], [here]).pairs.notes == ()
    (note,) = _compared(tmp_path / "other", [other], [here]).pairs.notes
    assert "2 processors, Linux; 64 processors, Linux" in note


def test_of_several_options_in_the_new_results_the_equal_ones_are_paired(tmp_path: Path) -> None:
    slow = {"time_limit": 10.0}
    # Whichever comes last would count for both if the name alone were the key.
    new = [made("a", "x", 12, options={"time_limit": limit}) for limit in (0.5, 1.0, 7.0, 20.0)]
    new.append(made("a", "x", 10, options=slow))
    (pair,) = _compared(tmp_path, [made("a", "x", 10, options=slow)], new).pairs.pairs
    assert pair.new.record.solver.options == slow


def _of_two(folder: Path, records: list[Record], solvers: tuple[str, str]) -> Comparison:
    one = results(folder, *records)
    return compare(one, one, Strictness(), OF_TWO_SOLVERS, solvers)


def _two(many: int, seeds: int = 1) -> list[Record]:
    """Of x and y; y needs 10 % less and takes twice as long."""
    return [
        made(f"i{k}", solver, 100 - 10 * (solver == "y"), seed=s, seconds=1 + (solver == "y"), options=EXACT)
        for k in range(many)
        for solver in ("x", "y", "z")
        for s in range(seeds)
    ]


def test_two_solvers_of_one_run_are_compared_with_significance(tmp_path: Path) -> None:
    comparison = _of_two(tmp_path / "many", _two(8, seeds=2), ("x", "y"))
    assert comparison.pairs.solvers == ("x -> y",)
    assert len(comparison.pairs.pairs) == 16
    value, seconds = (_line(comparison, measure, "x -> y") for measure in ("value", "seconds"))
    assert value.verdict is Verdict.BETTER
    assert value.mean == pytest.approx(0.9)
    assert value.chance is not None
    assert seconds.verdict is Verdict.WORSE
    assert not value.too_few
    # Deterministic, but three instances say little about others.
    few = _line(_of_two(tmp_path / "few", _two(3), ("x", "y")), "value", "x -> y")
    assert (few.verdict, few.better, few.too_few) == (Verdict.SAME, 3, True)


def test_too_few_instances_for_so_many_tests_are_told(tmp_path: Path) -> None:
    ran = results(tmp_path, *_two(7))
    of_all = compare(ran, ran, Strictness(), NAMES, ("y", "x"))
    output = comparison_text(of_all, NAMES)
    value = _line(of_all, "value", "y -> x")
    assert (value.verdict, value.worse, value.too_few) == (Verdict.SAME, 7, True)
    assert "note: in value, " in output
    assert "too few instances differ" in output
    assert "nothing is shown to be worse: 7 pairs of runs compared" in output
    of_one = compare(ran, ran, Strictness(), ("value",), ("y", "x"))
    assert _line(of_one, "value", "y -> x").verdict is Verdict.WORSE
    assert "too few" not in comparison_text(of_one, NAMES)


def test_two_solvers_of_two_runs_are_compared(tmp_path: Path) -> None:
    ours = results(tmp_path / "ours", *(one for one in _two(12) if one.solver.name == "x"))
    theirs = results(tmp_path / "theirs", *(one for one in _two(13) if one.solver.name == "y"))
    comparison = compare(ours, theirs, Strictness(), NAMES, ("x", "y"))
    assert _line(comparison, "value", "x -> y").verdict is Verdict.BETTER
    assert "runs of y without a partner, which do not count: 1" in comparison.pairs.notes
    assert not comparison.worse(())
    with pytest.raises(
        InputError, match=r"--solvers A,B compares solver A of these \(x\) with B of these \(y\)"
    ):
        compare(ours, theirs, Strictness(), NAMES)


def test_a_solver_of_a_comparison_must_be_there_and_be_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results of 'w'; name one of: x, y, z"):
        _of_two(tmp_path / "none", _two(1), ("x", "w"))
    several = [made("a", "x", 10, options={"time_limit": limit}) for limit in (1.0, 2.0)]
    with pytest.raises(InputError, match="several sets of options for 'x'; name one of: x "):
        _of_two(tmp_path / "several", [*several, made("a", "y", 9)], ("x", "y"))
    comparison = _of_two(tmp_path / "named", [*several, made("a", "y", 9)], ("x (time_limit 2.0)", "y"))
    assert len(comparison.pairs.pairs) == 1


def test_without_scipy_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingBackEndError, match=re.escape("pip install 'memstow[bench]'")):
        _compared(tmp_path, [made("a", "x", 10)], [made("a", "x", 10)])
