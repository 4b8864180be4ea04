"""Requests, results, events and errors as messages between processes: pipes to children, and Dask."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter

from memstow.api.operations.results import FrontUpdate, Known, PointUpdate, SolveResult, SolveUpdate
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.options import Bound, Event, Incumbent, Phase
from memstow.planner.processes.frames import Message

T = TypeVar("T")


def encode(value: Any) -> Message:
    """A request or a result as a message."""
    return asdict(value)


def decode(kind: type[T], message: Message) -> T:
    """The request or the result that a message holds."""
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _adapters[kind] = TypeAdapter(kind)
    value: T = adapter.validate_python(message)
    return value


_adapters: Final[dict[type, TypeAdapter[Any]]] = {}


def encode_update(update: SolveUpdate) -> Message:
    """An update as a message."""
    if isinstance(update, SolveResult):
        return {"kind": "plan", **encode(update)}
    if isinstance(update, FrontUpdate):
        return {"kind": "front", **encode(update)}
    return {"kind": "event", "event": event_name(update), "data": event_data(update)}


def encode_known(known: Known) -> Message:
    """What is told to a run while it goes on, as a message."""
    return {"kind": "known", **encode(known)}


def decode_known(message: Message) -> Known:
    """What the message tells."""
    return Known(plan=message["plan"], bound=message["bound"])


def decode_update(message: Message) -> SolveUpdate:
    """The update that a message holds."""
    if message["kind"] == "plan":
        return decode(SolveResult, message)
    if message["kind"] == "front":
        return decode(FrontUpdate, message)
    return _EVENTS[message["event"]](**message["data"])


_EVENTS: Final[Mapping[str, Callable[..., Event]]] = {"phase": Phase, "incumbent": Incumbent, "bound": Bound}


def event_name(event: Event) -> str:
    """The name of an event in streams and messages."""
    match event:
        case Phase():
            return "phase"
        case Incumbent():
            return "incumbent"
        case Bound():
            return "bound"


def event_data(event: Event) -> dict[str, int | float | str | None]:
    """The data of an event as JSON."""
    seconds = round(event.seconds, 6)
    if isinstance(event, Phase):
        return {"name": event.name, "seconds": seconds}
    return {"value": event.value, "solver": event.solver, "seconds": seconds}


def point_data(update: PointUpdate) -> dict[str, object]:
    """The data of a point as JSON: a field for each term, as in the front."""
    of_target: dict[str, object] = {} if update.target is None else {"target": update.target}
    return {
        **of_target,
        **update.values,
        "bounds": update.bounds,
        "proven": update.proven,
        "seconds": round(update.seconds, 6),
    }


def encode_issues(error: InputError) -> list[list[str]]:
    """The issues of an input error, for a message."""
    return [[issue.code, issue.path, issue.message] for issue in error.issues]


def decode_issues(issues: Sequence[Sequence[str]]) -> InputError:
    """The input error with these issues."""
    return InputError(Issue(code, path, message) for code, path, message in issues)
