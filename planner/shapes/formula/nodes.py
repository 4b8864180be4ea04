"""What a formula consists of once it is read."""

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
    return tuple(dict.fromkeys(it.id for it in _all_nodes(node) if isinstance(it, Name)))


def node_count(node: Node) -> int:
    """How many nodes it has, itself included: how long it takes to evaluate."""
    return len(_all_nodes(node))


def _all_nodes(node: Node) -> list[Node]:
    """All nodes of a formula, each before its parts."""
    found = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(reversed(parts_of(one)))
    return found
