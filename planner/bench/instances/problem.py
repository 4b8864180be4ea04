"""The problem of an instance: read or generated, then changed by the options of the run."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import cast

from memstow.planner import formats
from memstow.planner.bench.instances.sources import Instances
from memstow.planner.bench.records.folder import PATHS
from memstow.planner.bench.records.record import Instance
from memstow.planner.bench.records.results import Run
from memstow.planner.bench.runs.task import InstanceSource, RunOptions
from memstow.planner.generate.by_name import make, make_graph
from memstow.planner.graph.changes import in_memories, with_order
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Problem
from memstow.planner.reading.parse import parse_target
from memstow.planner.targets.overrides import with_overrides


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
    found: dict[str, Problem] = {}
    for given in chain.from_iterable(sources):
        for expected, run in posed.pop(given.content, {}).items() if given.unreadable is None else ():
            problem = _same_problem(given, run)
            if problem is not None and digest(problem) == expected:
                found[expected] = problem
        if not posed:
            break
    return found


def _same_problem(given: InstanceSource, run: Run) -> Problem | None:
    try:
        return problem_of(given, cast(RunOptions, run.record.solver.options))
    except (InputError, KeyError):  # the file has changed, or the record is from before an option
        return None


def paths_file(folder: Path, paths: Sequence[str]) -> bytes:
    """The content of `paths.json`: the paths of the runs before, then those of this one."""
    known = read_paths(folder)
    known += [path for path in map(_from_anywhere, paths) if path not in known]
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
    return path if path.startswith("generate:") else str(Path(path).absolute())
