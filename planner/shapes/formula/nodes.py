"""What a formula consists of once it is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Sign = Literal["+", "-", "*", "//", "%"]
Function = Literal["ceil_div", "align", "min", "max"]

FUNCTIONS: Final[tuple[Function, ...]] = ("ceil_div", "align", "min", "max")
OF_TWO: Final[frozenset[str]] = frozenset(("ceil_div", "align"))
"""Functions of exactly two arguments; the others take one or more."""


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number as it is written: never negative."""

    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol."""

    id: str


@dataclass(frozen=True, slots=True)
class Negation:
    """A minus before something."""

    operand: "Node"


@dataclass(frozen=True, slots=True)
class Chain:
    """Operations of one precedence from left to right: a sum, or a product with its divisions.

    A sum of a thousand terms is one chain: only parentheses, functions and minus signs make a formula deep.
    """

    first: "Node"
    rest: tuple[tuple[Sign, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments."""

    function: Function
    arguments: tuple["Node", ...]


Node = Number | Name | Negation | Chain | Call


def parts_of(node: Node) -> tuple[Node, ...]:
    """The nodes that it is made of, one level down."""
    match node:
        case Negation(operand):
            return (operand,)
        case Chain(first, rest):
            return (first, *(operand for _, operand in rest))
        case Call(_, arguments):
            return arguments
    return ()


def names_in(node: Node) -> tuple[str, ...]:
    """The symbols of a formula, in the order in which they appear."""
    return tuple(dict.fromkeys(_names(node)))


def _names(node: Node) -> Iterator[str]:
    if isinstance(node, Name):
        yield node.id
    for part in parts_of(node):
        yield from _names(part)


def node_count(node: Node) -> int:
    """How many nodes it has, itself included: how long it takes to evaluate."""
    return 1 + sum(map(node_count, parts_of(node)))
