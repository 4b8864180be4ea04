"""Words in SVG pictures: whatever they are, the picture stays a picture."""

import subprocess
import sys
from xml.etree import ElementTree
from xml.sax import saxutils

import pytest

from memstow.planner.show.svg import escape, page, text

WORDS = ("", "plain", "a < b > c & d", "&amp;", "]]>", "\"quoted\" and 'quoted'", "größe 日本")


@pytest.mark.parametrize("words", WORDS)
def test_words_are_escaped_as_the_standard_library_does_it(words: str) -> None:
    assert escape(words) == saxutils.escape(words)


@pytest.mark.parametrize("words", WORDS)
def test_words_are_read_back_from_a_page(words: str) -> None:
    label = text(1, "2.5", words, kind="caption", text_anchor="end", font_weight=None)
    root = ElementTree.fromstring(page(10, 20, words, words, [label]))
    title, description, _, written = root
    assert [entry.text or "" for entry in (title, description, written)] == [words] * 3
    assert written.attrib == {"class": "caption", "x": "1", "y": "2.5", "text-anchor": "end"}


def test_reports_that_are_text_load_nothing_of_the_network() -> None:
    modules = ("front_report", "symbolic_report")
    imports = "; ".join(f"import memstow.planner.show.{module}" for module in modules)
    code = f"import sys; {imports}; print(*sorted({{'xml.sax', 'urllib.request'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
