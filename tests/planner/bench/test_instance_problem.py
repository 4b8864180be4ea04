"""Problems are found again when they are where they were and what they were."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from memstow.planner import formats
from memstow.planner.bench.instances import Generated, files, find_problems, paths_file, read_paths
from memstow.planner.bench.journal import Results
from memstow.planner.bench.record import Record
from memstow.planner.generate.network import network
from memstow.planner.model.digest import digest
from memstow.planner.model.problem import Problem
from tests.planner.bench.make import made, results

OPTIONS = {"time_limit": 1.0, "format": None, "target": None, "capacity": None, "fit_only": False}


def _of(problem: Problem, content: str) -> Record:
    record = made("a", "x", 10, options=OPTIONS, digest=digest(problem))
    return replace(record, instance=replace(record.instance, content=content))


def _found(result: Results, *sources: Generated) -> dict[str, Problem]:
    return find_problems(sources, result.runs, [run.instance for run in result.runs])


def test_a_generated_problem_is_made_again(tmp_path: Path) -> None:
    source = Generated("network", {"element": 4}, range(5, 6), range(3))
    wanted = list(source)[1]
    problem = network(5, 1)
    outcomes = results(tmp_path, _of(problem, wanted.content))
    assert _found(outcomes, source) == {digest(problem): problem}


def test_a_file_is_read_again_with_the_changes_asked_for(tmp_path: Path) -> None:
    data = formats.write_problem(network(5, 1))
    (tmp_path / "a.json").write_bytes(data)
    fit_only = replace(network(5, 1), objective=())
    record = _of(fit_only, sha256(data).hexdigest())
    changed = replace(record, solver=replace(record.solver, options={**OPTIONS, "fit_only": True}))
    outcomes = results(tmp_path / "run", changed)
    sources = [files(str(tmp_path / "a.json"))]
    again = find_problems(sources, outcomes.runs, [run.instance for run in outcomes.runs])
    assert again == {digest(fit_only): formats.read_problem(formats.write_problem(fit_only))}


def test_another_problem_in_its_place_is_not_taken_for_it(tmp_path: Path) -> None:
    source = Generated("network", {"element": 4}, range(5, 6), range(3))
    outcomes = results(tmp_path, _of(network(6, 1), next(iter(source)).content))
    assert _found(outcomes, source) == {}


def test_what_a_folder_was_told_to_run_is_remembered(tmp_path: Path) -> None:
    for paths in (["generate:network,n=5", "here"], ["generate:network,n=5", "there", "caf\udce9"]):
        (tmp_path / "paths.json").write_bytes(paths_file(tmp_path, paths))
    local_sets = [str(Path.cwd() / name) for name in ("here", "there", "caf\udce9")]
    assert read_paths(tmp_path) == ["generate:network,n=5", *local_sets]
    for other in ("{", json.dumps({"a": 1})):
        (tmp_path / "paths.json").write_text(other)
        assert read_paths(tmp_path) == []
    assert read_paths(tmp_path / "none") == []
