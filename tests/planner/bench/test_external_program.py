"""What an outside program says of its time is read as people write it, and what is no time is not."""

from hashlib import sha256
from pathlib import Path

import pytest

from memstow.planner.bench.external_program import reported_seconds, room, version_of
from memstow.planner.model.problem import Buffer, Pool, Problem


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0.123", 0.123),
        ("  12 \n\n", 12.0),
        ("1.5e-3\n", 0.0015),
        ("elapsed: 0.25 s", 0.25),
        ("Total time: 0.5", 0.5),
        ("it took 12 ms.", 0.012),
        ("time = 250us", 0.00025),
        ("Elapsed seconds 3", 3.0),
        ("first 7\nelapsed 2 s\nbye", 2.0),
        ("peak 1048576", None),
        ("at 12:30:05 it ended", None),
        ("time flies", None),
        ("took -5 ms", None),
        ("1e999", None),
        ("9" * 400, None),
        ("", None),
    ],
)
def test_a_time_is_known_by_its_line(tmp_path: Path, text: str, seconds: float | None) -> None:
    said = tmp_path / "said"
    said.write_text(text)
    assert reported_seconds(said) == seconds


def test_a_program_is_known_by_its_file_and_by_those_among_its_arguments(tmp_path: Path) -> None:
    program = tmp_path / "solve"
    program.write_text("#!/bin/sh")
    program.chmod(0o755)
    alone = version_of((str(program), "{input}", "x" * 5000), str(tmp_path))
    assert alone == f"sha256:{sha256(b'#!/bin/sh').hexdigest()[:12]}"
    versions = set()
    for text in ("one way", "another"):
        (tmp_path / "rules.txt").write_text(text)
        versions.add(version_of((str(program), "rules.txt"), str(tmp_path)))
    assert len(versions | {alone}) == 3
    assert version_of((str(tmp_path / "none"),), str(tmp_path)) == "missing"


def test_there_is_room_for_everything_where_a_pool_is_unbounded() -> None:
    buffers = (
        Buffer(id="a", size=10, lifetime="always", alignment=8),
        Buffer(id="b", size=5, lifetime="always"),
    )
    assert room(Problem(version=1, buffers=buffers)) == 21
    bounded = Problem(version=1, buffers=buffers, pools=(Pool(id="m", capacity=12), Pool(id="n", capacity=0)))
    assert room(bounded) == 12
