"""The problems of a bench: files, folders, libraries, generators, public sets, and what tells them apart."""

import glob
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from memstow.planner import formats
from memstow.planner.bench.journal import Run
from memstow.planner.bench.record import PATHS, RESULTS, WRITTEN, Instance
from memstow.planner.bench.task import InstanceSource, RunOptions
from memstow.planner.generate import make, make_graph
from memstow.planner.graph.changes import in_memories, with_order
from memstow.planner.instance_library.folder import INDEX, Folder, document_of, instance_of
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.library import STATES
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import points_of
from memstow.planner.reading.json_text import read_bytes
from memstow.planner.reading.parse import parse_target
from memstow.planner.targets import with_overrides

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicProblem


def point_count(data: bytes) -> int:
    """How many instances the bytes of a file are; 1 where they are no valid problem with symbols."""
    try:
        problem = _symbolic(data)
    except InputError:
        return 1
    return 1 if problem is None else len(points_of(problem))


def problems_at_points(data: bytes) -> Iterator[tuple[str, bytes]] | None:
    """The values of each point, such as `s=128,b=1`, and the problem there as JSON.

    None where the bytes are no problem with symbols; an InputError where they are one that is not valid.
    """
    problem = _symbolic(data)
    return None if problem is None else _each(problem)


def _each(problem: "SymbolicProblem") -> Iterator[tuple[str, bytes]]:
    from memstow.planner.formats import write_problem
    from memstow.planner.formulas.sizes import problem_at

    for point in points_of(problem):
        values = ",".join(f"{name}={value}" for name, value in point.at.items())
        yield values, write_problem(problem_at(problem, point.at), "json")


def _symbolic(data: bytes) -> "SymbolicProblem | None":
    # Most files are none, and are not read for it.
    if b'"symbols"' not in data:
        return None
    from memstow.planner.formats.native import is_symbolic, parse_symbolic
    from memstow.planner.reading.json_text import parse_json

    raw = parse_json(data)
    return parse_symbolic(raw) if is_symbolic(raw) else None


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


@dataclass(frozen=True, slots=True)
class InLibrary:
    """Instances of a library, with its ids as names and its families."""

    library: Folder
    ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[InstanceSource]:
        for name in self.ids:
            file, family = _text(str(self.library.path / name)), ""
            try:
                instance = instance_of(self.library, name)
                family = instance.family
                data = document_of(self.library, instance)
            except InputError as error:
                yield InstanceSource(_text(name), family, unreadable=str(error), file=file)
                continue
            yield InstanceSource(name, family, data=data, file=file)


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
            arguments = {"kind": self.kind, "n": n, "seed": seed, **self.arguments}
            yield InstanceSource(f"{family},seed={seed}", family, generated=arguments)


def _text(name: str) -> str:
    """A name that can be written as text; other bytes as escapes."""
    return name.encode(errors="backslashreplace").decode()


_LIBRARY: Final = "library:"
_FROM_LIBRARY: Final = re.compile(rf"{_LIBRARY}(.*?)((?:,(?:family|id|state)=[^,]*)*)", re.DOTALL)


def selected(path: str) -> InLibrary | None:
    """Those that `library:FOLDER,family=A+B,id=GLOB,state=open+claimed` names; None for another path."""
    parts = _FROM_LIBRARY.fullmatch(path)
    if parts is None:
        return None
    library = Folder(parts[1])
    library.require()
    settings = [setting.partition("=")[::2] for setting in parts[2].split(",")[1:]]
    chosen = {name: value.split("+") for name, value in settings}
    unknown = set(chosen.get("state", ())).difference(STATES)
    if unknown or len(chosen) < len(settings):
        message = f"each setting once, and as state one or more of {', '.join(STATES)}, with +"
        raise InputError.single("bad_library", path, message)
    ids = library.ids()
    if "id" in chosen:
        ids = [name for name in ids if any(fnmatchcase(name, pattern) for pattern in chosen["id"])]
    if not chosen.keys().isdisjoint(("family", "state")):
        every = [instance_of(library, name) for name in ids]
        ids = [
            one.id
            for one in every
            if one.family in chosen.get("family", (one.family,))
            and one.state in chosen.get("state", (one.state,))
        ]
    if not ids:
        raise InputError.single("no_instances", path, "no instance of the library is so")
    return InLibrary(library, ids)


