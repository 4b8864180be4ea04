"""What holds for a formula over ranges of its symbols: bounds, directions, and whether it always has a value.

Everything is proven from the formula's parts (interval arithmetic), so it may be wider than what is so: never
narrower. Values at which a formula has no value are left out of account; `sure` says that there are none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Final

from memstow.planner.model.problem import LIMIT
from memstow.planner.shapes.formula.nodes import Call, Chain, Function, Name, Negation, Node, Number, Sign

Ranges = Mapping[str, tuple[int, int]]
"""The least and the largest value of each symbol."""

Moves = dict[str, int]
"""How a formula may move when a symbol grows: neither, _RISES, _FALLS, or both."""

_RISES: Final = 1
_FALLS: Final = 2
_FLIPPED: Final = (0, _FALLS, _RISES, _RISES | _FALLS)


class Direction(StrEnum):
    """Where a formula goes when one symbol grows and the others stay."""

    NONDECREASING = "nondecreasing"
    NONINCREASING = "nonincreasing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is proven of a formula over the ranges of its symbols."""

    low: int
    high: int
    sure: bool
    """It has a value everywhere: divisors are positive, and nothing in it is beyond +-2^62."""
    moves: Moves

    def direction(self, symbol: str) -> Direction:
        """Where it goes when that symbol grows."""
        move = self.moves.get(symbol, 0)
        if move & _FALLS:
            return Direction.UNKNOWN if move & _RISES else Direction.NONINCREASING
        return Direction.NONDECREASING


def bounds(node: Node, ranges: Ranges) -> tuple[int, int]:
    """A lower and an upper bound of the formula over these ranges."""
    facts = facts_of(node, ranges)
    return facts.low, facts.high


def direction(node: Node, ranges: Ranges) -> dict[str, Direction]:
    """Where the formula goes when each symbol grows, for every symbol of the ranges."""
    facts = facts_of(node, ranges)
    return {symbol: facts.direction(symbol) for symbol in ranges}


def facts_of(node: Node, ranges: Ranges) -> Facts:
    """What is proven of the formula over these ranges."""
    match node:
        case Number(value):
            return _facts(value, value, True, {})
        case Name(name):
            low, high = ranges[name]
            return _facts(low, high, True, {name: _RISES})
        case Negation(operand):
            return _negated(facts_of(operand, ranges))
        case Chain(first, rest):
            facts = facts_of(first, ranges)
            for index, (sign, operand) in enumerate(rest):
                if index == 0 and sign == "*" and operand == first:
                    facts = _square(facts)
                else:
                    facts = _joined(sign, facts, facts_of(operand, ranges))
            return facts
        case Call(function, arguments):
            return _called(function, [facts_of(argument, ranges) for argument in arguments])


def _facts(low: int, high: int, sure: bool, moves: Moves) -> Facts:
    if low < -LIMIT or high > LIMIT:
        sure = False
        low, high = max(min(low, LIMIT), -LIMIT), max(min(high, LIMIT), -LIMIT)
    return Facts(low, high, sure, {} if low == high else moves)


def _joined(sign: Sign, left: Facts, right: Facts) -> Facts:
    match sign:
        case "+":
            moves = _either(left.moves, right.moves)
            return _facts(left.low + right.low, left.high + right.high, left.sure and right.sure, moves)
        case "-":
            return _joined("+", left, _negated(right))
        case "*":
            return _product(left, right)
        case "//":
            return _quotient(left, right)
        case "%":
            return _remainder(left, right)


def _called(function: Function, arguments: list[Facts]) -> Facts:
    sure = all(argument.sure for argument in arguments)
    moves = reduce(_either, (argument.moves for argument in arguments))
    match function:
        case "min":
            low, high = (min(it.low for it in arguments), min(it.high for it in arguments))
            return _facts(low, high, sure, moves)
        case "max":
            low, high = (max(it.low for it in arguments), max(it.high for it in arguments))
            return _facts(low, high, sure, moves)
        case "ceil_div":
            # The quotient rounded up is minus that of minus the dividend, rounded down.
            return _negated(_quotient(_negated(arguments[0]), arguments[1]))
        case "align":
            return _aligned(*arguments)


def _negated(facts: Facts) -> Facts:
    return Facts(-facts.high, -facts.low, facts.sure, _flipped(facts.moves))


def _product(left: Facts, right: Facts) -> Facts:
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    moves = _either(_scaled(left.moves, right), _scaled(right.moves, left))
    return _facts(min(corners), max(corners), left.sure and right.sure, moves)


def _square(root: Facts) -> Facts:
    """The product of something and itself: never negative."""
    facts = _product(root, root)
    return _facts(max(facts.low, 0), facts.high, facts.sure, facts.moves)


def _quotient(left: Facts, right: Facts) -> Facts:
    if right.high < 1:
        return _nowhere()
    least = max(right.low, 1)
    sure = left.sure and right.sure and right.low >= 1
    low = left.low // (least if left.low < 0 else right.high)
    high = left.high // (right.high if left.high < 0 else least)
    return _facts(low, high, sure, _either(left.moves, _flipped(_scaled(right.moves, left))))


def _remainder(left: Facts, right: Facts) -> Facts:
    if right.high < 1:
        return _nowhere()
    least = max(right.low, 1)
    sure = left.sure and right.sure and right.low >= 1
    if left.low >= 0 and left.high < least:
        return _facts(left.low, left.high, sure, left.moves)
    quotient = left.low // least
    if right.low == right.high and left.high // least == quotient:
        # Between two multiples of the divisor the remainder goes as the dividend does.
        return _facts(left.low - quotient * least, left.high - quotient * least, sure, left.moves)
    high = min(right.high - 1, left.high) if left.low >= 0 else right.high - 1
    return _facts(0, high, sure, _anyhow(left.moves, right.moves))


def _aligned(value: Facts, step: Facts) -> Facts:
    if step.high < 1:
        return _nowhere()
    least = max(step.low, 1)
    sure = value.sure and step.sure and step.low >= 1
    if step.low == step.high:
        return _facts(-(-value.low // least) * least, -(-value.high // least) * least, sure, value.moves)
    # The least multiple at or above a positive value is at least one step, and less than a step above it.
    low = max(value.low, least) if value.low > 0 else value.low
    high = value.high + step.high - 1 if value.high > 0 else 0
    return _facts(low, high, sure, _either(value.moves, _anyhow(step.moves)))


def _nowhere() -> Facts:
    """Of a formula that has a value nowhere: nothing is claimed."""
    return Facts(-LIMIT, LIMIT, False, {})


def _either(one: Moves, other: Moves) -> Moves:
    if not other:
        return one
    return {symbol: one.get(symbol, 0) | other.get(symbol, 0) for symbol in (*one, *other)}


def _flipped(moves: Moves) -> Moves:
    return {symbol: _FLIPPED[move] for symbol, move in moves.items()}


def _scaled(moves: Moves, factor: Facts) -> Moves:
    """How a product moves when this factor stays."""
    if factor.low >= 0:
        return moves
    return _flipped(moves) if factor.high <= 0 else _anyhow(moves)


def _anyhow(*several: Moves) -> Moves:
    return {symbol: _RISES | _FALLS if move else 0 for moves in several for symbol, move in moves.items()}
