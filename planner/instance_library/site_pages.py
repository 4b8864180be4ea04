"""The pages of the site of a library: what they say, as HTML, and the feed of records.

Whatever comes from the library reaches a page through `words`: it is text, and nothing else. Links go from
page to page by relative paths, so that the site works in any place, and from files.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from memstow.planner.instance_library.folder import DOCUMENTS, PACKED, PLAN, PROOF
from memstow.planner.model.library import LibraryInstance, RecordEvent, TermRecord
from memstow.planner.proofs.check import CheckedProof
from memstow.planner.proofs.walk import Walk
from memstow.planner.show.formatting import count, human, latex_text, plain
from memstow.planner.show.svg_picture import THUMBNAIL
from memstow.planner.show.view_document import Sentence, percent_up

EACH: Final = 100
"""Instances of a list that stand in the page itself; with JavaScript also at a time."""
MOST_RECORDS: Final = 1_000
MOST_NEWS: Final = 100
_MOST_STEPS: Final = 12
_MOST_REFUSED: Final = 1_000
_LEAST_HUMAN: Final = 1024
_LARGEST_NUMBER: Final = 1 << 53
"""What JavaScript counts exactly is below it."""

_NOT_KINDS: Final = ("buffers", "pools", "moments", "overlaps", "terms", "operators")
_KINDS: Final = {
    "bounded": "capacity",
    "aligned": "alignment",
    "reserved": "reserved ranges",
    "pinned": "pinned offsets",
    "empty": "empty buffers",
    "always": "always live",
    "timeless": "no lifetimes",
}
_MARK: Final = (
    '<svg width="20" height="18" viewBox="0 0 20 18" aria-hidden="true">'
    '<rect x="0" y="10" width="13" height="8" rx="1.5" fill="#34447b"/>'
    '<rect x="14" y="7" width="6" height="11" rx="1.5" fill="#009185"/>'
    '<rect x="0" y="3" width="6" height="6" rx="1.5" fill="#9bae4a"/>'
    '<rect x="7" y="0" width="6" height="9" rx="1.5" fill="#dbb35d"/></svg>'
)


@dataclass(frozen=True, slots=True)
class Frame:
    """What all pages have in common. Files are named by their paths in the site."""

    title: str
    url: str | None
    """Where the site will be, for what has to name it: the feed, citations, commands."""
    style: str
    script: str
    has_solvers: bool = False

    def at(self, path: str) -> str:
        """The address of a page."""
        return path if self.url is None else f"{self.url.rstrip('/')}/{path}"


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page of an instance says besides its metadata, as the judge and the checker have found it."""

    sentence: Sentence
    pictured: bool
    checked: CheckedProof | None = None
    walk: Walk | None = None


def words(text: str, most: int | None = None) -> str:
    """Text from a library as a part of a page."""
    return escape(plain(text, most=most))


def _page(
    frame: Frame, name: str, title: str, body: Iterable[str], scripts: Sequence[str] = (), *, style: str = ""
) -> bytes:
    """A page by its path. With a style of its own it may also have styles in its markup."""
    up = "../" * name.count("/")
    script = "; script-src 'self' file:; require-trusted-types-for 'script'" if scripts else ""
    inline = " 'unsafe-inline'" if style else ""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self' "
        f"file:{inline}; img-src 'self' file: data:; base-uri 'none'; form-action 'none'{script}\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{words(title)}</title>",
        '<link rel="icon" href="data:,">',
        f'<link rel="stylesheet" href="{up}{frame.style}">',
        *([f'<link rel="stylesheet" href="{up}{style}">'] if style else ()),
        f'<link rel="alternate" type="application/atom+xml" title="New records" href="{up}feed.atom">',
        *(f'<script src="{up}{script}" defer></script>' for script in scripts),
        "</head>",
        "<body>",
        f'<header class="bar"><a class="brand" href="{up}index.html">{_MARK}{words(frame.title)}</a>',
        "<nav>",
        *_navigation(frame, name, up),
        "</nav></header>",
        "<main>",
        *body,
        "</main>",
        "</body>",
        "</html>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _navigation(frame: Frame, name: str, up: str) -> Iterator[str]:
    places = [("index.html", "Instances"), ("open.html", "Open"), ("records.html", "Records")]
    if frame.has_solvers:
        places.append(("solvers.html", "Solvers"))
    for path, title in (*places, ("feed.atom", "Feed")):
        current = ' aria-current="page"' if path == name else ""
        yield f'<a href="{up}{path}"{current}>{title}</a>'


