"""Classes of the wire schema that Python code can also build, with lists, NumPy integers and defaults.

`Field` says once what a field may hold: it takes what pydantic's `Field` takes and imports nothing.
Pydantic takes longer to load than most problems take to solve, so values that are plainly right are
checked without it (docs/architecture.md). A reader returns the value as a field holds it, or says that it
is not plain: then pydantic decides (`planner.model.validators`), which also takes NumPy's integers and
iterators, and says what is wrong with all others. So a reader may refuse anything, but what it takes,
pydantic takes as well, and makes the same of it: the tests compare them.

From top to bottom: what a field may hold, readers of numbers and texts, readers of all types, the
decorator `model_class`, and quick ways to make many instances.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from math import inf, isfinite
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from memstow.planner.model.records import bare, set_constructor

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


Reader = Callable[[Any], Any]
Limits = Mapping[str, Any]

_LARGEST_EXACT: Final = 1 << 53
"""Up to here each integer is a float."""


class NotPlainError(ValueError):
    """The value may be right or wrong: pydantic knows."""


def _refuse(_: object) -> NoReturn:
    """No value is plain."""
    raise NotPlainError


def _integer(_: object, limits: Limits) -> Reader:
    """Integers in a range."""
    least, most = limits.get("ge", -inf), min(limits.get("le", inf), limits.get("lt", inf) - 1)

    def read(value: Any) -> int:
        if type(value) is int and least <= value <= most:
            return value
        raise NotPlainError

    return read


def _number(_: object, limits: Limits) -> Reader:
    """Finite numbers in a range: integers become what they are as floats."""
    least, most = limits.get("ge", -inf), limits.get("le", inf)

    def read(value: Any) -> float:
        exact = type(value) is float or (type(value) is int and -_LARGEST_EXACT <= value <= _LARGEST_EXACT)
        if exact and least <= value <= most and isfinite(value):
            return float(value)
        raise NotPlainError

    return read


def _truth(_: object, __: Limits) -> Reader:
    """true and false."""

    def read(value: Any) -> bool:
        if type(value) is bool:
            return value
        raise NotPlainError

    return read


def _text(_: object, limits: Limits) -> Reader:
    """Text of a length, each character whole; the one pattern that is known is that of no NUL."""
    shortest, longest = limits.get("min_length", 0), limits.get("max_length", inf)
    pattern = limits.get("pattern")
    if pattern not in (None, WITHOUT_NUL):
        return _refuse
    unwanted = None if pattern is None else "\0"

    def read(value: Any) -> str:
        if (
            type(value) is str
            and shortest <= len(value) <= longest
            and (unwanted is None or unwanted not in value)
            and (value.isascii() or _is_whole(value))
        ):
            return value
        raise NotPlainError

    return read


def _is_whole(text: str) -> bool:
    """Whether no character is half of one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _literal(kind: Any, _: Limits) -> Reader:
    """One of these strings."""
    allowed = frozenset(get_args(kind))

    def read(value: Any) -> str:
        if type(value) is str and value in allowed:
            return value
        raise NotPlainError

    return read


class PlainFields:
    """How the fields of a class are set from plain values."""

    def __init__(self, holder: Any) -> None:
        self._holder = holder
        facts = fields_of(holder)
        setters = {name: holder.__dict__[name].__set__ for name in facts}
        self._known = {name: (plain_reader(fact.kind), setters[name]) for name, fact in facts.items()}
        self._constants = tuple(
            (name, setters[name], fact.default()) for name, fact in facts.items() if fact.has_constant
        )
        self._others = tuple(
            (name, setters[name], _no_default if fact.is_required else fact.default)
            for name, fact in facts.items()
            if not fact.has_constant
        )

    def put(self, instance: object, given: Mapping[Any, Any]) -> None:
        """Set each field of a new instance."""
        known = self._known
        for name, value in given.items():
            if name not in known:
                raise NotPlainError
            read, put = known[name]
            put(instance, read(value))
        for name, put, default in self._constants:
            if name not in given:
                put(instance, default)
        for name, put, make in self._others:
            if name not in given:
                put(instance, make())

    def read(self, value: Any) -> Any:
        """The instance itself, or one made of an object of a document."""
        if type(value) is self._holder:
            return value
        if type(value) is not dict:
            raise NotPlainError
        made = object.__new__(self._holder)
        self.put(made, value)
        return made


