"""Where the time goes: `python -m benchmarks profiles [million] [start] [service] [engine]`."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.load import closed_loop
from benchmarks.measuring import IN_PROCESS, run, run_well, typical
from benchmarks.page import ROOT, shares
from benchmarks.problems import minimalloc_path, needs, write_random_csv
from benchmarks.servers import bodies, service, worked

SIZE: Final = 1_000_000
_SOLVE: Final = "memstow.api.cli.commands.solve"
_VERIFY: Final = "memstow.api.cli.commands.verify"
_RUN: Final = "memstow.planner.solve.column_plans"
_VERDICT: Final = "memstow.planner.plain.column_verdict"
# By what is done, the functions that do it, named where they are called.
OF_SOLVE: Final = {
    "read the problem": [f"{_SOLVE}:read_bytes_of", f"{_SOLVE}:columns_in"],
    "reduce, and the first bound": ["memstow.planner.solve.column_plans:_source_of"],
    "search": ["memstow.planner.solve.one_run:Turns.take"],
    "judge": [f"{_RUN}:_judged_plan"],
    "digest of the problem": ["memstow.planner.solve.column_plans:digest"],
    "table and picture": ["memstow.planner.show.report:plain_report"],
    "write the plan": [f"{_SOLVE}:write_plain_results"],
}
OF_VERIFY: Final = {
    "read the problem": [f"{_VERIFY}:read_bytes_of", f"{_VERIFY}:columns_in"],
    "read the plan": [f"{_VERDICT}:read_plan"],
    "judge": [f"{_VERDICT}:verdict_on"],
    "digest of the problem": [f"{_VERDICT}:digest"],
}


def million() -> str:
    """A table for each command."""
    with TemporaryDirectory() as folder:
        problem, plan = Path(folder, "random.csv"), Path(folder, "plan.json")
        write_random_csv(problem, SIZE)
        solve = _command_profile(folder, OF_SOLVE, "solve", problem, "--solver", "greedy", "--output", plan)
        verify = _command_profile(folder, OF_VERIFY, "verify", problem, plan)
    return (
        f"`memstow solve FILE --solver greedy --output plan.json`, {SIZE:,} buffers from a CSV:\n\n{solve}"
        f"\n\n`memstow verify FILE plan.json`:\n\n{verify}"
    )


def _command_profile(folder: str, parts: Mapping[str, Sequence[str]], *words: str | Path) -> str:
    output = Path(folder, "seconds.json")
    ran = run_well(sys.executable, "-P", IN_PROCESS, "clock", output, json.dumps(parts), *words)
    return shares(
        f"part of `{words[0]}`", json.loads(output.read_text()), ran.usage.cpu_seconds, "s of a processor"
    )


START_RUNS: Final = 9
BUFFERS: Final = 10
_IMPORT_LINE: Final = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \| (\s*)(\S+)$", re.MULTILINE)
# Modules in machine code: loading one is mostly the loader's work.
_NATIVE: Final = ("_native", "_judge", "_columns")
_OWN: Final = "imports: memstow, Python"
_LOADED: Final = "imports: memstow, machine code"
_OTHER_IMPORTS: Final = "imports: standard library and packages"


def start() -> str:
    """Medians of some runs."""
    with TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.json"
        command = (sys.executable, "-P", "-m", "memstow.api.cli.main")
        run(*command, "generate", "network", "--n", f"{BUFFERS}", "--output", problem)
        words = (*command[1:], "solve", problem)
        whole = typical(START_RUNS, sys.executable, *words).seconds
        bare = typical(START_RUNS, sys.executable, "-P", "-c", "pass").seconds
        reports = [
            imports(run(sys.executable, "-X", "importtime", *words).err.decode()) for _ in range(START_RUNS)
        ]
    parts = {name: median(figure[name] for figure in reports) for name in reports[0]}
    parts["the interpreter (`python -c pass`)"] = bare
    return (
        f"`memstow solve`, {BUFFERS} buffers, medians of {START_RUNS} runs; imports as "
        "`python -X importtime` tells them, which itself takes some of their time. All else is "
        "mostly the arguments, the solve, the table and the picture, and the end of the interpreter:\n\n"
        + shares("part", {name: 1000 * figure for name, figure in parts.items()}, 1000 * whole, "ms", ".0f")
    )


def imports(report: str) -> dict[str, float]:
    """Seconds by whose modules they are, from `python -X importtime`, without the interpreter's own."""
    seconds = dict.fromkeys((_OWN, _LOADED, _OTHER_IMPORTS), 0.0)
    # The interpreter's own come first and end with `site`.
    _, _, after = report.partition("| site\n")
    for took, _, name in _IMPORT_LINE.findall(after):
        seconds[_whose(name)] += int(took) / 1e6
    return seconds


def _whose(name: str) -> str:
    if not name.startswith("memstow"):
        return _OTHER_IMPORTS
    return _LOADED if name.rpartition(".")[2] in _NATIVE else _OWN


