"""How a problem is to be solved: the options every door offers."""

from typing import Annotated, SupportsIndex

from memstow.planner.model.fields import Field
from memstow.planner.model.limits import LONGEST_RUN
from memstow.planner.model.model_class import model_class
from memstow.planner.model.plan import Plan


@model_class
class Options:
    """Limits and choices of one run."""

    time_limit: Annotated[float, Field(strict=True, ge=0, le=LONGEST_RUN)] = Field(
        default=10.0, description="Seconds from the call to the answer."
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
