"""One run of an outside program: it gets a file, is measured as a process, and its plan is judged."""

import math
import os
import re
import resource
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from shutil import which
from typing import Final

from memstow.planner import formats
from memstow.planner.bench import rivals
from memstow.planner.bench.judgement import Judgement, Tell, judgement_of, outcome, seconds_for_proof
from memstow.planner.bench.task import Task
from memstow.planner.bench.usage import ResourceUsage, repeat_short_run, run_process
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.plugins.interface import LARGEST_PROOF
from memstow.planner.processes.frames import Message
from memstow.planner.proofs.check import CheckedProof, StoppedError, check_bytes
from memstow.planner.reading.json_text import read_bytes

# A program that never stops writing would fill the disk that the results go to.
_LARGEST_FILE: Final = 1 << 30
_DIGITS = 6
_TAIL = 500
# The time that a program reports: a line that is a number alone, or one that names the time.
_NUMBER: Final = r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?P<unit>ms|us|µs|s|sec|seconds)?"
_REPORTED: Final = re.compile(
    rf"^\s*(?:.*\b(?:time|elapsed|took|seconds)\b[^\d\n]*)?(?<![-.]){_NUMBER}\W*$", re.I
)
_UNITS: Final = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6}
# How some programs say that they found nothing, or not in time, with an exit status that is no success.
_NOTHING_FOUND: Final = ("NOT_FOUND", "DEADLINE_EXCEEDED")
# A status without a plan.
_WITHOUT_PLAN: Final = {
    Status.UNKNOWN: "it says that it found no plan",
    Status.INFEASIBLE: "it says that nothing fits, which is not checked: it has no proof",
}


def attempt(problem: Problem, task: Task, command: Sequence[str], tell: Tell) -> Message:
    """Run the program and judge its plan."""
    has_capacity = any("{capacity}" in part for part in command)
    files = _RunFiles(problem, _without(problem, has_capacity), task.solver.options["time_limit"], Path.cwd())
    try:
        arguments = [files.fill(part) for part in command]
    except InputError as error:
        return {"status": "declined", "error": str(error)[:_TAIL]}
    try:
        code, usage = _run(arguments, task.solver.folder, files)
    except OSError as error:
        # Which may be the folder: on a worker it need not be there.
        what = f"{error.filename or arguments[0]}: {error.strerror}"
        return {"status": "error", "error": f"{arguments[0]} cannot be started: {what}"}
    short = usage.seconds < task.solver.repeat_seconds
    if not short:
        tell({"kind": "judging"})
    plan = _plan_or_failure(code, files)
    if not isinstance(plan, Plan):
        return {**plan, **usage.values()}
    proof = files.proof()
    usage = replace(usage, reported_seconds=usage.reported_seconds or plan.seconds or None)
    if short:
        usage = repeat_short_run(
            usage, lambda: _repeat(arguments, task.solver.folder, files), task.solver.repeat_seconds
        )
        tell({"kind": "judging"})
    budget = seconds_for_proof(usage.seconds)
    measured: Message = {**usage.values(), "work": {}}
    shown: CheckedProof | None = None
    refused: str | None = None
    if plan.status in _WITHOUT_PLAN and not plan.placements:
        refused = _WITHOUT_PLAN[plan.status]
        if plan.status is Status.INFEASIBLE and proof is not None:
            shown, refused = _shown(problem, Plan(status=Status.INFEASIBLE), proof, budget)
        if shown is None or not shown.verified:
            return {"status": "unknown", "error": refused, **usage.values()}
        return {**outcome(Judgement(valid=True), plan, "proof", proof), **measured}
    layout = Plan(status=Status.FEASIBLE, placements=plan.placements)
    judgement = judgement_of(problem, layout)
    for term in judgement.objective[:1]:
        tell({"kind": "event", "seconds": usage.seconds, "incumbent": term.value})
    if judgement.valid and proof is not None:
        shown, refused = _shown(problem, layout, proof, budget)
    if shown is None:
        return {**outcome(judgement, layout, None), **measured, "error": refused}
    terms = list(judgement.objective)
    for place, bound in enumerate(shown.bounds[: len(terms)]):
        terms[place] = terms[place]._replace(bound=bound)
    for term in terms[:1]:
        tell({"kind": "event", "seconds": usage.seconds, "bound": term.bound})
    is_final = bool(terms) and len(terms) == len(problem.terms())
    is_final &= all(term.bound == term.value for term in terms)
    plan = replace(layout, status=Status.OPTIMAL) if is_final else layout
    judgement = replace(judgement, objective=tuple(terms))
    return {**outcome(judgement, plan, "proof" if is_final else None, proof), **measured}


def _shown(
    problem: Problem, plan: Plan, proof: bytes, seconds: float
) -> tuple[CheckedProof | None, str | None]:
    """What a proof shows that counts, or why it does not."""
    if len(proof) > LARGEST_PROOF:
        return None, f"its proof has more than {LARGEST_PROOF:,} bytes"
    try:
        checked = check_bytes(formats.write_problem(problem, "json"), plan, proof, seconds=seconds)
    except StoppedError:
        return None, "its proof was not checked in time"
    if not checked.shows:
        return None, f"its proof does not count: {checked.says}"[:_TAIL]
    return checked, None


