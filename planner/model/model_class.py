"""Classes of the wire schema that Python code can also build, with lists, NumPy integers and defaults.

`Field` says once what a field may hold: it takes what pydantic's `Field` takes and imports nothing.
Pydantic takes longer to load than most problems take to solve, so values that are plainly right are read
without it, by native code (`native/values.cpp`): the types of JSON, lists, tuples and instances within their
limits, from Python or from the text of a document. Whatever that refuses goes to pydantic
(`planner.model.validators`), which also takes NumPy's integers and iterators, and says what is wrong with all
others. So the native reader may refuse anything, but what it takes, pydantic takes as well, and makes the
same of it: the tests compare them.

From top to bottom: what a field may hold, kinds of plain values, the decorator `model_class`, and quick ways
to make many instances.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from memstow import records
from memstow.planner.model import _instances
from memstow.planner.model._instances import NotPlainError as NotPlainError
from memstow.records import MISSING, bare, collector_at_rest, set_constructor

_T = TypeVar("_T")
_REQUIRED: Final[Any] = object()
WITHOUT_NUL: Final = r"^[^\x00]*$"
"""The pattern of text that neither ends early in C nor is refused by a database."""
NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""The pattern of a name in a formula."""
SHA256: Final = r"^[0-9a-f]{64}$"
"""The pattern of a digest in hex."""


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

    def for_record(self) -> Any:
        """The same as a field of a record; pydantic reads limits and description from its metadata."""
        metadata = dict(self.limits)
        if self.description is not None:
            metadata["description"] = self.description
        if self.default_factory is not None:
            return records.field(default_factory=self.default_factory, metadata=metadata)
        if self.default is _REQUIRED:
            return records.field(metadata=metadata)
        return records.field(default=self.default, metadata=metadata)


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

    def __init__(self, field: records.Field) -> None:
        self._field = field
        self.name = field.name
        limits = {name: limit for name, limit in field.metadata.items() if name != "description"}
        self.kind: Any = Annotated[field.type, FieldSpec(_REQUIRED, None, limits)] if limits else field.type

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self._field.default is self._field.default_factory is MISSING

    @property
    def has_constant(self) -> bool:
        """Whether there is a default, the same for each instance."""
        return self._field.default is not MISSING

    def default(self) -> Any:
        """The default: for each caller a new one, where it can be changed."""
        factory = self._field.default_factory
        return self._field.default if factory is MISSING else factory()


def fields_of(holder: Any) -> dict[str, FieldFacts]:
    """The fields of a class, in order."""
    return _fields_of(holder)


@cache
def _fields_of(holder: Any) -> dict[str, FieldFacts]:
    return {field.name: FieldFacts(field) for field in records.fields(holder)}


Limits = Mapping[str, Any]

_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 63) - 1
_TEXT: Final = {None: "any", WITHOUT_NUL: "no NUL", NAME: "name", SHA256: "SHA-256"}


def plain_value(kind: Any, value: object) -> Any:
    """The value as a field of this type holds it; NotPlainError where pydantic has to look at it."""
    return _instances.plain(_kind_of(kind), value)


def instance_in(data: bytes, holder: type[_T]) -> _T | None:
    """The instance that the JSON describes; None where a value is not plain."""
    kind: Any = holder
    try:
        with collector_at_rest():
            instance = _instances.value_in(_kind_of(kind), bytes(data))
    except NotPlainError:
        return None
    return instance if isinstance(instance, holder) else None


@cache
def _kind_of(kind: Any) -> _instances.Kind:
    return _kind(kind, {})


