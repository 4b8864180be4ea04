"""Where instances come from: files, folders, globs, generators. Each is read when its turn comes."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, Protocol

from memstow.planner.bench.instances.points import point_count, problems_at_points
from memstow.planner.bench.records.folder import WRITTEN
from memstow.planner.bench.records.record import RESULTS
from memstow.planner.bench.runs.task import InstanceSource
from memstow.planner.model.errors import InputError
from memstow.planner.reading.source import read_bytes

_SUFFIXES: Final = (".csv", ".json", ".tflite", ".onnx")


class Instances(Protocol):
    """Some instances, known by their number before any is read."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[InstanceSource]: ...


@dataclass(frozen=True, slots=True)
class Files:
    """Files below a folder; the family is the folder's, or that of the folder in it that they are in.

    One with symbols is an instance for each of its points.
    """

    root: Path
    paths: Sequence[Path]

    def __len__(self) -> int:
        return sum(map(_instance_count, self.paths))

    def __iter__(self) -> Iterator[InstanceSource]:
        for path in self.paths:
            inside = path.relative_to(self.root)
            family = inside.parts[0] if len(inside.parts) > 1 else self.root.resolve().name
            name, family = _text(inside.with_suffix("").as_posix()), _text(family)
            file = _text(str(path))
            try:
                data = read_bytes(path)
                at_points = problems_at_points(data) if path.suffix == ".json" else None
            except InputError as error:
                yield InstanceSource(name, family, unreadable=str(error), file=file)
                continue
            if at_points is None:
                yield InstanceSource(name, family, data=data, file=file)
                continue
            for values, problem in at_points:
                yield InstanceSource(f"{name}@{values}", family, data=problem, file=f"{file}@{values}")


def _instance_count(path: Path) -> int:
    if path.suffix != ".json":
        return 1
    try:
        return point_count(read_bytes(path))
    except InputError:
        return 1


@dataclass(frozen=True, slots=True)
class Generated:
    """Problems of one generator: one for each number of buffers and each seed."""

    kind: str
    arguments: Mapping[str, object]  # all but `n` and `seed`
    counts: range
    seeds: range

    def __len__(self) -> int:
        return len(self.counts) * len(self.seeds)

    def __iter__(self) -> Iterator[InstanceSource]:
        shared = "".join(f",{name}={_short(value)}" for name, value in sorted(self.arguments.items()))
        for n, seed in product(self.counts, self.seeds):
            family = f"{self.kind},n={n}{shared}"
            made = {"kind": self.kind, "n": n, "seed": seed, **self.arguments}
            yield InstanceSource(f"{family},seed={seed}", family, generated=made)


def _text(name: str) -> str:
    """A name that can be written as text; other bytes as escapes."""
    return name.encode(errors="backslashreplace").decode()


def files(path: str) -> Files:
    """The problems of a file, a folder and all below it, or a pattern; InputError where there are none."""
    place = Path(path)
    if place.is_dir():
        found = [p for p in place.rglob("*") if p.suffix in _SUFFIXES and p.is_file()]
        return Files(place, _some(_without_results(found), path))
    if place.exists() or not glob.has_magic(path):
        return Files(place.parent, _some([place] if place.exists() else [], path))
    matches = [p for p in map(Path, glob.glob(path, recursive=True)) if p.is_file()]
    fixed = Path(*_before_magic(Path(path).parts))
    return Files(fixed, _some(_without_results(matches), path))


def _without_results(found: Sequence[Path]) -> list[Path]:
    """In order, and less what a bench has written: its folder may well be beside the problems."""
    benches = {folder for folder in {path.parent for path in found} if (folder / RESULTS).exists()}
    return sorted(path for path in found if path.parent not in benches or path.name not in WRITTEN)


def _before_magic(parts: Sequence[str]) -> Iterator[str]:
    for part in parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _some(found: list[Path], path: str) -> list[Path]:
    if not found:
        what = (
            "no file there ends with .csv, .json, .tflite or .onnx"
            if Path(path).is_dir()
            else "there is no such file"
        )
        raise InputError.single("no_instances", path, what)
    return found


def _short(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
