"""The answer as it travels: where every buffer is, what that costs, and how good it is known to be.

It begins with why no order of a graph's operators needs fewer bytes: cuts, and searches that ran dry.
There a storage is named by its tensor; where views lie over each other, by the tensor around them and the
first of the bytes over which the same tensors lie. docs/order.md says what each proof means and what is
checked.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, Protocol, SupportsIndex

from memstow.planner.model import PLANNED as PLANNED
from memstow.planner.model import Status as Status
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.problem import Bytes, Count, Digest, Id, Problem, Time

StorageName = Id | tuple[Id, Bytes]


@model_class
class Chain:
    """Storages of which one is live, whatever has run: they add this many bytes."""

    bytes: Annotated[int, Field(strict=True, ge=1)]
    storages: tuple[StorageName, ...] = ()
    saving: Count | None = Field(
        default=None, description="The number of a pair in place: before the storages, or it does not save."
    )


@model_class
class Way:
    """One way to save in place: the pairs granted, and chains."""

    pairs: tuple[tuple[Id, Id], ...] = ()
    chains: tuple[Chain, ...] = ()


@model_class
class Cut:
    """The operator needs this many bytes whatever has run before it."""

    kind: Literal["cut"] = "cut"
    operator: Id | None = Field(description="null: before the first operator, or after the last one.")
    ways: tuple[Way, ...] = ()


@model_class
class DeadSet:
    """Operators after which every order needs more than the height."""

    changes: tuple[Id, ...] = Field(description="Operators in this set or in the one before it, not in both.")
    commit: tuple[Id, ...] = Field(
        default=(), description="With these it is dead as well, and no set in between has fewer live bytes."
    )
    chains: tuple[Chain, ...] = Field(default=(), description="Why none has.")


@model_class
class RefutedOrders:
    """Every order needs more than the height: the first set is dead."""

    kind: Literal["refuted"] = "refuted"
    height: Bytes
    backwards: bool = Field(default=False, description="Whether the sets grow from the last operator on.")
    late: tuple[Id, ...] = Field(default=(), description="Operators that wait until they are needed.")
    sets: tuple[DeadSet, ...]


_Position = Annotated[int, Field(strict=True, ge=0, le=1 << 31)]
_Value = Annotated[int, Field(strict=True, ge=0)]
"""Of a term: peaks of several pools may be more together than offsets may be."""


@model_class
class Placement:
    """Where one buffer is."""

    buffer: Id
    pool: Id
    offset: Bytes

    def __init__(self, *, buffer: "str", pool: "str", offset: "SupportsIndex") -> None: ...


def make_placement(buffer: str, pool: str, offset: int) -> Placement:
    """A placement of valid values, made without checks: these take most of the time of a large plan."""
    place = object.__new__(Placement)
    _set_buffer(place, buffer)
    _set_pool(place, pool)
    _set_offset(place, offset)
    return place


_set_buffer, _set_pool, _set_offset = (
    Placement.__dict__[name].__set__ for name in ("buffer", "pool", "offset")
)


@model_class
class Live:
    """The most bytes live at one moment, each byte counted once, and when."""

    bytes: Annotated[int, Field(strict=True, ge=0)]
    time: Time | None = Field(
        default=None,
        description="The first moment with this many; null: nothing in this pool has a lifetime.",
    )


@model_class
class LiveBytes:
    """These buffers conflict pairwise: sizes, alignments and what is reserved give the bound."""

    kind: Literal["live_bytes"] = "live_bytes"
    pool: Id | None = Field(
        description="The pool that all of them must be in; null: those they may go to, together."
    )
    time: Time | None = Field(description="A moment at which all of them live; null: explicit conflicts.")
    buffers: tuple[Id, ...]


@model_class
class PoolUse:
    """One pool in the plan."""

    pool: Id
    capacity: Bytes | None
    peak: Bytes = Field(description="Largest end offset of a buffer in this pool.")
    bound: Annotated[int, Field(strict=True, ge=0)] = Field(description="No plan has a lower peak here.")
    live: Live = Field(description="Most bytes live at once of the buffers placed in this pool.")
    certificate: LiveBytes | None = Field(
        default=None,
        description="Why the bound holds, where the first term of the objective does not say it.",
    )


@model_class
class Sum:
    """Each of these bounds a pool of its own: they add up."""

    kind: Literal["sum"] = "sum"
    parts: tuple[LiveBytes, ...]


@model_class
class Least:
    """The term takes the least value it can have for each buffer or pair alone."""

    kind: Literal["least"] = "least"


@model_class
class Crowd:
    """Buffers that each touch a bank wherever they are, more of them than there are such banks."""

    buffers: tuple[Id, ...]
    cost: Count = Field(description="Each two of them pay at least this where they share a bank.")


@model_class
class Crowds:
    """Some of each crowd share a bank, and pay: two in all crowds together no more than their cost."""

    kind: Literal["crowds"] = "crowds"
    crowds: tuple[Crowd, ...]


@model_class
class Refuted:
    """A value of the term that no plan reaches: a search for it ran dry."""

    height: _Value
    nodes: Count


@model_class
class Exhausted:
    """A complete search that ran dry."""

    kind: Literal["exhausted"] = "exhausted"
    solver: str
    refuted: tuple[Refuted, ...]


@model_class
class Model:
    """A proof by the solver of a mathematical model."""

    kind: Literal["model"] = "model"
    solver: str


_SOLVER_OF_ADDRESSES: Final = "reuse"


def rests_on_addresses(certificate: "Certificate | None") -> bool:
    """Whether it is that of a reuse cost which follows from what each address holds."""
    return isinstance(certificate, Model) and certificate.solver == _SOLVER_OF_ADDRESSES


@model_class
class ExhaustedWindow:
    """These buffers, their lives clipped to a window of time, have no layout below the bound.

    Those that live through all of the window can be at the bottom, where their sizes add up; for the others a
    complete search ran dry.
    """

    kind: Literal["window"] = "window"
    solver: str = Field(description="Whose search that was.")
    pool: Id = Field(description="The pool that all of them must be in.")
    begin: Time = Field(description="The first moment of the window.")
    end: Time = Field(description="The end of the window: the first moment after it.")
    buffers: tuple[Id, ...]


Certificate = Annotated[
    LiveBytes | Sum | Least | Crowds | Exhausted | Model | ExhaustedWindow | Cut | RefutedOrders,
    Field(discriminator="kind"),
]


@model_class
class TermValue:
    """One term of the objective: its value in this plan and what is proven about it."""

    term: str
    value: _Value
    bound: _Value = Field(
        description="No plan has less, given that the terms before have the values they have here."
    )
    gap: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(description="(value - bound) / value.")
    certificate: Certificate | None = Field(default=None, description="Why the bound holds.")


@model_class
class Explanation:
    """Why nothing fits, in the user's own names."""

    code: str
    message: str
    pool: Id | None = None
    time: Time | None = None
    needed: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        default=None, description="The capacity that it would take at the least, what is reserved counted in."
    )
    capacity: Bytes | None = None
    reserved: Bytes | None = None
    buffers: tuple[Id, ...] = ()
    certificate: Annotated[Cut | RefutedOrders, Field(discriminator="kind")] | None = Field(
        default=None, description="Of `no_order`: why each order of the graph needs that much."
    )