def _kind(kind: Any, limits: Limits) -> _instances.Kind:
    """The plain values of a type; some types have none."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        for spec in arguments[1:]:
            limits = _both(limits, spec.limits if isinstance(spec, FieldSpec) else {"unknown": spec})
        return _kind(arguments[0], limits)
    if origin in (Union, UnionType):
        return _choice(arguments, limits)
    make, understood = _MAKERS.get(kind if origin is None else origin, (_of_a_class, frozenset()))
    return make(kind, limits) if understood.issuperset(limits) else _nothing()


def _both(limits: Limits, others: Limits) -> Limits:
    """Both hold; where they say different things of the same, only pydantic knows how."""
    if any(limits[name] != others[name] for name in limits.keys() & others.keys()):
        return {"unknown": others}
    return {**limits, **others}


def _nothing() -> _instances.Kind:
    return _instances.one_of([], False, "")


def _choice(kinds: tuple[Any, ...], limits: Limits) -> _instances.Kind:
    """A union; null is one of its kinds or not."""
    others = [kind for kind in kinds if kind is not NoneType]
    null = len(others) < len(kinds)
    if len(others) == 1:
        return _instances.one_of([_kind(others[0], limits)], null, "")
    if limits.keys() == {"discriminator"}:
        tag = limits["discriminator"]
        classes = [_class(kind, get_args(fields_of(kind)[tag].kind)) for kind in others]
        return _instances.one_of(classes, null, tag)
    shapes = [_shape_of(kind) for kind in others]
    if limits or None in shapes or len(set(shapes)) < len(shapes):
        return _instances.one_of([], null, "")  # Which of them a value is meant to be, pydantic knows.
    return _instances.one_of(list(map(_kind_of, others)), null, "")


def _shape_of(kind: Any) -> type | None:
    """What a value of the kind looks like in JSON: a number, a text or a list; None: something else."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _shape_of(get_args(kind)[0])
    return _SHAPES.get(kind if origin is None else origin, str if origin is Literal else None)


def _integer(_: Any, limits: Limits) -> _instances.Kind:
    least = max(limits.get("ge", _LEAST), _LEAST)
    most = min(limits.get("le", _MOST), limits.get("lt", _MOST + 1) - 1, _MOST)
    return _instances.integer(least, most)


def _number(_: Any, limits: Limits) -> _instances.Kind:
    return _instances.number(limits.get("ge", -inf), limits.get("le", inf))


def _truth(_: Any, __: Limits) -> _instances.Kind:
    return _instances.truth()


def _text(_: Any, limits: Limits) -> _instances.Kind:
    letters = _TEXT.get(limits.get("pattern"))
    shortest, longest = limits.get("min_length", 0), limits.get("max_length", _MOST)
    return _nothing() if letters is None else _instances.text(shortest, longest, letters)


def _words(kind: Any, _: Limits) -> _instances.Kind:
    return _instances.words([(word, word) for word in get_args(kind) if type(word) is str])


def _list(kind: Any, limits: Limits) -> _instances.Kind:
    members = get_args(kind)
    if len(members) == 2 and members[1] is Ellipsis:
        shortest, longest = limits.get("min_length", 0), limits.get("max_length", _MOST)
        return _instances.list_of(_kind_of(members[0]), shortest, longest)
    return _instances.row_of(list(map(_kind_of, members))) if not limits else _nothing()


def _table(kind: Any, _: Limits) -> _instances.Kind:
    name, member = get_args(kind)
    return _instances.table_of(_kind_of(name), _kind_of(member))


def _of_a_class(kind: Any, _: Limits) -> _instances.Kind:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _instances.words([(member.value, member) for member in kind if isinstance(member.value, str)])
    return _class(kind, ()) if hasattr(kind, "__pydantic_config__") else _nothing()


def _class(holder: Any, tags: tuple[str, ...]) -> _instances.Kind:
    # Described when the first object is read: what no value has is not looked at.
    return _instances.object_of(holder, lambda: list(map(_described, fields_of(holder).values())), tags)


def _described(field: FieldFacts) -> tuple[str, _instances.Kind, bool, object, bool]:
    default = None if field.is_required else field.default() if field.has_constant else field.default
    return field.name, _kind_of(field.kind), field.is_required, default, not field.has_constant


_SHAPES: Final[dict[Any, type]] = {int: int, float: int, str: str, list: list, tuple: list}
_RANGE: Final = frozenset({"strict", "ge", "le", "allow_inf_nan"})
_LENGTH: Final = frozenset({"min_length", "max_length"})
_MAKERS: Final[dict[Any, tuple[Callable[[Any, Limits], _instances.Kind], frozenset[str]]]] = {
    int: (_integer, _RANGE | {"lt"}),
    float: (_number, _RANGE),
    bool: (_truth, frozenset({"strict"})),
    str: (_text, _LENGTH | {"strict", "pattern"}),
    Literal: (_words, frozenset()),
    tuple: (_list, _LENGTH),
    dict: (_table, frozenset()),
}
"""What makes the kind of a type, and the limits that it keeps; with any other limit no value is plain."""


