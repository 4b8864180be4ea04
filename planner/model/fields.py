"""What a field may hold, said once: our own check of plain values reads it, and pydantic when it is needed.

`Field` takes what pydantic's `Field` takes and imports nothing. Pydantic takes longer to load than most
problems take to solve, so it is loaded only where a value needs it (docs/architecture.md).
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, Final

_REQUIRED: Final[Any] = object()
WITHOUT_NUL: Final = r"^[^\x00]*$"
"""The pattern of text that neither ends early in C nor is refused by a database."""


class FieldSpec:
    """The default, the description and the limits of a field; inside `Annotated`, the limits of a type."""

    __slots__ = ("default", "default_factory", "description", "limits")

    # By this and `__iter__` pydantic finds limits in `Annotated`, as the package annotated-types describes.
    __is_annotated_types_grouped_metadata__ = True

    def __init__(
        self,
        default: Any,
        default_factory: Callable[[], Any] | None,
        limits: dict[str, Any],
        description: str | None = None,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.limits = {name: limit for name, limit in limits.items() if limit is not None}
        self.description = description

    def __iter__(self) -> Iterator[object]:
        from pydantic import Field as PydanticField

        yield PydanticField(**self.limits)

    def for_dataclass(self) -> Any:
        """The same as a field of a dataclass; pydantic reads limits and description from its metadata."""
        metadata = dict(self.limits)
        if self.description is not None:
            metadata["description"] = self.description
        if self.default_factory is not None:
            return dataclasses.field(default_factory=self.default_factory, metadata=metadata)
        if self.default is _REQUIRED:
            return dataclasses.field(metadata=metadata)
        return dataclasses.field(default=self.default, metadata=metadata)


def Field(  # noqa: N802 - named as pydantic's, because it means the same
    *,
    default: Any = _REQUIRED,
    default_factory: Callable[[], Any] | None = None,
    description: str | None = None,
    discriminator: str | None = None,
    strict: bool | None = None,
    ge: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    allow_inf_nan: bool | None = None,
) -> Any:
    """A field of a `model_class`; in `Annotated`, the limits of a type. The words are those of pydantic."""
    limits = {
        "strict": strict,
        "ge": ge,
        "le": le,
        "lt": lt,
        "min_length": min_length,
        "max_length": max_length,
        "pattern": pattern,
        "allow_inf_nan": allow_inf_nan,
        "discriminator": discriminator,
    }
    return FieldSpec(default, default_factory, limits, description)


class FieldFacts:
    """A field of a class: the type of its values, with limits, and what it is where nothing is said."""

    __slots__ = ("_field", "kind", "name")

    def __init__(self, field: "dataclasses.Field[Any]") -> None:
        self._field = field
        self.name = field.name
        limits = {name: limit for name, limit in field.metadata.items() if name != "description"}
        self.kind: Any = Annotated[field.type, FieldSpec(_REQUIRED, None, limits)] if limits else field.type

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self._field.default is self._field.default_factory is dataclasses.MISSING

    @property
    def has_constant(self) -> bool:
        """Whether there is a default, the same for each instance."""
        return self._field.default is not dataclasses.MISSING

    def default(self) -> Any:
        """The default: for each caller a new one, where it can be changed."""
        made = self._field.default_factory
        return self._field.default if made is dataclasses.MISSING else made()


def fields_of(holder: Any) -> dict[str, FieldFacts]:
    """The fields of a class, in order."""
    return _fields_of(holder)


@cache
def _fields_of(holder: Any) -> dict[str, FieldFacts]:
    return {field.name: FieldFacts(field) for field in dataclasses.fields(holder)}
