"""Reading bytes never takes more than the limit, wherever they come from."""

import io
import os
from pathlib import Path

import pytest

from memstow.planner.reading.json_text import read_bytes
from tests.planner.refusal import refusal, told


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"{}" * 1000)
    assert read_bytes(file) == read_bytes(str(file)) == b"{}" * 1000


def test_a_file_at_the_limit_is_read_and_one_above_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"12345")
    assert read_bytes(file, limit=5) == b"12345"
    assert told(lambda: read_bytes(file, limit=4)) == [("too_large", str(file))]


class _Endless(io.RawIOBase):
    """Counts what is taken from it."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "asked for everything"
        self.taken += size
        return b"x" * size


def test_an_endless_stream_is_left_after_one_byte_too_many() -> None:
    stream = _Endless()
    assert told(lambda: read_bytes(stream, limit=3 << 20)) == [("too_large", "input")]  # type: ignore[arg-type]
    assert stream.taken == (3 << 20) + 1


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_an_endless_device_is_refused() -> None:
    assert told(lambda: read_bytes("/dev/zero", limit=1 << 20)) == [("too_large", "/dev/zero")]


def test_a_pipe_that_gives_a_little_at_a_time_is_read_whole() -> None:
    receiver, sender = os.pipe()
    os.write(sender, b"abc")
    os.close(sender)
    with open(receiver, "rb", buffering=0) as stream:
        assert read_bytes(stream) == b"abc"


def test_what_is_no_file_is_told_apart(tmp_path: Path) -> None:
    assert told(lambda: read_bytes(tmp_path / "none"))[0][0] == "not_found"
    assert told(lambda: read_bytes(tmp_path))[0][0] == "is_a_directory"
    assert told(lambda: read_bytes("a\0b"))[0][0] == "not_found"


def test_the_name_of_a_file_cannot_write_to_the_terminal() -> None:
    issue = refusal(lambda: read_bytes("\x1b[2Jgone"))[0]
    assert "\x1b" not in str(issue)