def _no_default() -> NoReturn:
    raise NotPlainError


@cache
def plain_fields(holder: Any) -> PlainFields:
    """How the fields of this class are set."""
    return PlainFields(holder)


@cache
def plain_reader(kind: Any) -> Reader:
    """Reads plain values of this type."""
    return _reader(kind, {})


def _reader(kind: Any, limits: Limits) -> Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        for spec in arguments[1:]:
            limits = both_limits(limits, spec.limits if isinstance(spec, FieldSpec) else {"unknown": spec})
        return _reader(arguments[0], limits)
    if origin in (Union, UnionType):
        return _union(arguments, limits)
    make, understood = _MAKERS.get(kind if origin is None else origin, (_of_a_class, frozenset()))
    return make(kind, limits) if understood.issuperset(limits) else _refuse


def both_limits(limits: Limits, others: Limits) -> Limits:
    """Both hold; where they say different things of the same, only pydantic knows how."""
    if any(limits[name] != others[name] for name in limits.keys() & others.keys()):
        return {"unknown": others}
    return {**limits, **others}


def _list(kind: Any, limits: Limits) -> Reader:
    members = get_args(kind)
    if len(members) == 2 and members[1] is Ellipsis:
        is_class = hasattr(members[0], "__pydantic_config__")
        return _list_of_any_length(plain_reader(members[0]), limits, members[0] if is_class else None)
    readers = tuple(map(plain_reader, members))
    count = len(readers)

    def read(value: Any) -> tuple[Any, ...]:
        if (type(value) is list or type(value) is tuple) and len(value) == count:
            return tuple([read_one(one) for read_one, one in zip(readers, value, strict=True)])
        raise NotPlainError

    return read if not limits else _refuse


def _list_of_any_length(read_one: Reader, limits: Limits, holder: type | None) -> Reader:
    shortest, longest = limits.get("min_length", 0), limits.get("max_length", inf)

    def read(value: Any) -> tuple[Any, ...]:
        if (type(value) is list or type(value) is tuple) and shortest <= len(value) <= longest:
            if holder is not None and {*map(type, value)} <= {holder}:
                return tuple(value)
            return tuple(map(read_one, value))
        raise NotPlainError

    return read


def _object(kind: Any, _: Limits) -> Reader:
    read_name, read_member = map(plain_reader, get_args(kind))

    def read(value: Any) -> dict[Any, Any]:
        if type(value) is dict:
            return {read_name(name): read_member(member) for name, member in value.items()}
        raise NotPlainError

    return read


def _of_a_class(kind: Any, _: Limits) -> Reader:
    if isinstance(kind, type) and issubclass(kind, Enum):
        members = {member.value: member for member in kind}
        return lambda value: value if type(value) is kind else _member(members, value)
    if hasattr(kind, "__pydantic_config__"):
        return _of_a_model_class(kind)
    return _refuse


def _of_a_model_class(holder: Any) -> Reader:
    fields: PlainFields | None = None

    def read(value: Any) -> Any:
        nonlocal fields
        if type(value) is holder:
            return value
        if fields is None:
            # Made when it is needed: what no value has is not looked at.
            fields = plain_fields(holder)
        return fields.read(value)

    return read


def _member(members: dict[Any, Any], value: Any) -> Any:
    if type(value) is str and value in members:
        return members[value]
    raise NotPlainError


def _union(kinds: tuple[Any, ...], limits: Limits) -> Reader:
    """Of a union; null is one of the kinds or not."""
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        read_it = _reader(others[0], limits)
    elif "discriminator" in limits:
        read_it = _tagged(others, limits["discriminator"]) if len(limits) == 1 else _refuse
    else:
        read_it = _first_of(others) if not limits else _refuse
    if len(others) == len(kinds):
        return read_it
    return lambda value: None if value is None else read_it(value)


def _tagged(kinds: list[Any], tag: str) -> Reader:
    holders = {name: kind for kind in kinds for name in get_args(fields_of(kind)[tag].kind)}
    classes = frozenset(kinds)

    def read(value: Any) -> Any:
        if type(value) in classes:
            return value
        name = value.get(tag) if type(value) is dict else None
        if type(name) is str and name in holders:
            return plain_fields(holders[name]).read(value)
        raise NotPlainError

    return read


