"""What is done with a library: instances come in, records are broken, all of it is checked, two are compared.

What a document, a plan or another library says is judged before any of it is written.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from datetime import date as calendar_date
from itertools import pairwise
from typing import Final, Literal, TypeVar

from memstow.planner import formats
from memstow.planner.formats.native import plain
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.instance_library.folder import (
    DOCUMENTS,
    LARGEST_FILE,
    PLAN,
    PROOF,
    Folder,
    Source,
    answer_of,
    file_entry,
    index_line,
    instance_of,
    pack,
    posed_of,
    refused,
    write_index,
)
from memstow.planner.instance_library.form import are_one, form_of
from memstow.planner.instance_library.judging import NEVER, Answer, Judged, Posed, better_of, judged
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.features import features_of
from memstow.planner.model.graph import Graph, is_planned
from memstow.planner.model.library import Change, FileName, LibraryInstance, Origin, RecordEvent
from memstow.planner.model.problem import MOVES, Kind, Problem, counted_once, parse_term, profile, terms_of
from memstow.planner.proofs.check import StoppedError
from memstow.planner.reading.parse import parse_whole
from memstow.planner.reading.sections import Findings

_Holder = TypeVar("_Holder")
_UNCLEAR: Final = frozenset(("unknown", "none", "noassertion", "tbd", "other", "n-a", "unlicensed"))
_NAME: Final = r"(?!(?:AND|OR|WITH)\b)[A-Za-z0-9.-]+\+?"
_ONE: Final = f"(?:{_NAME}(?: WITH {_NAME})?|_)"
_NAMES: Final = f"{_ONE}(?: (?:AND|OR) {_ONE})*"
"""Of SPDX, with `_` for what is in parentheses."""
_EXPRESSION: Final = re.compile(_NAMES)
_IN_PARENTHESES: Final = re.compile(rf"(?<![^ (])\({_NAMES}\)(?![^ )])")
_CLOCKS_DIFFER: Final = timedelta(days=366)
"""The clock of no machine that makes records is further ahead."""


@dataclass(frozen=True, slots=True)
class About:
    """What somebody says of an instance."""

    name: str
    title: str
    family: str
    licence: str
    command: str | None = None
    source: str | None = None
    models: str = ""


@dataclass(frozen=True, slots=True)
class Credit:
    """Who brings a record, and when."""

    by: str
    date: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """What follows from the document of an instance."""

    features: dict[str, int]
    live: int | None
    digest: str
    form: str


def posed(document: Problem | Graph) -> Posed:
    """The document as a library keeps it; an InputError for one that it cannot have a plan of."""
    if isinstance(document, Problem):
        data = formats.write_problem(document, "json")
        if MOVES in terms_of(document):
            message = "it counts `moves` from another plan, which no file of a library is; leave the term out"
            raise InputError.single("moves", "$.objective", message)
    else:
        data = formats.write_graph(document)
    if len(data) > LARGEST_FILE:
        raise InputError.single("too_large", "$", f"more than {LARGEST_FILE:,} bytes as JSON")
    return Posed(document, data)


def _facts(entry: Posed) -> _Facts:
    document = entry.document
    if isinstance(document, Problem):
        steps = profile(counted_once(document))
        return _Facts(features_of(document, steps), steps.peak, digest(document), form_of(document))
    try:
        listed = listed_problem(document)
    except InputError:
        counts = {
            "buffers": sum(map(is_planned, document.tensors)),
            "pools": max(len(document.pools), 1),
            "operators": len(document.operators),
        }
        return _Facts(counts, None, graph_digest(document), form_of(document))
    steps = profile(counted_once(listed))
    features = features_of(listed, steps, document)
    return _Facts(features, steps.peak, graph_digest(document), form_of(document))


def _slack(entry: Posed, live: int | None, record: Judged | None) -> float | None:
    """How far the best peak is above the largest live set; None where the first term is no such peak."""
    pools = entry.document.pools
    first = None if record is None or not record.best else record.best[0]
    term = None if first is None else parse_term(first.term)
    if first is None or term is None or not live or len(pools) > 1:
        return None
    return round(first.value / live, 4) if term.kind in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK) else None


def _require_licence(licence: str) -> None:
    inner, expression = "", licence
    while inner != expression:
        inner, expression = expression, _IN_PARENTHESES.sub("_", expression)
    if licence.lower() in _UNCLEAR or not _EXPRESSION.fullmatch(expression):
        message = "name the licence under which it may be passed on, as SPDX does: CC0-1.0, MIT OR Apache-2.0"
        raise refused("licence", "licence", f"{licence!r} is no clear licence; {message}")


def _require_date(text: str) -> None:
    try:
        date = calendar_date.fromisoformat(text)
    except ValueError:
        date = None
    if date is None or date.isoformat() != text:
        raise refused("date", "date", f"{text!r} is no date such as 2026-01-31")
    # No record is dated before the last: after one of the year 9999 there would be no other.
    if date > datetime.now(UTC).date() + _CLOCKS_DIFFER:
        raise refused("date", "date", f"{text} is more than a year from now")


def _event(record: Judged, credit: Credit, changed: tuple[Change, ...]) -> RecordEvent:
    plan = record.answer.plan
    return _made(
        RecordEvent,
        date=credit.date,
        by=credit.by,
        solver=_one_line(plan.solver),
        version=_one_line(plan.version),
        changed=changed,
        values=record.values,
        bounds=record.bounds,
    )


def _made(holder: type[_Holder], **values: object) -> _Holder:
    """An instance of the holder; an InputError where what somebody says is not as it should be."""
    raw = {name: plain(value) for name, value in values.items() if value is not None}
    return parse_whole(holder, raw, Findings(raw))


def _one_line(text: str | None) -> str | None:
    """What a plan says, as one line of the history."""
    line = "" if text is None else "".join(letter if letter.isprintable() else " " for letter in text[:200])
    return line or None


def _with_record(
    instance: LibraryInstance, entry: Posed, record: Judged, event: RecordEvent
) -> tuple[LibraryInstance, dict[FileName, bytes]]:
    """The metadata with a better record, and the files of that."""
    files: dict[FileName, bytes] = {"plan.json": formats.write_plan(entry.document, record.answer.plan)}
    if record.answer.proof is not None:
        files["plan.proof"] = record.answer.proof
    for name, data in files.items():
        if len(data) > LARGEST_FILE:
            raise refused(f"{instance.id}/{name}", "too_large", f"more than {LARGEST_FILE:,} bytes")
    kept = [file for file in instance.files if file.name in DOCUMENTS]
    changed = replace(
        instance,
        state=record.state,
        slack=_slack(entry, instance.live, record),
        best=record.best,
        history=(*instance.history, event),
        files=(*kept, *(file_entry(name, data) for name, data in files.items())),
    )
    return changed, files


class Library:
    """A folder that this process alone writes: its instances by id, in order."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.instances = {name: instance_of(folder, name) for name in folder.ids()}
        for instance in self.instances.values():
            folder.settle(instance)
        self._lines = {name: index_line(instance) for name, instance in self.instances.items()}
        self._forms: dict[str, list[str]] = {}
        for instance in self.instances.values():
            self._forms.setdefault(instance.form, []).append(instance.id)

    def add(self, about: About, entry: Posed, first: tuple[Answer, Credit] | None = None) -> LibraryInstance:
        """Add an instance, with a first record or without; an InputError where another is the same."""
        _require_licence(about.licence)
        facts = _facts(entry)
        name, data = pack(entry.kind, entry.data)
        instance = _made(
            LibraryInstance,
            version=1,
            id=about.name,
            title=about.title,
            family=about.family,
            licence=about.licence,
            kind=entry.kind,
            state="open",
            models=about.models,
            origin=_made(Origin, command=about.command, source=about.source),
            features=facts.features,
            live=facts.live,
            digest=facts.digest,
            form=facts.form,
            files=(file_entry(name, data),),
        )
        files: dict[FileName, bytes] = {name: data}
        if first is not None:
            answer, credit = first
            _require_date(credit.date)
            record, changed = better_of(entry, None, judged(entry, answer))
            event = _event(record, credit, changed)
            instance, more = _with_record(instance, entry, record, event)
            files |= more
        self.take(instance, entry, files)
        return instance

    def take(self, instance: LibraryInstance, entry: Posed, files: Mapping[FileName, bytes]) -> None:
        """Write an instance that was checked; an InputError where its id is there, or another is the same."""
        if instance.id in self.instances:
            raise refused(instance.id, "duplicate_id", "there is an instance of this id")
        for other in self._forms.get(instance.form, ()):
            same = are_one(entry.document, posed_of(self.folder, self.instances[other]).document)
            if same is False:
                continue
            what = f"it is {other} but for names, order, units or the direction of time"
            if same is None:
                what = f"it may be {other}: to decide that takes too long"
            raise refused(instance.id, "duplicate", what)
        self.folder.add(instance, files)
        self._note(instance)

    def submit(
        self, name: str, answer: Answer, credit: Credit, cancel: threading.Event = NEVER
    ) -> tuple[Change, ...]:
        """Take a plan and a proof for the record where they are better; what became better.

        An InputError where any of it is wrong.
        """
        _require_date(credit.date)
        instance = self.instances[name]
        entry = posed_of(self.folder, instance)
        before = self._record(instance, entry, cancel)
        record, changed = better_of(entry, before, judged(entry, answer, cancel), cancel)
        if changed:
            if instance.history and instance.history[-1].date > credit.date:
                message = f"the record is of {instance.history[-1].date}, which is later"
                raise refused("date", "date", message)
            event = _event(record, credit, changed)
            instance, files = _with_record(instance, entry, record, event)
            self.folder.change(instance, files)
            self._note(instance)
        return changed

    def _record(self, instance: LibraryInstance, entry: Posed, cancel: threading.Event) -> Judged | None:
        answer = answer_of(self.folder, instance)
        return None if answer is None else judged(entry, answer, cancel)

    def _note(self, instance: LibraryInstance) -> None:
        if instance.id not in self.instances:
            self._forms.setdefault(instance.form, []).append(instance.id)
        self.instances[instance.id] = instance
        self._lines[instance.id] = index_line(instance)
        self.put_index()

    def put_index(self) -> None:
        """Write the index."""
        self.folder.put_index(self._lines.values())


