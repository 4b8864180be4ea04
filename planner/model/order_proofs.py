"""Why no order of a graph's operators needs fewer bytes, as it travels: cuts, and searches that ran dry.

A storage is named by its tensor; where views lie over each other, by the tensor around them and the first of
the bytes over which the same tensors lie. docs/order.md says what each proof means and what is checked.
"""

from typing import Annotated, Literal

from memstow.planner.model.fields import Field
from memstow.planner.model.model_class import model_class
from memstow.planner.model.problem import Bytes, Count, Id

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
