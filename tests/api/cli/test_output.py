"""Files are whole or not there."""

import stat
from pathlib import Path

import pytest

from api.cli.output import format_of, replace_file


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
    with pytest.raises(FileNotFoundError) as caught:
        replace_file(tmp_path / "none" / "plan.json", b"new")
    assert caught.value.filename == str(tmp_path / "none" / "plan.json")


@pytest.mark.parametrize(
    ("path", "chosen", "expected"),
    [(None, None, "json"), ("a.CSV", None, "csv"), ("a.txt", None, "json"), ("a.csv", "json", "json")],
)
def test_the_format_is_the_one_asked_for_or_the_one_of_the_name(
    path: str | None, chosen: str | None, expected: str
) -> None:
    assert format_of(path, chosen) == expected
