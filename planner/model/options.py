"""How a problem is to be solved: the options every door offers; and the events that a run sends."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, SupportsIndex

from memstow.planner.model import LONGEST_RUN
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.plan import Plan
from memstow.records import record

if TYPE_CHECKING:
    import threading

    from memstow.solvers.known import Known

_SECONDS: Final = 10.0


@model_class
class Options:
    """Limits and choices of one run."""

    time_limit: Annotated[float, Field(strict=True, ge=0, le=LONGEST_RUN)] = Field(
        default=_SECONDS, description="Seconds from the call to the answer."
    )
    solver: str = Field(default="auto", description="`auto`, or the name of a registered solver.")
    gap: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.0, description="Stop when the objective is proven within this fraction."
    )
    deterministic: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Bounded in work instead of time: one answer for one input."
    )
    work_limit: Annotated[int, Field(strict=True, ge=0, le=1 << 62)] | None = Field(
        default=None,
        description="Steps of work a deterministic run may take; default: about the time limit's worth.",
    )
    seed: Annotated[int, Field(strict=True, ge=0, lt=1 << 63)] = 0
    workers: Annotated[int, Field(strict=True, ge=1, le=256)] | None = Field(
        default=None,
        description="Threads; default: the processors there are, at most 8. A deterministic run has one.",
    )
    memory_limit: Annotated[int, Field(strict=True, ge=1 << 20, le=1 << 62)] | None = Field(
        default=None,
        description="Bytes of memory a model-based solver may use; default: half of what the machine or "
        "container has.",
    )
    hint: Plan | None = Field(
        default=None, description="A plan to start from; may be partial or stale: what still holds is used."
    )

    def __init__(
        self,
        *,
        time_limit: "float" = 10.0,
        solver: "str" = "auto",
        gap: "float" = 0.0,
        deterministic: "bool" = False,
        work_limit: "SupportsIndex | None" = None,
        seed: "SupportsIndex" = 0,
        workers: "SupportsIndex | None" = None,
        memory_limit: "SupportsIndex | None" = None,
        hint: "Plan | None" = None,
    ) -> None: ...


def require_followed(options: Options, time_limit: str, deterministic: str, work_limit: str) -> None:
    """Raise InputError for a time limit of a deterministic run, by what the options are called here.

    Its plan must not depend on time. The default limit says nothing.
    """
    if options.deterministic and options.time_limit != _SECONDS:
        message = "time does not limit a deterministic run, so that its plan is always the same: give "
        message += f"{work_limit} instead, or leave {deterministic} out"
        raise InputError.single("unused_option", time_limit, message)


_ENDED_EARLY = " ended early: "
_MISSING = " could do more; it needs "
_CLAIMS = " claims, and nobody has checked, that "
_REFUSED = " has a proof that does not count: "


@record
class Phase:
    """A phase of the run begins; or a note about a solver."""

    name: str
    seconds: float

    @property
    def is_note(self) -> bool:
        """Whether a solver gave up, is not installed, or says what does not count; the name says it."""
        return any(mark in self.name for mark in (_ENDED_EARLY, _MISSING, _CLAIMS, _REFUSED))


def solver_missing(solver: str, needs: str, seconds: float) -> Phase:
    """The event that a solver which is not installed could do more."""
    return Phase(f"{solver}{_MISSING}{needs}", seconds)


def solver_gave_up(solver: str, reason: str, seconds: float) -> Phase:
    """The event that a solver ended its turn early."""
    return Phase(f"{solver}{_ENDED_EARLY}{reason}", seconds)


def solver_claims(solver: str, claim: str, seconds: float) -> Phase:
    """The event that a solver says what counts for nothing."""
    return Phase(f"{solver}{_CLAIMS}{claim}", seconds)


def proof_refused(solver: str, why: str, seconds: float) -> Phase:
    """The event that the proof of a solver was not accepted."""
    return Phase(f"{solver}{_REFUSED}{why}", seconds)


@record
class Incumbent:
    """A better plan was found: the value of the first objective term, and who found it."""

    value: int
    solver: str
    seconds: float


@record
class Bound:
    """A better lower bound on the first objective term was proven."""

    value: int
    solver: str
    seconds: float


Event = Phase | Incumbent | Bound
Listener = Callable[[Event], None]

OnBetter = Callable[[Callable[[], Plan]], None]
"""Called for each better plan, with a function that makes and judges the plan: that takes time."""


@record
class Callbacks:
    """Whom a run tells, and who may stop it."""

    on_event: Listener | None = None
    cancel: "threading.Event | None" = None
    on_better: OnBetter | None = None
    on_proof: "Callable[[bytes], None] | None" = None
    """Gets the proof of a plug-in once the checker has accepted it: about the problem as native JSON."""
    on_known: "Callable[[Known], None] | None" = None
    """Gets what is proven of the orders of a graph, or of reuse costs, for a proof of that."""
