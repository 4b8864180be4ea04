"""Other solvers, as their users write and call them, to compare with: known by name to `--external`.

Models for OR-tools, CBC, HiGHS and SCIP, and best fit, are programs of their own, started from here as
`python -m memstow.planner.bench.rivals NAME PROBLEM PLAN SECONDS`; they share nothing with the solvers of
memstow. Programs that a user has built are called by their own commands. All are external programs to the
bench.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from math import gcd
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

_BEGAN: Final = time.monotonic()
_MODULE: Final = "memstow.planner.bench.rivals"
DECLINED: Final = 77
"""The exit status of a program that does not take the problem; why is what it says last."""


_NUMBERED: Final = "{numbered}"


class Rival(NamedTuple):
    """A solver that the bench knows by name."""

    needs: tuple[str, ...] = ()
    """Packages, of a model."""
    extra: str = ""
    """What installs them."""
    program: tuple[str, ...] = ()
    """The arguments of a program that the user has built; `_NUMBERED`: it is called from here."""


_CPSAT: Final = Rival(("ortools",), "'memstow[cpsat]'")
_MILP: Final = "'memstow[milp]'"
RIVALS: Final = {
    "cpsat-boxes": _CPSAT,
    "cpsat-pairs": _CPSAT,
    "cpsat-cumulative": _CPSAT,
    "cbc-pairs": Rival(("pulp",), _MILP),
    "highs-pairs": Rival(("pulp", "highspy"), _MILP),
    "scip-pairs": Rival(("pulp", "pyscipopt"), f"{_MILP} pyscipopt"),
    "best-fit": Rival(),
    "minimalloc": Rival(
        program=(
            "--input={input}",
            "--output={output}",
            "--capacity={capacity}",
            "--timeout={seconds}s",
            "--minimize_capacity",
        ),
    ),
    "dsa-solver": Rival(
        program=(
            *("--input", "{input}", "--output", "{output}", "--capacity", "{capacity}"),
            # It has no limit of time; this is what its own suite runs with.
            *("--solver", "local-search", "--iterations", "2000", "--restarts", "4"),
        ),
    ),
    "idealloc": Rival(program=(_NUMBERED,)),
}


def how_to_get(name: str) -> str | None:
    """What a model needs and how to install that; None if it is there, or needs nothing."""
    from importlib.util import find_spec

    rival = RIVALS[name]
    missing = [module for module in rival.needs if find_spec(module) is None]
    return f"{' and '.join(missing)}; install with: pip install {rival.extra}" if missing else None


def command_of(name: str, program: str | None) -> list[str]:
    """The command for `--external`; `program` is the path of one that the user has built."""
    ours = [sys.executable, "-P", "-m", _MODULE, name]
    if program is None:
        return [*ours, "{input.json}", "{output.json}", "{seconds}"]
    if RIVALS[name].program == (_NUMBERED,):
        return [*ours, "{input.json}", "{output.json}", "{seconds}", program]
    return [program, *RIVALS[name].program]


def is_model(command: Sequence[str]) -> bool:
    """Whether the command is one that is called from here."""
    return _MODULE in command


def version_in(command: Sequence[str]) -> str | None:
    """The versions of the packages of a model; None where the command is none of a model with such."""
    if not is_model(command):
        return None
    name = command[list(command).index(_MODULE) + 1]
    return " ".join(f"{package} {_version(package)}" for package in RIVALS[name].needs) or None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


# The programs


class Buffer(NamedTuple):
    """A buffer as the models have it."""

    id: str
    size: int
    begin: int
    end: int
    alignment: int

    def meets(self, other: "Buffer") -> bool:
        """Whether both live at one time."""
        return self.begin < other.end and other.begin < self.end


class Problem(NamedTuple):
    """Buffers in one memory."""

    pool: str
    capacity: int | None
    buffers: list[Buffer]
    minimises: bool

    @property
    def height(self) -> int:
        """Where no buffer has to be beyond."""
        if self.capacity is not None:
            return self.capacity
        return sum(one.size + one.alignment - 1 for one in self.buffers)

    @property
    def unit(self) -> int:
        """What all sizes and alignments are multiples of."""
        return gcd(*(number for one in self.buffers for number in (one.size, one.alignment))) or 1

    def pairs(self) -> list[tuple[int, int]]:
        """The buffers that live at one time, and have bytes."""
        with_bytes = [number for number, one in enumerate(self.buffers) if one.size]
        pairs = combinations(with_bytes, 2)
        return [(i, j) for i, j in pairs if self.buffers[i].meets(self.buffers[j])]


def read(path: str) -> Problem:
    """The problem in the file; ends the program where it is none that a plain model takes."""
    document: dict[str, Any] = json.loads(Path(path).read_bytes())
    others = document.keys() - {"version", "name", "pools", "buffers", "objective"}
    pools = document.get("pools", [{"id": "memory"}])
    if others or len(pools) != 1 or pools[0].keys() - {"id", "capacity"}:
        decline(f"it has {', '.join(sorted(others)) or 'pools that are more than one capacity'}")
    if document.get("objective") not in (None, [], ["peak"], ["max_peak"]):
        decline("its objective is not the peak")
    buffers = []
    for entry in document["buffers"]:
        more = entry.keys() - {"id", "size", "lifetime", "alignment", "group"}
        if more or not isinstance(entry.get("lifetime"), list):
            decline(f"it has buffers with {', '.join(sorted(more)) or 'no single lifetime'}")
        begin, end = entry["lifetime"]
        buffers.append(Buffer(entry["id"], entry["size"], begin, end, entry.get("alignment", 1)))
    return Problem(pools[0]["id"], pools[0].get("capacity"), buffers, document.get("objective") != [])


def decline(why: str) -> NoReturn:
    """End the program: this problem is none for it."""
    sys.stderr.write(f"{why}\n")
    sys.exit(DECLINED)


Offsets = list[int] | None
"""By buffer; None where no plan was found."""


def seconds_left(seconds: float) -> float:
    """What is left of the limit of this program."""
    return max(seconds - (time.monotonic() - _BEGAN), 0.01)


def main(arguments: list[str]) -> None:
    """Solve the problem in a file, and write the plan into another."""
    name, source, target, limit, *program = arguments
    problem = read(source)
    if not problem.buffers:
        offsets: Offsets = []
    elif program:
        offsets = numbered(problem, program[0], Path(target).with_name("numbered.csv"))
    else:
        offsets = MODELS[name](problem, float(limit))
    plan: dict[str, object] = {"status": "unknown", "seconds": round(time.monotonic() - _BEGAN, 6)}
    if offsets is not None:
        places = zip(problem.buffers, offsets, strict=True)
        plan |= {
            "status": "feasible",
            "placements": [
                {"buffer": one.id, "pool": problem.pool, "offset": offset} for one, offset in places
            ],
        }
    Path(target).write_text(json.dumps(plan), encoding="utf-8")


def boxes(problem: Problem, seconds: float) -> Offsets:
    """Boxes in time and memory that do not overlap."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    offsets, peak = _positions(model, problem)
    across, up = _intervals(model, problem, offsets)
    with_bytes = [number for number, one in enumerate(problem.buffers) if one.size]
    model.add_no_overlap_2d([across[i] for i in with_bytes], [up[i] for i in with_bytes])
    return _solved(model, offsets, peak, problem, seconds)