def _head(title: str, lead: str, rest: str, tone: str, note: str, facts: Iterable[tuple[str, str]]) -> str:
    """The top of a page: the sentence that matters, and the figures beside it."""
    entries = "".join(f"<div><dt>{words(name)}</dt><dd>{words(value)}</dd></div>" for name, value in facts)
    above = f'<p class="title">{words(title)}</p>' if title else ""
    below = f'<p class="note">{words(note)}</p>' if note else ""
    return (
        f'<div class="head"><div>{above}<h1 class="{tone}">{words(lead)} <span>{words(rest)}</span></h1>'
        f'{below}</div><dl class="facts">{entries}</dl></div>'
    )


# Lists.


def is_open(instance: LibraryInstance) -> bool:
    """Whether there is something left to show."""
    return instance.state in ("open", "claimed")


def deciding(instance: LibraryInstance) -> TermRecord | None:
    """The first term of which a better value may exist; the first, where none is."""
    return next((term for term in instance.best if term.bound < term.value), next(iter(instance.best), None))


def gap_in_words(term: TermRecord | None) -> str:
    """How far the bound is below the value, as a share of it."""
    if term is None:
        return "–"
    return "0 %" if term.bound == term.value else percent_up((term.value - term.bound) / term.value)


def kinds_of(instance: LibraryInstance) -> list[str]:
    """The kinds of constraints it uses, in words."""
    kinds = [_KINDS.get(name, name.replace("_", " ")) for name in instance.features if name not in _NOT_KINDS]
    more = (("pools", "several pools"), ("terms", "several terms"))
    kinds += [what for name, what in more if instance.features.get(name, 0) > 1]
    if instance.kind == "graph":
        kinds.append("graph")
    return sorted(kinds)


def _other_term(term: TermRecord | None) -> str:
    """The name of a term that is not the usual one."""
    return "" if term is None or term.term == "peak" else plain(term.term, most=80)


def is_pictured(instance: LibraryInstance) -> bool:
    """Whether there is a plan to draw: what nothing fits into has an answer, and no picture."""
    has_plan = any(entry.name == PLAN for entry in instance.files)
    return has_plan and (bool(instance.best) or instance.state == "proven")


def list_data(instances: Sequence[LibraryInstance]) -> bytes:
    """What the script of the lists reads, as a script: a page in a file may read no other file."""
    columns: list[dict[str, int]] = [{} for _ in range(4)]
    families, states, people, kinds = columns
    rows = []
    for instance in instances:
        term, last = deciding(instance), instance.history[-1] if instance.history else None
        rows.append(
            [
                instance.id,
                plain(instance.title),
                families.setdefault(plain(instance.family), len(families)),
                instance.features.get("buffers", 0),
                states.setdefault(instance.state, len(states)),
                _other_term(term),
                None if term is None else _exact(term.value),
                None if term is None else _exact(term.bound),
                people.setdefault("" if last is None else plain(last.by), len(people)),
                "" if last is None else last.date,
                [kinds.setdefault(kind, len(kinds)) for kind in kinds_of(instance)],
                int(is_pictured(instance)),
            ]
        )
    tables = {
        name: list(entries)
        for name, entries in zip(("families", "states", "people", "kinds"), columns, strict=True)
    }
    written = json.dumps({**tables, "rows": rows}, separators=(",", ":"))
    return f"globalThis.memstowLibrary={written};\n".encode()


def _exact(value: int) -> int | str:
    return value if value < _LARGEST_NUMBER else str(value)


