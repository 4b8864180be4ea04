"""Formulas of symbols in exact integers: read, written, evaluated, and bounded over ranges of their symbols.

sum      = product (("+" | "-") product)*
product  = factor (("*" | "//" | "%") factor)*
factor   = "-" factor | number | symbol | function "(" sum ("," sum)* ")" | "(" sum ")"
function = "ceil_div" | "align" | "min" | "max"

`evaluate` walks over the nodes; `compile_formula` makes Python functions of functions, several times as
fast, with the same results and errors: no text is run. `facts_of` proves bounds and directions from a
formula's parts (interval arithmetic), so they may be wider than what is so: never narrower. Values at
which a formula has no value are left out of account; `sure` says that there are none.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Final, Literal

from memstow.planner.model.errors import MemstowError
from memstow.planner.model.problem import LIMIT, LONGEST_FORMULA
from memstow.planner.reading.printable import shown


class FormulaError(MemstowError):
    """A text that is not a formula; `position` is the index of the character where that shows."""

    def __init__(self, code: str, message: str, position: int) -> None:
        super().__init__(message)
        self.code = code
        self.position = position


class FormulaValueError(MemstowError):
    """A formula without a value at these symbols: a divisor that is not positive, a number too large."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


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
    return tuple(dict.fromkeys(entry.id for entry in _all_nodes(node) if isinstance(entry, Name)))


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