def cpsat_pairs(problem: Problem, seconds: float) -> Offsets:
    """For each two buffers that live at one time, which of them is below."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    offsets, peak = _positions(model, problem)
    for i, j in problem.pairs():
        below = model.new_bool_var("")
        model.add(offsets[i] + problem.buffers[i].size <= offsets[j]).only_enforce_if(below)
        model.add(offsets[j] + problem.buffers[j].size <= offsets[i]).only_enforce_if(~below)
    return _solved(model, offsets, peak, problem, seconds)


def cumulative(problem: Problem, seconds: float) -> Offsets:
    """At each moment positions that do not overlap, and sizes that add up to no more than the peak."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    offsets, peak = _positions(model, problem)
    across, up = _intervals(model, problem, offsets)
    model.add_cumulative(across, [one.size for one in problem.buffers], peak)
    for moment in sorted({one.begin for one in problem.buffers}):
        live = [i for i, one in enumerate(problem.buffers) if one.size and one.begin <= moment < one.end]
        model.add_no_overlap([up[i] for i in live])
    return _solved(model, offsets, peak, problem, seconds)


def _intervals(model: Any, problem: Problem, offsets: list[Any]) -> tuple[list[Any], list[Any]]:
    """By buffer its life, and its place."""
    make = model.new_fixed_size_interval_var
    across = [make(one.begin, one.end - one.begin, "") for one in problem.buffers]
    up = [make(offset, one.size, "") for one, offset in zip(problem.buffers, offsets, strict=True)]
    return across, up


def _positions(model: Any, problem: Problem) -> tuple[list[Any], Any]:
    """An offset for each buffer, below the height, and the peak above all of them."""
    height = problem.height
    peak = model.new_int_var(0, height, "peak")
    offsets = []
    for one in problem.buffers:
        steps = (height - one.size) // one.alignment
        if steps < 0:
            # It does not fit; the model says so.
            model.add_bool_or([])
        offsets.append(one.alignment * model.new_int_var(0, max(steps, 0), one.id))
        if one.size:
            model.add(offsets[-1] + one.size <= peak)
    return offsets, peak