def index_page(
    frame: Frame, instances: Sequence[LibraryInstance], data: str, refused: Sequence[tuple[str, str]]
) -> bytes:
    """All instances."""
    open_ones = sum(map(is_open, instances))
    dates = [instance.history[-1].date for instance in instances if instance.history]
    facts = [
        ("families", count(len({instance.family for instance in instances}))),
        ("buffers", count(sum(instance.features.get("buffers", 0) for instance in instances))),
        ("newest record", max(dates, default="–")),
    ]
    body = [
        _head(
            "",
            f"{count(len(instances))} {'instance' if len(instances) == 1 else 'instances'},",
            f"{count(open_ones)} of them not proven." if open_ones else "all of them proven.",
            "open" if open_ones else "proven",
            "",
            facts,
        )
    ]
    if refused:
        entries = _entries(refused)
        what = "1 entry is" if entries == 1 else f"{count(entries)} entries are"
        body.append(f'<p class="wrong">{what} not shown: <a href="refused.html">what is wrong</a>.</p>')
    body += _list(instances, "id", is_down=False)
    return _page(frame, "index.html", frame.title, body, (data, frame.script))


def open_page(frame: Frame, instances: Sequence[LibraryInstance], data: str) -> bytes:
    """Those of which the best value is not known, or not shown."""

    def order(instance: LibraryInstance) -> tuple[bool, float, str]:
        term = deciding(instance)
        part = 0.0 if term is None or not term.value else (term.value - term.bound) / term.value
        return term is None, -part, instance.id

    chosen = sorted(filter(is_open, instances), key=order)
    claimed = sum(instance.state == "claimed" for instance in chosen)
    note = (
        "Open: a better plan may exist. Claimed: a solver says that there is none, and nothing shows it. "
        "A lower value, a higher bound or a proof is a record."
    )
    facts = [("open", count(len(chosen) - claimed)), ("claimed", count(claimed))]
    lead = f"{count(len(chosen))} {'instance' if len(chosen) == 1 else 'instances'}"
    body = [_head("", lead, "not proven." if chosen else "are open.", "open", note, facts)]
    body += _list(chosen, "gap", is_down=True, only="open")
    return _page(frame, "open.html", f"Open instances: {frame.title}", body, (data, frame.script))


def plain_page(frame: Frame, instances: Sequence[LibraryInstance]) -> bytes:
    """All of them in one table, without pictures and without script."""
    body = [
        _head("", f"{count(len(instances))} instances", "in one table", "plain", "", ()),
        *_table(instances, "", pictured=False),
    ]
    return _page(frame, "all.html", f"All instances: {frame.title}", body)


def _list(instances: Sequence[LibraryInstance], by: str, *, is_down: bool, only: str = "") -> Iterator[str]:
    yield '<form class="filters" hidden>'
    yield '<label class="text">Find<input type="search" name="text" placeholder="id, title, name" '
    yield 'autocomplete="off"></label>'
    yield from _choice("family", "Family", sorted({plain(instance.family) for instance in instances}))
    yield from _choice("kind", "Uses", sorted({kind for entry in instances for kind in kinds_of(entry)}))
    sizes = {"100": "up to 100", "1000": "101 to 1,000", "10000": "1,001 to 10,000", "more": "more"}
    yield from _choice("size", "Buffers", list(sizes.values()), list(sizes))
    if not only:
        yield from _choice("state", "State", sorted({instance.state for instance in instances}))
    yield '<button type="reset">Reset</button></form>'
    yield '<p class="counted" role="status" hidden></p>'
    says = f' data-by="{by}" data-down="{str(is_down).lower()}"' + (f' data-only="{only}"' if only else "")
    yield from _table(instances[:EACH], says)
    yield '<div class="pager" hidden><button type="button" class="before">Before</button>'
    yield '<span class="place"></span><button type="button" class="after">After</button></div>'
    if len(instances) > EACH:
        yield f'<noscript><p class="note">These are the first {EACH} of {count(len(instances))}: '
        yield '<a href="all.html">all in one table</a>.</p></noscript>'


def _choice(
    name: str, title: str, shown: Sequence[str], values: Sequence[str] | None = None
) -> Iterator[str]:
    yield f'<label>{title}<select name="{name}"><option value="">all</option>'
    for text, value in zip(shown, shown if values is None else values, strict=True):
        yield f'<option value="{escape(value)}">{words(text)}</option>'
    yield "</select></label>"


_COLUMNS: Final = (
    ("id", "Instance", "name"),
    ("family", "Family", "family"),
    ("buffers", "Buffers", "buffers number"),
    ("state", "State", "state"),
    ("best", "Best", "best number"),
    ("bound", "Bound", "bound number"),
    ("gap", "Gap", "gap number"),
    ("by", "By", "by"),
    ("date", "Since", "date"),
)


