"""Formulas as C: every operation is checked, and needs no more variables than the formula is deep."""

from collections.abc import Mapping
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import LIMIT
from memstow.planner.shapes.formula import Call, Chain, Name, Negation, Node, Number

_OPERATIONS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "//": "divide",
    "%": "remain",
    "ceil_div": "divide_up",
    "align": "align",
}


def function_body(node: Node, fields: Mapping[str, str]) -> str:
    """The statements that put the value into `*to`, or return that there is none.

    `fields` has, by symbol, the member of `*at` with its value. Names begin with `@n`, for a prefix.
    """
    writer = _Writer(fields)
    value = writer.value(node, 0)
    variables = ", ".join(f"v{number}" for number in range(writer.variables))
    declared = f"  int64_t {variables};\n" if variables else ""
    return f"{declared}{''.join(writer.lines)}  *to = {value};\n  return 0;\n"


class _Writer:
    """The statements so far. What is computed is kept in v0, v1, ..., as on a stack."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields
        self.lines: list[str] = []
        self.variables = 0

    def value(self, node: Node, free: int) -> str:
        """Write what computes the value, and return what it is in C; `free` is the first free variable."""
        match node:
            case Number(value):
                return constant(value)
            case Name(name):
                return f"at->{self._fields[name]}"
            case Negation(operand):
                text = self.value(operand, free)
                return self._assigned(free, f"-{text}")
            case Chain(first, rest):
                text = self.value(first, free)
                for sign, operand in rest:
                    text = self._operation(_OPERATIONS[sign], text, operand, free)
                return text
            case Call("min" | "max" as function, (first, *others)):
                text = self._assigned(free, self.value(first, free))
                for other in others:
                    of = self.value(other, free + 1)
                    compared = "<" if function == "min" else ">"
                    text = self._assigned(free, f"{of} {compared} {text} ? {of} : {text}")
                return text
            case Call(function, (one, other)):
                return self._operation(_OPERATIONS[function], self.value(one, free), other, free)
        raise AssertionError(f"{node} is no node of a formula")

    def _operation(self, name: str, left: str, right: Node, free: int) -> str:
        operand = self.value(right, free + 1)
        into = self._variable(free)
        self.lines.append(f"  if (@n_{name}({left}, {operand}, &{into}) != 0) return 1;\n")
        return into

    def _assigned(self, number: int, text: str) -> str:
        into = self._variable(number)
        if text != into:
            self.lines.append(f"  {into} = {text};\n")
        return into

    def _variable(self, number: int) -> str:
        self.variables = max(self.variables, number + 1)
        return f"v{number}"


def constant(value: int) -> str:
    """A whole number as C; an InputError where it is too large to be a value of a formula."""
    if abs(value) > LIMIT:
        message = "a number in a formula is above 2^62, so the formula never has a value"
        raise InputError.single("bad_size", "buffers", message)
    return f"INT64_C({value})"
