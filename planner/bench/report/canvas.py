"""Draws the pictures of a report with matplotlib, such that the same figures give the same bytes.

Ink, rules and paper are drawn in colours of their own and then renamed: to the page's variables, so that one
picture is readable in light, in dark and in print, or to plain colours in a file by itself.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.model.errors import MissingBackEndError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 7.2
"""Inches: a column of print on A4 and on Letter."""
PANEL_HEIGHT: Final = 3.1

INK: Final = "#010203"
RULE: Final = "#040506"
PAPER: Final = "#070809"
_ON_PAGE: Final = {INK: "currentColor", RULE: "var(--rule)", PAPER: "var(--paper)"}
_IN_FILE: Final = {INK: "#1a1a1a", RULE: "#d8d8d4", PAPER: "#ffffff"}

# Told apart by colour on light and dark, by lightness in grey, and by dash and marker where colours run out.
COLOURS: Final = ("#3b7dc4", "#e0782a", "#3f9d4a", "#d1495b", "#8f63b8", "#2aa3a3", "#a8742f", "#8a8f98")
DASHES: Final = ("-", "--", "-.", ":")
LETTERS: Final = "abcd"
"""Letters of panels from the left, which captions refer to."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: Final[Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.6,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.color": RULE,
    "ytick.labelcolor": INK,
    # Text stays text: small, to be searched, and in the reader's own letters.
    "svg.fonttype": "none",
    "svg.hashsalt": "memstow",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a solver looks in every picture of a report."""

    colour: str
    dash: str
    marker: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture with its caption."""

    name: str
    title: str
    caption: str
    drawn: str

    @property
    def on_page(self) -> str:
        """For a page that gives the variables `--rule` and `--paper`; ids are its own."""
        text = re.sub(r'(?<=[ ]id=")|(?<=href="#)|(?<=url\(#)', f"{self.name}-", self.drawn)
        return _renamed(text, _ON_PAGE)

    @property
    def in_file(self) -> str:
        """A file by itself, on white paper."""
        paper = f'\\1\n <rect width="100%" height="100%" fill="{PAPER}"/>'
        text = re.sub(r"(<svg [^>]*>)", paper, self.drawn, count=1)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{_renamed(text, _IN_FILE)}\n'


def styles(solvers: Sequence[str]) -> dict[str, Style]:
    """A look for each solver, in the order given."""
    return {
        solver: Style(
            COLOURS[place % len(COLOURS)],
            DASHES[(place + place // len(COLOURS)) % len(DASHES)],
            MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        )
        for place, solver in enumerate(solvers)
    }


@dataclass(frozen=True, slots=True)
class Sketch:
    """A picture before it is drawn: panels side by side, filled in by `draw`, and who is who below them."""

    name: str
    title: str
    caption: str
    panels: int
    draw: "Callable[[Sequence[Axes]], None]"


def picture(sketch: Sketch) -> Picture:
    """The sketch drawn for a page."""
    written = io.StringIO()
    with _plotting(_STYLE):
        _figure(sketch).savefig(
            written,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    return Picture(sketch.name, sketch.title, sketch.caption, _bare(written.getvalue(), sketch.title))


def as_pdf(sketch: Sketch) -> bytes:
    """The sketch drawn for a paper: a file by itself, its letters in it."""
    written = io.BytesIO()
    with _plotting({**_renamed_style(_IN_FILE), "pdf.fonttype": 42}):
        _figure(sketch).savefig(
            written, format="pdf", metadata={"Title": sketch.title, "CreationDate": None, "Producer": None}
        )
    return written.getvalue()


def _figure(sketch: Sketch) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT), layout="constrained")
    axes: Sequence[Axes] = figure.subplots(1, sketch.panels, squeeze=False)[0]
    sketch.draw(axes)
    for panel, letter in zip(axes, LETTERS, strict=False):
        panel.set_title(f"({letter})", loc="left", fontweight="bold")
    _legend(figure, axes)
    return figure


def _renamed_style(colours: dict[str, str]) -> Any:
    return {name: colours.get(value, value) for name, value in _STYLE.items()}


@contextmanager
def _plotting(style: Any) -> Iterator[None]:
    try:
        import matplotlib
    except ImportError:
        raise MissingBackEndError(
            "the pictures of a report need matplotlib: pip install 'memstow[bench]'"
        ) from None
    # Nothing of the user's own settings: the same figures give the same picture everywhere.
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Only measured with letters of here; shown with those of the reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        yield


def _legend(figure: "Figure", axes: "Sequence[Axes]") -> None:
    # An empty panel has no legend entries; the one beside it may have some.
    named: dict[str, Artist] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        named.update(zip(map(str, labels), handles, strict=True))
    if named:
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=min(len(named), 4))


def _bare(text: str, title: str) -> str:
    """The `svg` element alone, with a title for those who cannot see it."""
    from xml.sax.saxutils import escape, quoteattr

    text = text[text.index("<svg ") :].strip()
    text = re.sub(r"font-family: 'DejaVu Sans'[^;]*;", "font-family: sans-serif;", text)
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head = f'<svg role="img" aria-label={quoteattr(title)} '
    return re.sub(
        r"<svg (.*?)>",
        lambda m: f"{head}{m[1]}>\n <title>{escape(title)}</title>",
        text,
        count=1,
        flags=re.DOTALL,
    )


def _renamed(text: str, colours: dict[str, str]) -> str:
    for drawn, shown in colours.items():
        text = text.replace(drawn, shown)
    return text