def _table(instances: Iterable[LibraryInstance], says: str, *, pictured: bool = True) -> Iterator[str]:
    yield f'<table class="instances"{says}><thead><tr>'
    if pictured:
        yield '<td class="picture"></td>'
    for by, title, kind in _COLUMNS:
        yield f'<th scope="col" data-by="{by}" class="{kind}">{title}</th>'
    yield "</tr></thead><tbody>"
    for instance in instances:
        yield f"<tr>{_row(instance, pictured)}</tr>"
    yield "</tbody></table>"


def _row(instance: LibraryInstance, pictured: bool) -> str:
    """The same as `drawn` of api/page/src/site/main.ts."""
    place, term = f"instances/{instance.id}.html", deciding(instance)
    last = instance.history[-1] if instance.history else None
    picture = other = ""
    if pictured and is_pictured(instance):
        picture = (
            f'<a href="{place}" tabindex="-1" aria-hidden="true"><img loading="lazy" '
            f'width="{THUMBNAIL[0]}" height="{THUMBNAIL[1]}" alt="" src="thumbnails/{instance.id}.svg"></a>'
        )
    if _other_term(term):
        other = f'<span class="quiet">{words(_other_term(term))}</span>'
    kinds = ", ".join(kinds_of(instance))
    return "".join(
        (
            f'<td class="picture">{picture}</td>' if pictured else "",
            f'<th scope="row"><a href="{place}">{instance.id}</a><span class="quiet">{words(instance.title)}',
            f'</span><span class="quiet kinds">{words(kinds)}</span></th>',
            f'<td class="family">{words(instance.family)}</td>',
            f'<td class="buffers number">{count(instance.features.get("buffers", 0))}</td>',
            f'<td class="state {instance.state}">{instance.state}</td>',
            f'<td class="best number">{"–" if term is None else count(term.value)}{other}</td>',
            f'<td class="bound number">{"–" if term is None else count(term.bound)}</td>',
            f'<td class="gap number">{gap_in_words(term)}</td>',
            f'<td class="by">{"" if last is None else words(last.by)}</td>',
            f'<td class="date">{"" if last is None else last.date}</td>',
        )
    )


def _entries(refused: Sequence[tuple[str, str]]) -> int:
    """How many there are, of which each can have several faults."""
    return len({name for name, _ in refused})


def refused_page(frame: Frame, refused: Sequence[tuple[str, str]]) -> bytes:
    """What of the library is not shown, and why."""
    listed = (
        f"<li><b>{words(name, most=200)}</b>: {words(why, most=1000)}</li>"
        for name, why in refused[:_MOST_REFUSED]
    )
    more = len(refused) - _MOST_REFUSED
    body = [
        _head("", f"{count(_entries(refused))} of the library", "not shown.", "wrong", "What is wrong:", ()),
        '<ul class="refused">',
        *listed,
        "</ul>",
        *([f"<p>and {count(more)} more</p>"] if more > 0 else ()),
    ]
    return _page(frame, "refused.html", f"Not shown: {frame.title}", body)


def solvers_page(frame: Frame, sections: str, style: str) -> bytes:
    """The report of a bench."""
    head = _head("", "Solvers,", "each run in its own process and judged", "plain", "", ())
    return _page(frame, "solvers.html", f"Solvers: {frame.title}", [head, sections], style=style)


# Records.


@dataclass(frozen=True, slots=True)
class _Record:
    instance: LibraryInstance
    number: int

    @property
    def event(self) -> RecordEvent:
        return self.instance.history[self.number]

    @property
    def change(self) -> str:
        """The first value that differs, before and after; the values of a first record."""
        now = self.event.values
        before = self.instance.history[self.number - 1].values if self.number else ()
        for old, new in zip(before, now, strict=False):
            if old != new:
                return f"{count(old)} → {count(new)}"
        return _listed(now)


def _newest(instances: Iterable[LibraryInstance]) -> list[_Record]:
    records = [_Record(entry, number) for entry in instances for number in range(len(entry.history))]
    records.sort(key=lambda record: (record.instance.id, -record.number))
    records.sort(key=lambda record: record.event.date, reverse=True)
    return records


