"""The site of a library: what it says is so, what it holds is text, and it can be made again at any time."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from memstow.planner import formats
from memstow.planner.generate.graph import graph
from memstow.planner.graph.changes import with_order
from memstow.planner.instance_library.folder import INDEX, Folder, instance_of, posed_of
from memstow.planner.instance_library.judging import Answer
from memstow.planner.instance_library.records import About, Credit, opened, posed
from memstow.planner.instance_library.site import Built, Parts, Viewer, build
from memstow.planner.instance_library.site_pages import Frame, gap_in_words, list_data
from memstow.planner.model.errors import InputError
from memstow.planner.model.library import RecordEvent, TermRecord
from memstow.planner.model.problem import Buffer, Pool, Problem
from tests.planner.instance_library.libraries import (
    CREDIT,
    KNOT,
    Document,
    about,
    add,
    answered,
    falsify,
    faults,
    made,
    stacked,
    swap,
    tree,
)

EVIL: Final = "</script></title><img src=x onerror=alert(1)>&\"'"
ATOM: Final = "{http://www.w3.org/2005/Atom}"
FRAME: Final = Frame("Ours & <b>", None, "assets/style.css", "assets/list.js")
ASSETS: Final = {"assets/style.css": b"p{}", "assets/list.js": b"1"}
_LOADING: Final = ("href", "src", "srcset", "action", "data", "poster", "xlink:href")


def viewer(*_: object) -> bytes:
    """The page of any plan."""
    return b"<!doctype html><title>a plan</title>\n"


def site(
    folder: Folder,
    out: Path,
    frame: Frame = FRAME,
    view: Viewer = viewer,
    cancel: threading.Event | None = None,
) -> Built:
    """Make the site."""
    return build(folder, out, Parts(frame, ASSETS, view), cancel or threading.Event())


class Tags(HTMLParser):
    """What a browser takes a page for."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, Mapping[str, str | None]]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def places(self) -> Iterator[str]:
        """What it links to or loads."""
        for _, attributes in self.tags:
            for name in _LOADING:
                place = attributes.get(name)
                if place is not None and place != "data:,":
                    yield place


def unresolved(files: Mapping[str, bytes]) -> list[str]:
    """Links of the pages and of the feed that lead to no file of the site."""
    missing = []
    for path, data in files.items():
        if path.endswith(".html"):
            places = list(Tags(data).places())
        elif path.endswith(".atom"):
            places = [link.attrib["href"] for link in ElementTree.fromstring(data).iter(f"{ATOM}link")]
        else:
            continue
        for place in places:
            parts = urlsplit(place)
            target = (Path("/") / Path(path).parent / unquote(parts.path)).resolve().relative_to("/")
            if parts.scheme or parts.netloc or str(target) not in files:
                missing.append(f"{path}: {place}")
    return missing


def of_records(files: Mapping[str, bytes]) -> bytes:
    """All pages that show something as a record."""
    names = ("index.html", "open.html", "all.html", "records.html", "feed.atom", f"library/{INDEX}")
    lists = [data for path, data in files.items() if path in names or path.startswith("assets/instances-")]
    return b"\n".join(lists)


