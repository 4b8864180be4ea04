"""Figures and names as people read them."""

import pytest

from memstow.planner.show.formatting import count, human, names, percent, plain, seconds, table


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "0.98 KiB"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1 MiB"),
        ((1 << 20) - 1, "1 MiB"),
        (1_515_472_556, "1.41 GiB"),
        (10 * 1024, "10 KiB"),
        (100 * 1024, "100 KiB"),
        (1 << 62, "4 EiB"),
        (1 << 80, "1048576 EiB"),
    ],
)
def test_sizes_have_three_digits_and_a_unit(size: int, text: str) -> None:
    assert human(size) == text


def test_only_nothing_is_shown_as_nothing() -> None:
    assert percent(0.0) == "0 %"
    assert percent(1e-9) == "<0.01 %"
    assert percent(0.0461) == "4.61 %"


def test_durations_have_a_unit_that_suits_them() -> None:
    assert [seconds(s) for s in (0.0, 0.0123, 1.5, 250.0)] == ["<1 ms", "12.3 ms", "1.50 s", "250 s"]
    assert [seconds(s) for s in (0.9994, 0.9996, 99.99, 99.996)] == ["999 ms", "1.00 s", "99.99 s", "100 s"]


def test_numbers_are_grouped_and_exact() -> None:
    assert count(1048576) == "1,048,576"


def test_names_cannot_drive_a_terminal() -> None:
    assert plain("conv1.out") == "conv1.out"
    assert plain("naïve") == "naïve"
    assert plain("\x1b[31m\n\u202e\ud800") == "\\x1b[31m\\n\\u202e\\ud800"
    assert plain("a" * 50, most=10) == "aaaaaaa..."


def test_long_lists_of_names_say_how_many_more() -> None:
    assert names(["a", "b"], 3) == "a, b"
    assert names(["a", "b", "c", "d"], 3) == "a, b, c and 1 more"


def test_tables_align_their_columns() -> None:
    assert table(("pool", "peak"), [("memory", "1"), ("x", "1,000")]) == [
        "pool     peak",
        "memory      1",
        "x       1,000",
    ]
    assert table(("a", "b"), []) == ["a  b"]
