"""The problem of an instance as it was posed: read or generated, and changed as the run asked for."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from memstow.planner import formats
from memstow.planner.bench.instances.sources import Instances
from memstow.planner.bench.records.folder import PATHS
from memstow.planner.bench.records.record import Instance
from memstow.planner.bench.records.results import Run
from memstow.planner.bench.runs.task import Given
from memstow.planner.generate.by_name import make
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem
from memstow.planner.reading.parse import parse_target
from memstow.planner.targets.overrides import changed


def problem_of(
    data: bytes | None, generated: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> Problem:
    """The problem that a run is about."""
    if generated is None:
        problem = formats.read_problem(data or b"", options["format"])
    else:
        problem = make(
            generated["kind"], {name: value for name, value in generated.items() if name != "kind"}
        )
    target = None if options["target"] is None else parse_target(options["target"])
    return changed(problem, target, options["capacity"], options["fit_only"])


def found_again(
    sources: Iterable[Instances], runs: Sequence[Run], wanted: Iterable[Instance]
) -> dict[str, Problem]:
    """By digest, the problems of the instances wanted that are still where they were, and still the same."""
    missing = {instance.digest for instance in wanted}
    posed: defaultdict[str, dict[str, Run]] = defaultdict(dict)
    for run in runs:
        if run.instance.digest in missing:
            posed[run.instance.content][run.instance.digest] = run
    found: dict[str, Problem] = {}
    for given in chain.from_iterable(sources):
        for expected, run in posed.pop(given.content, {}).items() if given.unreadable is None else ():
            problem = _again(given, run)
            if problem is not None and digest(problem) == expected:
                found[expected] = problem
        if not posed:
            break
    return found


def _again(given: Given, run: Run) -> Problem | None:
    try:
        return problem_of(given.data, given.generated, run.record.solver.options)
    except (InputError, KeyError):  # the file has changed, or the record is from before an option
        return None


def remembered(folder: Path, paths: Sequence[str]) -> bytes:
    """What is to be in that file: what this run is told to run, after what the runs before it were told."""
    known = recall(folder)
    known += [path for path in map(_from_anywhere, paths) if path not in known]
    text = json.dumps(known, indent=1, ensure_ascii=False) + "\n"
    # Of bytes that are no text the escape of Python is that of JSON as well.
    return text.encode(errors="backslashreplace")


def recall(folder: Path) -> list[str]:
    """What the runs of this folder were told to run; nothing where that is not known."""
    try:
        known = json.loads((folder / PATHS).read_bytes())
    except (OSError, ValueError):
        return []
    return [path for path in known if isinstance(path, str)] if isinstance(known, list) else []


def _from_anywhere(path: str) -> str:
    return path if path.startswith("generate:") else str(Path(path).absolute())
