"""Files are whole or not there."""

import os
import stat
from pathlib import Path

import pytest

from memstow.api.cli.output_files import format_of, refuse_other_pictures, refuse_unwritable, replace_file
from tests.planner.refusal import refusal, told


def test_a_file_appears_with_nothing_beside_it(tmp_path: Path) -> None:
    replace_file(tmp_path / "plan.json", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]
    assert (tmp_path / "plan.json").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file_and_no_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_the_permissions_of_a_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "none" / "plan.json"
    with pytest.raises(FileNotFoundError) as caught:
        replace_file(path, b"new")
    assert caught.value.filename == str(path)


@pytest.mark.parametrize("name", ["", ".", "none/plan.json", "file/plan.json"])
def test_what_cannot_be_written_is_told_before_there_is_anything_to_write(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert told(lambda: refuse_unwritable(name)) == [("not_writable", name)]


def test_what_can_be_written_is_not_touched(tmp_path: Path) -> None:
    refuse_unwritable(None, "-", os.devnull, str(tmp_path / "plan.json"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "chosen", "expected"),
    [
        (None, None, "json"),
        ("a.CSV", None, "csv"),
        ("a.json", None, "json"),
        ("a.csv", "json", "json"),
        ("a.yaml", "csv", "csv"),
        ("model-1.5", None, "json"),
        ("plan", None, "json"),
        ("-", None, "json"),
        (os.devnull, None, "json"),
    ],
)
def test_the_format_is_the_one_asked_for_or_the_one_of_the_name(
    path: str | None, chosen: str | None, expected: str
) -> None:
    assert format_of(path, chosen) == expected


@pytest.mark.parametrize("name", ["a.yaml", "a.TXT", "b.svg", "x.json.gz"])
def test_a_name_that_promises_another_format_is_refused(name: str) -> None:
    suffix = Path(name).suffix.lower()
    (issue,) = refusal(lambda: format_of(name, None))
    said = issue.message
    assert f"{suffix} is not a supported format: use a name that ends with .json or .csv" in said
    assert said.endswith("; or choose with --output-format")


@pytest.mark.parametrize("name", ["plan.png", "plan.json", "plan.svg.pdf"])
def test_a_picture_is_svg_and_says_so(name: str) -> None:
    (issue,) = refusal(lambda: refuse_other_pictures(name))
    assert (
        issue.message == f"{Path(name).suffix} is not supported for pictures: use a name that ends with .svg"
    )
    for svg in (None, "-", "plan.svg", "PLAN.SVG", "plan"):
        refuse_other_pictures(svg)
