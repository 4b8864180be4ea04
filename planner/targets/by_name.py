"""Targets by name: those that ship with memstow."""

from memstow.planner.model.errors import InputError, closest_match
from memstow.planner.model.problem import Target
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_target
from memstow.planner.reading.printable import shown
from memstow.planner.reading.source import read_bytes
from memstow.planner.targets.target import path_of, shipped


def shipped_target(name: str, place: str = "$") -> Target:
    """The shipped target of that name; InputError with this place if there is none."""
    return parse_target(parse_json(shipped_text(name, place)))


def shipped_text(name: str, place: str = "$") -> bytes:
    """The text of its file."""
    path = path_of(name)
    if path is None:
        close = closest_match(name, shipped())
        meant = f"did you mean {close}? " if close is not None else ""
        message = f"no target {shown(name)} comes with memstow; {meant}there are {', '.join(shipped())}"
        raise InputError.single("unknown_target", place, message)
    return read_bytes(path)