@contextmanager
def opened(folder: Folder) -> Iterator[Library]:
    """The library in a folder, for this process alone to write; the folder is made where it is not there."""
    with folder.writing():
        yield Library(folder)


def of_digest(library: Library, wanted: str) -> str | None:
    """The instance of this digest."""
    names = (name for name, instance in library.instances.items() if instance.digest == wanted)
    return next(names, None)


# Checking.


def faults_of(
    instance: LibraryInstance, entry: Posed, answer: Answer | None, cancel: threading.Event = NEVER
) -> list[str]:
    """What the metadata say that is not so. StoppedError after `cancel` is set, where a proof is checked."""
    return examined(instance, entry, answer, cancel)[0]


def examined(
    instance: LibraryInstance, entry: Posed, answer: Answer | None, cancel: threading.Event = NEVER
) -> tuple[list[str], Judged | None]:
    """The same, and what the answer shows where it is right."""
    faults: list[str] = []
    facts = _facts(entry)
    for name in ("features", "live", "digest", "form"):
        if getattr(instance, name) != getattr(facts, name):
            faults.append(f"its {name} is another: {_in_words(getattr(facts, name))}")
    try:
        _require_licence(instance.licence)
    except InputError as error:
        faults.append(first_message(error))
    try:
        record = None if answer is None else judged(entry, answer, cancel)
    except InputError as error:
        return [*faults, f"the plan or its proof is refused: {first_message(error)}"], None
    if record is None:
        shown: tuple[object, ...] = ("open", (), None)
    else:
        shown = (record.state, record.best, _slack(entry, facts.live, record))
    for name, true in zip(("state", "best", "slack"), shown, strict=True):
        if getattr(instance, name) != true:
            faults.append(f"its {name} is not what plan and proof show: {_in_words(true)}")
    return [*faults, *_faults_of_history(instance)], record


