"""The site of a library in a browser, from files: the list, the page of an instance, and that of its plan."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from memstow.api.cli.main import main
from memstow.planner.instance_library.folder import Folder
from memstow.planner.instance_library.judging import Answer
from memstow.planner.instance_library.records import About, Credit, opened, posed
from memstow.planner.model.problem import Buffer, Pool, Problem
from tests.api.page.browser import Look
from tests.planner.instance_library.libraries import KNOT, add, stacked

EVIL: Final = "</script><img src=x onerror=alert(1)>"
MANY: Final = 130
SOLVED: Final = 8
ROWS: Final = "[...document.querySelectorAll('.instances tbody tr')].map((row) => row.outerHTML)"
IDS: Final = "[...document.querySelectorAll('.instances tbody th a')].map((one) => one.textContent)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of more instances than a page shows; one is open, one is hostile, one has a proof."""
    folder = Folder(tmp_path_factory.mktemp("library") / "lib")
    with opened(folder) as library:
        add(library, "knot", KNOT)
        add(library, "bare", Problem(buffers=[Buffer(id="a", size=7, lifetime=(0, 2))]), solved=False)
        pools = [Pool(id=EVIL, capacity=1 << 60), Pool(id="slow", cost=2)]
        buffers = [Buffer(id=f"{EVIL}{n}", size=(1 << 56) + n, lifetime=(n, n + 2)) for n in range(5)]
        hostile = Problem(name=EVIL, buffers=buffers, pools=pools, objective=[f"peak:{EVIL}"])
        said = About("evil", EVIL, "other", "MIT", source=EVIL, models=EVIL)
        library.add(said, posed(hostile), (Answer(stacked(hostile)), Credit(EVIL, "2026-03-01")))
        for number in range(MANY):
            sizes = (number + 2, 1000 + number, 3)
            each = [Buffer(id=f"b{n}", size=size, lifetime=(n, n + 2)) for n, size in enumerate(sizes)]
            add(library, f"n{number:03}", Problem(buffers=each), solved=number < SOLVED)
    out = folder.path.parent / "out"
    assert main(["library", "site", str(folder.path), str(out), "--title", "Ours"]) == 0
    return out


@pytest.fixture
def listed(look: Look, site: Path) -> Iterator[Look]:
    """The list of all."""
    look.page.goto((site / "index.html").as_uri())
    yield look.wait("document.querySelector('.counted').textContent !== ''")
    assert look.page.evaluate("!document.querySelector('img[src=x]')")


def ids(look: Look) -> list[str]:
    shown: list[str] = look.page.evaluate(IDS)
    return shown


def choose(look: Look, name: str, value: str) -> None:
    """Fill in a field of the filters."""
    look.page.evaluate(
        "([name, value]) => { const field = document.querySelector(`.filters [name=${name}]`);"
        "field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); }",
        [name, value],
    )


def test_the_rows_are_those_of_the_page_without_script(listed: Look, site: Path, running: Any) -> None:
    without = running.new_context(java_script_enabled=False).new_page()
    without.goto((site / "index.html").as_uri())
    plain = [
        row.strip()
        for row in without.locator(".instances tbody tr").evaluate_all(
            "(rows) => rows.map((row) => row.outerHTML)"
        )
    ]
    assert len(plain) == 100
    assert "the first 100 of 133" in without.inner_text("main")
    assert without.is_hidden(".filters")
    without.context.close()
    assert listed.page.evaluate(ROWS) == plain


def test_the_list_is_sorted_and_filtered_and_says_so_in_its_address(listed: Look) -> None:
    assert listed.text(".counted") == "1–100 of 133 instances"
    listed.page.click("th[data-by=best] button")
    assert ids(listed)[:2] == ["evil", f"n{SOLVED - 1:03}"]
    listed.page.keyboard.press("Enter")
    assert ids(listed)[0] == "knot"
    assert ids(listed)[SOLVED + 1 :][:2] == ["evil", "bare"], "what has no value comes last"
    assert listed.page.get_attribute("th[data-by=best]", "aria-sort") == "ascending"
    listed.page.click(".after")
    assert len(ids(listed)) == MANY + 3 - 100
    assert listed.page.evaluate("location.hash") == "#sort=best&page=2"
    choose(listed, "state", "proven")
    assert len(ids(listed)) == SOLVED + 1
    choose(listed, "state", "open")
    assert ids(listed)[:2] == ["evil", "bare"]
    choose(listed, "text", "ONERROR evil")
    assert ids(listed) == ["evil"]
    choose(listed, "text", "there is no such")
    assert listed.text(".counted") == "No instance is like that."
    listed.page.goto(listed.page.url.partition("#")[0] + "#kind=several+pools&sort=-id")
    listed.wait("document.querySelectorAll('.instances tbody tr').length === 1")
    assert ids(listed) == ["evil"]
    listed.page.click("button[type=reset]")
    listed.wait("document.querySelectorAll('.instances tbody tr').length === 100")


@pytest.mark.parametrize(("wide", "dark"), [(390, False), (1280, True)])
def test_pages_are_accessible_and_fit(running: Any, site: Path, dark: bool, wide: int) -> None:
    for name in ("index", "records", "instances/knot", "instances/evil"):
        look = Look(running, dark=dark, wide=wide)
        look.page.goto((site / f"{name}.html").as_uri())
        assert look.violations(preload=False) == [], name
        assert look.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        look.close()


def test_the_plan_of_an_instance_opens(look: Look, site: Path) -> None:
    for name, says in (("knot", "21 B. No plan can be smaller."), ("evil", "")):
        look.page.goto((site / "instances" / f"{name}.html").as_uri())
        look.page.click("text=Look at the plan")
        look.wait("document.querySelector('.plan') && !document.querySelector('progress')")
        assert look.verdict.startswith(says)
        assert look.page.evaluate("!document.querySelector('img')")
    assert not [url for url in look.requests if not url.startswith(("file:", "data:", "blob:"))]


def test_pictures_are_loaded_as_they_come_into_view(listed: Look) -> None:
    listed.wait("[...document.images].some((image) => image.complete && image.naturalWidth === 120)")
    loaded = [url for url in listed.requests if "thumbnails/" in url]
    assert 0 < len(loaded) < 100