if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_CONFIG: Final = {"extra": "forbid", "allow_inf_nan": False}
"""How pydantic takes such a class: no unknown fields, no infinities."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def model_class(cls: type[_T]) -> type[_T]:
    """A frozen class with these fields, those of its bases first, and the signature of its `__init__`."""
    raw: Any = cls
    declared = raw.__dict__.get("__init__")
    _declare_fields(raw)
    raw.__pydantic_config__ = _CONFIG
    raw.__get_pydantic_core_schema__ = classmethod(_described_first)
    model = bare(cls, kw_only=True)
    _add_constructor(model, declared)
    return model  # type: ignore[no-any-return]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def shared_fields(cls: type[_T]) -> type[_T]:
    """A base of several classes, for the fields that all of them have. It has no slots and no instances.

    A class that names such a field again narrows its type or changes its default; what it does not say stays.
    """
    return cls


def _declare_fields(cls: Any) -> None:
    """Make each field, those of the bases first, one of a record that the class itself declares."""
    kinds: dict[str, Any] = {}
    specs: dict[str, Any] = {}
    for holder in reversed(cls.__mro__):
        for name, kind in getattr(holder, "__annotations__", {}).items():
            kinds[name] = kind
            spec, shared = holder.__dict__.get(name, _REQUIRED), specs.get(name)
            if shared is not None and spec is _REQUIRED:
                continue
            if isinstance(shared, FieldSpec) and not isinstance(spec, FieldSpec):
                spec = FieldSpec(spec, None, shared.limits, shared.description)
            specs[name] = spec
    cls.__annotations__ = kinds
    for name, spec in specs.items():
        if isinstance(spec, FieldSpec):
            setattr(cls, name, spec.for_record())
        elif spec is not _REQUIRED:
            setattr(cls, name, spec)


def _described_first(cls: Any, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
    """How pydantic reads the class: errors and JSON schemas name the fields that have a description first."""
    import dataclasses

    dataclasses.fields(cls)  # Makes them: pydantic looks into the class, where they are not before.
    schema = handler(source)
    listed: list[Any] = handler.resolve_ref_schema(schema)["schema"]["fields"]
    described = {field.name for field in records.fields(cls) if field.metadata}
    listed.sort(key=lambda field: field["name"] not in described)
    return schema


def _add_constructor(model: Any, declared: Any) -> None:
    fields = records.fields(model)
    shown: dict[str, object] = getattr(declared, "__kwdefaults__", None) or {}
    # The version, which only a document must say.
    defaults = {
        field.name: shown[field.name]
        for field in fields
        if field.name in shown and field.default is field.default_factory is MISSING
    }

    def construct(self: object, /, **values: object) -> None:
        if defaults:
            values = defaults | values
        try:
            _instances.fill(_kind_of(model), self, values)
        except NotPlainError:
            from memstow.planner.model.validators import fill

            fill(self, values)

    set_constructor(model, construct, declared)


def maker_of(model: type[_T], *names: str) -> Callable[..., _T]:
    """Makes instances of valid values of these fields, in this order, without checks; the rest is as always.

    Checks take most of the time of a small plan.
    """
    fields = {field.name: field for field in records.fields(model)}
    setters = {name: model.__dict__[name].__set__ for name in fields}
    leading = tuple(setters.pop(name) for name in names)
    others = tuple((put, fields[name].default) for name, put in setters.items())
    if any(value is MISSING for _, value in others):
        raise TypeError(f"{model.__qualname__} has fields without a constant default that are not named")
    new = object.__new__

    def make(*values: object) -> _T:
        instance = new(model)
        for put, value in zip(leading, values, strict=True):
            put(instance, value)
        for put, value in others:
            put(instance, value)
        return instance

    return make


def instances_of(model: type[_T], count: int, **columns: object) -> tuple[_T, ...]:
    """So many instances of valid values, without checks, in native code; the rest is as always.

    A field has a list with a value for each instance, or one value for all of them.
    """
    named: list[tuple[str, object]] = []
    for field in records.fields(model):
        value = columns.pop(field.name, field.default)
        if value is MISSING:
            raise TypeError(f"{model.__qualname__} needs {field.name!r}")
        named.append((field.name, value))
    if columns:
        raise TypeError(f"{model.__qualname__} has no {', '.join(columns)}")
    return _instances.instances(model, named, count)


def alternatives(kind: object) -> list[Any]:
    """The types a value may have, null left out."""
    origin = get_origin(kind)
    if origin is Annotated:
        return alternatives(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [one for arg in get_args(kind) if arg is not NoneType for one in alternatives(arg)]
    return [] if kind is None else [kind]


def element_of(kind: object) -> object | None:
    """The type of the elements of a list of any length; None where the type is not such a list."""
    kinds = alternatives(kind)
    if len(kinds) == 1 and get_origin(kinds[0]) is tuple:
        arguments = get_args(kinds[0])
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            element: object = arguments[0]
            return element
    return None