def records_page(frame: Frame, instances: Sequence[LibraryInstance]) -> bytes:
    """All records, the newest first."""
    newest = _newest(instances)
    body = [
        _head(
            "",
            f"{count(len(newest))} {'record' if len(newest) == 1 else 'records'},",
            "the newest first",
            "plain",
            _CHECKED,
            [("first", newest[-1].event.date), ("last", newest[0].event.date)] if newest else (),
        ),
        _table_head("Records", "Date", "Instance", *_OF_RECORDS),
    ]
    for record in newest[:MOST_RECORDS]:
        name = record.instance.id
        link = f'<th scope="row"><a href="instances/{name}.html">{name}</a></th>'
        body.append(f'<tr><td class="date">{record.event.date}</td>{link}{_event_cells(record)}</tr>')
    body.append("</tbody></table></div>")
    if len(newest) > MOST_RECORDS:
        body.append('<p class="note">Older ones are on the pages of their instances.</p>')
    return _page(frame, "records.html", f"Records: {frame.title}", body)


_CHECKED: Final = (
    "The values and bounds of the last record of an instance were checked when this page was made. Earlier "
    "ones, who brought them and when are as the library says."
)
_NUMBERS: Final = ("Value", "Bound")
_OF_RECORDS: Final = ("Better", *_NUMBERS, "By", "Solver")


def _table_head(label: str, *titles: str) -> str:
    """The begin of a table that scrolls where it is wider than the page."""
    number = ' class="number"'
    heads = (
        f'<th scope="col"{number if title in (*_NUMBERS, "Gap") else ""}>{title}</th>' for title in titles
    )
    around = f'<div class="wide" role="region" aria-label="{label}" tabindex="0">'
    return f'{around}<table class="records"><thead><tr>{"".join(heads)}</tr></thead><tbody>'


def _listed(values: Sequence[int]) -> str:
    return " / ".join(map(count, values)) or "–"


def _event_cells(record: _Record) -> str:
    event = record.event
    solver = " ".join(filter(None, (event.solver, event.version))) or "–"
    what = ", ".join(event.changed) if record.number else f"first, {', '.join(event.changed)}"
    return (
        f'<td>{words(what)}</td><td class="number">{words(record.change)}</td>'
        f'<td class="number">{_listed(event.bounds)}</td><td>{words(event.by)}</td><td>{words(solver)}</td>'
    )


def feed(frame: Frame, instances: Sequence[LibraryInstance]) -> bytes:
    """The newest records as an Atom feed; an entry keeps its id as long as the history is kept."""
    space = uuid5(NAMESPACE_URL, f"memstow library: {frame.url or frame.title}")
    newest = _newest(instances)[:MOST_NEWS]
    updated = newest[0].event.date if newest else "1970-01-01"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{words(frame.title)}: records</title>",
        f"<id>{space.urn}</id>",
        f"<subtitle>{_CHECKED}</subtitle>",
        f"<updated>{updated}T00:00:00Z</updated>",
        f"<author><name>{words(frame.title)}</name></author>",
        f'<link rel="self" type="application/atom+xml" href="{escape(frame.at("feed.atom"))}"/>',
        f'<link rel="alternate" type="text/html" href="{escape(frame.at("records.html"))}"/>',
    ]
    for record in newest:
        lines += _news(frame, record)
    lines.append("</feed>")
    return ("\n".join(lines) + "\n").encode()


def _news(frame: Frame, record: _Record) -> Iterator[str]:
    event, name = record.event, record.instance.id
    bounds = f", bound {_listed(event.bounds)}" if event.bounds else ""
    place = escape(frame.at(f"instances/{name}.html"))
    yield "<entry>"
    yield f"<title>{name}: {words(record.change)}</title>"
    mark = uuid5(NAMESPACE_URL, f"memstow record {record.number} of {name} {record.instance.digest}")
    yield f"<id>{mark.urn}</id>"
    yield f"<updated>{event.date}T00:00:00Z</updated>"
    yield f"<author><name>{words(event.by)}</name></author>"
    yield f'<link rel="alternate" type="text/html" href="{place}"/>'
    what = words(", ".join(event.changed))
    yield f"<summary>{words(record.instance.title)}. Better: {what}{bounds}.</summary>"
    yield "</entry>"


