"""Formulas at random as text, and what Python itself makes of them."""

import re
from random import Random

LIMIT = 1 << 62
NAMES = ("s", "b", "k_1")


class NoValueError(Exception):
    """The formula has no value there."""


def random_text(random: Random, depth: int) -> str:
    """A formula that may be large, negative or without a value; blanks and parentheses vary."""
    kind = random.random()
    if depth == 0 or kind < 0.25:
        number = random.choice([random.randint(0, 9), random.randint(0, 300), random.choice([0, 1, 1 << 31])])
        return random.choice([*NAMES, str(number), str(number)])
    if kind < 0.33:
        return f"-{random.choice([f'({random_text(random, depth - 1)})', *NAMES])}"
    if kind < 0.8:
        blank = random.choice(["", " "])
        sign = random.choice(["+", "-", "*", "*", "//", "%"])
        text = f"{random_text(random, depth - 1)}{blank}{sign}{blank}{random_text(random, depth - 1)}"
        return f"({text})" if random.random() < 0.5 else text
    name = random.choice(["ceil_div", "align", "min", "max"])
    count = 2 if name in ("ceil_div", "align") else random.randint(1, 3)
    return f"{name}({', '.join(random_text(random, depth - 1) for _ in range(count))})"


class Exact:
    """A whole number whose operations are Python's, checked at each step."""

    def __init__(self, value: int) -> None:
        if not -LIMIT <= value <= LIMIT:
            raise NoValueError
        self.value = value

    def __neg__(self) -> "Exact":
        return Exact(-self.value)

    def __add__(self, other: "Exact") -> "Exact":
        return Exact(self.value + other.value)

    def __sub__(self, other: "Exact") -> "Exact":
        return Exact(self.value - other.value)

    def __mul__(self, other: "Exact") -> "Exact":
        return Exact(self.value * other.value)

    def __floordiv__(self, other: "Exact") -> "Exact":
        return Exact(self.value // _positive(other))

    def __mod__(self, other: "Exact") -> "Exact":
        return Exact(self.value % _positive(other))

    def __lt__(self, other: "Exact") -> bool:
        return self.value < other.value


def _positive(divisor: Exact) -> int:
    if divisor.value <= 0:
        raise NoValueError
    return divisor.value


def _ceil_div(left: Exact, right: Exact) -> Exact:
    quotient, rest = divmod(left.value, _positive(right))
    return Exact(quotient + (rest > 0))


def _align(left: Exact, right: Exact) -> Exact:
    value = left.value
    # A step at a time would take long: begin close below.
    value -= value % _positive(right)
    while value < left.value:
        value += right.value
    return Exact(value)


_FUNCTIONS = {
    "ceil_div": _ceil_div,
    "align": _align,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
}


def by_python(text: str, values: dict[str, int]) -> int:
    """The value by Python's own parser; NoValueError where there is none."""
    marked = re.sub(r"\b([0-9]+)\b", r"Exact(\1)", text)
    names = {name: Exact(value) for name, value in values.items()}
    result: Exact = eval(marked, {"Exact": Exact, **_FUNCTIONS}, names)
    return result.value
