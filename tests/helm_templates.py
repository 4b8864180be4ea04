"""Renders the chart without Helm: the part of Go's templates, and of the functions of Helm, that it uses.

Whatever is beyond that part is an error. Where Helm is installed, a test compares what it makes of the chart.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

yaml = pytest.importorskip("yaml")

_ACTION: Final = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[()|]|:=|,|[^\s()|,"]+')
_BLOCKS: Final = ("if", "range", "define")

Node = str | tuple[Any, ...]


class FailedError(Exception):
    """The chart refuses its values."""


class Chart:
    """A chart in a folder."""

    def __init__(self, folder: Path) -> None:
        self.values = yaml.safe_load((folder / "values.yaml").read_text())
        self.about = yaml.safe_load((folder / "Chart.yaml").read_text())
        self._defined: dict[str, list[Node]] = {}
        self._files: dict[str, list[Node]] = {}
        for path in sorted((folder / "templates").iterdir()):
            self._files[path.name] = []
            for node in _parsed(path.read_text()):
                if isinstance(node, tuple) and node[0] == "define":
                    self._defined[json.loads(node[1])] = node[2]
                else:
                    self._files[path.name].append(node)

    def render(self, values: Mapping[str, Any], release: str = "memstow") -> list[dict[str, Any]]:
        """The manifests with these values over those of the chart."""
        return [
            document
            for name, text in self.texts(values, release).items()
            if name.endswith(".yaml")
            for document in yaml.safe_load_all(text)
            if document
        ]

    def texts(self, values: Mapping[str, Any], release: str = "memstow") -> dict[str, str]:
        """What each template becomes."""
        top = {
            "Values": _merged(self.values, values),
            "Chart": {"AppVersion": self.about["appVersion"]},
            "Release": {"Name": release, "Service": "Helm", "Namespace": "default"},
        }
        return {name: self._written(nodes, top, {}) for name, nodes in self._files.items()}

    def _written(self, nodes: Sequence[Node], top: Any, variables: Mapping[str, Any]) -> str:
        parts = []
        for node in nodes:
            if isinstance(node, str):
                parts.append(node)
            elif node[0] == "print":
                parts.append(_shown(self._value(node[1], top, variables)))
            elif node[0] == "if":
                for condition, body in node[1]:
                    if condition is None or self._value(condition, top, variables):
                        parts.append(self._written(body, top, variables))
                        break
            else:
                _, (key, item), over, body = node
                result = self._value(over, top, variables)
                assert isinstance(result, dict), "only maps are ranged over"
                for name in sorted(result):
                    parts.append(self._written(body, top, {**variables, key: name, item: result[name]}))
        return "".join(parts)

    def _value(self, text: str, top: Any, variables: Mapping[str, Any]) -> Any:
        tokens = _TOKEN.findall(text)
        value, rest = self._pipeline(tokens, top, variables)
        assert not rest, text
        return value

    def _pipeline(self, tokens: list[str], top: Any, variables: Mapping[str, Any]) -> tuple[Any, list[str]]:
        given: list[Any] = []
        while True:
            words: list[Any] = []
            while tokens and tokens[0] not in ("|", ")"):
                if tokens[0] == "(":
                    value, tokens = self._pipeline(tokens[1:], top, variables)
                    assert tokens[0] == ")"
                    words.append(value)
                    tokens = tokens[1:]
                else:
                    words.append(self._operand(tokens[0], top, variables))
                    tokens = tokens[1:]
            head, *arguments = words
            arguments += given
            given = [head(*arguments) if callable(head) else head]
            assert callable(head) or not arguments, words
            if not tokens or tokens[0] == ")":
                return given[0], tokens
            tokens = tokens[1:]

    def _operand(self, token: str, top: Any, variables: Mapping[str, Any]) -> Any:
        if token.startswith('"'):
            return json.loads(token)
        if token == ".":
            return top
        if token.startswith("."):
            value = top
            for name in token[1:].split("."):
                assert name in value, f"the chart has no value {token}"
                value = value[name]
            return value
        if token.startswith("$"):
            return variables[token]
        if token.isdecimal():
            return int(token)
        if token == "include":
            return lambda name, given: self._written(self._defined[name], given, {})
        return _FUNCTIONS[token]


def _parsed(text: str) -> list[Node]:
    nodes, rest = _block(list(_pieces(text)))
    assert not rest
    return nodes


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Text and actions in turn; a dash takes the white space on its side away."""
    place, trimmed = 0, False
    for match in _ACTION.finditer(text):
        before = text[place : match.start()]
        before = before.lstrip() if trimmed else before
        yield "text", before.rstrip() if match[1] else before
        yield "action", match[2]
        place, trimmed = match.end(), bool(match[3])
    yield "text", text[place:].lstrip() if trimmed else text[place:]


def _block(pieces: list[tuple[str, str]]) -> tuple[list[Node], list[tuple[str, str]]]:
    """The nodes up to an `else`, an `end` or the end, and the pieces from there."""
    nodes: list[Node] = []
    while pieces:
        kind, text = pieces[0]
        word, _, rest = text.partition(" ")
        if kind == "action" and word in ("else", "end"):
            break
        pieces = pieces[1:]
        if kind == "text":
            nodes.append(text)
        elif word not in _BLOCKS:
            nodes.append(("print", text))
        else:
            node, pieces = _opened(word, rest, pieces)
            nodes.append(node)
    return nodes, pieces


def _opened(word: str, rest: str, pieces: list[tuple[str, str]]) -> tuple[Node, list[tuple[str, str]]]:
    body, pieces = _block(pieces)
    branches: list[tuple[str | None, list[Node]]] = [(rest, body)]
    while pieces[0][1] != "end":
        condition = pieces[0][1].removeprefix("else").strip().removeprefix("if").strip()
        body, pieces = _block(pieces[1:])
        branches.append((condition or None, body))
    pieces = pieces[1:]
    if word == "if":
        return ("if", branches), pieces
    assert len(branches) == 1
    if word == "define":
        return ("define", rest, branches[0][1]), pieces
    names, over = rest.split(":=")
    return ("range", [name.strip() for name in names.split(",")], over, branches[0][1]), pieces


def _merged(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(own)
    for name, value in given.items():
        inner = merged.get(name)
        merged[name] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _required(message: str, value: Any) -> Any:
    return value if value not in (None, "") else _fail(message)


def _fail(message: str) -> str:
    raise FailedError(message)


def _kind_is(kind: str, value: Any) -> bool:
    """As Helm has it, which reads every number as a float."""
    kinds = {"slice": list, "float64": int | float}
    return isinstance(value, kinds[kind]) and not isinstance(value, bool)


def _printf(form: str, *values: Any) -> str:
    return form % values


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "and": lambda *given: next((entry for entry in given if not entry), given[-1]),
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "default": lambda other, value: value or other,
    "eq": lambda one, other: one == other,
    "fail": _fail,
    "floor": math.floor,
    "int64": int,
    "join": lambda between, parts: between.join(parts),
    "kindIs": _kind_is,
    "nindent": lambda count, text: "\n" + "\n".join(" " * count + line for line in text.split("\n")),
    "not": lambda value: not value,
    "printf": _printf,
    "quote": lambda value: json.dumps(_shown(value)),
    "required": _required,
    "toYaml": lambda value: yaml.safe_dump(value, default_flow_style=False).rstrip("\n"),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": lambda length, text: text[:length],
    "upper": str.upper,
}
