"""Generators by name, with plain arguments, so that a message can hold them in place of a problem."""

from collections.abc import Mapping
from typing import Any, Final

from memstow.planner.model.problem import Problem

KINDS: Final = ("planted", "network", "random")


def make(kind: str, arguments: Mapping[str, Any]) -> Problem:
    """The problem of a generator; KeyError when there is none of that name."""
    # Each is imported when it is wanted: `mixed` is the largest and the rarest.
    match kind:
        case "planted":
            from memstow.planner.generate.planted import planted

            return planted(**arguments)
        case "network":
            from memstow.planner.generate.network import network

            return network(**arguments)
        case "random":
            from memstow.planner.generate.random import mixed

            return mixed(**arguments)
    raise KeyError(kind)
