"""Which functions the search on J works in: sampled by `perf`, in a build that keeps names."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.hard.instances import SKIPPED, minimalloc_path, there
from benchmarks.page import ROOT
from benchmarks.profiles.shares import shares

LETTER: Final = "J"
SECONDS: Final = 10.0
WORKERS: Final = 2
BUILD: Final = ROOT / "build" / "profiles"
_SEARCH: Final = Path(__file__).with_name("search_named.py")
# As the installed one, less what drops the names and moves functions into others across files.
_FLAGS: Final = "-O3 -DNDEBUG -g1"
_HERTZ: Final = 499
_LINE: Final = re.compile(r"^\s*(\d+)\s*\|\s*\[[.k]\]\s*(.+?)\s*$", re.MULTILINE)


def measure() -> str:
    """A table of functions."""
    if not there("minimalloc"):
        return SKIPPED
    if shutil.which("perf") is None:
        return "Skipped: `perf` is not installed (`linux-perf` of Debian)."
    library = _built()
    with TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", f"{_HERTZ}", "-o", data]
        search = [
            sys.executable,
            "-P",
            str(_SEARCH),
            library,
            str(minimalloc_path(LETTER)),
            f"{SECONDS}",
            f"{WORKERS}",
        ]
        _run(*record, "--", *search)
        report = [
            "perf",
            "report",
            "-q",
            "-i",
            data,
            "--stdio",
            "--no-children",
            "-F",
            "sample,symbol",
            "-t",
            "|",
        ]
        met = functions(_run(*report))
    taken = {f"`{name}`": count / _HERTZ for name, count in met.items()}
    return (
        f"{LETTER} of MiniMalloc, {SECONDS:g} s, {WORKERS} threads, in a build without "
        "optimisation across files. What the compiler has put into another function counts for that one:\n\n"
        + shares("function", taken, met.total() / _HERTZ, "s of a processor", ".1f")
    )


def functions(report: str) -> Counter[str]:
    """Samples by function, from what `perf report` prints."""
    met: Counter[str] = Counter()
    for count, name in _LINE.findall(report):
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