@model_class
class Overflow:
    """How far the closest attempt was from fitting."""

    pool: Id
    peak: Annotated[int, Field(strict=True, ge=0)]
    capacity: Bytes


@model_class
class Stripe:
    """Operators that run together, in strips of columns and in each row by row."""

    begin: _Position = Field(description="The place in `order` of the first of them.")
    end: _Position = Field(description="The place after the last.")
    columns: Annotated[int, Field(strict=True, ge=1)] = Field(
        description="Columns of a strip, in what the last of them makes; or in what it reads, where it makes "
        "one element of all columns."
    )


@model_class
class Spill:
    """A tensor that waits in another pool between two of its readers."""

    tensor: Id
    pool: Id = Field(description="Where it waits.")
    out: _Position = Field(description="The place in `order` of the operator after which it is copied out.")
    back: _Position = Field(description="The place of the operator before which it is copied back.")


@model_class
class Schedule:
    """How the operators of a graph run."""

    order: tuple[Id, ...] = Field(
        description="The ids of the operators. One that is there again runs again; who reads what it makes "
        "reads what was made last."
    )
    alternatives: tuple[Id, ...] = Field(
        default=(), description="The ids of the alternatives that were chosen."
    )
    stripes: tuple[Stripe, ...] = Field(default=(), description="Ascending; none overlap.")
    spills: tuple[Spill, ...] = ()


