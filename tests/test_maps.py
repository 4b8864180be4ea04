"""The pages that lead through the project name only what is there."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]
)
_FOLDERS = r"(?:api|benchmarks|docker|docs|memstow|planner|solvers|tests)"
_PATH = re.compile(rf"`({_FOLDERS}/[\w./-]*|\.?[\w-]+\.(?:md|toml|txt|yaml)|Makefile|Dockerfile)`")
_MODULE = re.compile(r"`((?:api|planner|solvers)(?:\.\w+)+)`")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
# What a recipe tells to make.
_TO_BE_MADE = re.compile(r"NAME|my_|^\.loops")


def _text(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_folder_and_module_that_a_page_names_exists(page: Path) -> None:
    text = _text(page)
    paths = [path for path in _PATH.findall(text) if not _TO_BE_MADE.search(path)]
    missing = [path for path in paths if not (ROOT / path).exists()]
    missing += [name for name in _MODULE.findall(text) if find_spec(f"memstow.{name}") is None]
    missing += [link for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing


def test_the_map_names_what_it_leads_to() -> None:
    assert len(_PATH.findall(_text(ARCHITECTURE))) > 30


@pytest.mark.parametrize("folder", ["planner", "solvers", "api"])
def test_the_page_of_rooms_names_every_room(folder: str) -> None:
    _, _, section = ARCHITECTURE.read_text().partition("## The rooms of `planner`\n")
    names = set(re.findall(r"`(\w+)`", re.split(r"^## ", section, flags=re.MULTILINE)[0]))
    rooms = {path.name for path in (ROOT / folder).iterdir() if path.is_dir() and any(path.rglob("*.cpp"))}
    rooms |= {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
    assert rooms <= names


def test_every_room_that_the_page_asks_a_question_of_exists() -> None:
    _, _, section = ARCHITECTURE.read_text().partition("## The rooms of `planner`\n")
    cells = re.findall(
        r"^\| (`\w+`[^|]*) \|", re.split(r"^## ", section, flags=re.MULTILINE)[0], re.MULTILINE
    )
    rooms = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert len(rooms) > 10
    assert [name for name in rooms if not (ROOT / "planner" / name).is_dir()] == []


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = set(_LINK.findall((folder / "README.md").read_text()))
    assert listed == {page.name for page in folder.glob("*.md")} - {"README.md"}
