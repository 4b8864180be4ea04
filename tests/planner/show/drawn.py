"""A picture in SVG as tests look at it: its shapes and words, read back from the text."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_OUTLINE = re.compile(r"M(-?[\d.]+) (-?[\d.]+)h([\d.]+)v(-?[\d.]+)h-[\d.]+z")


@dataclass(frozen=True)
class Shape:
    """A rectangle, however it was written."""

    kind: str
    left: float
    top: float
    right: float
    bottom: float
    fill: str
    rim: float
    title: str

    @property
    def thinner(self) -> float:
        """Its smaller side."""
        return min(self.right - self.left, self.bottom - self.top)


@dataclass(frozen=True)
class Line:
    """A straight line from left to right, or down."""

    kind: str
    x: float
    y: float


@dataclass(frozen=True)
class Word:
    """A text and where it is."""

    text: str
    x: float
    y: float


class Drawing:
    """A whole picture."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text)
        self.shapes = [shape for element in self.root.iter() for shape in _shapes(element)]
        self.lines = [
            Line(element.get("class", ""), float(result[1]), float(result[2]))
            for element in self.root.iter(f"{_NAMESPACE}path")
            if (result := re.match(r"M(-?[\d.]+) (-?[\d.]+)[hvV]-?[\d.]+$", element.get("d", "")))
        ]
        self.words = [
            Word("".join(element.itertext()), float(element.get("x", "0")), float(element.get("y", "0")))
            for element in self.root.iter(f"{_NAMESPACE}text")
        ]

    def of(self, *kinds: str) -> list[Shape]:
        """The shapes of these kinds."""
        return [shape for shape in self.shapes if shape.kind in kinds]

    def lines_of(self, kind: str) -> list[Line]:
        """The lines of this kind."""
        return [line for line in self.lines if line.kind == kind]

    def titles(self) -> list[str]:
        """What boxes and reserved ranges say when pointed at."""
        return [shape.title for shape in self.of("box", "reserved")]

    def says(self, text: str) -> bool:
        """Whether the words stand anywhere in the picture."""
        return any(text in word.text for word in self.words)


def _shapes(element: ElementTree.Element) -> list[Shape]:
    kind, fill = element.get("class", ""), element.get("fill", "")
    rim = float(element.get("stroke-width", "1")) if element.get("stroke") else 0.0
    title = element.findtext(f"{_NAMESPACE}title") or ""
    if element.tag == f"{_NAMESPACE}rect":
        left, top, wide, tall = (float(element.get(name, "0")) for name in ("x", "y", "width", "height"))
        return [Shape(kind, left, top, left + wide, top + tall, fill, rim, title)]
    result = _OUTLINE.findall(element.get("d", "")) if element.tag == f"{_NAMESPACE}path" else []
    shapes = []
    for x, y, wide, tall in (map(float, one) for one in result):
        shapes.append(Shape(kind, x, min(y, y + tall), x + wide, max(y, y + tall), fill, rim, title))
    return shapes
