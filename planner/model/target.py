"""A target: the memories of a device or a board, in the form of its documents."""

from collections.abc import Iterable
from typing import Annotated, SupportsIndex

from memstow.planner.model.fields import Field
from memstow.planner.model.model_class import model_class
from memstow.planner.model.problem import Pool


@model_class
class Target:
    """The memories of a device or a board, the preferred one first."""

    version: Annotated[int, Field(strict=True, ge=1, le=1)] = Field(description="Version of this schema.")
    name: str | None = Field(default=None, max_length=1024)
    source: str | None = Field(
        default=None, max_length=4096, description="Where the facts are from; a note without effect."
    )
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] = Field(
        description="Instead of the pools of the problem."
    )

    def __init__(
        self,
        *,
        pools: "Iterable[Pool]",
        name: "str | None" = None,
        source: "str | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...