def _in_words(value: object) -> str:
    """What should stand in the metadata, as JSON."""
    return json.dumps(plain(value))


def _faults_of_history(instance: LibraryInstance) -> Iterator[str]:
    events = instance.history
    for event in events:
        try:
            _require_date(event.date)
        except InputError as error:
            yield f"its history has a wrong date: {first_message(error)}"
        if len(event.values) != len(event.bounds):
            yield "its history has other numbers of values and bounds"
        elif any(bound > value for value, bound in zip(event.values, event.bounds, strict=True)):
            yield "its history has a bound above its value"
    if any(one.date > other.date for one, other in pairwise(events)):
        yield "its history is not in the order of dates"
    if any(one.values < other.values for one, other in pairwise(events) if one.values and other.values):
        yield "its history has a record that is worse than the one before"
    last = events[-1] if events else None
    values = tuple(term.value for term in instance.best)
    bounds = tuple(term.bound for term in instance.best)
    has_plan = any(entry.name == PLAN for entry in instance.files)
    if has_plan != (last is not None):
        yield "it has a plan and no history, or a history and no plan"
    elif last is not None and (last.values, last.bounds) != (values, bounds):
        yield "the last of its history is not its record"


def first_message(error: InputError) -> str:
    """The first of what is wrong, in a line."""
    issue = error.issues[0]
    return f"{issue.path}: {issue.message}"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked of an instance, or of the index, whose name is empty."""

    name: str
    faults: tuple[str, ...]


def verify(
    folder: Folder, wanted: Callable[[str], bool], cancel: threading.Event = NEVER
) -> Iterator[Checked]:
    """Check each instance, then duplicates and the index, which is last; `cancel` ends it before that."""
    instances: dict[str, LibraryInstance] = {}
    for name in folder.ids():
        if cancel.is_set():
            return
        try:
            instances[name] = instance_of(folder, name)
        except InputError as error:
            yield Checked(name, (first_message(error),))
    for name, instance in instances.items():
        if cancel.is_set():
            return
        if not wanted(name):
            continue
        try:
            faults = [f"{name}/{file}: nothing names this file" for file in folder.strangers(instance)]
            faults += faults_of(instance, posed_of(folder, instance), answer_of(folder, instance), cancel)
        except InputError as error:
            faults = [first_message(error)]
        except StoppedError:
            return
        yield Checked(name, tuple(faults))
    yield Checked("", tuple(_faults_of_all(folder, instances, cancel)))


def _faults_of_all(
    folder: Folder, instances: Mapping[str, LibraryInstance], cancel: threading.Event
) -> Iterator[str]:
    by_form: dict[str, list[LibraryInstance]] = {}
    for instance in instances.values():
        for other in by_form.setdefault(instance.form, []):
            if cancel.is_set():
                return
            try:
                documents = [posed_of(folder, one).document for one in (other, instance)]
            except InputError:
                continue  # It was reported.
            if are_one(*documents) is not False:
                yield f"{instance.id} is {other.id} but for names, order, units or the direction of time"
        by_form[instance.form].append(instance)
    try:
        index = folder.index()
    except InputError as error:
        yield first_message(error)
        return
    if index != write_index(map(index_line, instances.values())):
        what = "there is no index.json" if index is None else "index.json is not what the instances say"
        yield f"{what}: any command that writes makes it again"


# Two libraries.

Side = Literal["only here", "only there", "better here", "better there", "other problem", "other words"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How an instance differs between two libraries."""

    name: str
    side: Side
    says: str = ""


