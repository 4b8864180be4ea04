"""Bundles: what a bench was, in one file, so that another machine repeats it and compares.

A bundle is a tar.gz of a manifest, the results with their events and errors, the commands, and the problems.
The manifest has the versions, the machines and the seeds, and of each file its checksum. The same results
make the same bytes. What is read of a bundle is bounded; nothing is unpacked, and no command of it is run.
"""

import gzip
import io
import json
import platform
import shlex
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

import memstow
from memstow.planner.bench import rivals
from memstow.planner.bench.instances import Instances
from memstow.planner.bench.journal import Results, Run, read
from memstow.planner.bench.judgement import this_machine
from memstow.planner.bench.record import (
    BEST,
    COMMANDS,
    RESULTS,
    Record,
    RecordError,
    commands,
    from_line,
    to_line,
)
from memstow.planner.bench.report_text import machine_text
from memstow.planner.bench.task import InstanceSource, RunOptions, SolverRequest, Task
from memstow.planner.model.errors import InputError
from memstow.planner.plugins import installed
from memstow.planner.show.formatting import count, plain
from memstow.solvers.registry import BACK_ENDS, is_ours

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_PROBLEMS: Final = "problems"
_MOST_BYTES: Final = 2 << 30
"""Of all that is in a bundle, unpacked."""
_PACKAGES: Final = tuple(
    sorted(
        {
            *chain.from_iterable(back_end.needs for back_end in BACK_ENDS.values()),
            *chain.from_iterable(rival.needs for rival in rivals.RIVALS.values()),
        }
    )
)


