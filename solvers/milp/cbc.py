"""Runs CBC, the program inside PuLP's wheel, on files in the temporary folder, and reads its log."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pulp.apis import coin_api

from memstow.solvers.constraints import Relations
from memstow.solvers.milp.program import Program, Run, RunReport, RunResult
from memstow.solvers.solver import Task

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def ask_for_death() -> None:
    """Be killed when the thread that started this process ends; this survives `exec`."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


# CBC counts no work, so each node counts as about this many steps.
_STEPS_PER_NODE = 1_000_000
_WHOLE = 0.99
_TOLERANCE = "1e-9"
# It checks its time limit rarely, and then still has to write its solution.
_MARGIN_SECONDS = 0.1

# The bound so far, printed with eight digits; other lines are about searches of its heuristics.
_POSSIBLE = re.compile(r"^Cbc00(?:05|10)I .*best possible (-?[\d.e+-]+)")
_DIGITS = 1e-7
_BOUND = re.compile(r"^Lower bound:\s+(-?[\d.e+-]+)")
_NODES = re.compile(r"^Enumerated nodes:\s+(\d+)")
# It calls a solution within the gap "optimal" too; only this line tells the two apart.
_NEAR = "Result - Optimal solution found (within gap tolerance)"


def program() -> str | None:
    """The CBC of PuLP's wheel, or the one on the path."""
    inside = Path(coin_api.pulp_cbc_path)
    return str(inside) if os.access(inside, os.X_OK) else shutil.which("cbc")


class CbcProgram(Program):
    """The integer program on CBC."""

    def run(self, run: Run, report: RunReport) -> RunResult:
        """Minimise the problem."""
        cbc = program()
        if cbc is None:
            return RunResult(failure="PuLP brings no CBC for this machine, and there is none on the path")
        if run.seconds is not None and run.seconds <= _MARGIN_SECONDS:
            return RunResult()
        with tempfile.TemporaryDirectory(prefix="cbc-") as name:
            folder = Path(name)
            run.problem.writeMPS(str(folder / "model.mps"))
            if run.start is not None:
                _write_start(folder / "start.sol", run.start)
            return _converse([cbc, *_arguments(run)], folder, len(run.columns), report)


def _arguments(run: Run) -> list[str]:
    arguments = ["model.mps"]
    if run.start is not None:
        arguments += ["-mips", "start.sol"]
    if run.seconds is not None:
        arguments += ["-timeMode", "elapsed", "-sec", f"{run.seconds - _MARGIN_SECONDS:.3f}"]
    if run.work is not None:
        arguments += ["-maxNodes", str(max(run.work // _STEPS_PER_NODE, 1))]
    elif run.workers > 1:
        arguments += ["-threads", str(run.workers)]
    arguments += ["-randomCbcSeed", str(run.seed % 1_000_000 + 1), "-integerTolerance", _TOLERANCE]
    arguments += ["-primalTolerance", _TOLERANCE, "-dualTolerance", _TOLERANCE]
    arguments += ["-allowableGap", str(_WHOLE), "-ratioGap", str(run.gap)]
    return [*arguments, "-solve", "-solution", "found.sol"]


def _write_start(path: Path, values: "list[int] | tuple[int, ...] | object") -> None:
    lines = ["Stopped on time - objective value 0"]
    assert isinstance(values, (list, tuple))  # noqa: S101
    lines += [f"{i} x{i} {value} 0" for i, value in enumerate(values)]
    path.write_text("\n".join(lines) + "\n")


def _converse(command: list[str], folder: Path, columns: int, report: RunReport) -> RunResult:
    with subprocess.Popen(  # noqa: S603
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # Between fork and exec of a process whose other threads only wait on pipes.
        preexec_fn=ask_for_death if sys.platform == "linux" else None,
    ) as process:
        assert process.stdout is not None  # noqa: S101
        log = listen(process.stdout, report)
        code = process.wait()
    work = log.nodes * _STEPS_PER_NODE
    if code:
        return RunResult(work=work, failure=f"CBC ended with status {code}")
    return _finish(folder / "found.sol", columns, report, log)


@dataclass(slots=True)
class Log:
    """The contents of a log besides bounds."""

    nodes: int = 0
    near: bool = False  # it stopped at a gap: its value proves nothing, its bounds do


def listen(lines: Iterable[str], report: RunReport) -> Log:
    """Pass on the bounds in the log."""
    log = Log()
    for line in lines:
        if match := _POSSIBLE.search(line):
            with contextlib.suppress(ValueError):
                bound = float(match.group(1))
                report.bound(bound - _DIGITS * abs(bound))
        elif match := _BOUND.search(line):
            with contextlib.suppress(ValueError):
                report.bound(float(match.group(1)))
        elif match := _NODES.search(line):
            log.nodes += int(match.group(1))
        log.near = log.near or line.startswith(_NEAR)
    return log


def _finish(path: Path, columns: int, report: RunReport, log: Log) -> RunResult:
    work = log.nodes * _STEPS_PER_NODE
    if not path.exists():
        return RunResult(work=work, failure="CBC wrote no solution")
    lines = path.read_text(errors="replace").splitlines()
    head = lines[0] if lines else ""
    if head.startswith(("Infeasible", "Integer infeasible")):
        return RunResult(infeasible=True, work=work)
    if head.startswith("Stopped") and "no integer solution" in head:
        return RunResult(work=work)
    if not head.startswith(("Optimal", "Stopped")):
        return RunResult(work=work, failure=f"CBC ended with {head[:100]!r}")
    values = [0.0] * columns
    for line in lines[1:]:
        words = [word for word in line.split() if word != "**"]
        if len(words) >= 3 and words[1].startswith("x") and words[1][1:].isdecimal():
            values[int(words[1][1:])] = float(words[2])
    report.solution(values)
    if head.startswith("Optimal") and not log.near:
        report.bound(float(head.rsplit(maxsplit=1)[1]))
    return RunResult(work=work)


def make(task: Task, relations: Relations, start_values: tuple[int, ...] | None) -> CbcProgram:
    """The program of a task."""
    return CbcProgram(task, relations, start_values)
