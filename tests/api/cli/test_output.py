"""Files are whole or not there."""

import json
import os
import signal
import stat
import subprocess
import sys
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


# Replaces two files in a process of its own each time, which a signal reaches at its n-th line; ends with
# the statuses of these processes and what each has left behind, until one has ended by itself.
_ENDED_AT_EACH_LINE = """
import json, os, signal, sys
from pathlib import Path
from memstow.api.cli import output_files

folder, number = Path(sys.argv[1]), int(sys.argv[2])

def ended_at(line):
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != output_files.__file__:
            return None
        if event == "line":
            lines += 1
            if lines == line:
                signal.raise_signal(number)
        return trace

    sys.settrace(trace)
    try:
        output_files.replace_files({folder / "model.c": b"new", folder / "model.h": b"new"})
    except KeyboardInterrupt:
        os._exit(130)
    sys.settrace(None)
    os._exit(0 if lines < line else 1)

seen = []
for line in range(1, 1000):
    for old in folder.iterdir():
        old.unlink()
    (folder / "model.c").write_text("old")
    child = os.fork()
    if child == 0:
        ended_at(line)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    seen.append([status, {file.name: file.read_text() for file in sorted(folder.iterdir())}])
    if status == 0:
        break
print(json.dumps(seen))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_a_signal_at_any_line_leaves_all_of_the_files_or_none(
    tmp_path: Path, number: int, status: int
) -> None:
    command = [sys.executable, "-c", _ENDED_AT_EACH_LINE, str(tmp_path), str(int(number))]
    seen = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    none, every = {"model.c": "old"}, {"model.c": "new", "model.h": "new"}
    assert [entry for entry in seen if entry[1] not in (none, every)] == []
    # It ends the process all the same, before the first file is replaced and after the last.
    assert {code for code, _ in seen[:-1]} == {status}
    assert seen[-1] == [0, every]
    left = [files for _, files in seen]
    assert left == sorted(left, key=len)
    assert left.count(none) > 20
    assert left.count(every) > 5


def test_a_file_that_a_killed_process_left_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", killed)
        patch.setattr("os.unlink", killed)
        with pytest.raises(SystemExit):
            replace_file(tmp_path / "plan.json", b"old")
    assert len(list(tmp_path.iterdir())) == 1
    replace_file(tmp_path / "plan.json", b"new")
    assert (tmp_path / "plan.json").read_bytes() == b"new"


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
