"""What comes of an operation. Between processes and in the store it is an object with the same names."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from memstow.planner.model.events import Bound, Event, Incumbent, Phase
from memstow.planner.processes.frames import Message


class Result(Protocol):
    """What an operation returns."""

    def as_message(self) -> Message:
        """The same as another process is told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A plan as its bytes, and what the job table says of it."""

    plan: bytes
    status: str
    value: int | None
    bound: int | None
    peak: int | None
    solver: str | None

    def as_message(self) -> Message:
        return {"plan": self.plan, **self.figures()}

    def figures(self) -> Message:
        """What is said of the plan, without it."""
        return {
            "status": self.status,
            "value": self.value,
            "bound": self.bound,
            "peak": self.peak,
            "solver": self.solver,
        }


def solved_of(message: Message) -> Solved:
    """The plan that a message, or the store, tells of."""
    names = ("plan", "status", "value", "bound", "peak", "solver")
    return Solved(**{name: message[name] for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A request to solve that was read and found sound, as the store keeps it."""

    problem: bytes
    options: str
    hint: bytes | None
    digest: str
    cache_key: str
    buffers: int
    name: str | None
    term: str | None
    priority: int = 0
    hint_job: object = None
    setting: str | None = None
    plan: bytes | None = None  # the best that a moment's attempt has found

    def as_message(self) -> Message:
        return asdict(self)


def accepted_of(message: Message) -> Accepted:
    """The request that a message tells of."""
    return Accepted(**message)


@dataclass(frozen=True, slots=True)
class AcceptedBatch:
    """A batch that was read and found sound."""

    name: str | None
    priority: int | None
    jobs: tuple[Accepted, ...]

    def as_message(self) -> Message:
        jobs = [job.as_message() for job in self.jobs]
        return {"name": self.name, "priority": self.priority, "jobs": jobs}


def batch_of(message: Message) -> AcceptedBatch:
    """The batch that a message tells of."""
    return AcceptedBatch(message["name"], message["priority"], tuple(map(accepted_of, message["jobs"])))


@dataclass(frozen=True, slots=True)
class Document:
    """A text to send, and the format that it is in."""

    body: bytes
    format: str

    def as_message(self) -> Message:
        return {"body": self.body, "type": self.format}


def document_of(message: Message) -> Document:
    """The text that a message brings."""
    return Document(message["body"], message["type"])


def event_message(event: Event) -> Message:
    """An event as it travels: its name and its data."""
    seconds = round(event.seconds, 6)
    match event:
        case Phase():
            return {"event": "phase", "data": {"name": event.name, "seconds": seconds}}
        case Incumbent() | Bound():
            name = "incumbent" if isinstance(event, Incumbent) else "bound"
            return {"event": name, "data": {"value": event.value, "solver": event.solver, "seconds": seconds}}


def event_of(message: Message) -> Event:
    """The event that a message tells of."""
    data: dict[str, Any] = message["data"]
    if message["event"] == "phase":
        return Phase(**data)
    return Incumbent(**data) if message["event"] == "incumbent" else Bound(**data)