def _first_of(kinds: list[Any]) -> Reader:
    shapes = [shape_of(kind) for kind in kinds]
    if None in shapes or len(set(shapes)) < len(shapes):
        return _refuse  # Which of them a value is meant to be, pydantic knows.
    readers = dict(zip(shapes, map(plain_reader, kinds), strict=True))

    def read(value: Any) -> Any:
        read_it = readers.get(_SHAPES.get(type(value)))
        if read_it is None:
            raise NotPlainError
        return read_it(value)

    return read


def shape_of(kind: Any) -> type | None:
    """What a value of the kind looks like in JSON: a number, a text or a list; None: something else."""
    origin = get_origin(kind)
    if origin is Annotated:
        return shape_of(get_args(kind)[0])
    return _SHAPES.get(kind if origin is None else origin, str if origin is Literal else None)


_SHAPES: Final[dict[Any, type]] = {int: int, float: int, str: str, list: list, tuple: list}
RANGE: Final = frozenset({"strict", "ge", "le", "allow_inf_nan"})
LENGTH: Final = frozenset({"min_length", "max_length"})
_MAKERS: Final[dict[Any, tuple[Callable[[Any, Limits], Reader], frozenset[str]]]] = {
    int: (_integer, RANGE | {"lt"}),
    float: (_number, RANGE),
    bool: (_truth, frozenset({"strict"})),
    str: (_text, LENGTH | {"strict", "pattern"}),
    Literal: (_literal, frozenset()),
    tuple: (_list, LENGTH),
    dict: (_object, frozenset()),
}
"""What makes the reader of a type, and the limits that it keeps; with any other limit no value is plain."""


if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_T = TypeVar("_T")
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
    """Make each field, those of the bases first, one of a dataclass that the class itself declares."""
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
            setattr(cls, name, spec.for_dataclass())
        elif spec is not _REQUIRED:
            setattr(cls, name, spec)


def _described_first(cls: Any, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
    """How pydantic reads the class: errors and JSON schemas name the fields that have a description first."""
    made = handler(source)
    listed: list[Any] = handler.resolve_ref_schema(made)["schema"]["fields"]
    described = {field.name for field in dataclasses.fields(cls) if field.metadata}
    listed.sort(key=lambda field: field["name"] not in described)
    return made


def _add_constructor(model: Any, declared: Any) -> None:
    fields = dataclasses.fields(model)
    shown: dict[str, object] = getattr(declared, "__kwdefaults__", None) or {}
    # The version, which only a document must say.
    defaults = {
        field.name: shown[field.name]
        for field in fields
        if field.name in shown and field.default is field.default_factory is dataclasses.MISSING
    }

    def construct(self: object, /, **given: object) -> None:
        if defaults:
            given = defaults | given
        try:
            plain_fields(model).put(self, given)
        except NotPlainError:
            from memstow.planner.model.validators import fill

            fill(self, given)

    set_constructor(model, construct, declared)


def maker_of(model: type[_T], *names: str) -> Callable[..., _T]:
    """Makes instances of valid values of these fields, in this order, without checks; the rest is as always.

    Checks take most of the time of a small plan.
    """
    fields = {field.name: field for field in dataclasses.fields(model)}  # type: ignore[arg-type]
    setters = {name: model.__dict__[name].__set__ for name in fields}
    given = tuple(setters.pop(name) for name in names)
    others = tuple((put, fields[name].default) for name, put in setters.items())
    if any(value is dataclasses.MISSING for _, value in others):
        raise TypeError(f"{model.__qualname__} has fields without a constant default that are not named")
    new = object.__new__

    def make(*values: object) -> _T:
        made = new(model)
        for put, value in zip(given, values, strict=True):
            put(made, value)
        for put, value in others:
            put(made, value)
        return made

    return make


def instances_of(model: type[_T], count: int, **columns: object) -> tuple[_T, ...]:
    """So many instances of valid values, without checks, in native code; the rest is as always.

    A field has a list with a value for each instance, or one value for all of them.
    """
    # Small runs have few instances, and do not wait for this import.
    from memstow.planner.model import _instances

    given: list[tuple[str, object]] = []
    for field in dataclasses.fields(model):  # type: ignore[arg-type]
        value = columns.pop(field.name, field.default)
        if value is dataclasses.MISSING:
            raise TypeError(f"{model.__qualname__} needs {field.name!r}")
        given.append((field.name, value))
    if columns:
        raise TypeError(f"{model.__qualname__} has no {', '.join(columns)}")
    return _instances.instances(model, given, count)


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