_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_TOKEN: Final = re.compile(r"(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>//|[-+*%(),])")
_SIGN_ADVICE: Final = {
    "/": "write // for a division that is rounded down, or ceil_div(a, b)",
    ".": "a formula has whole numbers only",
    "^": "write a product, such as s*s",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A number, a name or a sign, and where it begins; `end` has no text."""

    kind: Literal["number", "name", "sign", "end"]
    text: str
    position: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text and an `end`; FormulaError at the first character that belongs to none."""
    tokens: list[Token] = []
    position = _after_blanks(text, 0)
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _stray(text[position], position)
        kind: Literal["number", "name", "sign"] = found.lastgroup  # type: ignore[assignment]
        tokens.append(Token(kind, found.group(), position))
        position = _after_blanks(text, found.end())
    tokens.append(Token("end", "", len(text)))
    return tokens


def _after_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return position if found is None else found.end()


def _stray(character: str, position: int) -> FormulaError:
    advice = _SIGN_ADVICE.get(character, "use whole numbers, symbols, + - * // % and parentheses")
    message = f"{shown(character)} at character {position + 1:,} is no part of a formula; {advice}"
    return FormulaError("formula_syntax", message, position)


DEEPEST: Final = 64
"""Parentheses, functions and minus signs within each other."""

_SUMS: Final[tuple[Sign, ...]] = ("+", "-")
_PRODUCTS: Final[tuple[Sign, ...]] = ("*", "//", "%")


def parse_formula(text: str, symbols: Collection[str]) -> Node:
    """The formula of a text in which these symbols are known; FormulaError at the first mistake."""
    if len(text) > LONGEST_FORMULA:
        message = f"a formula of {len(text):,} characters, of which {LONGEST_FORMULA:,} are allowed"
        raise FormulaError("formula_too_long", message, LONGEST_FORMULA)
    return _Parser(tokens_of(text), symbols).formula()


class _Parser:
    """Walks over the tokens from left to right, one function for each rule of the grammar."""

    def __init__(self, tokens: list[Token], symbols: Collection[str]) -> None:
        self._tokens = tokens
        self._symbols = symbols
        self._next = 0
        self._depth = 0

    def formula(self) -> Node:
        node = self._sum()
        if self._token.kind != "end":
            raise self._unexpected("an operation such as + or *" if self._token.text != ")" else "the end")
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _sum(self) -> Node:
        return self._chain(_SUMS, self._product)

    def _product(self) -> Node:
        return self._chain(_PRODUCTS, self._factor)

    def _chain(self, signs: tuple[Sign, ...], part: Callable[[], Node]) -> Node:
        first = part()
        rest: list[tuple[Sign, Node]] = []
        while (sign := self._one_of(signs)) is not None:
            rest.append((sign, part()))
        return Chain(first, tuple(rest)) if rest else first

    def _one_of(self, signs: tuple[Sign, ...]) -> Sign | None:
        for sign in signs:
            if self._took(sign):
                return sign
        return None

    def _factor(self) -> Node:
        token = self._token
        if token.kind == "number":
            self._next += 1
            return Number(int(token.text))
        if token.kind == "name":
            self._next += 1
            return self._named(token)
        if self._took("-"):
            self._deeper(token)
            negation = Negation(self._factor())
            self._depth -= 1
            return negation
        if self._took("("):
            self._deeper(token)
            inner = self._sum()
            self._close()
            return inner
        raise self._unexpected("a number, a symbol or a parenthesis")

    def _named(self, token: Token) -> Node:
        for function in FUNCTIONS:
            if token.text == function:
                return self._call(function, token)
        if token.text not in self._symbols:
            raise self._unknown(token)
        return Name(token.text)

    def _call(self, function: Function, token: Token) -> Node:
        if not self._took("("):
            raise self._unexpected(f"the arguments of {function} in parentheses")
        self._deeper(token)
        arguments = [self._sum()]
        while self._took(","):
            arguments.append(self._sum())
        self._close()
        if function in OF_TWO and len(arguments) != 2:
            number = "one argument" if len(arguments) == 1 else f"{len(arguments):,} arguments"
            message = (
                f"at character {token.position + 1:,} {function} has {number}; it takes two: {function}(a, b)"
            )
            raise FormulaError("formula_syntax", message, token.position)
        return Call(function, tuple(arguments))

    def _took(self, sign: str) -> bool:
        """Whether the next token is this sign, which is then passed."""
        token = self._token
        if token.kind != "sign" or token.text != sign:
            return False
        self._next += 1
        return True

    def _close(self) -> None:
        if not self._took(")"):
            raise self._unexpected("a closing parenthesis")
        self._depth -= 1

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            message = (
                f"at character {token.position + 1:,} the formula is more than {DEEPEST} parentheses, "
                "functions and minus signs deep; write it flatter"
            )
            raise FormulaError("formula_too_deep", message, token.position)

    def _unexpected(self, wanted: str) -> FormulaError:
        token = self._token
        found = "the formula ends" if token.kind == "end" else f"there is {token.text[:40]!r}"
        message = f"at character {token.position + 1:,} {found}, where {wanted} should be"
        return FormulaError("formula_syntax", message, token.position)

    def _unknown(self, token: Token) -> FormulaError:
        # The name comes first: readers recognise by it what an issue is about.
        names = ", ".join(sorted(self._symbols)) or "none"
        message = f"{token.text[:80]!r} at character {token.position + 1:,} is no symbol; there are: {names}"
        return FormulaError("unknown_symbol", message, token.position)


def text_of(node: Node) -> str:
    """The text of a formula."""
    match node:
        case Number(value):
            return str(value)
        case Name(name):
            return name
        case Negation(operand):
            return f"-{_factor_text(operand)}"
        case Chain(first, rest):
            if rest[0][0] in ("+", "-"):
                parts = [
                    _product_text(first),
                    *(f" {sign} {_product_text(operand)}" for sign, operand in rest),
                ]
            else:
                parts = [_factor_text(first), *(f"{sign}{_factor_text(operand)}" for sign, operand in rest)]
            return "".join(parts)
        case Call(function, arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"


def _factor_text(node: Node) -> str:
    return f"({text_of(node)})" if isinstance(node, Chain) else text_of(node)


def _product_text(node: Node) -> str:
    """What may stand in a sum: a product needs no parentheses there."""
    is_sum = isinstance(node, Chain) and node.rest[0][0] in ("+", "-")
    return f"({text_of(node)})" if is_sum else text_of(node)


def within(value: int) -> int:
    """The value, if it is within +-2^62."""
    if -LIMIT <= value <= LIMIT:
        return value
    message = f"an intermediate value of {shown(value)} is not within -2^62 and 2^62"
    raise FormulaValueError("formula_overflow", message)


def operate(sign: Sign, left: int, right: int) -> int:
    """Left and right joined by the sign."""
    match sign:
        case "+":
            return within(left + right)
        case "-":
            return within(left - right)
        case "*":
            return within(left * right)
        case "//":
            return left // _divisor(right)
        case "%":
            return left % _divisor(right)


def call(function: Function, arguments: list[int]) -> int:
    """The function of these arguments."""
    match function:
        case "min":
            return min(arguments)
        case "max":
            return max(arguments)
        case "ceil_div":
            return -(-arguments[0] // _divisor(arguments[1]))
        case "align":
            value, step = arguments
            return within(-(-value // _divisor(step)) * step)


def _divisor(value: int) -> int:
    if value > 0:
        return value
    raise FormulaValueError("formula_divisor", f"a divisor of {value} is not positive")


def evaluate(node: Node, values: Mapping[str, int]) -> int:
    """The exact value; FormulaValueError if a divisor is not positive or a value not within +-2^62."""
    match node:
        case Number(value):
            return within(value)
        case Name(name):
            return within(values[name])
        case Negation(operand):
            return -evaluate(operand, values)
        case Chain(first, rest):
            value = evaluate(first, values)
            for sign, operand in rest:
                value = operate(sign, value, evaluate(operand, values))
            return value
        case Call(function, arguments):
            return call(function, [evaluate(argument, values) for argument in arguments])


Formula = Callable[[Mapping[str, int]], int]


def compile_formula(node: Node) -> Formula:
    """The function that gives the value of the formula where each symbol has a value."""
    return _compiled(node)[0]


def _compiled(node: Node) -> tuple[Formula, int | None]:
    """The function of a formula, and its value if that is the same everywhere."""
    match node:
        case Number(number):
            return _compiled_constant(number)
        case Name(name):
            return (lambda values: within(values[name])), None
        case Negation(operand):
            positive, known = _compiled(operand)
            return _folded(lambda values: -positive(values), [known])
        case Chain(first, rest):
            return _compiled_chain(first, rest)
        case Call(function, arguments):
            built = [_compiled(argument) for argument in arguments]
            parts = [part for part, _ in built]
            return _folded(
                lambda values: call(function, [part(values) for part in parts]), [value for _, value in built]
            )


def _compiled_constant(value: int) -> tuple[Formula, int | None]:
    if abs(value) > LIMIT:
        return (lambda _: within(value)), None
    return (lambda _: value), value


def _folded(run: Formula, parts: Sequence[int | None]) -> tuple[Formula, int | None]:
    """The value in place of the function if all parts have one; a part without one raises as before."""
    if None in parts:
        return run, None
    try:
        return _compiled_constant(run({}))
    except FormulaValueError:
        return run, None


def _compiled_chain(first: Node, rest: tuple[tuple[Sign, Node], ...]) -> tuple[Formula, int | None]:
    beginning, value = _compiled(first)
    signs = [sign for sign, _ in rest]
    built = [_compiled(operand) for _, operand in rest]
    values_known = [value, *(known for _, known in built)]
    if signs == ["*"]:
        return _folded(_compiled_product(beginning, built[0][0]), values_known)
    steps = [(sign, part) for sign, (part, _) in zip(signs, built, strict=True)]

    def run(values: Mapping[str, int]) -> int:
        value = beginning(values)
        for sign, operand in steps:
            value = operate(sign, value, operand(values))
        return value

    return _folded(run, values_known)


def _compiled_product(left: Formula, right: Formula) -> Formula:
    """The most frequent chain, without a loop."""

    def run(values: Mapping[str, int]) -> int:
        value = left(values) * right(values)
        return value if -LIMIT <= value <= LIMIT else within(value)

    return run


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
            return _clipped(value, value, True, {})
        case Name(name):
            low, high = ranges[name]
            return _clipped(low, high, True, {name: _RISES})
        case Negation(operand):
            return _negated(facts_of(operand, ranges))
        case Chain(first, rest):
            facts = facts_of(first, ranges)
            for index, (sign, operand) in enumerate(rest):
                if index == 0 and sign == "*" and operand == first:
                    facts = _square(facts)
                else:
                    facts = _joined_facts(sign, facts, facts_of(operand, ranges))
            return facts
        case Call(function, arguments):
            return _call_facts(function, [facts_of(argument, ranges) for argument in arguments])


def _clipped(low: int, high: int, sure: bool, moves: Moves) -> Facts:
    if low < -LIMIT or high > LIMIT:
        sure = False
        low, high = max(min(low, LIMIT), -LIMIT), max(min(high, LIMIT), -LIMIT)
    return Facts(low, high, sure, {} if low == high else moves)


def _joined_facts(sign: Sign, left: Facts, right: Facts) -> Facts:
    match sign:
        case "+":
            moves = _either(left.moves, right.moves)
            return _clipped(left.low + right.low, left.high + right.high, left.sure and right.sure, moves)
        case "-":
            return _joined_facts("+", left, _negated(right))
        case "*":
            return _product(left, right)
        case "//":
            return _quotient(left, right)
        case "%":
            return _remainder(left, right)


def _call_facts(function: Function, arguments: list[Facts]) -> Facts:
    sure = all(argument.sure for argument in arguments)
    moves = reduce(_either, (argument.moves for argument in arguments))
    match function:
        case "min":
            low, high = (
                min(argument.low for argument in arguments),
                min(argument.high for argument in arguments),
            )
            return _clipped(low, high, sure, moves)
        case "max":
            low, high = (
                max(argument.low for argument in arguments),
                max(argument.high for argument in arguments),
            )
            return _clipped(low, high, sure, moves)
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
    return _clipped(min(corners), max(corners), left.sure and right.sure, moves)


def _square(root: Facts) -> Facts:
    """The product of something and itself: never negative."""
    facts = _product(root, root)
    return _clipped(max(facts.low, 0), facts.high, facts.sure, facts.moves)


def _quotient(left: Facts, right: Facts) -> Facts:
    if right.high < 1:
        return _nowhere()
    least = max(right.low, 1)
    sure = left.sure and right.sure and right.low >= 1
    low = left.low // (least if left.low < 0 else right.high)
    high = left.high // (right.high if left.high < 0 else least)
    return _clipped(low, high, sure, _either(left.moves, _flipped(_scaled(right.moves, left))))


def _remainder(left: Facts, right: Facts) -> Facts:
    if right.high < 1:
        return _nowhere()
    least = max(right.low, 1)
    sure = left.sure and right.sure and right.low >= 1
    if left.low >= 0 and left.high < least:
        return _clipped(left.low, left.high, sure, left.moves)
    quotient = left.low // least
    if right.low == right.high and left.high // least == quotient:
        # Between two multiples of the divisor the remainder goes as the dividend does.
        return _clipped(left.low - quotient * least, left.high - quotient * least, sure, left.moves)
    high = min(right.high - 1, left.high) if left.low >= 0 else right.high - 1
    return _clipped(0, high, sure, _anyhow(left.moves, right.moves))


def _aligned(value: Facts, step: Facts) -> Facts:
    if step.high < 1:
        return _nowhere()
    least = max(step.low, 1)
    sure = value.sure and step.sure and step.low >= 1
    if step.low == step.high:
        return _clipped(-(-value.low // least) * least, -(-value.high // least) * least, sure, value.moves)
    # The least multiple at or above a positive value is at least one step, and less than a step above it.
    low = max(value.low, least) if value.low > 0 else value.low
    high = value.high + step.high - 1 if value.high > 0 else 0
    return _clipped(low, high, sure, _either(value.moves, _anyhow(step.moves)))


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