@model_class
class Arena:
    """What TensorFlow Lite Micro needs of its arena for a model, in bytes."""

    head: Bytes | None = Field(
        default=None,
        description="For tensors and the scratch memory of kernels, as far as that is known; null: there are "
        "too many tensors to follow the rule of the runtime.",
    )
    planning: Bytes | None = Field(
        default=None,
        description="In the place of the head while the model is loaded, for the tables with which the "
        "runtime plans; null: no more than the head.",
    )
    tail: Bytes | None = Field(
        default=None, description="What stays, and depends on the kernels; null: it was not measured."
    )
    least: Bytes | None = Field(
        default=None, description="The arena that is enough: the tail, and the greater of the other two."
    )


@model_class
class Arenas:
    """What a plan changes of the arena of TensorFlow Lite Micro: predicted, and not looked at by `verify`."""

    before: Arena | None = Field(
        default=None, description="The model as it is; null: the runtime cannot run it."
    )
    after: Arena | None = Field(
        default=None, description="With the plan; null: the model cannot carry it, or there is none."
    )
    notes: tuple[str, ...] = Field(default=(), description="Why the arena shrinks, or does not, in words.")


@model_class
class Plan:
    """The answer to one problem."""

    status: Status
    placements: tuple[Placement, ...] = ()
    pools: tuple[PoolUse, ...] = ()
    objective: tuple[TermValue, ...] = ()
    explanation: Explanation | None = None
    closest: tuple[Overflow, ...] = Field(
        default=(), description="Of the closest attempt: the pools that were too small."
    )
    solver: str | None = Field(default=None, description="Who found the plan.")
    prover: str | None = Field(default=None, description="Who proved the last bound that was proven.")
    seconds: Annotated[float, Field(strict=True, ge=0)] = 0.0
    work: Count = Field(default=0, description="Steps of work, the same on every machine.")
    digest: str | None = Field(default=None, description="SHA-256 of the canonical problem.")
    schedule: Schedule | None = Field(
        default=None, description="Of a graph: the order of its operators that the plan is for."
    )
    version: str | None = Field(default=None, description="Version of memstow.")
    arena: Arenas | None = Field(
        default=None,
        description="Of a TensorFlow Lite model: what its runtime needs, without and with the plan.",
    )
    proof_sha256: Digest | None = Field(
        default=None, description="SHA-256 of the file of the proof that was written of it."
    )

    def __init__(
        self,
        *,
        status: "Status",
        placements: "Iterable[Placement]" = (),
        pools: "Iterable[PoolUse]" = (),
        objective: "Iterable[TermValue]" = (),
        explanation: "Explanation | None" = None,
        closest: "Iterable[Overflow]" = (),
        solver: "str | None" = None,
        prover: "str | None" = None,
        seconds: "float" = 0.0,
        work: "SupportsIndex" = 0,
        digest: "str | None" = None,
        schedule: "Schedule | None" = None,
        version: "str | None" = None,
        arena: "Arenas | None" = None,
        proof_sha256: "str | None" = None,
    ) -> None: ...


REPEATED: Final = "repeated_placement"


class _Placed(Protocol):
    @property
    def buffer(self) -> str: ...


def repeated_placements(placements: Iterable[_Placed]) -> Iterator[tuple[int, str]]:
    """Placements of a buffer that has one already: the index in the list, and a message."""
    first: dict[str, int] = {}
    for index, place in enumerate(placements):
        before = first.setdefault(place.buffer, index)
        if before != index:
            name = repr(place.buffer)
            yield index, f"{name} has a place already, in placements[{before}]; give each buffer one place"


def is_bare(plan: Plan) -> bool:
    """Whether the plan has placements and nothing else, as in formats without values: it claims nothing."""
    if plan.pools or plan.objective:
        return False  # Most plans: making another one to compare takes longer.
    return plan == Plan(status=Status.FEASIBLE, placements=plan.placements, schedule=plan.schedule)


def gap_of(value: int, bound: int) -> float:
    """The largest possible distance from the optimum, as a fraction of the value."""
    return (value - bound) / value if value > bound else 0.0


def peaks(problem: Problem, placements: Iterable[Placement]) -> dict[str, int]:
    """The largest end offset in each pool that is used."""
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    highest: dict[str, int] = {}
    for place in placements:
        if size := size_of[place.buffer]:
            highest[place.pool] = max(highest.get(place.pool, 0), place.offset + size)
    return highest