def files(path: str) -> Files | InLibrary:
    """The problems of a file, a folder and all below it, or a pattern; InputError where there are none.

    A folder that is a library has those of its instances.
    """
    place = Path(path)
    if place.is_dir() and (place / INDEX).is_file() and (ids := Folder(place).ids()):
        return InLibrary(Folder(place), ids)
    if place.is_dir():
        paths = [p for p in place.rglob("*") if p.suffix in _SUFFIXES and p.is_file()]
        return Files(place, _some(_without_results(paths), path))
    if place.exists() or not glob.has_magic(path):
        return Files(place.parent, _some([place] if place.exists() else [], path))
    matches = [p for p in map(Path, glob.glob(path, recursive=True)) if p.is_file()]
    fixed = Path(*_before_magic(Path(path).parts))
    return Files(fixed, _some(_without_results(matches), path))


def _without_results(paths: Sequence[Path]) -> list[Path]:
    """In order, and less what a bench has written: its folder may well be beside the problems."""
    benches = {folder for folder in {path.parent for path in paths} if (folder / RESULTS).exists()}
    return sorted(path for path in paths if path.parent not in benches or path.name not in WRITTEN)


def _before_magic(parts: Sequence[str]) -> Iterator[str]:
    for part in parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _some(paths: list[Path], path: str) -> list[Path]:
    if not paths:
        what = (
            "no file there ends with .csv, .json, .tflite or .onnx"
            if Path(path).is_dir()
            else "there is no such file"
        )
        raise InputError.single("no_instances", path, what)
    return paths


