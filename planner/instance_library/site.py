"""The site of a library: static pages, made of what was checked.

Each file is replaced in one step, and the pages that lead to others come last, so that a site whose making
was cut short is an older one with some newer pages. Beside the pages of an instance stands what they were
made of: what has not changed since is not judged and drawn again.
"""

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from memstow.planner.graph.documents import problem_of
from memstow.planner.instance_library.folder import (
    INDEX,
    METADATA,
    Folder,
    answer_of,
    index_line,
    parse_metadata,
    posed_of,
    refused,
    replace_file,
    write_index,
)
from memstow.planner.instance_library.form import are_one
from memstow.planner.instance_library.judging import NEVER, Judged, Posed
from memstow.planner.instance_library.records import examined, first_message
from memstow.planner.instance_library.site_pages import (
    Frame,
    Shown,
    feed,
    index_page,
    instance_page,
    is_pictured,
    list_data,
    open_page,
    plain_page,
    records_page,
    refused_page,
    solvers_page,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.library import LibraryFile, LibraryInstance
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.check import CheckedProof, StoppedError, with_proof
from memstow.planner.proofs.walk import Walk
from memstow.planner.proofs.walk_order import walk_in
from memstow.planner.show.svg import in_both_lights
from memstow.planner.show.svg_picture import svg, thumbnail
from memstow.planner.show.view_document import PlanView, Sentence
from memstow.planner.verify import judge

MARKER: Final = "site.json"
_MARKS: Final = b'{"memstow_site": 1}\n'
_ROOMS: Final = ("assets", "instances", "library", "made", "pictures", "plans", "thumbnails")
_TOP: Final = ("all.html", "feed.atom", "open.html", "records.html", "refused.html", "solvers.html")

Viewer = Callable[[Problem | Graph, Plan, str, tuple[CheckedProof, Walk | None] | None], bytes]
"""The page of a plan that can be looked at, with this title: `plans/ID.html` in the site."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a site is made of besides the library."""

    frame: Frame
    assets: Mapping[str, bytes]
    """Styles and scripts, by their paths in the site."""
    viewer: Viewer
    solvers: tuple[str, str] | None = None
    """What the page of solvers says, and the path of its style."""


@dataclass(slots=True)
class Built:
    """What has come of a site."""

    shown: list[LibraryInstance] = field(default_factory=list)
    drawn: int = 0
    """Instances whose pages were made again."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Names and why they are not shown."""
    is_done: bool = False


class _Held:
    """The bytes of one instance, read once: what is judged is what is shown."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.name = folder.name
        self._data = folder.metadata(name)
        self.instance = parse_metadata(self._data, name)
        self.files = {entry.name: folder.file(self.instance, entry) for entry in self.instance.files}

    def ids(self) -> list[str]:
        """Itself."""
        return [self.instance.id]

    def metadata(self, _name: str) -> bytes:
        """`instance.json`."""
        return self._data

    def file(self, _instance: LibraryInstance, entry: LibraryFile) -> bytes:
        """A file beside it."""
        return self.files[entry.name]


def build(folder: Folder, out: Path, parts: Parts, cancel: threading.Event = NEVER) -> Built:
    """Make the site in a folder of its own, or make it again; not done once `cancel` is set."""
    _require_place(folder, out)
    with Folder(out).writing():
        return _Site(folder, out, parts).build(cancel)


def _require_place(folder: Folder, out: Path) -> None:
    here, there = folder.path.resolve(), out.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise refused(str(out), "site", "the site and the library need folders that are not in each other")
    if os.path.lexists(out) and not out.is_dir():
        raise refused(str(out), "site", "this is no folder")
    if out.is_dir() and not (out / MARKER).is_file() and any(out.iterdir()):
        raise refused(str(out), "site", "it holds something, and no site: name a new or an empty folder")
    for room in _ROOMS:
        # What a site no longer has is removed, which is not for files elsewhere.
        if (out / room).is_symlink():
            raise refused(str(out / room), "site", "it is a link, and a site has folders of its own")


class _Site:
    def __init__(self, folder: Folder, out: Path, parts: Parts) -> None:
        self._folder = folder
        self._out = out
        self._parts = parts
        self._names: set[str] = {MARKER}
        """Of all files of the site."""
        frame = parts.frame
        words = (_program(), frame.title, frame.url, frame.has_solvers, sorted(parts.assets))
        self._basis = sha256(json.dumps(words).encode()).digest()

    def build(self, cancel: threading.Event) -> Built:
        self._put(MARKER, _MARKS)
        for path, data in self._parts.assets.items():
            self._put(path, data)
        built = Built()
        forms: dict[str, list[LibraryInstance]] = {}
        for name in self._folder.ids():
            if cancel.is_set():
                return built
            try:
                held = _Held(self._folder, name)
                faults = self._twins(held, forms.get(held.instance.form, ()))
                if not faults:
                    faults = self._instance(held, built, cancel)
            except InputError as error:
                faults = [first_message(error)]
            except StoppedError:
                return built
            built.refused += [(name, fault) for fault in faults]
            if not faults:
                forms.setdefault(held.instance.form, []).append(held.instance)
                built.shown.append(held.instance)
        self._lists(built)
        self._tidy()
        built.is_done = True
        return built

    def _twins(self, held: _Held, others: Sequence[LibraryInstance]) -> list[str]:
        """Those that it cannot stand beside."""
        if not others:
            return []
        document = posed_of(held, held.instance).document
        return [
            f"it is {other.id} but for names, order, units or the direction of time"
            for other in others
            if are_one(posed_of(self._folder, other).document, document) is not False
        ]

    def _instance(self, held: _Held, built: Built, cancel: threading.Event) -> list[str]:
        """Write all of an instance, unless it is there; what is wrong, where something is."""
        instance, name = held.instance, held.instance.id
        faults = [f"nothing names its file {file}" for file in self._folder.strangers(instance)]
        if faults:
            return faults
        basis = sha256(self._basis + held.metadata(name)).hexdigest()
        files = {f"library/{name}/{file}": data for file, data in held.files.items()}
        files[f"library/{name}/{METADATA}"] = held.metadata(name)
        kept = self._kept(name, basis)
        if kept is None:
            entry, answer = posed_of(held, instance), answer_of(held, instance)
            faults, record = examined(instance, entry, answer, cancel)
            if faults:
                return faults
            drawn = self._drawn(instance, entry, record)
            sums = {path: sha256(data).hexdigest() for path, data in drawn.items()}
            files |= drawn
            built.drawn += 1
            kept = json.dumps({"of": basis, "files": sums}, indent=1).encode() + b"\n"
            self._names.update(sums)
        for path, data in files.items():
            self._put(path, data)
        self._put(f"made/{name}.json", kept)
        return []

    def _kept(self, name: str, basis: str) -> bytes | None:
        """What says that the pages are there, made of the same; None where they are not."""
        try:
            data = (self._out / "made" / f"{name}.json").read_bytes()
            made = json.loads(data)
            if made["of"] != basis:
                return None
            files: dict[str, str] = made["files"]
            if f"instances/{name}.html" not in files or not files.keys() <= set(_drawn_of(name)):
                return None
            for path, digest in files.items():
                if sha256((self._out / path).read_bytes()).hexdigest() != digest:
                    return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        self._names.update(files)
        return data

    def _drawn(self, instance: LibraryInstance, entry: Posed, record: Judged | None) -> dict[str, bytes]:
        """The page of an instance, its pictures, and the page of its plan."""
        page, of_plan, large, small = _drawn_of(instance.id)
        frame, files = self._parts.frame, dict[str, bytes]()
        if record is None:
            sentence = Sentence("No plan is known.", "Any is a record.", "open")
            return {page: instance_page(frame, instance, Shown(sentence, pictured=False))}
        plan, checked = record.answer.plan, record.checked
        problem = problem_of(entry.document, plan)
        walk, verdict = None, judge(entry.document, plan)
        proof = record.answer.proof
        if checked is not None and proof is not None:
            walk, verdict = (
                walk_in(entry.document, problem, proof),
                with_proof(problem, plan, verdict, checked),
            )
        view = PlanView(entry.document, problem, plan, "file", verdict=verdict)
        pictured = is_pictured(instance)
        if pictured:
            for path, picture in ((large, svg), (small, thumbnail)):
                files[path] = in_both_lights(picture(problem, plan)).encode()
        proven = None if checked is None else (checked, walk)
        files[of_plan] = self._parts.viewer(entry.document, plan, f"{instance.id}: {instance.title}", proven)
        files[page] = instance_page(frame, instance, Shown(view.sentence(), pictured, checked, walk))
        return files

    def _lists(self, built: Built) -> None:
        """What is about all instances; the page that begins comes last."""
        frame, shown = self._parts.frame, built.shown
        script = list_data(shown)
        data = f"assets/instances-{sha256(script).hexdigest()[:12]}.js"
        self._put(data, script)
        self._put(f"library/{INDEX}", write_index(map(index_line, shown)))
        self._put("all.html", plain_page(frame, shown))
        self._put("open.html", open_page(frame, shown, data))
        self._put("records.html", records_page(frame, shown))
        self._put("feed.atom", feed(frame, shown))
        if self._parts.solvers is not None:
            self._put("solvers.html", solvers_page(frame, *self._parts.solvers))
        if built.refused:
            self._put("refused.html", refused_page(frame, built.refused))
        self._put("index.html", index_page(frame, shown, data, built.refused))

    def _put(self, path: str, data: bytes) -> None:
        """Write a file of the site, unless it is there and the same."""
        self._names.add(path)
        place = self._out / path
        if place.parent != self._out and place.parent.is_symlink():
            place.parent.unlink()  # No file is written elsewhere through a link.
        try:
            if place.stat().st_size == len(data) and place.read_bytes() == data:
                return
        except OSError:
            place.parent.mkdir(parents=True, exist_ok=True)
        # Thousands of files, each of which is compared and written again where a power cut has spoiled it.
        replace_file(place, data, synced=False)

    def _tidy(self) -> None:
        """Remove what an older site had more."""
        for name in _TOP:
            if name not in self._names:
                (self._out / name).unlink(missing_ok=True)
        for room in _ROOMS:
            for folder, below, names in os.walk(self._out / room, topdown=False):
                for name in names:
                    place = Path(folder) / name
                    if place.relative_to(self._out).as_posix() not in self._names:
                        place.unlink()
                for name in below:
                    place = Path(folder) / name
                    if not place.is_symlink() and not any(place.iterdir()):
                        place.rmdir()


def _drawn_of(name: str) -> tuple[str, str, str, str]:
    """What may be drawn of an instance: its page, that of its plan, and two pictures."""
    return (
        f"instances/{name}.html",
        f"plans/{name}.html",
        f"pictures/{name}.svg",
        f"thumbnails/{name}.svg",
    )


@cache
def _program() -> str:
    """What pages follow from besides the library: the sources of this program."""
    rooms, sources = Path(__file__).parents[1], sha256()
    for path in sorted(rooms.rglob("*.py")):
        sources.update(path.read_bytes())
    return sources.hexdigest()
