"""When tensors are live, with branches laid out in time, and which tensors share a place.

Each branch has a stretch of time of its own within its node. What it returns lies in its own memory, and is
live as long as the results of the node are read. Where possible, a result and what the branches return for it
get one place: ExecuTorch reads a view of a result at the place of the result.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from memstow.api.plugins.executorch.frames import Call, Frame
from memstow.api.plugins.executorch.interface import Spec
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Interval


@dataclass(slots=True)
class Timeline:
    """The tensors of all frames."""

    memory_of: Callable[[Spec], int | None]
    """The memory that a tensor must be in."""
    lives: dict[Spec, list[Interval]] = field(default_factory=dict)
    names: dict[Spec, str] = field(default_factory=dict)
    _shared: dict[Spec, Spec] = field(default_factory=dict)
    _moved: dict[Spec, list[Spec]] = field(default_factory=dict)

    def place_of(self, spec: Spec) -> Spec:
        """The tensor that stands for all that share its place."""
        while spec in self._shared:
            spec = self._shared[spec]
        return spec

    def add(self, frame: Frame, begin: int, path: str = "") -> int:
        """Lay out the frame from this moment on; returns the end."""
        times = _times(frame, begin)
        for spec in frame.specs:
            if spec in self.lives:
                raise InputError.single("called_twice", path, "two nodes call one graph of control flow")
            first, last = spec.lifetime
            self.lives[spec] = [(times[first], times[last + 1])]
            self.names[spec] = path + frame.names.get(spec, "tensor")
        for number, call in enumerate(frame.calls):
            moment = times[call.index]
            for branch, inner in enumerate(call.branches):
                moment = self.add(inner, moment, f"{path}{number}.{branch}/")
            if call.is_moved:
                self._move(call, frame, times)
        return times[-1]

    def _move(self, call: Call, frame: Frame, times: list[int]) -> None:
        """Hold what the branches return as long as the results are read."""
        after = times[call.index + 1] - 1
        ends = [times[result.lifetime[1] + 1] for result in call.results]
        sharing = self._can_share(call, frame)
        for number, (result, end) in enumerate(zip(call.results, ends, strict=True)):
            if sharing:
                # Before a branch has run there is nothing at the place of the result.
                self.lives[result] = [(after, end)]
            for branch in call.branches:
                returned = branch.outputs[number]
                if returned in self.lives:
                    self._hold(returned, (after, end))
                else:
                    # An input of the branch, or a constant: one of the operands, whichever it is.
                    for operand in call.operands:
                        self._hold(operand, (after, end))
                if sharing:
                    self._shared[returned] = result
                else:
                    self._moved.setdefault(result, []).append(returned)

    def _hold(self, spec: Spec, life: Interval) -> None:
        """Whatever the tensor turns out to be keeps its bytes during that time."""
        if spec in self.lives:
            self.lives[spec].append(life)
        for other in self._moved.get(spec, ()):
            self._hold(other, life)

    def _can_share(self, call: Call, frame: Frame) -> bool:
        """Whether each result is one tensor of each branch, and no tensor is two results."""
        mine = set(frame.specs)
        groups = [(call.results, mine), *((it.outputs, set(it.specs)) for it in call.branches)]
        return all(
            len(set(outputs)) == len(outputs) == len(call.results)
            and all(it in specs and it.storage_base is None for it in outputs)
            for outputs, specs in groups
        ) and all(
            len(
                {self.memory_of(it) for it in (result, *(branch.outputs[number] for branch in call.branches))}
            )
            == 1
            for number, result in enumerate(call.results)
        )


def _times(frame: Frame, begin: int) -> list[int]:
    """When each node begins, and when the last ends. A node is as long as its branches and one moment."""
    lengths = [1] * frame.length
    for call in frame.calls:
        lengths[call.index] += sum(_length(branch) for branch in call.branches)
    return list(accumulate(lengths, initial=begin))


def _length(frame: Frame) -> int:
    return frame.length + sum(_length(branch) for call in frame.calls for branch in call.branches)
