"""What an outside program says of its time is read as people write it, and what is no time is not."""

from pathlib import Path

import pytest

from planner.bench.outside import reported_seconds, room
from planner.problem import Buffer, Pool, Problem


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
        ("", None),
    ],
)
def test_a_time_is_known_by_its_line(tmp_path: Path, text: str, seconds: float | None) -> None:
    said = tmp_path / "said"
    said.write_text(text)
    assert reported_seconds(said) == seconds


def test_there_is_room_for_everything_where_a_pool_is_unbounded() -> None:
    buffers = (
        Buffer(id="a", size=10, lifetime="always", alignment=8),
        Buffer(id="b", size=5, lifetime="always"),
    )
    assert room(Problem(version=1, buffers=buffers)) == 21
    bounded = Problem(version=1, buffers=buffers, pools=(Pool(id="m", capacity=12), Pool(id="n", capacity=0)))
    assert room(bounded) == 12