def versions() -> dict[str, str]:
    """What runs depend on, as it is installed here."""
    here = {"memstow": memstow.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            here[package] = version(package)
        except PackageNotFoundError:
            continue
    return here


# Writing


def write_bundle(
    folder: Path, sources: Iterable[Instances], allow_missing: bool = False
) -> tuple[bytes, list[str]]:
    """The bundle of the results in a folder, and the names of problems that are not in it.

    InputError where a problem is no longer where it was, unless some may be missing.
    """
    results = read(folder)
    wanted = {run.instance.content: run.instance.name for run in results.runs}
    problems = _sources_of(sources, set(wanted))
    missing = sorted(name for content, name in wanted.items() if content not in problems)
    if missing and not allow_missing:
        some = ", ".join(plain(name, most=80) for name in missing[:5])
        message = (
            f"{count(len(missing))} of {count(len(wanted))} problems are gone or have changed: {some}; "
            "say where they are by --problems, or leave them out by --allow-missing"
        )
        raise InputError.single("no_problem", str(results.path), message)
    files = {RESULTS: results.path.read_bytes()}
    for name in (COMMANDS, BEST):
        path = results.path.parent / name
        if path.is_file():
            files[name] = path.read_bytes()
    instances: dict[str, dict[str, object]] = {}
    for content, source in sorted(problems.items()):
        about: dict[str, object] = {"name": source.name, "family": source.family}
        if source.data is None:
            about["generated"] = dict(source.generated or {})
        else:
            about["file"] = f"{_PROBLEMS}/{content}"
            files[f"{_PROBLEMS}/{content}"] = source.data
        instances[content] = about
    manifest = _manifest(results, files, instances)
    return _packed({MANIFEST: manifest, **files}), missing


def _sources_of(sources: Iterable[Instances], contents: set[str]) -> dict[str, InstanceSource]:
    """The sources with these contents."""
    problems: dict[str, InstanceSource] = {}
    for source in chain.from_iterable(sources):
        if len(problems) == len(contents):
            break
        if source.unreadable is None and source.content in contents:
            problems.setdefault(source.content, source)
    return problems


def _manifest(
    results: Results, files: Mapping[str, bytes], instances: Mapping[str, Mapping[str, object]]
) -> bytes:
    records = [run.record for run in results.runs]
    document = {
        "bundle": FORMAT,
        "versions": versions(),
        "solvers": sorted({f"{record.solver.name} {record.solver.version}".strip() for record in records}),
        "machines": sorted({machine_text(record.machine) for record in records}),
        "seeds": sorted({record.seed for record in records}),
        "commands": [f"{one.began}: {one.command}" for one in commands(results.path.parent)],
        "runs": len(records),
        "instances": instances,
        "files": {
            name: {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in sorted(files.items())
        },
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode(errors="backslashreplace")


def _packed(files: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with (
        # No time and no name in it: the same files make the same bytes.
        gzip.GzipFile(filename="", fileobj=written, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return written.getvalue()


# Reading


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read, its checksums compared."""

    manifest: Mapping[str, Any]
    files: Mapping[str, bytes]
    records: tuple[Record, ...]

    def sources(self) -> dict[str, InstanceSource]:
        """The problems by their content."""
        return {
            content: self._source(content, about) for content, about in self.manifest["instances"].items()
        }

    def _source(self, content: str, about: Mapping[str, Any]) -> InstanceSource:
        data = None if "generated" in about else self.files[about["file"]]
        source = InstanceSource(about["name"], about["family"], data, about.get("generated"))
        if source.content != content:
            raise _damaged(f"the problem {plain(about['name'], most=80)} is another one")
        return source

    def differences(self) -> list[str]:
        """What is not here as it was there, and may change what runs give."""
        here, there = versions(), self.manifest["versions"]
        notes = [
            f"{name} was {there.get(name, 'not there')} and is {here.get(name, 'not here')}"
            for name in sorted({*here, *there})
            if here.get(name) != there.get(name)
        ]
        machine, machines = machine_text(this_machine()), self.manifest["machines"]
        if machines != [machine]:
            notes.append(f"the machine was {'; '.join(machines)} and is {machine}: times do not compare")
        return notes


def read_bundle(path: Path) -> Bundle:
    """The bundle in a file; InputError for one that is damaged, or that is none."""
    try:
        files = _unpacked(path)
        manifest = json.loads(files.pop(MANIFEST))
        if manifest["bundle"] != FORMAT:
            message = f"bundles of version {FORMAT} can be read, and this is {manifest['bundle']!r}"
            raise InputError.single("wrong_version", str(path), message)
        for name, about in manifest["files"].items():
            if sha256(files[name]).hexdigest() != about["sha256"]:
                raise _damaged(f"the checksum of {plain(name)} is another one")
        lines = files[RESULTS].splitlines()
        # Of several records of one key the last counts, as in a report.
        records = {record.key: record for record in map(from_line, lines)}
        bundle = Bundle(manifest, {name: files[name] for name in manifest["files"]}, tuple(records.values()))
        bundle.sources()
    except FileNotFoundError:
        raise InputError.single("not_found", str(path), "there is no such file") from None
    except InputError as error:
        raise InputError.single(error.issues[0].code, str(path), error.issues[0].message) from None
    except _WRONG as error:
        why = f"it is no bundle of a bench: {type(error).__name__}: {error}"[:300]
        raise InputError.single("no_bundle", str(path), why) from None
    return bundle


_WRONG: Final = (
    *(OSError, EOFError, tarfile.TarError, zlib.error),
    *(ValueError, KeyError, TypeError, AttributeError, RecursionError, RecordError),
)
"""What reading a file raises that is none of ours."""


def _damaged(why: str) -> InputError:
    return InputError.single("damaged", "bundle", why)


def _unpacked(path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = _MOST_BYTES
    with tarfile.open(path, "r:gz") as archive:
        for entry in archive:
            left -= entry.size
            if left < 0 or not entry.isreg() or entry.name in files:
                raise _damaged(f"{plain(entry.name, most=80)} is too large, no file, or there twice")
            read_from = archive.extractfile(entry)
            files[entry.name] = b"" if read_from is None else read_from.read()
    return files


# Repeating


@dataclass(frozen=True, slots=True)
class Repetition:
    """The runs that can be repeated here, and why some cannot."""

    tasks: tuple[Task, ...]
    results: bytes
    """The lines of the runs that they repeat."""
    left_out: tuple[str, ...]


def repetition(bundle: Bundle, folder: str, programs: Mapping[str, str]) -> Repetition:
    """The runs of a bundle as tasks; `programs`: where external programs are here, by names of solvers."""
    sources = bundle.sources()
    tasks: list[Task] = []
    lines: list[str] = []
    reasons: Counter[str] = Counter()
    for record in bundle.records:
        source = sources.get(record.instance.content)
        if source is None:
            reasons["their problem is not in the bundle"] += 1
            continue
        request, why = _request(record, folder, programs)
        if request is None:
            reasons[why] += 1
        else:
            tasks.append(Task(source, record.instance.content, request, record.seed))
            lines.append(f"{to_line(record)}\n")
    left_out = tuple(f"{count(many)} runs are left out: {why}" for why, many in sorted(reasons.items()))
    return Repetition(tuple(tasks), "".join(lines).encode(), left_out)


def _request(record: Record, folder: str, programs: Mapping[str, str]) -> tuple[SolverRequest | None, str]:
    """The solver of a record; or why it is not here."""
    options: dict[str, Any] = dict(record.solver.options)
    command = options.pop("command", None)
    name, order = record.solver.name, options.get("order")
    run_options = cast(RunOptions, options)
    if command is None:
        request = SolverRequest(name if order is None else name.removeprefix(f"{order}+"), run_options)
        return (request, "") if (why := _why_not_here(request)) is None else (None, why)
    here, why = _command_here(name, list(command), programs.get(name))
    return (None, why) if here is None else (SolverRequest(name, run_options, tuple(here), folder), "")


def _why_not_here(request: SolverRequest) -> str | None:
    """Why a solver is not here; None if it is."""
    if not is_ours(request.name) and installed.find("solver", request.name) is None:
        return f"there is no solver {plain(request.name, most=80)}"
    missing = (BACK_ENDS[name].how_to_get() for name in request.back_ends)
    return next((f"{request.title} needs {what}" for what in missing if what is not None), None)


def _command_here(name: str, command: Sequence[str], program: str | None) -> tuple[list[str] | None, str]:
    """The command of an external program as it is called on this machine.

    One of the bundle is never run by itself: nobody has looked at it. Models are called from here, and other
    programs where the caller says what they are.
    """
    if rivals.is_model(command) and name in rivals.MODELS:
        missing = rivals.how_to_get(name)
        return (rivals.command_of(name, None), "") if missing is None else (None, f"{name} needs {missing}")
    if program is None:
        shown = plain(shlex.join(command), most=200)
        return None, f"{name} was the program `{shown}`; --program {name}=PATH runs yours"
    if rivals.is_model(command) and name in rivals.RIVALS:
        return rivals.command_of(name, program), ""
    return [program, *command[1:]], ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the repeated runs compare with those of the bundle."""

    equal: int
    """Deterministic runs that gave the same in every count, bound and place."""
    differing: tuple[str, ...]
    """Deterministic runs that did not, and how."""


def compared(old: Results, new: Results) -> Comparison:
    """Compare each deterministic run with the one that repeats it."""
    again = {_key(run): run for run in new.runs}
    equal = 0
    differing: list[str] = []
    for run in old.runs:
        other = again.get(_key(run))
        if other is None or run.record.solver.options.get("deterministic") is not True:
            continue
        different = _different(old, run, new, other)
        if different is None:
            equal += 1
        else:
            name = plain(run.instance.name, most=80)
            differing.append(f"{plain(run.solver)}, seed {run.record.seed}, on {name}: {different}")
    return Comparison(equal, tuple(differing))


def _key(run: Run) -> tuple[str, str, int]:
    return run.instance.digest, run.record.solver.name, run.record.seed


def _different(old: Results, run: Run, new: Results, other: Run) -> str | None:
    one, two = run.record, other.record
    for name in ("status", "objective", "bound", "work"):
        was, now = getattr(one, name), getattr(two, name)
        if was != now:
            return f"{name} was {_shown(was)} and is {_shown(now)}"
    return None if old.plan(run) == new.plan(other) else "the plan has other places"


def _shown(value: object) -> str:
    return plain(str(value), most=80)
