"""Amounts and ranges as people type them."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.commands import solve
from memstow.api.cli.parser import amount, duration, real, whole
from memstow.api.cli.search_arguments import less_reading
from memstow.planner.model.options import Options
from memstow.planner.reading.json_text import FEW_BYTES
from tests.api.cli.conftest import Cli


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("65536", 65536),
        ("65_536", 65536),
        ("64KiB", 65536),
        ("64kib", 65536),
        ("64K", 65536),
        ("64 KiB", 65536),
        ("1MiB", 1 << 20),
        ("1.5MiB", 3 << 19),
        ("0.5K", 512),
        ("1g", 1 << 30),
        ("0x1000", 4096),
        ("0X10_00", 4096),
        ("12B", 12),
        (str(1 << 62), 1 << 62),
    ],
)
def test_amounts(text: str, value: int) -> None:
    assert amount(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "-1", "1.5", "0.3KiB", "64XiB", "KiB", "0x", "1e3", "nan", "64KiB2", str((1 << 62) + 1), "5 ib"],
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        amount(text)


def test_ranges_include_their_ends() -> None:
    assert whole(1, 3)("1") == 1
    assert whole(1, 3)("3") == 3
    assert real(0, 1)("1") == 1.0
    for wrong in ("0", "4", "x", "1.0"):
        with pytest.raises(argparse.ArgumentTypeError):
            whole(1, 3)(wrong)
    for wrong in ("-0.1", "1.1", "nan", "inf", "x"):
        with pytest.raises(argparse.ArgumentTypeError):
            real(0, 1)(wrong)


def test_limits_are_told_in_full() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"from 0 to 31622400$"):
        real(0, 366 * 86_400)("-1")


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("64KB", "write 64KiB for units of 1,024 bytes, or 64000 for units of 1,000"),
        ("1.5mb", "write 1.5MiB for units of 1,048,576 bytes, or 1500000 for units of 1,000,000"),
        ("2Gb", "write 2GiB for units of 1,073,741,824 bytes, or 2000000000 for units of 1,000,000,000"),
    ],
)
def test_units_that_some_read_as_powers_of_ten_are_refused_with_both_ways_out(text: str, output: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"ambiguous: {output}"):
        amount(text)
    for way in re.findall(r"write ([^ ]*) .* or ([0-9]*) ", output)[0]:
        assert amount(way) > 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1.5", 1.5),
        ("50ms", 0.05),
        ("2s", 2),
        (" 2 S ", 2),
        ("2m", 120),
        ("1.5min", 90),
        ("1h", 3600),
        ("0", 0),
        (".5", 0.5),
        ("1.", 1),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert duration(3600)(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "-1", "s", "1e3", "nan", "inf", "2 weeks", "1:30", "61m", "1.5.2", "50 m s"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"50ms|at most 3,600 s$"):
        duration(3600)(text)


def test_the_time_that_reading_takes_is_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMSTOW_SERVER", raising=False)
    monkeypatch.setattr("time.monotonic", lambda: 107.0)
    here = argparse.Namespace(server=None, format=None)
    there = argparse.Namespace(server="http://localhost:1", format=None)
    options = Options(time_limit=10)
    assert less_reading(here, options, FEW_BYTES, 100.0).time_limit == 3
    assert less_reading(here, options, FEW_BYTES, 10.0).time_limit == 0
    assert less_reading(here, options, FEW_BYTES - 1, 100.0) == options
    assert less_reading(there, options, FEW_BYTES, 100.0) == options
    exact = Options(time_limit=10, deterministic=True)
    assert less_reading(here, exact, FEW_BYTES, 100.0) == exact


@pytest.mark.parametrize("kind", ["columns", "objects", "symbols"])
def test_every_kind_of_problem_has_what_reading_leaves(
    kind: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMSTOW_SERVER", raising=False)
    problem: dict[str, Any] = {
        "version": 1,
        "buffers": [{"id": "a", "size": 1, "lifetime": [0, 1]}],
    }
    if kind == "objects":
        problem["pools"] = [{"id": "one"}, {"id": "two"}]
    if kind == "symbols":
        problem["symbols"] = [{"id": "n", "min": 1, "max": 2}]
        problem["buffers"][0]["size"] = "n"
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem) + " " * FEW_BYTES)
    left = list[Options]()

    def noted(args: argparse.Namespace, options: Options, size: int, began: float) -> Options:
        left.append(less_reading(args, options, size, began - 1000.0))
        return left[-1]

    monkeypatch.setattr(solve, "less_reading", noted)
    assert cli("solve", path, "--time-limit", "20", "--quiet").code == 0
    assert [options.time_limit for options in left] == [0.0]
