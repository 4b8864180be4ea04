"""Programs that take turns in the same memories, and the buffers that keep their addresses in all of them.

A plan of them has a place for each buffer of each program, called `PROGRAM/BUFFER`.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal, SupportsIndex

from memstow.planner.model.model_class import Field, model_class, shared_fields
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Bytes, Document, Id, Pair, Pool, Problem

BETWEEN: Final = "/"
"""Between the id of a program, which has none in it, and that of one of its buffers."""
MOST_PROGRAMS: Final = 10_000


@model_class
class Kept:
    """Buffers of one or more programs that are one: they have one address, and survive between programs."""

    buffers: Annotated[tuple[Pair, ...], Field(min_length=1)] = Field(
        description="Each as the id of its program and its own; at most one of each program."
    )
    life: Literal["always", "used"] = Field(
        default="always",
        description="always: nothing may overwrite it, in whatever order the programs run. used: from where "
        "the first of the buffers begins to where the last ends, with the programs in the order as listed.",
    )

    def __init__(
        self, *, buffers: "Iterable[Sequence[str]]", life: 'Literal["always", "used"]' = "always"
    ) -> None: ...


@model_class
class Program:
    """What runs in its turn: a problem with lifetimes of its own."""

    id: Id = Field(description="Its name, without `/`.")
    problem: Problem

    def __init__(self, *, id: "str", problem: "Problem") -> None: ...  # noqa: A002


@shared_fields
class AnyPrograms(Document):
    """What several programs have in common."""

    __slots__ = ()

    kept: tuple[Kept, ...] = ()
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] | None = Field(
        default=None, description="Instead of the pools of the programs; default: those of all, by id."
    )
    objective: tuple[str, ...] | None = Field(
        default=None, description="As of a problem; default: that of the programs, if they agree."
    )


@model_class
class Programs(AnyPrograms):
    """Programs of which one runs at a time."""

    programs: Annotated[tuple[Program, ...], Field(min_length=1)]

    def __init__(
        self,
        *,
        programs: "Iterable[Program]",
        kept: "Iterable[Kept]" = (),
        pools: "Iterable[Pool] | None" = None,
        objective: "Sequence[str] | None" = None,
        name: "str | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...


@model_class
class ProgramPlan:
    """The plan of one program."""

    id: Id
    plan: Plan

    def __init__(self, *, id: "str", plan: "Plan") -> None: ...  # noqa: A002


@model_class
class Arena:
    """What all programs need of a pool."""

    pool: Id
    bytes: Bytes

    def __init__(self, *, pool: "str", bytes: "int") -> None: ...  # noqa: A002


@model_class
class ProgramPlans(Document):
    """A plan for each program."""

    programs: tuple[ProgramPlan, ...]
    arenas: tuple[Arena, ...] = ()

    def __init__(
        self,
        *,
        programs: "Iterable[ProgramPlan]",
        arenas: "Iterable[Arena]" = (),
        name: "str | None" = None,
        version: "int" = 1,
    ) -> None: ...


def name_in_all(program: str, buffer: str) -> str:
    """What a buffer of a program is called in the plan of all."""
    return f"{program}{BETWEEN}{buffer}"
