"""One run of an outside program: given a file, measured as a process, judged as ours are."""

import math
import os
import re
import resource
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from shutil import which
from typing import Any, Final

from memstow.planner import formats
from memstow.planner.bench.records.judgement import judgement_of
from memstow.planner.bench.runs.attempt import Tell, outcome
from memstow.planner.bench.runs.repetition import repeated
from memstow.planner.bench.runs.resource_usage import high_water
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.processes.forked import MAXRSS_UNIT
from memstow.planner.processes.frames import Message
from memstow.planner.reading.source import read_bytes

_SAMPLE_SECONDS = 0.01
# A program that never stops writing would fill the disk that the results go to.
_LARGEST_FILE: Final = 1 << 30
_DIGITS = 6
_TAIL = 500
# What a program says of its own time: a line that is a number alone, or one that names the time.
_NUMBER: Final = r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?P<unit>ms|us|µs|s|sec|seconds)?"
_REPORTED: Final = re.compile(
    rf"^\s*(?:.*\b(?:time|elapsed|took|seconds)\b[^\d\n]*)?(?<![-.]){_NUMBER}\W*$", re.I
)
_UNITS: Final = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6}
# What a program says instead of a plan. Nobody can check a proof of its own, so it counts as none.
_SAID: Final = {
    Status.UNKNOWN: "it says that it found no plan",
    Status.INFEASIBLE: "it says that nothing fits, which is not checked",
}


def attempt(problem: Problem, request: Message, tell: Tell) -> Message:
    """Run the program and judge what it wrote."""
    asked = request["asked"]
    command = asked["command"]
    told_capacity = any("{capacity}" in part for part in command)
    run = _Run(problem, _without(problem, told_capacity), asked["options"], Path.cwd())
    try:
        arguments = [run.filled(part) for part in command]
    except InputError as error:
        return {"status": "declined", "error": str(error)[:_TAIL]}
    try:
        code, used = _measured(arguments, asked["folder"], run)
    except OSError as error:
        # Which may be the folder: on a worker it need not be there.
        what = f"{error.filename or arguments[0]}: {error.strerror}"
        return {"status": "error", "error": f"{arguments[0]} cannot be started: {what}"}
    used["reported_seconds"] = run.reported_seconds()
    enough = request["repeat_seconds"]
    short = used["seconds"] < enough
    if not short:
        tell({"kind": "judging"})
    if code:
        ended = f"killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return {"status": "error", "error": f"{ended}: {run.said()}".rstrip(": "), **used}
    try:
        plan = run.plan()
        if plan is None:
            return {"status": "unknown", "error": "it wrote no plan", **used}
    except InputError as error:
        return {"status": "error", "error": f"what it wrote is no plan: {error}"[:_TAIL], **used}
    used["reported_seconds"] = used["reported_seconds"] or plan.seconds or None
    if short:
        used = repeated(used, lambda: _once_more(arguments, asked["folder"], run), enough)
        tell({"kind": "judging"})
    if plan.status in _SAID and not plan.placements:
        return {"status": "unknown", "error": _SAID[plan.status], **used}
    layout = Plan(status=Status.FEASIBLE, placements=plan.placements)
    judgement = judgement_of(problem, layout)
    for term in judgement.objective[:1]:
        tell({"kind": "event", "seconds": used["seconds"], "incumbent": term.value})
    return {**outcome(judgement, layout), **used, "work": {}}


def _once_more(arguments: list[str], folder: str, run: "_Run") -> dict[str, Any] | None:
    """What the program takes for the same now; what it wrote counts as far as it tells its own time."""
    run.forget()
    try:
        code, used = _measured(arguments, folder, run)
        plan = None if code else run.plan()
    except (OSError, InputError):
        return None
    if plan is None:
        return None
    return {**used, "reported_seconds": run.reported_seconds() or plan.seconds or None}


def version_of(command: Sequence[str], folder: str) -> str:
    """Which program it is: the beginning of the SHA-256 of its file.

    With files among its arguments, it is that of all their sums: of `python3 mine.py` the second changes.
    """
    program = which(command[0])
    if program is None:
        return "missing"
    named = (os.path.join(folder, part) for part in command[1:])
    try:
        sums = [_sum(path) for path in (program, *filter(os.path.isfile, named))]
    except OSError:
        return "unreadable"
    whole = sums[0] if len(sums) == 1 else sha256(b"".join(sums)).digest()
    return f"sha256:{whole.hex()[:12]}"


def _sum(path: str) -> bytes:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").digest()


