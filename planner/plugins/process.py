"""The processes of plug-ins as this one sees them: a request in; out come bytes, or whose fault it is."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from memstow.planner.model.errors import InputError, Issue, PlugInError
from memstow.planner.model.printable import printable
from memstow.planner.plugins.installed import Kind, PlugIn, installed
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import OUT_OF_TIME, Process, Terms, child_command, converse
from memstow.solvers.registry import AUTO, Description, names

_HOST: Final = "memstow.planner.plugins.host"
_SECONDS: Final = 60.0
"""Of one reading or writing."""
_LISTING_SECONDS: Final = 10.0
_MEMORY: Final = 1 << 30
_MEMORY_PER_BYTE: Final = 20
_LONGEST: Final = 2000


def start(plug_in: PlugIn) -> Process:
    """Start the process of a plug-in, which waits for its request."""
    return Process(child_command(_HOST, plug_in.kind, plug_in.place))


def failed(plug_in: PlugIn, why: str) -> PlugInError:
    """The error about a plug-in that does not do what it should."""
    said = "\n".join(printable(line, _LONGEST) for line in why.rstrip().split("\n"))
    return PlugInError(f"the {plug_in.kind} {plug_in.name!r} of {plug_in.origin} failed: {said}")


def ask(
    process: Process, request: Message, terms: Terms, on_message: Callable[[Message], None]
) -> tuple[Message, str | None]:
    """The last message of this process, and why it came to an end without one, or said that it failed."""
    messages: list[Message] = [{}]

    def receive(message: Message) -> None:
        if message["kind"] == "done":
            messages.append(message)
        else:
            on_message(message)

    ended = converse(process, request, terms, receive)
    answer = messages[-1]
    if "issues" in answer:
        raise InputError(
            Issue(*(printable(str(part), _LONGEST) for part in issue)) for issue in answer["issues"]
        )
    return answer, ended if ended is not None else answer.get("failure")


def _answer(plug_in: PlugIn, request: Message, seconds: float) -> Message:
    """The answer to a request that is short; PlugInError where there is none."""
    memory = _MEMORY + _MEMORY_PER_BYTE * sum(
        len(value) for value in request.values() if isinstance(value, bytes)
    )
    terms = Terms(time.monotonic() + seconds, memory, lambda: False)
    request = {"kind": "call", "memory": memory, "seconds": seconds, **request}
    answer, ended = ask(start(plug_in), request, terms, lambda _message: None)
    if ended == OUT_OF_TIME:
        raise failed(plug_in, f"it did not end within {seconds:g} s")
    if ended is not None:
        raise failed(plug_in, ended)
    return answer


def described(plug_in: PlugIn) -> Message:
    """What it says of itself: `summary`, and `supports` of a solver or the `methods` of a format."""
    return _answer(plug_in, {"call": "describe"}, _LISTING_SECONDS)


class Listed(NamedTuple):
    """A plug-in in a list."""

    plug_in: PlugIn
    said: Message
    """What it says of itself; nothing where it cannot be used."""
    missing: str | None
    """Why it cannot be used; None if it can."""


def listed(kind: Kind, taken: Iterable[str], only: Collection[str] | None = None) -> Iterator[Listed]:
    """The plug-ins of a kind, or those with such names: each tells of itself in its own process.

    `taken`: names of ours, which no plug-in can have.
    """
    ours, plug_ins = frozenset(taken), installed(kind)
    for plug_in in plug_ins:
        if only is not None and plug_in.name not in only:
            continue
        said: Message = {}
        missing = None
        if plug_in.name in ours:
            missing = "another name, since memstow has this one"
        elif sum(other.name == plug_in.name for other in plug_ins) > 1:
            missing = "a name of its own: two packages have this one"
        else:
            try:
                said = described(plug_in)
            except PlugInError as error:
                missing = str(error)
        yield Listed(plug_in, said, missing)


def listed_solvers(only: Collection[str] | None = None) -> list[Description]:
    """The solvers of other packages, as memstow's are described."""
    return [
        Description(
            one.plug_in.name,
            printable(str(one.said.get("summary", "")), _LONGEST),
            printable(str(one.said.get("supports", "")), _LONGEST),
            one.missing,
            one.plug_in.origin,
        )
        for one in listed("solver", (AUTO, *names()), only)
    ]


def converted(plug_in: PlugIn, call: str, **documents: bytes) -> bytes | None:
    """What a method of a format makes of the documents; None if it has no such method.

    InputError where it says that they are wrong, PlugInError where it fails.
    """
    answer = _answer(plug_in, {"call": call, **documents}, _SECONDS)
    if "lacks" in answer:
        return None
    data = answer.get("data")
    if not isinstance(data, bytes):
        raise failed(plug_in, f"{call} gave no bytes")
    return data