def diff(
    here: Source, there: Source, wanted: Callable[[str], bool], cancel: threading.Event = NEVER
) -> Iterator[Difference]:
    """The differences, by what the metadata say, until `cancel` is set."""
    mine, theirs = set(here.ids()), set(there.ids())
    for name in sorted(mine | theirs):
        if cancel.is_set():
            return
        if not wanted(name):
            continue
        if name not in theirs:
            yield Difference(name, "only here")
        elif name not in mine:
            yield Difference(name, "only there")
        else:
            difference = _difference(instance_of(here, name), instance_of(there, name))
            if difference is not None:
                yield difference


def _difference(one: LibraryInstance, other: LibraryInstance) -> Difference | None:
    if (one.kind, one.digest) != (other.kind, other.digest):
        return Difference(one.id, "other problem")
    ranks = _rank(one), _rank(other)
    if ranks[0] == ranks[1]:
        words = [(each.title, each.family, each.licence, each.models, each.origin) for each in (one, other)]
        return None if words[0] == words[1] else Difference(one.id, "other words")
    says = f"{_said(one)}; there {_said(other)}"
    return Difference(one.id, "better here" if ranks[0] < ranks[1] else "better there", says)


def _rank(instance: LibraryInstance) -> tuple[bool, tuple[int, ...], tuple[int, ...], bool]:
    """Sorts records of one instance, the best first."""
    has_plan = any(entry.name == PLAN for entry in instance.files)
    has_proof = any(entry.name == PROOF for entry in instance.files)
    values = tuple(term.value for term in instance.best)
    return not has_plan, values, tuple(-term.bound for term in instance.best), not has_proof