class _Run:
    """The files of one run."""

    def __init__(self, problem: Problem, as_csv: Problem, options: dict[str, Any], folder: Path) -> None:
        self._problem = problem
        self._as = {"csv": as_csv, "json": problem}
        self._options = options
        self._folder = folder
        self._output: Path | None = None
        self.out = folder / "stdout"
        self.err = folder / "stderr"

    def filled(self, part: str) -> str:
        """An argument with its places filled in; InputError where the format cannot hold the problem."""
        for form in ("csv", "json"):
            for place in (f"{{input.{form}}}", "{input}" if form == "csv" else ""):
                if place and place in part:
                    path = self._folder / f"input.{form}"
                    path.write_bytes(formats.write_problem(self._as[form], form))
                    part = part.replace(place, str(path))
            for place in (f"{{output.{form}}}", "{output}" if form == "csv" else ""):
                if place and place in part:
                    self._output = self._folder / f"output.{form}"
                    part = part.replace(place, str(self._output))
        part = part.replace("{capacity}", str(room(self._problem)))
        return part.replace("{seconds}", f"{self._options['time_limit']:g}")

    def plan(self) -> Plan | None:
        """The plan, from its file, or from standard output where no file was asked for."""
        path = self._output or self.out
        written = read_bytes(path) if path.is_file() else b""
        return formats.read_plan(written, self._problem) if written else None

    def forget(self) -> None:
        """Take away what was written, as it was before the program ran."""
        if self._output is not None:
            self._output.unlink(missing_ok=True)

    def said(self) -> str:
        """The end of what it complained."""
        return " ".join(_end_of(self.err).split())

    def reported_seconds(self) -> float | None:
        """The time it took by its own account, if it gives one."""
        found = reported_seconds(self.err)
        return reported_seconds(self.out) if found is None and self._output else found


def _measured(arguments: list[str], folder: str, run: "_Run") -> tuple[int, dict[str, Any]]:
    """The exit status of the program, and what it used."""
    # A process begins with the peak memory of the one it was started from; only more than that is its own.
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # This process ends with the run, so that the limit is for what it starts.
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    with run.out.open("wb") as out, run.err.open("wb") as err:
        begin = time.monotonic()
        # It stays in the group of this process, which is killed as a whole.
        program = subprocess.Popen(  # noqa: S603
            arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, env=_environment()
        )
        sampler = _Sampler(program.pid)
        _, status, used = os.wait4(program.pid, 0)
        seconds = time.monotonic() - begin
        program.returncode = os.waitstatus_to_exitcode(status)
    sampled = sampler.end()
    peak = used.ru_maxrss * MAXRSS_UNIT if used.ru_maxrss > floor or not sampled else sampled
    return program.returncode, {
        "seconds": round(seconds, _DIGITS),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, _DIGITS),
        "peak_memory": peak,
    }


class _Sampler:
    """Reads the peak memory of a process now and then, for as long as it runs."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def end(self) -> int:
        """The largest that was seen; 0 where the system does not tell."""
        self._over.set()
        self._thread.join()
        return self._peak

    def _sample(self) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            self._peak = max(self._peak, high_water(self._process))


def _environment() -> dict[str, str]:
    """That of the user, without what is meant for our own children."""
    ours = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "MEMSTOW_FOLDER")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _without(problem: Problem, capacity: bool) -> Problem:
    """The problem without what CSV has no place for and the program need not read there.

    The capacity, if it is told in another way; that any plan will do, since one of a low peak will as well.
    """
    if capacity and len(problem.pools) == 1:
        problem = replace(problem, pools=(replace(problem.pools[0], capacity=None),))
    return problem if problem.objective else replace(problem, objective=None)


def reported_seconds(said: Path) -> float | None:
    """The last time that the end of what a program said tells."""
    for line in reversed(_end_of(said).splitlines()):
        if found := _REPORTED.match(line):
            seconds = float(found["number"]) * _UNITS.get((found["unit"] or "s").lower(), 1.0)
            return round(seconds, _DIGITS) if math.isfinite(seconds) else None
    return None


def _end_of(said: Path) -> str:
    """The last that a program wrote there; nothing where it has taken the file away."""
    with suppress(OSError), said.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        return file.read().decode("utf-8", "replace")
    return ""


def room(problem: Problem) -> int:
    """Bytes a program may use: what the pools have; where one is unbounded, room for all side by side."""
    capacities = [pool.capacity for pool in problem.pools]
    if None not in capacities:
        return sum(capacity for capacity in capacities if capacity is not None)
    return sum(-(-buffer.size // buffer.alignment) * buffer.alignment for buffer in problem.buffers)