@pytest.fixture(scope="module")
def mixed_library(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """One with and without plans, with a proof, a graph, several pools, and one that nothing fits."""
    folder = Folder(tmp_path_factory.mktemp("mixed") / "lib")
    with opened(folder) as library:
        add(library, "knot", KNOT)
        add(library, "bare", Problem(buffers=[Buffer(id="a", size=7, lifetime=(0, 2))]), solved=False)
        add(library, "graph", with_order(graph(6, 1), "free"))
        pools = [Pool(id="fast", capacity=16), Pool(id="slow", cost=2)]
        buffers = [Buffer(id=f"b{n}", size=8, lifetime=(n, n + 3), accesses=n + 1) for n in range(6)]
        add(library, "pools", Problem(buffers=buffers, pools=pools, objective=["placement_cost", "peak"]))
        tight = [Pool(id="m", capacity=4)]
        add(library, "never", Problem(buffers=[Buffer(id="a", size=8, lifetime=(0, 1))], pools=tight))
    return folder


@pytest.fixture(scope="module")
def files(mixed_library: Folder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Its site."""
    out = tmp_path_factory.mktemp("site") / "out"
    assert site(mixed_library, out).refused == []
    return tree(out)


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(files: dict[str, bytes]) -> None:
    assert unresolved(files) == []
    pages = [path for path in files if path.endswith(".html") and not path.startswith("plans/")]
    assert {f"instances/{name}.html" for name in ("knot", "bare", "graph", "pools", "never")} < {*pages}
    for path in pages:
        assert b"://" not in files[path]
        (policy,) = (entry["content"] or "" for tag, entry in Tags(files[path]).tags if "http-equiv" in entry)
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
    assert all(b"@import" not in data and b"url(" not in data for data in files.values())


def test_a_page_says_what_the_judge_and_the_checker_have_found(files: dict[str, bytes]) -> None:
    knot = Tags(files["instances/knot.html"]).text
    assert "21 B. No plan can be smaller." in " ".join(knot.split())
    assert "verified: peak 21 is least" in knot
    assert "memstow-check problem.json plan.json plan.proof" in knot
    assert "No plan has a peak below 21" in knot
    assert "No plan is known." in Tags(files["instances/bare.html"]).text
    assert "plans/bare.html" not in files
    assert "No plan fits into these memories." in Tags(files["instances/never.html"]).text
    assert "pictures/never.svg" not in files
    graph_page = Tags(files["instances/graph.html"]).text
    assert "live in the listed order" in graph_page
    assert "a search ran dry" in graph_page
    assert "memstow-check-order graph.json plan.json plan.proof" in graph_page
    assert "at the start, 49,152 bytes are live." in graph_page
    assert "placement_cost" in Tags(files["instances/pools.html"]).text


def test_the_open_ones_are_listed_apart(files: dict[str, bytes]) -> None:
    listed = Tags(files["open.html"]).text
    assert "bare" in listed
    assert "knot" not in listed


def test_the_downloads_are_a_library(mixed_library: Folder, files: dict[str, bytes], tmp_path: Path) -> None:
    below = {path: data for path, data in files.items() if path.startswith("library/")}
    for path, data in below.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    assert faults(Folder(tmp_path / "library")) == {}
    assert {path.removeprefix("library/"): data for path, data in below.items()} == tree(mixed_library.path)


@pytest.fixture
def hostile(tmp_path: Path) -> Folder:
    """A right library with markup wherever somebody may write something."""
    folder = Folder(tmp_path / "hostile")
    buffers = [Buffer(id=f"{EVIL}{n}", size=8 + n, lifetime=(n, n + 2)) for n in range(4)]
    problem = Problem(name=EVIL, buffers=buffers, pools=[Pool(id=EVIL)], objective=[f"peak:{EVIL}"])
    said = About(
        "evil",
        EVIL,
        "family",
        "MIT",
        command=f"rm {EVIL}",
        source=f"{EVIL}\u202e",
        models=f"{EVIL}\n\n{EVIL}",
    )
    with opened(folder) as library:
        library.add(said, posed(problem), (Answer(stacked(problem)), Credit(EVIL, "2026-01-31")))
    return folder


def test_what_somebody_says_is_text(hostile: Folder, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (hostile.path / "<img src=x onerror=alert(1)>").mkdir()
    (hostile.path / "<img src=x onerror=alert(1)>" / "instance.json").write_text("{}")
    assert [name for name, _ in site(hostile, out).refused] == ["<img src=x onerror=alert(1)>"]
    pages = {
        path: Tags(data) for path, data in tree(out).items() if path.endswith((".html", ".svg", ".atom"))
    }
    assert len(pages) > 8
    for path, page in pages.items():
        for tag, attributes in page.tags:
            assert "onerror" not in attributes, path
            assert attributes.get("src") != "x"
            assert tag != "b" or path == "refused.html"
    for path in ("index.html", "instances/evil.html", "records.html"):
        assert EVIL in pages[path].text
    for path in ("pictures/evil.svg", "thumbnails/evil.svg", "feed.atom"):
        ElementTree.fromstring((out / path).read_bytes())
    assert "\u202e" not in pages["instances/evil.html"].text
    assert "onerror" in pages["refused.html"].text
    assert unresolved(tree(out)) == []
    citation = pages["instances/evil.html"].text.partition("@misc")[2].partition("year")[0]
    assert citation.count("{") == citation.count("}") + 1


def test_the_same_library_gives_the_same_files(
    mixed_library: Folder, files: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "elsewhere"
    site(mixed_library, out)
    assert tree(out) == files
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    assert site(mixed_library, out).drawn == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_only_what_has_changed_is_made_again(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 3), tmp_path / "out"
    with opened(folder) as library:
        add(library, "knot", KNOT, solved=False)
    assert site(folder, out).drawn == 4
    before = tree(out)
    with opened(folder) as library:
        library.submit("knot", answered(KNOT), CREDIT)
    assert site(folder, out).drawn == 1
    after = tree(out)
    assert {path for path in before.keys() & after.keys() if before[path] != after[path]} == {
        *("index.html", "open.html", "all.html", "records.html", "feed.atom", f"library/{INDEX}"),
        *("instances/knot.html", "library/knot/instance.json", "made/knot.json"),
    }
    assert unresolved(after) == []
    site(folder, tmp_path / "fresh")
    assert tree(tmp_path / "fresh") == after


def test_pages_of_other_words_and_pages_that_were_changed_are_made_again(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    site(folder, out)
    before = tree(out)
    (out / "instances" / "p0.html").write_text("<h1>A record of mine</h1>")
    (out / "thumbnails" / "p1.svg").unlink()
    (out / "index.html").write_text("")
    assert site(folder, out).drawn == 2
    assert tree(out) == before
    note = out / "made" / "p0.json"
    for wrong in ("", "[]", '{"of": 1}', json.dumps({**json.loads(note.read_text()), "files": {"../x": ""}})):
        note.write_text(wrong)
        assert site(folder, out).drawn == 1
    assert site(folder, out, replace(FRAME, title="Others")).drawn == 2
    assert "Others" in (out / "instances" / "p0.html").read_text()


def test_what_left_the_library_leaves_the_site(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    site(folder, out)
    (out / "robots.txt").write_text("mine")
    (out / "plans" / ".p0.html.0123.unfinished").write_text("half")
    (folder.path / "p1").rename(tmp_path / "p1")
    site(folder, out)
    assert not [path for path in tree(out) if "p1" in path or "unfinished" in path]
    assert (out / "robots.txt").read_text() == "mine"
    assert not (out / "library" / "p1").exists()


def _worse_value(document: Document) -> None:
    document["best"][0]["value"] = document["best"][0]["bound"] = 1
    document["history"][-1] |= {"values": [1], "bounds": [1]}


def _other_id(document: Document) -> None:
    document["id"] = "p0"


def _never_open(document: Document) -> None:
    document["state"] = "proven" if document["state"] != "proven" else "open"


def _two_lies(document: Document) -> None:
    document.update(live=1, digest="0" * 64)


@pytest.mark.parametrize("change", [_worse_value, _other_id, _never_open, _two_lies])
def test_a_lie_is_shown_as_text_and_never_as_a_record(tmp_path: Path, change: object) -> None:
    assert callable(change)
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    right = (folder.path / "p1" / "instance.json").read_bytes()
    site(folder, out)
    falsify(folder, "p1", change)
    built = site(folder, out)
    assert {name for name, _ in built.refused} == {"p1"}
    _nothing_of("p1", out)
    assert "1 entry is not shown" in Tags((out / "index.html").read_bytes()).text
    assert "1 of the library not shown" in Tags((out / "refused.html").read_bytes()).text
    (folder.path / "p1" / "instance.json").write_bytes(right)
    assert site(folder, out).refused == []
    assert not (out / "refused.html").exists()


def _nothing_of(name: str, out: Path) -> None:
    """No record, no page, no file; only what is wrong."""
    files = tree(out)
    assert name.encode() not in of_records(files)
    assert [path for path in files if f"/{name}" in path] == []
    assert name in Tags(files["refused.html"]).text
    assert unresolved(files) == []


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    site(folder, out)
    path = folder.path / "p1" / "plan.json"
    path.write_bytes(path.read_bytes() + b" ")
    ((name, why),) = site(folder, out).refused
    assert (name, "not those that instance.json names" in why) == ("p1", True)
    _nothing_of("p1", out)


def test_a_plan_worse_than_its_value_is_refused(tmp_path: Path) -> None:
    folder, out = Folder(tmp_path / "lib"), tmp_path / "out"
    with opened(folder) as library:
        add(library, "k1", KNOT)
    swap(folder, "k1", "plan.json", formats.write_plan(KNOT, stacked(KNOT)))
    assert site(folder, out).refused != []
    _nothing_of("k1", out)


def test_a_file_that_nothing_names_and_a_link_are_refused(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    (folder.path / "p1" / "more.html").write_text("<script>")
    (folder.path / "linked").symlink_to(folder.path / "p0")
    assert [name for name, _ in site(folder, out).refused] == ["linked", "p1"]
    _nothing_of("p1", out)
    assert "more.html" not in str([*tree(out)])


def test_of_two_that_are_one_the_first_is_shown(tmp_path: Path) -> None:
    folder, out = Folder(tmp_path / "lib"), tmp_path / "out"
    renamed = Problem(buffers=[replace(buffer, id=f"x{n}") for n, buffer in enumerate(KNOT.buffers)][::-1])
    for name, problem in (("k1", KNOT), ("k2", renamed)):
        with opened(Folder(tmp_path / name)) as library:
            add(library, name, problem)
        folder.path.mkdir(exist_ok=True)
        (tmp_path / name / name).rename(folder.path / name)
    (refused,) = site(folder, out).refused
    assert refused[0] == "k2"
    assert "it is k1 but for names" in refused[1]
    _nothing_of("k2", out)


def test_a_site_that_was_cut_short_goes_on_and_is_whole_before_and_after(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 4), tmp_path / "out"
    cancel, drawn = threading.Event(), list[str]()

    def until_the_second(_document: object, _plan: object, title: str, _proof: object) -> bytes:
        drawn.append(title)
        if len(drawn) == 2:
            cancel.set()
        return viewer()

    built = site(folder, out, view=until_the_second, cancel=cancel)
    assert (built.is_done, built.drawn) == (False, 2)
    assert not (out / "index.html").exists()
    assert site(folder, out).drawn == 2
    site(folder, tmp_path / "fresh")
    assert tree(out) == tree(tmp_path / "fresh")

    def full(*_: object) -> bytes:
        raise OSError("no space left")

    with opened(folder) as library:
        library.submit("p0", Answer(answered(_first(folder)).plan), Credit("B", "2026-02-01"))
        add(library, "knot", KNOT)
    with pytest.raises(OSError, match="no space"):
        site(folder, out, view=full)
    assert unresolved(tree(out)) == []
    assert not [path for path in tree(out) if "unfinished" in path]


def _first(folder: Folder) -> Problem:
    document = posed_of(folder, instance_of(folder, "p0")).document
    assert isinstance(document, Problem)
    return document


def test_a_folder_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    folder = made(tmp_path / "lib", 1)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "plans").mkdir()
    (tmp_path / "file").write_text("x")
    before = tree(tmp_path)
    for out in (folder.path, folder.path / "site", tmp_path, tmp_path / "home", tmp_path / "file"):
        with pytest.raises(InputError):
            site(folder, out)
    assert tree(tmp_path) == before


def test_nothing_is_removed_or_written_through_a_link_in_an_older_site(tmp_path: Path) -> None:
    folder, out, elsewhere = made(tmp_path / "lib", 1), tmp_path / "out", tmp_path / "elsewhere"
    site(folder, out)
    (elsewhere / "p0").mkdir(parents=True)
    (elsewhere / "p0" / "plan.json").write_text("precious")
    before = tree(elsewhere)
    (out / "library" / "p0").rename(tmp_path / "moved")
    (out / "library" / "p0").symlink_to(elsewhere / "p0")
    assert site(folder, out).is_done
    assert tree(elsewhere) == before
    assert {"library/p0/plan.json", "library/p0/problem.json"} <= tree(out).keys()
    (out / "made").rename(tmp_path / "made")
    (out / "made").symlink_to(elsewhere)
    with pytest.raises(InputError, match="it is a link"):
        site(folder, out)
    assert tree(elsewhere) == before
    (tmp_path / "link").symlink_to(tmp_path / "new")
    (tmp_path / "new").mkdir()
    assert site(folder, tmp_path / "link").is_done


def test_the_feed_is_atom_whose_entries_keep_their_ids(tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    with opened(folder) as library:
        entry = posed(KNOT)
        library.add(about("knot"), entry, (Answer(stacked(KNOT)), Credit("A", "2026-03-01")))
    site(folder, out)
    before = _entries(out)
    with opened(folder) as library:
        library.submit("knot", answered(KNOT), Credit("B & <b>", "2026-03-02"))
    site(folder, out, replace(FRAME, url="https://example.com/memory/"))
    after = _entries(out)
    assert [*after][1:] == [*before]
    assert len(after) == 4
    newest, *_ = after.values()
    assert newest.findtext(f"{ATOM}updated") == "2026-03-02T00:00:00Z"
    assert newest.findtext(f"{ATOM}author/{ATOM}name") == "B & <b>"
    assert (newest.findtext(f"{ATOM}title") or "").endswith("→ 21")
    link = newest.find(f"{ATOM}link")
    assert link is not None
    assert link.attrib["href"] == "https://example.com/memory/instances/knot.html"


def _entries(out: Path) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring((out / "feed.atom").read_bytes())
    for name in ("id", "title", "updated", "author"):
        assert root.find(ATOM + name) is not None
    entries = {entry.findtext(f"{ATOM}id") or "": entry for entry in root.iter(f"{ATOM}entry")}
    assert len(entries) == len(list(root.iter(f"{ATOM}entry")))
    return entries


def test_with_an_address_pages_name_it(mixed_library: Folder, tmp_path: Path) -> None:
    site(mixed_library, tmp_path / "out", replace(FRAME, url="https://example.com/m"))
    page = Tags((tmp_path / "out" / "instances" / "knot.html").read_bytes())
    assert "memstow library fetch instances https://example.com/m/library --id knot" in page.text
    assert "url = {https://example.com/m/instances/knot.html}" in page.text
    assert [place for place in page.places() if "://" in place] == []


def test_numbers_that_a_browser_cannot_count_are_text(mixed_library: Folder) -> None:
    one = instance_of(mixed_library, "knot")
    for value, written in ((1 << 53, str(1 << 53)), ((1 << 53) - 1, (1 << 53) - 1)):
        event = RecordEvent(date="2026-01-01", by="A", changed=("value",), values=(value,), bounds=(1,))
        best = (TermRecord(term="peak", value=value, bound=1),)
        data = list_data([replace(one, best=best, history=(event,))]).decode()
        parsed = re.fullmatch(r"globalThis\.memstowLibrary=(\{.*\});\n", data)
        assert parsed is not None
        (row,) = json.loads(parsed[1])["rows"]
        assert row[6:8] == [written, 1]


@pytest.mark.parametrize(
    ("value", "bound", "says"),
    [
        (10, 10, "0 %"),
        (0, 0, "0 %"),
        (10, 0, "100 %"),
        (1 << 62, (1 << 62) - 1, "0.01 %"),
        (1000, 987, "1.3 %"),
    ],
)
def test_a_gap_is_never_said_smaller_than_it_is(value: int, bound: int, says: str) -> None:
    assert gap_in_words(TermRecord(term="peak", value=value, bound=bound)) == says
