"""Large documents in one pass of native code, from bytes to instances, where all of their values are plain.

What the native reader takes, the ordinary readers take as well, and make the same of it. It takes no document
with a defect, so it has no messages: whatever it refuses goes the ordinary way."""

from collections.abc import Callable, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from memstow.planner.model import _instances
from memstow.planner.model.errors import Issue
from memstow.planner.model.model_class import (
    LENGTH,
    RANGE,
    WITHOUT_NUL,
    FieldSpec,
    Limits,
    both_limits,
    fields_of,
    shape_of,
)
from memstow.planner.model.records import collector_at_rest

_T = TypeVar("_T")

_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 63) - 1


def valid_instance_in(
    data: bytes, holder: type[_T], find_issues: Callable[[_T], Sequence[Issue]]
) -> _T | None:
    """The instance that a document describes; None where the ordinary readers should read it."""
    with collector_at_rest():
        found = instance_in(data, holder)
        return None if found is None or find_issues(found) else found


def instance_in(data: bytes, holder: type[_T]) -> _T | None:
    """The instance that the JSON describes; None where a value is not plain, which has yet to be checked."""
    # A class is its own kind; to the type checker it need not be hashable.
    kind: Any = holder
    with collector_at_rest():
        found = _instances.value_in(_kind_of(kind), bytes(data))
    return found if isinstance(found, holder) else None


@cache
def _kind_of(kind: Any) -> _instances.Kind:
    return _kind(kind, {})


def _kind(kind: Any, limits: Limits) -> _instances.Kind:
    """The plain values of a type, as `planner.model.model_class` has them; some types have none."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        for spec in arguments[1:]:
            limits = both_limits(limits, spec.limits if isinstance(spec, FieldSpec) else {"unknown": spec})
        return _kind(arguments[0], limits)
    if origin in (Union, UnionType):
        return _choice(arguments, limits)
    make, understood = _MAKERS.get(kind if origin is None else origin, (_object, frozenset()))
    return make(kind, limits) if understood.issuperset(limits) else _nothing()


def _nothing() -> _instances.Kind:
    return _instances.one_of([], False)


def _choice(kinds: tuple[Any, ...], limits: Limits) -> _instances.Kind:
    others = [kind for kind in kinds if kind is not NoneType]
    null = len(others) < len(kinds)
    if len(others) == 1:
        return _instances.one_of([_kind(others[0], limits)], null)
    shapes = [shape_of(kind) for kind in others]
    if limits or None in shapes or len(set(shapes)) < len(shapes):
        return _instances.one_of([], null)
    return _instances.one_of(list(map(_kind_of, others)), null)


def _integer(_: Any, limits: Limits) -> _instances.Kind:
    least = max(limits.get("ge", _LEAST), _LEAST)
    most = min(limits.get("le", _MOST), limits.get("lt", _MOST + 1) - 1, _MOST)
    return _instances.integer(least, most)


def _text(_: Any, limits: Limits) -> _instances.Kind:
    pattern = limits.get("pattern")
    if pattern not in (None, WITHOUT_NUL):
        return _nothing()
    shortest, longest = limits.get("min_length", 0), limits.get("max_length", _MOST)
    return _instances.text(shortest, longest, pattern is None, [])


def _words(kind: Any, _: Limits) -> _instances.Kind:
    words = get_args(kind)
    return _instances.text(0, 0, True, words) if all(type(word) is str for word in words) else _nothing()


def _list(kind: Any, limits: Limits) -> _instances.Kind:
    members = get_args(kind)
    if len(members) == 2 and members[1] is Ellipsis:
        shortest, longest = limits.get("min_length", 0), limits.get("max_length", _MOST)
        return _instances.list_of(_kind_of(members[0]), shortest, longest)
    return _instances.row_of(list(map(_kind_of, members))) if not limits else _nothing()


def _object(kind: Any, _: Limits) -> _instances.Kind:
    if not hasattr(kind, "__pydantic_config__"):
        return _nothing()
    fields = [
        (name, _kind_of(field.kind), field.has_constant, field.default() if field.has_constant else None)
        for name, field in fields_of(kind).items()
    ]
    return _instances.object_of(kind, fields)


_MAKERS: Final[dict[Any, tuple[Callable[[Any, Limits], _instances.Kind], frozenset[str]]]] = {
    int: (_integer, RANGE | {"lt"}),
    str: (_text, LENGTH | {"strict", "pattern"}),
    Literal: (_words, frozenset()),
    tuple: (_list, LENGTH),
}
"""What makes the kind of a type, and the limits that it keeps; with any other limit no value is plain."""