SERVICE_SECONDS: Final = 8.0
_WARM_SECONDS: Final = 1.0
_OTHER: Final = "all else"
# What a file does: the first line whose words its path holds. Of a stack, the innermost file that has a line
# counts.
ROOMS: Final = (
    ("/planner/plain/", "read the problem and its digest, write the plan"),
    ("/planner/", "reduce, solve, judge"),
    ("/solvers/", "reduce, solve, judge"),
    ("/api/store/", "cache and store"),
    ("/api/operations/", "options, key of the cache, form of the answer"),
    ("/api/http/protocol", "HTTP: uvicorn and memstow's protocol"),
    ("/api/http/connections", "HTTP: uvicorn and memstow's protocol"),
    ("/uvicorn/", "HTTP: uvicorn and memstow's protocol"),
    ("/api/http/app", "layers around each request"),
    ("/api/", "memstow's routes: callers, limits, logs, counts"),
    ("/starlette/", "FastAPI and Starlette"),
    ("/fastapi/", "FastAPI and Starlette"),
)


def of_service() -> str:
    """A table of parts, in milliseconds of a processor for each request."""
    problems = bodies(int(2500 * SERVICE_SECONDS))
    with TemporaryDirectory() as folder:
        output = Path(folder) / "samples.json"
        with service((sys.executable, "-P", str(IN_PROCESS), "sample", str(output))) as (port, pid):
            asyncio.run(closed_loop(port, "/v1/plan", lambda i: problems[-i % len(problems)], _WARM_SECONDS))
            os.kill(pid, signal.SIGUSR1)
            begin = worked(pid)
            rate, statuses = asyncio.run(
                closed_loop(port, "/v1/plan", lambda i: problems[i % len(problems)], SERVICE_SECONDS)
            )
            spent = 1000 * (worked(pid) - begin) / statuses.total()
        met = rooms(json.loads(output.read_text()))
    parts = {name: spent * count / met.total() for name, count in met.items() if name != _OTHER}
    return f"`POST /v1/plan`, 30 buffers, nothing cached, {rate:,.0f} requests/s while sampled:\n\n" + shares(
        "part of a request", parts, spent, "ms of a processor", ".3f"
    )


def rooms(samples: Iterable[tuple[Sequence[str], int]]) -> Counter[str]:
    """Samples by room: of each stack, innermost file first, that of the innermost file which has one."""
    met: Counter[str] = Counter()
    for files, count in samples:
        named = (name for file in files for part, name in ROOMS if part in file.removeprefix(str(ROOT)))
        met[next(named, _OTHER)] += count
    return met


LETTER: Final = "J"
ENGINE_SECONDS: Final = 10.0
WORKERS: Final = 2
BUILD: Final = ROOT / "build" / "profiles"
# As the installed one, less what drops the names and moves functions into others across files.
_FLAGS: Final = "-O3 -DNDEBUG -g1"
_HERTZ: Final = 499
_PERF_LINE: Final = re.compile(r"^\s*(\d+)\s*\|\s*\[[.k]\]\s*(.+?)\s*$", re.MULTILINE)


@needs("minimalloc")
def of_engine() -> str:
    """A table of functions."""
    if shutil.which("perf") is None:
        return "Skipped: `perf` is not installed (`linux-perf` of Debian)."
    library = _built()
    with TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", f"{_HERTZ}", "-o", data]
        options = json.dumps({"time_limit": ENGINE_SECONDS, "workers": WORKERS})
        search = (sys.executable, "-P", IN_PROCESS, "plan", minimalloc_path(LETTER), options, library)
        _run(*record, "--", *search)
        shown = ("--stdio", "--no-children", "-F", "sample,symbol", "-t", "|")
        met = functions(_run("perf", "report", "-q", "-i", data, *shown))
    taken = {f"`{name}`": count / _HERTZ for name, count in met.items()}
    return (
        f"{LETTER} of MiniMalloc, {ENGINE_SECONDS:g} s, {WORKERS} threads, in a build without "
        "optimisation across files. What the compiler has put into another function counts for that one:\n\n"
        + shares("function", taken, met.total() / _HERTZ, "s of a processor", ".1f")
    )


def functions(report: str) -> Counter[str]:
    """Samples by function, from what `perf report` prints."""
    met: Counter[str] = Counter()
    for count, name in _PERF_LINE.findall(report):
        met[short(name)] += int(count)
    return met


def short(name: str) -> str:
    """The name of a C++ function as people say it: without its parameters and our namespace."""
    name = re.sub(
        r"\(anonymous namespace\)::|\[clone [^]]*\]|\[abi:\w+\]|memstow::| const$", "", name
    ).strip()
    while (less := re.sub(r"<[^<>]*>", "", name)) != name:
        name = less
    name = name.partition("(")[0]
    return name.rpartition(" ")[2] or name


def _built() -> str:
    """The native module with names, built where it has changed; that takes a minute or two."""
    nanobind = _run(sys.executable, "-m", "nanobind", "--cmake_dir").strip()
    _run(
        *("cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja"),
        *("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "--log-level=WARNING"),
        *(f"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO={_FLAGS}", f"-Dnanobind_DIR={nanobind}"),
        f"-DPython_EXECUTABLE={sys.executable}",
    )
    _run("cmake", "--build", BUILD, "--target", "_native")
    (library,) = BUILD.glob("_native*.so")
    return str(library)


def _run(*words: str | Path) -> str:
    """What a program prints. The tools of the environment come first, as for `make`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    ran = subprocess.run(
        words, stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, "PATH": path}
    )
    return ran.stdout


PARTS: Final = {
    "million": million,
    "start": start,
    "service": of_service,
    "engine": of_engine,
}