def _plan_or_failure(code: int, files: "_RunFiles") -> Plan | Message:
    """The plan that the program wrote, or the fields of a record that say why there is none."""
    if code == rivals.DECLINED:
        return {"status": "declined", "error": files.complaint()}
    if code > 0 and any(word in files.complaint() for word in _NOTHING_FOUND):
        return {"status": "unknown", "error": files.complaint()}
    if code:
        ended = f"killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return {"status": "error", "error": f"{ended}: {files.complaint()}".rstrip(": ")}
    try:
        plan = files.plan()
    except InputError as error:
        return {"status": "error", "error": f"what it wrote is not a plan: {error}"[:_TAIL]}
    return {"status": "unknown", "error": "it wrote no plan"} if plan is None else plan


def _repeat(arguments: list[str], folder: str | None, files: "_RunFiles") -> ResourceUsage | None:
    """Run the program again for its times alone; None if it fails."""
    files.remove_output()
    try:
        code, usage = _run(arguments, folder, files)
        plan = None if code else files.plan()
    except (OSError, InputError):
        return None
    if plan is None:
        return None
    return replace(usage, reported_seconds=usage.reported_seconds or plan.seconds or None)


def version_of(command: Sequence[str], folder: str | None) -> str:
    """The version of a program: the beginning of the SHA-256 of its file.

    With files among its arguments, it is that of all their sums: of `python3 mine.py` the second changes.
    """
    of_model = rivals.version_in(command)
    if of_model is not None:
        return of_model
    program = which(command[0])
    if program is None:
        return "missing"
    named = (os.path.join(folder or "", part) for part in command[1:])
    try:
        sums = [_sum(path) for path in (program, *filter(os.path.isfile, named))]
    except OSError:
        return "unreadable"
    whole = sums[0] if len(sums) == 1 else sha256(b"".join(sums)).digest()
    return f"sha256:{whole.hex()[:12]}"


def _sum(path: str) -> bytes:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").digest()


class _RunFiles:
    """The files of one run: what the program reads and writes."""

    def __init__(self, problem: Problem, as_csv: Problem, time_limit: float, folder: Path) -> None:
        self._problem = problem
        self._as = {"csv": as_csv, "json": problem}
        self._time_limit = time_limit
        self._folder = folder
        self._output: Path | None = None
        self._proof: Path | None = None
        self.out = folder / "stdout"
        self.err = folder / "stderr"

    def fill(self, part: str) -> str:
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
        if "{proof}" in part:
            self._proof = self._folder / "proof"
            part = part.replace("{proof}", str(self._proof))
        part = part.replace("{capacity}", str(room(self._problem)))
        return part.replace("{seconds}", f"{self._time_limit:g}")

    def plan(self) -> Plan | None:
        """The plan, from its file, or from standard output where the command names no file."""
        path = self._output or self.out
        written = read_bytes(path) if path.is_file() else b""
        return formats.read_plan(written, self._problem) if written else None

    def proof(self) -> bytes | None:
        """The proof that it wrote, if any; of one that is too large the beginning."""
        if self._proof is None or not self._proof.is_file():
            return None
        with suppress(OSError), self._proof.open("rb") as file:
            return file.read(LARGEST_PROOF + 1)
        return None

    def remove_output(self) -> None:
        """Remove what the run before has written."""
        for path in (self._output, self._proof):
            if path is not None:
                path.unlink(missing_ok=True)

    def complaint(self) -> str:
        """The end of its standard error, in one line."""
        return " ".join(_end_of(self.err).split())

    def reported_seconds(self) -> float | None:
        """The time that the program reports, if any."""
        on_error_output = reported_seconds(self.err)
        return reported_seconds(self.out) if on_error_output is None and self._output else on_error_output


def _run(arguments: list[str], folder: str | None, files: "_RunFiles") -> tuple[int, ResourceUsage]:
    """Run the program; its exit status and resource usage."""
    # This process ends with the run, so the limit concerns only the programs that it starts.
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    with files.out.open("wb") as out, files.err.open("wb") as err:
        code, usage = run_process(arguments, out, err, folder=folder)
    return code, replace(usage, reported_seconds=files.reported_seconds())


def _without(problem: Problem, capacity: bool) -> Problem:
    """The problem without fields that CSV cannot express and that the program does not need.

    These are the capacity, if it is an argument, and an empty objective, since any plan will do.
    """
    if capacity and len(problem.pools) == 1:
        problem = replace(problem, pools=(replace(problem.pools[0], capacity=None),))
    return problem if problem.objective else replace(problem, objective=None)


def reported_seconds(output: Path) -> float | None:
    """The last time that is reported in the end of a file."""
    for line in reversed(_end_of(output).splitlines()):
        if match := _REPORTED.match(line):
            seconds = float(match["number"]) * _UNITS.get((match["unit"] or "s").lower(), 1.0)
            return round(seconds, _DIGITS) if math.isfinite(seconds) else None
    return None


def _end_of(output: Path) -> str:
    """The end of a file; empty if the program has removed it."""
    with suppress(OSError), output.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        return file.read().decode("utf-8", "replace")
    return ""


def room(problem: Problem) -> int:
    """Bytes a program may use: what the pools have; where one is unbounded, room for all side by side."""
    capacities = [pool.capacity for pool in problem.pools]
    if None not in capacities:
        return sum(capacity for capacity in capacities if capacity is not None)
    return sum(-(-buffer.size // buffer.alignment) * buffer.alignment for buffer in problem.buffers)