# The page of an instance.


def instance_page(frame: Frame, instance: LibraryInstance, shown: Shown) -> bytes:
    """All that is known of an instance."""
    name, sentence = instance.id, shown.sentence
    tone = {"infeasible": "wrong", "open": "open"}.get(instance.state, sentence.tone)
    body = [
        _head(
            f"{name}: {instance.title}", sentence.lead, sentence.rest, tone, sentence.note, _facts(instance)
        ),
        '<div class="instance"><div>',
        *_picture(instance, shown),
        *_best(instance),
        *_proof(shown, instance),
        *_history(instance),
        *_commands(frame, instance),
        *_citation(frame, instance),
        "</div><aside>",
        *_about(instance),
        *_downloads(instance),
        "</aside></div>",
    ]
    return _page(frame, f"instances/{name}.html", f"{name}: {frame.title}", body)


def _facts(instance: LibraryInstance) -> Iterator[tuple[str, str]]:
    term = deciding(instance)
    yield "buffers", count(instance.features.get("buffers", 0))
    if instance.live is not None:
        yield "live in the listed order" if instance.kind == "graph" else "live at most", count(instance.live)
    if term is not None:
        yield _other_term(term) or "best peak", count(term.value)
        yield "bound", count(term.bound)
        yield "gap", gap_in_words(term)
    if instance.history:
        yield "since", instance.history[-1].date


def _picture(instance: LibraryInstance, shown: Shown) -> Iterator[str]:
    name = instance.id
    has_plan = any(entry.name == PLAN for entry in instance.files)
    if shown.pictured:
        alt = f"The best plan of {name}: time across, addresses up, a box for each buffer"
        yield f'<a class="map" href="../plans/{name}.html"><img src="../pictures/{name}.svg" alt="{alt}"></a>'
    if has_plan:
        yield f'<p class="actions"><a class="button first" href="../plans/{name}.html">Look at the plan</a>'
        if shown.pictured:
            yield f'<a class="button" href="../pictures/{name}.svg">Picture as SVG</a>'
        yield "</p>"


def _best(instance: LibraryInstance) -> Iterator[str]:
    if not instance.best:
        return
    yield "<h2>Best known</h2>"
    yield _table_head("Best known", "Term", *_NUMBERS, "Gap", "What shows the bound")
    by = {"judge": "the judge counts it", "proof": "the proof, checked by memstow-check", None: "nothing"}
    for term in instance.best:
        claim = (
            "" if term.claimed is None else f"; the plan claims {count(term.claimed)}, which nothing shows"
        )
        size = ""
        if term.value >= _LEAST_HUMAN and "peak" in term.term.split(":")[0]:
            size = f' <span class="quiet">({human(term.value)})</span>'
        yield (
            f'<tr><th scope="row">{words(term.term)}</th><td class="number">{count(term.value)}{size}</td>'
            f'<td class="number">{count(term.bound)}</td><td class="number">{gap_in_words(term)}</td>'
            f"<td>{by[term.shown_by]}{claim}</td></tr>"
        )
    yield "</tbody></table></div>"


def _proof(shown: Shown, instance: LibraryInstance) -> Iterator[str]:
    checked, walk = shown.checked, shown.walk
    if checked is None:
        return
    document = next(entry for entry in instance.files if entry.name in DOCUMENTS)
    yield f'<h2>Proof</h2><dl class="pairs"><div><dt>memstow-check</dt><dd>{words(checked.says)}</dd></div>'
    if walk is not None:
        yield f"<div><dt>steps</dt><dd>{count(len(walk.steps) + walk.more)}</dd></div>"
    yield f"<div><dt>about</dt><dd>{document.name.removesuffix(PACKED)}, digest of the problem "
    yield f'<span class="hash">{instance.digest}</span></dd></div></dl>'
    if walk is not None:
        yield '<details><summary>From the conclusion on</summary><ol class="steps">'
        yield from (f"<li>{words(step.text)}</li>" for step in walk.steps[:_MOST_STEPS])
        yield "</ol>"
        more = len(walk.steps) + walk.more - _MOST_STEPS
        if more > 0:
            what = "the page of the plan shows which buffers they are about"
            yield f'<p class="note">{count(more)} more; {what}.</p>'
        yield "</details>"


