"""The files of the page are what their names say, small, and drawn in the colours of the pictures."""

import gzip
import re
from pathlib import Path

from memstow.api.page import assets
from memstow.planner.show import drawing

SOURCES = Path(__file__).parents[3] / "api" / "page" / "src"


def _packed(*names: str) -> int:
    """The bytes of these files as they are sent."""
    contents = [assets.asset(name) or b"" for name in names]
    assert all(contents)
    return sum(len(gzip.compress(content, 9)) for content in contents)


def test_every_file_is_named_by_its_content_and_no_other_is_there() -> None:
    parts = {path.name for path in assets.BUILT.iterdir()} - {"manifest.json"}
    assert {name for name in parts if assets.asset(name) is not None} == parts
    assert set(assets.manifest().values()) <= parts
    for name in parts:
        assert re.fullmatch(r"\w+-[A-Z2-7]{8}\.(js|css)", name)


def test_other_files_are_not_part_of_the_page() -> None:
    assert assets.asset("manifest.json") is None
    assert assets.asset("../alone.py") is None


def test_scripts_and_styles_are_small() -> None:
    names = assets.manifest()
    assert _packed(names["alone"]) <= 63 * 1024
    assert _packed(names["alone_loops"]) <= _packed(names["alone"]) + 4 * 1024
    assert _packed(names["alone_front"]) <= _packed(names["alone"]) + 9 * 1024
    assert _packed(names["alone_symbols"]) <= _packed(names["alone"]) + 12 * 1024
    assert _packed(names["served"], *assets.first_parts()) <= 66 * 1024
    assert _packed(names["editor"]) <= 150 * 1024
    assert _packed(names["site"]) <= 3 * 1024
    assert _packed(names["style"]) <= 6 * 1024
    assert _packed(names["site_style"]) <= 3 * 1024
    assert _packed(names["served_style"]) <= 6 * 1024


def test_a_page_of_its_own_holds_nothing_that_talks_with_the_service() -> None:
    for name in ("alone", "alone_loops", "alone_front", "alone_symbols"):
        alone = assets.asset(assets.manifest()[name]) or b""
        assert alone
        assert b"/v1/" not in alone
        assert b"Authorization" not in alone


def test_the_parts_name_only_parts_that_are_there() -> None:
    parts = {path.name for path in assets.BUILT.iterdir()}
    for name in parts:
        named = re.findall(rb"\./((?:part|served|worker)-[A-Z2-7]{8}\.js)", assets.asset(name) or b"")
        assert {entry.decode() for entry in named} <= parts


def test_the_page_draws_in_the_colours_of_the_pictures() -> None:
    text = (SOURCES / "draw" / "colours.ts").read_text()
    for name in ("RAMP", "DARK_RAMP"):
        ramp = re.search(rf"const {name} = \[(.*?)\]", text, re.DOTALL)
        assert ramp is not None
        assert tuple(re.findall(r'"(#\w+)"', ramp.group(1))) == getattr(drawing, name)
    light, dark = (
        dict(re.findall(r'(\w+): "(#\w+)"', text.partition(f"export const {theme}")[2].partition("};")[0]))
        for theme in ("LIGHT", "DARK")
    )
    for name in ("ink", "reserved", "met", "open", "capacity"):
        assert light[name] == getattr(drawing, name.upper()), name
        assert dark[name] == drawing.DARK[light[name]], name
    assert dark["paper"] == drawing.DARK[light["paper"]]


def test_the_sources_are_small_files() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SOURCES.rglob("*.ts*")}
    assert len(lengths) > 30
    assert max(lengths.values()) <= 400, max(lengths, key=lambda name: lengths[name])


def test_the_imports_of_the_sources_make_no_circles() -> None:
    imported = re.compile(r'^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)";', re.MULTILINE)
    sources = {path.resolve(): path.read_text() for path in SOURCES.rglob("*.ts*")}
    left = {
        path: {(path.parent / name).resolve() for name in imported.findall(text)} & sources.keys()
        for path, text in sources.items()
    }
    assert sum(map(len, left.values())) > len(left)
    while True:
        ends = {path for path, names in left.items() if not names & left.keys()}
        if not ends:
            break
        left = {path: names for path, names in left.items() if path not in ends}
    # What is left imports itself, by way of others, or is imported by such files only.
    assert sorted(path.name for path in left) == []
