"""What control flow needs: the tensors of the subgraphs that an operator calls, by the phase of the operator.

Phases are those of TensorFlow Lite Micro: one for the operator itself, one where each subgraph begins, one
for each of its operators.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.flatbuffer import Table
from memstow.planner.formats.tflite.model import ModelOperator, Subgraph
from memstow.planner.model.errors import InputError

# The fields of the options that name subgraphs.
_CALLS: Final = {"IF": (0, 1), "WHILE": (0, 1), "CALL_ONCE": (0,)}
_DEEPEST: Final = 64


@dataclass(frozen=True, slots=True)
class CalledTensor:
    """A tensor of a subgraph that an operator calls."""

    subgraph: int
    tensor: int
    phases: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CalledOperator:
    """An operator of a subgraph that an operator calls."""

    subgraph: int
    operator: int
    phases: tuple[int, int]


class Calls:
    """Follows the calls of the operators of a model; each subgraph has one caller."""

    def __init__(self, subgraphs: Sequence[Subgraph]) -> None:
        self._subgraphs = subgraphs
        self._called: set[int] = {0}
        self._operators: list[CalledOperator] = []

    def of(self, operator: ModelOperator, path: str) -> list[CalledTensor]:
        """The tensors of all subgraphs that the operator calls."""
        found: list[CalledTensor] = []
        self._follow(operator, path, 0, found, 0)
        return found

    def operators(self) -> list[CalledOperator]:
        """The operators of the subgraphs that were called since this was asked last."""
        found, self._operators = self._operators, []
        return found

    def _follow(
        self, operator: ModelOperator, path: str, clock: int, found: list[CalledTensor], depth: int
    ) -> int:
        """The last phase of the operator, whose first is the clock."""
        if operator.name == "CALL":
            raise InputError.single("not_supported", path, "the operator CALL is not supported")
        if depth > _DEEPEST:
            raise InputError.single("too_deep", path, f"subgraphs call each other more than {_DEEPEST} deep")
        for index in _called(operator, operator.options):
            if not 0 <= index < len(self._subgraphs):
                message = f"it calls subgraph {index:,} of {len(self._subgraphs):,}"
                raise InputError.single("damaged", path, message)
            if index in self._called:
                message = (
                    f"subgraph {index} is called from several places, or calls itself; that is not supported"
                )
                raise InputError.single("not_supported", path, message)
            self._called.add(index)
            clock = self._run(index, clock + 1, found, depth)
        return clock

    def _run(self, index: int, clock: int, found: list[CalledTensor], depth: int) -> int:
        """The last phase of a subgraph that begins at this phase."""
        subgraph = self._subgraphs[index]
        first = dict.fromkeys(subgraph.inputs, clock)
        last = dict.fromkeys(subgraph.inputs, clock)
        for at, operator in enumerate(subgraph.operators):
            clock += 1
            for tensor in operator.outputs:
                first.setdefault(tensor, clock)
            path = f"$.subgraphs[{index}].operators[{at}]"
            begin = clock
            clock = self._follow(operator, path, clock, found, depth + 1)
            self._operators.append(CalledOperator(index, at, (begin, clock + 1)))
            last.update(dict.fromkeys((*operator.inputs, *operator.outputs), clock))
        last.update(dict.fromkeys(subgraph.outputs, clock))
        found += [
            CalledTensor(index, tensor, (first.get(tensor, 0), until + 1))
            for tensor, until in sorted(last.items())
        ]
        return clock


def _called(operator: ModelOperator, options: Table | None) -> list[int]:
    """The subgraphs that an operator names."""
    fields = _CALLS.get(operator.name, ())
    return [0 if options is None else options.number(field, "<i") for field in fields]