def _said(instance: LibraryInstance) -> str:
    terms = (f"{term.term} {term.value:,} (bound {term.bound:,})" for term in instance.best)
    return ", ".join(terms) or instance.state


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of an instance of another library."""

    name: str
    outcome: Literal["new", "better", "kept", "refused"]
    says: str = ""


def fetch(
    into: Library, source: Source, wanted: Callable[[str], bool], cancel: threading.Event = NEVER
) -> Iterator[Fetched]:
    """Take what is new or better in another library, once all it says is checked."""
    for name in source.ids():
        if cancel.is_set():
            return
        if not wanted(name):
            continue
        try:
            yield _fetched(into, source, name, cancel)
        except InputError as error:
            yield Fetched(name, "refused", first_message(error))
        except StoppedError:
            return


def _fetched(into: Library, source: Source, name: str, cancel: threading.Event) -> Fetched:
    theirs = instance_of(source, name)
    mine = into.instances.get(name)
    if mine is not None and (mine.kind, mine.digest) != (theirs.kind, theirs.digest):
        return Fetched(name, "refused", "here it is another problem")
    if mine is not None and not _rank(theirs) < _rank(mine):
        return Fetched(name, "kept")
    entry, answer = posed_of(source, theirs), answer_of(source, theirs)
    faults = faults_of(theirs, entry, answer, cancel)
    if faults:
        return Fetched(name, "refused", faults[0])
    if mine is None:
        into.take(theirs, entry, {file.name: source.file(theirs, file) for file in theirs.files})
        return Fetched(name, "new")
    last = theirs.history[-1]
    # A record that came here later than it was made elsewhere is dated by what is here already.
    since = max(last.date, mine.history[-1].date if mine.history else last.date)
    changed = () if answer is None else into.submit(name, answer, Credit(last.by, since), cancel)
    return Fetched(name, "better", ", ".join(changed)) if changed else Fetched(name, "kept")


def matching(
    instances: Iterable[LibraryInstance], wanted: Callable[[str], bool], family: str | None, state: str | None
) -> list[LibraryInstance]:
    """Those of a family and a state."""
    return [
        instance
        for instance in instances
        if wanted(instance.id) and family in (None, instance.family) and state in (None, instance.state)
    ]