def _history(instance: LibraryInstance) -> Iterator[str]:
    if not instance.history:
        return
    yield "<h2>History</h2>"
    yield _table_head("History", "Date", *_OF_RECORDS)
    for number in reversed(range(len(instance.history))):
        record = _Record(instance, number)
        yield f'<tr><td class="date">{record.event.date}</td>{_event_cells(record)}</tr>'
    yield "</tbody></table></div>"


def _about(instance: LibraryInstance) -> Iterator[str]:
    yield "<h2>What it is</h2>"
    yield from (
        f'<p class="prose">{words(line)}</p>' for line in instance.models.splitlines() if line.strip()
    )
    yield '<dl class="pairs">'
    rows = [("family", instance.family), ("kind", instance.kind), ("state", instance.state)]
    rows += [("licence", instance.licence)]
    if instance.origin.source is not None:
        rows.append(("source", instance.origin.source))
    if instance.slack is not None:
        rows.append(("best / live", f"{instance.slack:.4f}"))
    rows += [(name.replace("_", " "), count(value)) for name, value in instance.features.items()]
    yield from (f"<div><dt>{words(name)}</dt><dd>{words(value)}</dd></div>" for name, value in rows)
    if instance.origin.command is not None:
        # It breaks between words alone.
        command = " ".join(f"<span>{words(word)}</span>" for word in instance.origin.command.split())
        yield f'<div><dt>made by</dt><dd class="command">{command}</dd></div>'
    yield f'<div><dt>digest</dt><dd class="hash">{instance.digest}</dd></div></dl>'


def _downloads(instance: LibraryInstance) -> Iterator[str]:
    yield '<h2>Files</h2><ul class="files">'
    for entry in instance.files:
        yield f'<li><a href="../library/{instance.id}/{entry.name}" download>{entry.name}</a> '
        yield f'<span class="quiet">{human(entry.bytes)}</span><br>'
        yield f'<span class="hash">{entry.sha256}</span></li>'
    yield f'<li><a href="../library/{instance.id}/instance.json" download>instance.json</a> '
    yield '<span class="quiet">all that this page says</span></li></ul>'


def _commands(frame: Frame, instance: LibraryInstance) -> Iterator[str]:
    names = {entry.name for entry in instance.files}
    document = next(name for name in DOCUMENTS if name in names)
    commands = []
    if frame.url is not None:
        commands.append(f"memstow library fetch instances {frame.at('library')} --id {instance.id}")
        commands.append(f"memstow library verify instances --id {instance.id}")
    if PLAN in names:
        if document.endswith(PACKED):
            commands.append(f"gunzip {document}")
        pair = f"{document.removesuffix(PACKED)} {PLAN}"
        has_proof = PROOF in names
        commands.append(f"memstow verify {pair}{f' --proof {PROOF}' if has_proof else ''}")
        if has_proof:
            checker = "memstow-check-order" if document.startswith("graph") else "memstow-check"
            commands.append(f"{checker} {pair} {PROOF}")
    if commands:
        lines = "\n".join(map(words, commands))
        yield f"<h2>Check it yourself</h2><pre>{lines}</pre>"


def _citation(frame: Frame, instance: LibraryInstance) -> Iterator[str]:
    fields = [("title", f"{{{latex_text(f'{instance.id}: {plain(instance.title)}')}}}")]
    fields.append(("howpublished", f"{{{latex_text(plain(frame.title))}}}"))
    if instance.history:
        fields.append(("year", f"{{{instance.history[-1].date[:4]}}}"))
    if frame.url is not None:
        fields.append(("url", f"{{{frame.at(f'instances/{instance.id}.html')}}}"))
    values = ", ".join(
        f"{latex_text(plain(term.term, most=80))} {term.value} (bound {term.bound})" for term in instance.best
    )
    since = f" since {instance.history[-1].date}" if instance.history else ""
    note = f"Best known{since}: {values}. " if values else ""
    fields.append(("note", f"{{{note}SHA-256 {instance.digest}}}"))
    lines = [f"@misc{{memstow:{instance.id},", *(f"  {name} = {value}," for name, value in fields), "}"]
    yield "<h2>Cite</h2><pre>" + "\n".join(map(escape, lines)) + "</pre>"
