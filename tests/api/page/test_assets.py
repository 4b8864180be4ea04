"""The files of the page are what their names say, small, and drawn in the colours of the pictures."""

import gzip
import hashlib
import re
from pathlib import Path

from memstow.api.page import assets
from memstow.planner.show.drawing import palette

SOURCES = Path(__file__).parents[3] / "api" / "page" / "src"


def test_each_file_is_named_by_its_content_and_no_other_is_there() -> None:
    names = assets.manifest()
    assert set(names) == {"script", "style"}
    assert {path.name for path in assets.BUILT.iterdir()} == {"manifest.json", *names.values()}
    for name in names.values():
        content = assets.asset(name)
        assert content is not None
        assert hashlib.sha256(content).hexdigest()[:12] in name


def test_other_files_are_not_part_of_the_page() -> None:
    assert assets.asset("manifest.json") is None
    assert assets.asset("../alone.py") is None


def test_script_and_style_are_small() -> None:
    sizes = {}
    for kind, name in assets.manifest().items():
        content = assets.asset(name)
        assert content is not None
        sizes[kind] = len(gzip.compress(content, 9))
    assert sizes["script"] <= 60 * 1024
    assert sizes["style"] <= 6 * 1024


def test_the_page_draws_in_the_colours_of_the_pictures() -> None:
    text = (SOURCES / "draw" / "colours.ts").read_text()
    ramp = re.search(r"const RAMP = \[(.*?)\]", text, re.DOTALL)
    assert ramp is not None
    assert tuple(re.findall(r'"(#\w+)"', ramp.group(1))) == palette.RAMP
    light = text.partition("export const LIGHT")[2].partition("};")[0]
    colours = dict(re.findall(r'(\w+): "(#\w+)"', light))
    for name in ("ink", "reserved", "met", "open", "capacity"):
        assert colours[name] == getattr(palette, name.upper()), name


def test_the_sources_are_small_files() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SOURCES.rglob("*.ts*")}
    assert len(lengths) > 30
    assert max(lengths.values()) <= 400, max(lengths, key=lambda name: lengths[name])
