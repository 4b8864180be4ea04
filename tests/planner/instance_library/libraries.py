"""Small libraries for tests, and ways to falsify one."""

import json
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from memstow.planner.generate.planted import planted
from memstow.planner.generate.random_problems import mixed
from memstow.planner.instance_library.folder import Folder
from memstow.planner.instance_library.judging import Answer
from memstow.planner.instance_library.records import About, Credit, Library, opened, posed, verify
from memstow.planner.instance_library.standard import first_answer
from memstow.planner.model import Status
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Problem

Document = dict[str, Any]
CREDIT: Final = Credit("A. Tester", "2026-01-31")
WORK: Final = 1_000_000

_KNOT: Final = (
    *((5, 0, 1), (3, 3, 4), (3, 0, 5), (5, 0, 5), (2, 0, 6), (1, 4, 6), (2, 4, 6), (1, 1, 7), (3, 0, 8)),
    *((4, 6, 8), (3, 1, 9), (3, 5, 10), (2, 6, 10), (5, 8, 11), (3, 5, 12), (1, 5, 12), (1, 7, 12)),
)
KNOT: Final = Problem(
    buffers=[
        Buffer(id=f"b{index}", size=size, lifetime=(begin, end))
        for index, (size, begin, end) in enumerate(_KNOT)
    ]
)
"""20 bytes are live at most, and every plan needs 21, which takes a search to show."""


def about(name: str, **words: str) -> About:
    """What is said of an instance."""
    title, licence = words.get("title", "a test"), words.get("licence", "CC0-1.0")
    family = words.get("family", "tests")
    return About(name, title, family, licence, source="here", models="nothing")


def random_problem(seed: int = 0, n: int = 8) -> Problem:
    """A problem of one memory."""
    return mixed(n, seed)


def add(library: Library, name: str, document: Problem | Graph, *, solved: bool = True) -> None:
    """Add an instance, with a first record."""
    entry = posed(document)
    answer = first_answer(entry, WORK) if solved else None
    library.add(about(name), entry, None if answer is None else (answer, CREDIT))


def made(path: Path, count: int = 2) -> Folder:
    """A library of so many solved instances, named p0 and so on."""
    folder = Folder(path)
    with opened(folder) as library:
        for seed in range(count):
            add(library, f"p{seed}", random_problem(seed))
    return folder


def unsolved(path: Path, count: int = 10) -> Folder:
    """A library of so many problems without a record, each some work for a search, named q0 and so on."""
    folder = Folder(path)
    with opened(folder) as library:
        for seed in range(count):
            add(library, f"q{seed}", planted(300, seed, slack=0.1), solved=False)
    return folder


def stacked(problem: Problem) -> Plan:
    """All buffers one above the other: right, and bad."""
    top, places = 0, []
    for buffer in problem.buffers:
        places.append(Placement(buffer=buffer.id, pool=problem.pools[0].id, offset=top))
        top += buffer.size
    return Plan(status=Status.FEASIBLE, placements=places)


def answered(problem: Problem) -> Answer:
    """The answer of a run."""
    answer = first_answer(posed(problem), WORK)
    assert answer is not None
    return answer


def faults(folder: Folder, cancel: threading.Event | None = None) -> dict[str, list[str]]:
    """What `verify` says is wrong, by instance; of all of it by the empty name."""
    checked = verify(folder, lambda _: True, cancel or threading.Event())
    return {one.name: list(one.faults) for one in checked if one.faults}


def falsify(folder: Folder, name: str, change: Callable[[Document], None]) -> None:
    """Change the metadata of an instance, as somebody would who wants it to look right otherwise."""
    path = folder.path / name / "instance.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def swap(folder: Folder, name: str, file: str, data: bytes) -> None:
    """Put other bytes into a file, and their checksum into the metadata."""
    (folder.path / name / file).write_bytes(data)

    def change(document: Document) -> None:
        for entry in document["files"]:
            if entry["name"] == file:
                entry |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}

    falsify(folder, name, change)


def tree(path: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