def _short(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A published set of instances: description, source and licence."""

    name: str
    description: str
    source: str
    licence: str
    pattern: str
    """The files of instances below the folder of that name."""
    steps: tuple[str, ...]
    """How to get it: commands to run in the folder of the sets, and what else there is to do as comments."""
    count: int | None = None
    """How many instances there are, where the set is closed."""


@dataclass(frozen=True, slots=True)
class LocalSet:
    """The files of a set in a folder."""

    public: PublicSet
    folder: Path | None
    files: int


SETS: Final = (
    PublicSet(
        "minimalloc",
        "A to K, 154-454 buffers of an accelerator's compiler, called challenging; and one example",
        "github.com/google/minimalloc, benchmarks/",
        "Apache-2.0",
        "*.csv",
        (
            "git clone --depth 1 https://github.com/google/minimalloc minimalloc.git",
            'mkdir -p minimalloc && find minimalloc.git/benchmarks -name "*.csv" -exec cp {} minimalloc ";"',
        ),
        count=12,
    ),
    PublicSet(
        "idealloc",
        "resnet50 (1,042 buffers), G_1 (816) and S_1 (28,526)",
        "github.com/cappadokes/idealloc, benchmarks/",
        "MIT",
        "*.csv",
        (
            "git clone --depth 1 https://github.com/cappadokes/idealloc idealloc.git",
            "mkdir -p idealloc",
            "cp idealloc.git/benchmarks/iopddl/[GS]_1.csv idealloc.git/benchmarks/*/resnet50.csv idealloc",
        ),
        count=3,
    ),
    PublicSet(
        "executorch",
        "tensors of networks as ExecuTorch plans them, to be exported with it; 54-387 buffers",
        "github.com/pytorch/executorch, exir/memory_planning.py",
        "BSD-3-Clause",
        "*.json",
        (
            "mkdir -p executorch",
            "# write the tensors of each network that you export as a list: docs/formats.md, ExecuTorch",
        ),
    ),
    PublicSet(
        "usmp",
        "cases of TVM's Unified Static Memory Planner, 5-184 buffers, with conflicts by pairs",
        "github.com/apache/tvm, tests/python/tir-usmp",
        "Apache-2.0",
        "*.json",
        (
            "mkdir -p usmp",
            "# write the BufferInfo and PoolInfo objects of its tests as JSON: docs/formats.md, USMP",
        ),
    ),
    PublicSet(
        "pypto",
        "273 problems of a kernel compiler: pools, pins, reuse costs",
        "github.com/tonibohnlein/dsa-solver, benchmarks/pypto",
        "Apache-2.0",
        "*-tests/**/*.json",
        (
            "git clone --depth 1 https://github.com/tonibohnlein/dsa-solver dsa-solver.git",
            "cp -r dsa-solver.git/benchmarks/pypto pypto",
        ),
        count=273,
    ),
    PublicSet(
        "minimalloc-dsa-rp",
        "A to K of minimalloc with reuse costs",
        "github.com/tonibohnlein/dsa-solver, benchmarks",
        "Apache-2.0",
        "*.json",
        (
            "git clone --depth 1 https://github.com/tonibohnlein/dsa-solver dsa-solver.git",
            "cp -r dsa-solver.git/benchmarks/minimalloc-dsa-rp minimalloc-dsa-rp",
        ),
    ),
    PublicSet(
        "tflite",
        "tensors of models for microcontrollers, as their runtime allocates them",
        "github.com/tensorflow/tflite-micro; github.com/mlcommons/tiny; "
        "github.com/esphome/micro-wake-word-models",
        "Apache-2.0",
        "problems/*.csv",
        (
            "mkdir -p tflite/problems",
            "memstow convert MODEL.tflite tflite/problems/MODEL.csv  # for each model of these repositories",
        ),
    ),
)


def local_sets(folder: Path | None) -> Sequence[LocalSet]:
    """Each set with its folder here, and the number of files of instances in it."""
    return [_local_set(public, folder) for public in SETS]


def _local_set(public: PublicSet, folder: Path | None) -> LocalSet:
    place = None if folder is None else folder / public.name
    if place is None or not place.is_dir():
        return LocalSet(public, None, 0)
    return LocalSet(public, place, sum(path.is_file() for path in place.glob(public.pattern)))


def problem_of(source: InstanceSource, options: RunOptions) -> Problem:
    """The problem of a run."""
    if source.generated is None:
        problem = formats.read_problem(source.data or b"", options["format"])
    else:
        arguments = dict(source.generated)
        problem = make(str(arguments.pop("kind")), arguments)
    target = None if options["target"] is None else parse_target(options["target"])
    return with_overrides(problem, target, options["capacity"], options["fit_only"])


def free_graph_of(source: InstanceSource, options: RunOptions) -> Graph | None:
    """The graph of a run, whose operators may be in any order whatever it says; None for a problem."""
    if source.generated is None:
        document = formats.read_document(source.data or b"", options["format"])
    elif source.generated["kind"] == "graph":
        document = make_graph({name: value for name, value in source.generated.items() if name != "kind"})
    else:
        return None
    if isinstance(document, Problem):
        return None
    graph = with_order(document, "free")
    target = None if options["target"] is None else parse_target(options["target"])
    if target is None and options["capacity"] is None and not options["fit_only"]:
        return graph
    return in_memories(graph, target, options["capacity"], options["fit_only"])


def find_problems(
    sources: Iterable[Instances], runs: Sequence[Run], wanted: Iterable[Instance]
) -> dict[str, Problem]:
    """The problems of these instances by digest, where the sources still have them unchanged."""
    missing = {instance.digest for instance in wanted}
    posed: defaultdict[str, dict[str, Run]] = defaultdict(dict)
    for run in runs:
        if run.instance.digest in missing:
            posed[run.instance.content][run.instance.digest] = run
    problems: dict[str, Problem] = {}
    for source in chain.from_iterable(sources):
        for expected, run in posed.pop(source.content, {}).items() if source.unreadable is None else ():
            problem = _same_problem(source, run)
            if problem is not None and digest(problem) == expected:
                problems[expected] = problem
        if not posed:
            break
    return problems


def _same_problem(source: InstanceSource, run: Run) -> Problem | None:
    try:
        return problem_of(source, cast(RunOptions, run.record.solver.options))
    except (InputError, KeyError):  # the file has changed, or the record is from before an option
        return None


def paths_file(folder: Path, paths: Sequence[str]) -> bytes:
    """The content of `paths.json`: the paths of the runs before, then those of this one."""
    known = list(dict.fromkeys((*read_paths(folder), *map(_from_anywhere, paths))))
    text = json.dumps(known, indent=1, ensure_ascii=False) + "\n"
    # Of bytes that are no text the escape of Python is that of JSON as well.
    return text.encode(errors="backslashreplace")


def read_paths(folder: Path) -> list[str]:
    """The paths of the runs of this folder; none where the file is missing or damaged."""
    try:
        known = json.loads((folder / PATHS).read_bytes())
    except (OSError, ValueError):
        return []
    return [path for path in known if isinstance(path, str)] if isinstance(known, list) else []


def _from_anywhere(path: str) -> str:
    if path.startswith("generate:"):
        return path
    # The whole of a library: what is open now need not be when a report is made.
    parts = _FROM_LIBRARY.fullmatch(path)
    return str(Path(path if parts is None else parts[1]).absolute())
