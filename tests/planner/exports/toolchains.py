"""The compilers that are here, and what the tests ask of them: no warning, in any standard."""

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.waiting import PATIENCE

STRICT: Final = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """A compiler, and a standard that it knows."""

    command: str
    standard: str
    language: str

    def __str__(self) -> str:
        return f"{self.command}-{self.standard}"

    def compile(self, folder: Path, source: str, *options: str) -> str:
        """Compile a file of the folder to an object, and return its name."""
        made = f"{source}.{self}.o"
        run(
            folder,
            self._found(),
            f"-std={self.standard}",
            *STRICT,
            *self._as(),
            "-c",
            source,
            "-o",
            made,
            *options,
        )
        return made

    def _as(self) -> tuple[str, str]:
        return "-x", self.language

    def _found(self) -> str:
        return found(self.command)


C: Final = tuple(
    Compiler(command, standard, "c")
    for command in ("gcc", "clang", "arm-none-eabi-gcc")
    for standard in ("c11", "c17", "c2x")
)
CXX: Final = tuple(
    Compiler(command, standard, "c++")
    for command in ("g++", "clang++", "arm-none-eabi-g++")
    for standard in ("c++11", "c++17", "c++20")
)
ALL: Final = (*C, *CXX)
HOST: Final = C[1]


def found(command: str) -> str:
    """The path of a tool; the test is skipped where it is missing."""
    path = shutil.which(command)
    if path is None:
        pytest.skip(f"{command} is not installed")
    return path


def run(folder: Path, *command: str, env: Mapping[str, str] | None = None) -> str:
    """Run a command that must succeed, and return what it printed."""
    ran = attempt(folder, *command, env=env)
    assert ran.returncode == 0, f"{command[:12]}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def attempt(
    folder: Path, *command: str, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command, whatever comes of it."""
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def symbols(folder: Path, program: str, nm: str = "nm") -> dict[str, int]:
    """The addresses of the symbols of a program."""
    lines = (line.split() for line in run(folder, found(nm), program).splitlines())
    return {words[2]: int(words[0], 16) for words in lines if len(words) == 3}


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder."""
    for name, content in files.items():
        (folder / name).write_bytes(content)


def link(folder: Path, program: str, objects: Iterable[str], *options: str) -> None:
    """Link a program of the host."""
    run(folder, found("gcc"), *objects, *options, "-o", program)