def _solved(model: Any, offsets: list[Any], peak: Any, problem: Problem, seconds: float) -> Offsets:
    from ortools.sat.python import cp_model

    if problem.minimises:
        model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds_left(seconds)
    solver.parameters.num_workers = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return [solver.value(offset) for offset in offsets]


def milp(name: str) -> Callable[[Problem, float], Offsets]:
    """A binary for each two buffers that live at one time, and a big M, by the solver of this name."""

    def solve(problem: Problem, seconds: float) -> Offsets:
        import pulp

        unit, height = problem.unit, problem.height // problem.unit
        model = pulp.LpProblem("memory", pulp.LpMinimize)
        peak = pulp.LpVariable("peak", 0, height)
        steps = [
            pulp.LpVariable(f"x{i}", 0, height * unit // one.alignment, cat="Integer")
            for i, one in enumerate(problem.buffers)
        ]
        # In units, as floats hold those of few megabytes exactly.
        offsets = [step * (one.alignment // unit) for step, one in zip(steps, problem.buffers, strict=True)]
        sizes = [one.size // unit for one in problem.buffers]
        model += peak if problem.minimises else 0
        for offset, size in zip(offsets, sizes, strict=True):
            # Without bytes it is below the peak as well: what is in no row has no value afterwards.
            model += offset + size <= peak
        for i, j in problem.pairs():
            below = pulp.LpVariable(f"z{i}_{j}", cat="Binary")
            model += offsets[i] + sizes[i] <= offsets[j] + height * (1 - below)
            model += offsets[j] + sizes[j] <= offsets[i] + height * below
        options: dict[str, Any] = {"timeLimit": seconds_left(seconds), "msg": False}
        if name != "SCIP_PY":
            # SCIP as a library has no such option, and one thread.
            options["threads"] = 1
        model.solve(getattr(pulp, name)(**options))
        values = [step.varValue for step in steps]
        if None in values or model.sol_status not in (
            pulp.LpSolutionOptimal,
            pulp.LpSolutionIntegerFeasible,
        ):
            return None
        return [round(value) * one.alignment for value, one in zip(values, problem.buffers, strict=True)]

    return solve


def best_fit(problem: Problem, _seconds: float) -> Offsets:
    """Buffers as they come to live, the larger first of those that come together."""
    places: dict[Buffer, int] = {}
    for one in sorted(problem.buffers, key=lambda one: (one.begin, -one.size)):
        taken = sorted(
            (at, at + other.size) for other, at in places.items() if other.size and other.meets(one)
        )
        best: tuple[int, int] | None = None
        top = 0
        for begin, end in taken:
            at = -(-top // one.alignment) * one.alignment
            if at + one.size <= begin and (best is None or begin - top < best[0]):
                best = begin - top, at
            top = max(top, end)
        places[one] = -(-top // one.alignment) * one.alignment if best is None else best[1]
    highest = max(at + one.size for one, at in places.items())
    if problem.capacity is not None and highest > problem.capacity:
        return None
    return [places[one] for one in problem.buffers]


def numbered(problem: Problem, program: str, path: Path) -> Offsets:
    """The offsets that a program prints, `id,offset`, of a file in which ids are numbers: this one."""
    if any(one.alignment > 1 for one in problem.buffers) or problem.capacity is not None:
        decline("it has alignments or a capacity")
    kept = [i for i, one in enumerate(problem.buffers) if one.size]
    first = min(one.begin for one in problem.buffers)
    named = ((i, problem.buffers[i]) for i in kept)
    rows = [f"{i},{one.begin - first},{one.end - first},{one.size}" for i, one in named]
    path.write_text("\n".join(["id,lower,upper,size", *rows, ""]), encoding="utf-8")
    command = [program, os.path.abspath(path)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if ran.returncode:
        sys.exit(f"{os.path.basename(program)} ended with status {ran.returncode}")
    words = [line.strip().split(",") for line in ran.stdout.splitlines()]
    offsets = {int(row[0]): int(row[1]) for row in words if len(row) == 2 and all(map(str.isdecimal, row))}
    if set(kept) - offsets.keys():
        sys.exit(f"{os.path.basename(program)} does not print each offset: docs/bench.md says how it can")
    return [offsets.get(i, 0) for i in range(len(problem.buffers))]


MODELS: Final[dict[str, Callable[[Problem, float], Offsets]]] = {
    "cpsat-boxes": boxes,
    "cpsat-pairs": cpsat_pairs,
    "cpsat-cumulative": cumulative,
    "cbc-pairs": milp("PULP_CBC_CMD"),
    "highs-pairs": milp("HiGHS"),
    "scip-pairs": milp("SCIP_PY"),
    "best-fit": best_fit,
}


if __name__ == "__main__":
    main(sys.argv[1:])
