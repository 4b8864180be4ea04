"""What is installed of memstow: its native modules, the packages it needs, its extras and what they lack.

Nothing here imports a package to find out about it: the metadata says what is there, and in which version.
"""

import os
import platform
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final, NamedTuple

PACKAGE: Final = "memstow"
EXTRAS: Final = {
    "cpsat": "the solvers cpsat and assign",
    "milp": "the solvers cbc and highs",
    "onnx": "ONNX models",
    "torch": "programs of PyTorch",
    "bench": "reports of the bench, and tests of its comparisons",
    "client": "--server, and the client for Python",
    "service": "memstow serve, keys, admin and db",
    "postgres": "a PostgreSQL database as the store of the service",
    "otel": "traces of the service",
    "dask": "a Dask cluster: --executor dask",
}
"""What each extra is for; of those for users, `all` has several of these."""
RUNTIME: Final = "tflite-micro"
"""TensorFlow Lite Micro, for `--scratch measure`; its index has versions before a release alone."""
OF_ALL: Final = ("milp", "cpsat", "service", "bench", "onnx")
"""Those that the extra `all` has."""
_NATIVE: Final = ("memstow.solvers._native", "memstow.planner.judge._judge", "memstow.planner.plain._columns")
_PROGRAMS: Final = {
    "C compiler": ("CC", "cc", "gcc", "clang"),
    "C++ compiler": ("CXX", "c++", "g++", "clang++"),
    "CMake": ("", "cmake"),
}
_REQUIREMENT: Final = re.compile(
    r"\s*(?P<name>[\w.-]+)\s*(\[(?P<extras>[^\]]*)\])?\s*\(?(?P<limits>[^;)]*)\)?\s*(;(?P<marker>.*))?"
)
_TERM: Final = re.compile(r"\s*\(?\s*(\w+)\s*(==|!=|<=|>=|<|>)\s*[\"']([^\"']*)[\"']\s*\)?\s*")
_LIMIT: Final = re.compile(r"\s*(==|!=|~=|<=|>=|<|>)\s*([\w.!+-]+)\s*")


class Package(NamedTuple):
    """A package that is needed: which versions will do, and which one is there."""

    name: str
    limits: str
    version: str | None

    @property
    def fits(self) -> bool:
        """Whether it is there, in a version that will do."""
        return self.version is not None and all(
            _holds(_numbers(self.version), sign, _numbers(limit))
            for sign, limit in _LIMIT.findall(self.limits)
        )


class Extra(NamedTuple):
    """An extra of memstow: what it is for, and the packages that it consists of."""

    name: str
    purpose: str
    packages: tuple[Package, ...]

    @property
    def missing(self) -> tuple[Package, ...]:
        """The packages that are not there, or in a version that will not do."""
        return tuple(package for package in self.packages if not package.fits)

    @property
    def command(self) -> str:
        """The command that brings what is missing: pip adds to the memstow that is installed."""
        return f"pip install '{PACKAGE}[{self.name}]'"


class Installation(NamedTuple):
    """This installation."""

    version: str
    python: str
    platform: str
    native_error: str | None  # why the native core cannot be loaded
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]
    programs: dict[str, str | None]  # by what it is, where it is
    runtime: Package  # which measures models, and no extra brings


def look() -> Installation:
    """What is installed here."""
    from memstow import __version__

    return Installation(
        __version__,
        platform.python_version(),
        f"{platform.system()} on {platform.machine()}",
        _native_error(),
        tuple(_packages(PACKAGE, None)),
        tuple(Extra(name, purpose, tuple(_packages(PACKAGE, name))) for name, purpose in EXTRAS.items()),
        {name: _program(*names) for name, names in _PROGRAMS.items()},
        Package(RUNTIME, "", _version(RUNTIME)),
    )


def _native_error() -> str | None:
    """Why the native core cannot be used: only loading it tells whether it suits this Python and machine."""
    for name in _NATIVE:
        try:
            import_module(name)
        except ImportError as error:
            return str(error)
    return None


def _program(variable: str, *names: str) -> str | None:
    from shutil import which

    chosen = os.environ.get(variable, "").split()
    return next((place for name in (*chosen[:1], *names) if (place := which(name)) is not None), None)


def _packages(name: str, extra: str | None) -> Iterator[Package]:
    """What a package needs, or what its extra adds; packages of extras of these included."""
    seen: set[tuple[str, str | None]] = set()
    waiting = [(name, extra)]
    while waiting:
        owner, of = waiting.pop(0)
        for requirement in _requirements(owner):
            match = _REQUIREMENT.fullmatch(requirement)
            if match is None or not _belongs(match["marker"], of):
                continue
            inner = [
                (match["name"], word.strip()) for word in (match["extras"] or "").split(",") if word.strip()
            ]
            waiting += [entry for entry in inner if entry not in seen]
            seen.update(inner)
            if match["name"] != PACKAGE and (match["name"], None) not in seen:
                seen.add((match["name"], None))
                yield Package(match["name"], match["limits"].strip(), _version(match["name"]))


@cache
def _requirements(name: str) -> tuple[str, ...]:
    try:
        return tuple(requires(name) or ())
    except PackageNotFoundError:
        return ()


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _belongs(marker: str | None, extra: str | None) -> bool:
    """Whether a requirement belongs to this extra, or to none, and is for this Python and machine."""
    terms = _TERM.findall(marker or "")
    if not any(variable == "extra" for variable, _, _ in terms):
        return extra is None and _is_for_here(terms)
    return ("extra", "==", extra) in terms and _is_for_here(terms)


def _is_for_here(terms: list[tuple[str, str, str]]) -> bool:
    """Whether the terms of a marker hold, all of them: memstow's own say `and`, never `or`."""
    here = {
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "implementation_name": sys.implementation.name,
    }
    for variable, sign, value in terms:
        if variable == "python_version":
            if not _holds(sys.version_info[:2], sign, _numbers(value)):
                return False
        elif variable in here and (here[variable] == value) is not (sign == "=="):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version, as far as they compare: what comes before the letters."""
    return tuple(int(part) for part in re.split(r"[^\d.]", text)[0].split(".") if part)


def _holds(version: tuple[int, ...], sign: str, limit: tuple[int, ...]) -> bool:
    length = max(len(version), len(limit))
    one, other = (entry + (0,) * (length - len(entry)) for entry in (version, limit))
    match sign:
        case "==":
            return one == other
        case "!=":
            return one != other
        case "<":
            return one < other
        case "<=":
            return one <= other
        case ">":
            return one > other
        case "~=":
            return one >= other and version[: len(limit) - 1] == limit[:-1]
    return one >= other
