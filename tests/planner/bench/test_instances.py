"""Instances are found, named and counted before any is read."""

import json
import os
from pathlib import Path

import pytest

from memstow.planner.bench.instances import Generated, files, paths_file, selected
from memstow.planner.formats import read_problem
from memstow.planner.instance_library.folder import Folder
from memstow.planner.instance_library.records import opened, posed
from memstow.planner.model.errors import InputError
from tests.planner.instance_library.libraries import about, made, random_problem


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "public"
    for name in ("b.csv", "a.12.json", "deep/er/c.csv", "readme.md"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def names(path: Path | str) -> list[tuple[str, str]]:
    paths = files(str(path))
    listed = [(given.family, given.name) for given in paths]
    assert len(paths) == len(listed)
    return listed


def test_a_folder_gives_what_is_in_it_and_below(folder: Path) -> None:
    assert names(folder) == [("public", "a.12"), ("public", "b"), ("deep", "deep/er/c")]


def test_a_file_has_the_family_of_its_folder(folder: Path) -> None:
    assert names(folder / "b.csv") == [("public", "b")]
    assert [given.data for given in files(str(folder / "b.csv"))] == [b"b.csv"]


def test_a_problem_with_symbols_is_an_instance_for_each_of_its_points(folder: Path) -> None:
    problem = {
        "symbols": [{"id": "s", "min": 1, "max": 8}, {"id": "b", "min": 1, "max": 2}],
        "points": [{"at": {"s": 4, "b": 1}}, {"at": {"s": 8, "b": 2}}],
        "buffers": [{"id": "x", "size": "s*b", "lifetime": [0, 1]}],
    }
    (folder / "a.12.json").write_text(json.dumps(problem))
    assert names(folder)[:3] == [("public", "a.12@s=4,b=1"), ("public", "a.12@s=8,b=2"), ("public", "b")]
    first, second, *_ = files(str(folder))
    assert first.label.endswith("a.12.json@s=4,b=1")
    sizes = [read_problem(entry.data or b"").buffers[0].size for entry in (first, second)]
    assert sizes == [4, 16]
    assert first.content != second.content


def test_a_problem_with_symbols_that_is_not_valid_is_one_instance_that_cannot_be_read(folder: Path) -> None:
    (folder / "a.12.json").write_text('{"symbols": [], "buffers": []}')
    first, *_ = files(str(folder))
    assert len(names(folder)) == 3
    assert first.data is None
    assert "symbols" in (first.unreadable or "")


def test_a_pattern_gives_what_matches(folder: Path) -> None:
    assert names(f"{folder}/*.csv") == [("public", "b")]
    assert names(f"{folder}/**/*.csv") == [("public", "b"), ("deep", "deep/er/c")]


def test_a_folder_named_by_a_dot_has_the_name_it_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert names(".")[0] == ("public", "a.12")
    assert names("b.csv") == [("public", "b")]


@pytest.mark.parametrize("path", ["nothing.csv", "*.txt", "empty"])
def test_where_nothing_is_that_is_told(folder: Path, path: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"no_instances"):
        files(str(folder / path))


def test_a_file_that_goes_away_meanwhile_says_so_and_the_rest_go_on(folder: Path) -> None:
    paths = files(str(folder))
    (folder / "a.12.json").unlink()
    first, second, _ = paths
    assert first.data is None
    assert "not_found" in (first.unreadable or "")
    assert second.data == b"b.csv"


def test_what_a_bench_has_written_is_no_problem(folder: Path) -> None:
    bench = folder / "deep" / "bench"
    bench.mkdir()
    for name in (
        "results.jsonl",
        "paths.json",
        "commands.json",
        "best_known.json",
        "runs.csv",
        "summary.csv",
        "mine.csv",
    ):
        (bench / name).write_text("")
    (folder / "runs.csv").write_text("a problem of that name")
    expected = [("public", "a.12"), ("public", "b"), ("deep", "deep/bench/mine"), ("deep", "deep/er/c")]
    assert names(folder) == [*expected, ("public", "runs")]
    assert names(f"{folder}/**/*.csv") == [*expected[1:], ("public", "runs")]


def test_a_name_that_is_no_text_is_one_when_it_is_told(folder: Path) -> None:
    strange = folder / os.fsdecode(b"caf\xe9.csv")
    try:
        strange.write_text("x")
    except OSError:
        pytest.skip("names of files are text here")
    (given,) = files(str(strange))
    assert given.name == "caf\\udce9"
    given.name.encode()


def test_generated_instances_are_one_for_each_size_and_seed() -> None:
    made = Generated("planted", {"slack": 0.5}, range(10, 12), range(3))
    listed = list(made)
    assert len(made) == len(listed) == 6
    assert listed[0].name == "planted,n=10,slack=0.5,seed=0"
    assert {given.family for given in listed} == {"planted,n=10,slack=0.5", "planted,n=11,slack=0.5"}
    assert len({given.content for given in listed}) == 6
    assert listed[-1].generated == {"kind": "planted", "n": 11, "seed": 2, "slack": 0.5}


@pytest.fixture
def library(tmp_path: Path) -> Folder:
    """Two problems that are solved, and one of another family that is not."""
    folder = made(tmp_path / "library")
    with opened(folder) as one:
        entry = posed(random_problem(7))
        one.add(about("other", family="others"), entry)
    return folder


def test_a_library_gives_its_instances_by_their_ids(library: Folder) -> None:
    assert names(library.path) == [("others", "other"), ("tests", "p0"), ("tests", "p1")]
    for source in files(str(library.path)):
        assert source.data == (library.path / source.name / "problem.json").read_bytes()


def test_a_packed_document_is_the_same_problem(library: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstow.planner.instance_library.folder.LARGEST_PLAIN", 10)
    entry = posed(random_problem(9))
    with opened(library) as one:
        one.add(about("packed"), entry)
    assert (library.path / "packed" / "problem.json.gz").is_file()
    chosen = selected(f"library:{library.path},id=packed")
    assert chosen is not None
    assert [source.data for source in chosen] == [entry.data]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", ["other", "p0", "p1"]),
        (",state=open", ["other"]),
        (",family=others", ["other"]),
        (",family=others+tests", ["other", "p0", "p1"]),
        (",id=p*", ["p0", "p1"]),
        (",id=p1+other", ["other", "p1"]),
        (",state=open+proven+claimed,id=p0", ["p0"]),
    ],
)
def test_some_of_a_library_are_selected(library: Folder, settings: str, expected: list[str]) -> None:
    chosen = selected(f"library:{library.path}{settings}")
    assert chosen is not None
    assert [source.name for source in chosen] == expected
    assert len(chosen) == len(expected)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (",state=opn", "bad_library"),
        (",state=open,state=open", "bad_library"),
        (",family=nobody", "no_instances"),
        (",colour=red", "not_found"),
    ],
)
def test_a_selection_of_nothing_is_an_error(library: Folder, settings: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        selected(f"library:{library.path}{settings}")
    assert caught.value.issues[0].code == code


def test_what_is_wrong_in_a_library_is_left_out_and_named(library: Folder) -> None:
    (library.path / "p0" / "problem.json").write_bytes(b"{}")
    (library.path / "p1" / "instance.json").write_bytes(b"[]")
    _, changed, broken = files(str(library.path))
    assert changed.data is None
    assert "its bytes are not those" in (changed.unreadable or "")
    assert broken.data is None
    assert broken.unreadable


def test_reports_look_for_all_of_a_library(library: Folder, tmp_path: Path) -> None:
    text = paths_file(tmp_path, [f"library:{library.path},state=open", str(library.path)])
    assert json.loads(text) == [str(library.path)]
