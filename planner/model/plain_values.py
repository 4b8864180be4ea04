"""Checks values that are plainly right, without pydantic: of a document or of arguments, by their types.

A reader returns the value as a field holds it, or says that it is not plain: then pydantic decides, which
also takes NumPy's integers and iterators, and says what is wrong with all others. So a reader may refuse
anything, but what it takes, pydantic takes as well, and makes the same of it: the tests compare them.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NoReturn, Union, get_args, get_origin

from memstow.planner.model.fields import FieldSpec, fields_of
from memstow.planner.model.plain_scalars import (
    Limits,
    NotPlainError,
    Reader,
    integer,
    literal,
    number,
    refuse,
    text,
    truth,
)

__all__ = [
    "LENGTH",
    "RANGE",
    "NotPlainError",
    "Reader",
    "both_limits",
    "plain_fields",
    "plain_reader",
    "shape_of",
]


class PlainFields:
    """How the fields of a class are set from plain values."""

    def __init__(self, holder: Any) -> None:
        self._holder = holder
        facts = fields_of(holder)
        setters = {name: holder.__dict__[name].__set__ for name in facts}
        self._known = {name: (plain_reader(it.kind), setters[name]) for name, it in facts.items()}
        self._constants = tuple(
            (name, setters[name], it.default()) for name, it in facts.items() if it.has_constant
        )
        self._others = tuple(
            (name, setters[name], _no_default if it.is_required else it.default)
            for name, it in facts.items()
            if not it.has_constant
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
        return _choice(arguments, limits)
    make, understood = _MAKERS.get(kind if origin is None else origin, (_of_a_class, frozenset()))
    return make(kind, limits) if understood.issuperset(limits) else refuse


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

    return read if not limits else refuse


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
        return lambda value: value if type(value) is kind else _found(members, value)
    if hasattr(kind, "__pydantic_config__"):
        return _of_a_model_class(kind)
    return refuse


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


def _found(members: dict[Any, Any], value: Any) -> Any:
    if type(value) is str and value in members:
        return members[value]
    raise NotPlainError


def _choice(kinds: tuple[Any, ...], limits: Limits) -> Reader:
    """Of a union; null is one of the kinds or not."""
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        read_it = _reader(others[0], limits)
    elif "discriminator" in limits:
        read_it = _tagged(others, limits["discriminator"]) if len(limits) == 1 else refuse
    else:
        read_it = _first_of(others) if not limits else refuse
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
        return refuse  # Which of them a value is meant to be, pydantic knows.
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
    int: (integer, RANGE | {"lt"}),
    float: (number, RANGE),
    bool: (truth, frozenset({"strict"})),
    str: (text, LENGTH | {"strict", "pattern"}),
    Literal: (literal, frozenset()),
    tuple: (_list, LENGTH),
    dict: (_object, frozenset()),
}
"""What makes the reader of a type, and the limits that it keeps; with any other limit no value is plain."""
