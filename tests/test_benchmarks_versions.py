"""Two versions side by side: in turns, medians, and what one cannot do is told, and no error."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import cases, versions
from benchmarks.measuring import IN_PROCESS, run
from benchmarks.page import MISSED
from benchmarks.versions import (
    HEADER,
    MISSING,
    Case,
    Checkout,
    FailedError,
    Figures,
    Inputs,
    Result,
    Row,
    Side,
    measured,
    report,
)

OLD, NEW = Checkout(Path("old")), Checkout(Path("new"))
SECONDS = Row("took", "a command, s", ".1f", wanted=2.0)
RATE = Row("rate", "requests/s", ".0f", wanted=10.0, more_is_better=True)
PROVEN = Row("proven", "proven", wanted=1.0, more_is_better=True, counted=True)


def _cells(results: list[Result]) -> list[list[str]]:
    lines = [line for line in report(results).splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in lines}) == 1
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _result(row: Row, before: list[float], now: list[float]) -> Result:
    def side(figures: list[float]) -> Side:
        return Side([{row.name: figure} for figure in figures])

    return Result(Case("one", (row,), lambda *_: {}, 1), side(before), side(now))


def test_both_take_turns_and_a_warm_run_does_not_count(tmp_path: Path) -> None:
    request: list[tuple[Checkout, int]] = []

    def measure(checkout: Checkout, _: Inputs, number: int) -> Figures:
        request.append((checkout, number))
        return {"took": float(len(request))}

    result = measured(Case("one", (SECONDS,), measure, 2, warm=True), OLD, NEW, Inputs(tmp_path))
    assert request == [(OLD, 0), (NEW, 0), (OLD, 0), (NEW, 0), (OLD, 1), (NEW, 1)]
    assert result.before is not None
    assert result.before.figures("took") == [3.0, 5.0]
    assert result.now.figures("took") == [4.0, 6.0]


def test_rows_hold_medians_their_ratio_and_what_was_wanted() -> None:
    row = _cells([_result(SECONDS, [9.0, 4.0, 5.0], [1.0, 3.0, 2.0])])[0]
    assert row == ["a command, s", "5.0", "2.0", "0.40", "2.0", "3"]
    assert len(row) == len(HEADER)


def test_one_version_alone_has_a_column_less(tmp_path: Path) -> None:
    case = Case("one", (SECONDS,), lambda *_: {"took": 2.5}, 2)
    assert _cells([measured(case, None, NEW, Inputs(tmp_path))]) == [
        ["a command, s", f"2.5 {MISSED}", "2.0", "2"]
    ]


@pytest.mark.parametrize(
    ("row", "now", "shown"),
    [
        (SECONDS, [2.0], "2.0"),
        (SECONDS, [2.5], f"2.5 {MISSED}"),
        (RATE, [12.0], "12"),
        (RATE, [9.0], f"9 {MISSED}"),
        (PROVEN, [1.0, 1.0], "2 of 2"),
        (PROVEN, [1.0, 0.0, 1.0], f"2 of 3 {MISSED}"),
    ],
)
def test_what_is_not_reached_now_is_marked(row: Row, now: list[float], shown: str) -> None:
    before = [0.0 for _ in now]
    cells = _cells([_result(row, before, now)])[0]
    assert MISSED not in cells[1]
    assert cells[2] == shown
    # There is no multiple of nothing.
    assert cells[3] == ""


def test_a_version_that_fails_has_no_more_turns_and_its_reason_is_told(tmp_path: Path) -> None:
    request: list[Checkout] = []

    def measure(checkout: Checkout, _: Inputs, number: int) -> Figures:
        request.append(checkout)
        if checkout is OLD and number == 1:
            raise FailedError("exit code 2: unrecognized\n  arguments: a|b")
        return {"took": 1.0}

    result = measured(Case("one", (SECONDS, RATE), measure, 3), OLD, NEW, Inputs(tmp_path))
    assert request == [OLD, NEW, OLD, NEW, NEW]
    assert _cells([result]) == [
        ["a command, s", "1.0", "1.0", "1.00", "2.0", "1 and 3"],
        # What a run did not reach, without having failed.
        ["requests/s", MISSING, MISSING, "", "10", "1 and 3"],
    ]
    assert report([result]).endswith("\n\n* one, before: exit code 2: unrecognized arguments: a/b")


def test_a_checkout_without_environment_is_named_and_nothing_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["versions", str(tmp_path), "--rows", "small"]) == 2
    assert capsys.readouterr().err == f"{tmp_path} is not installed; run `make -C {tmp_path} install`\n"
    assert command.main(["versions"]) == 2
    assert "name the folder of the other version" in capsys.readouterr().err
    with pytest.raises(FailedError, match="no row is called 'fast'"):
        versions.of_versions(cases.PARTS, tmp_path, ["fast"])


def test_a_checkout_that_imports_another_one_is_refused(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with pytest.raises(FailedError, match="imports another memstow"):
        Checkout(tmp_path).check()


def test_a_process_that_fails_or_does_not_end_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    with pytest.raises(FailedError, match=r"^exit code 1: NameError: name 'nothing' is not defined$"):
        checkout.run(sys.executable, "-c", "nothing")
    with pytest.raises(FailedError, match=r"^not done in 0\.2 s$"):
        checkout.run(sys.executable, "-c", "import time; time.sleep(600)", most_seconds=0.2)
    assert run(sys.executable, "-c", "import os; print(os.getcwd())", folder=tmp_path).out.decode() == (
        f"{tmp_path.resolve()}\n"
    )


ROOT = Path(__file__).parents[1]

_HAD_MORE = """
import sys
from benchmarks.measuring import run
had = bytearray(400 << 20)
had[:: 1 << 12] = bytes(len(had) >> 12)  # in use, not only reserved
del had
print(run(sys.executable, "-c", "pass").peak_memory)
"""


def test_the_memory_of_a_process_is_not_what_its_parent_had_before() -> None:
    # In a process of its own: this one may have as much at the moment.
    assert int(run(sys.executable, "-c", _HAD_MORE, folder=ROOT).out) < 400 << 20


def test_each_row_has_a_name_of_its_own_in_its_case() -> None:
    named = [case for part in cases.PARTS.values() for case in part]
    assert len({case.name for case in named}) == len(named) > 10
    for case in named:
        assert len({row.name for row in case.rows}) == len(case.rows) > 0
        assert case.runs > 0


def test_both_versions_get_the_same_bytes_which_are_made_once(tmp_path: Path) -> None:
    inputs = Inputs(tmp_path)
    path = inputs.planted(20, 1, 0.0)
    path.write_bytes(b"as it is")
    assert inputs.planted(20, 1, 0.0).read_bytes() == b"as it is"
    assert inputs.planted(20, 2, 0.0) != path


def test_what_a_call_of_the_library_finds_is_told(tmp_path: Path) -> None:
    inputs = Inputs(tmp_path)
    words = [sys.executable, "-P", str(IN_PROCESS), "plan", str(inputs.planted(20, 0, 0.0)), '{"workers": 1}']
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert '"status": "optimal", "value": 1048576, "bound": 1048576' in output


def test_every_call_has_a_figure_and_a_plan_of_objects_is_verified(tmp_path: Path) -> None:
    problem = Inputs(tmp_path).planted(20, 0, 0.0)
    printed = run(sys.executable, "-P", IN_PROCESS, "tiling", problem).out
    assert json.loads(printed).keys() == {"solve", "verify"}
    (case,) = (case for case in cases.COMMAND_CASES if case.name == "calls")
    in_process = runpy.run_path(str(IN_PROCESS))
    assert {row.name for row in case.rows} == {
        *(f"plan-{n}" for n in (10, 1000)),
        *(f"place-{n}" for n in in_process["_RUNS"]),
    }
