"""Reads a document section by section, so that one bad element costs itself and not the rest of the file.

A section is an object whose fields are validated one by one, its lists element by element: what is broken
is reported and left out, what is sound goes on to the checks that need more than one field. Memory is bounded
whatever the document holds: pydantic gathers every error of a call, so no call gets more than a chunk, and an
element that could hold too many errors in itself is read as a section of its own.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

from memstow.planner.model.model_class import (
    FieldSpec,
    NotPlainError,
    alternatives,
    element_of,
    fields_of,
    plain_reader,
)
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.messages import in_our_words, missing_field, unknown_field, wrong_type
from memstow.planner.reading.paths import Path

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_CHUNK: Final = 2_000
_WIDE: Final = 1_000
_DEEPEST: Final = 6
_MANY: Final = 20_000
"""So many elements of a list are read faster by pydantic than without, the time to load it included."""


@dataclass(slots=True)
class Section:
    """The valid fields of an object, and the invalid ones."""

    values: dict[str, Any] = field(default_factory=dict)
    lost: dict[str, list[int]] = field(default_factory=dict)
    """Of a list that lost elements: the indices of those."""
    broken: set[str] = field(default_factory=set)
    """Fields that could not be read at all."""
    has_unknown: bool = False
    """Whether it has unknown fields."""

    @property
    def sound(self) -> bool:
        return not (self.lost or self.broken or self.has_unknown)


def read_section(holder: Any, raw: object, findings: Findings, at: Path = ()) -> Section:
    """The sound fields of an object that should be a `holder`."""
    section = Section()
    fields = fields_of(holder)
    if not isinstance(raw, dict):
        findings.add("not_an_object" if at else "wrong_root", at, wrong_type("an object", raw))
        section.broken.update(fields)
        return section
    for name in raw:
        if name not in fields:
            findings.add("unknown_field", (*at, str(name)), unknown_field(str(name), fields))
            section.has_unknown = True
            if findings.full:
                break
    for name, info in fields.items():
        if name in raw:
            _read_field(section, name, info.kind, raw[name], findings, (*at, name))
        elif info.is_required:
            findings.add("missing_field", (*at, name), missing_field(name))
            section.broken.add(name)
    return section


def read_whole(holder: Any, raw: object, findings: Findings, at: Path = ()) -> Any | None:
    """A `holder`, or None when anything of it is broken."""
    section = read_section(holder, raw, findings, at)
    return holder(**section.values) if section.sound else None


def read_elements(kind: object, raw: list[Any], findings: Findings, at: Path) -> tuple[list[Any], list[int]]:
    """The sound elements of a list of that kind, and the indices of the others."""
    read = _chunk_reader(kind, len(raw))
    elements: list[Any] = []
    lost: list[int] = []
    for start in range(0, len(raw), _CHUNK):
        chunk = raw[start : start + _CHUNK]
        if not any(map(_is_wide, chunk)):
            try:
                elements.extend(read(chunk))
                continue
            except ValueError:
                pass  # Found again one by one, with its index.
        for index, item in enumerate(chunk, start):
            if findings.full:
                return elements, lost
            sound, value = _read_value(kind, item, findings, (*at, index))
            if sound:
                elements.append(value)
            else:
                lost.append(index)
    return elements, lost


def index_before(lost: list[int], index: int) -> int:
    """The index an element had before those at the (ascending) indices in `lost` were left out."""
    for gone in lost:
        if gone > index:
            break
        index += 1
    return index


def _read_field(section: Section, name: str, kind: object, raw: object, findings: Findings, at: Path) -> None:
    element = element_of(kind)
    if element is None or (raw is None and _may_be_null(kind)):
        sound, value = _read_value(kind, raw, findings, at)
        if sound:
            section.values[name] = value
        else:
            section.broken.add(name)
    elif not isinstance(raw, list):
        findings.add("not_a_list", at, wrong_type("a list", raw))
        section.broken.add(name)
    elif not raw and _must_hold_some(kind):
        findings.add("empty", at, "expected at least one element, given an empty list")
        section.broken.add(name)
    elif len(raw) > (most := _most_of(kind)):
        findings.add("too_long", at, f"expected at most {most:,} elements, given {len(raw):,}")
        section.broken.add(name)
    else:
        elements, lost = read_elements(element, raw, findings, at)
        section.values[name] = tuple(elements)
        if lost:
            section.lost[name] = lost


def _read_value(kind: object, raw: object, findings: Findings, at: Path) -> tuple[bool, Any]:
    holder = _holder_of(kind, raw)
    errors: list[ErrorDetails] = []
    # Pydantic gathers all errors of a call: an object that could hold too many is read field by field only.
    if holder is None or not _is_wide(raw):
        try:
            return True, plain_reader(kind)(raw)
        except NotPlainError:
            sound, value, errors = _validated(kind, raw)
        if sound:
            return True, value
    if holder is not None:
        section = read_section(holder, raw, findings, at)
        if section.sound:
            return True, holder(**section.values)
    else:
        for found in in_our_words(errors, kind, raw, at):
            findings.add(*found)
    return False, None


def _holder_of(kind: object, raw: object) -> Any | None:
    """The dataclass an object should be, its tag considered."""
    if not isinstance(raw, dict):
        return None
    holders = [one for one in alternatives(kind) if dataclasses.is_dataclass(one)]
    if len(holders) > 1:
        holders = [one for one in holders if raw.get("kind") in get_args(fields_of(one)["kind"].kind)]
    return holders[0] if len(holders) == 1 else None


def _validated(kind: object, raw: object) -> "tuple[bool, Any, list[ErrorDetails]]":
    """Whether pydantic takes it; the value, and what is wrong."""
    from pydantic import ValidationError

    from memstow.planner.model.validators import validator_of

    try:
        return True, validator_of(kind).validate_python(raw), []
    except ValidationError as error:
        return False, None, error.errors(include_url=False)


def _chunk_reader(kind: Any, count: int) -> Callable[[list[Any]], list[Any]]:
    """Reads a chunk of so many elements as one; a ValueError if it has to be read one by one."""
    if count >= _MANY:
        from memstow.planner.model.validators import validator_of

        return validator_of(list[kind]).validate_python
    read = plain_reader(kind)
    return lambda chunk: list(map(read, chunk))


def _may_be_null(kind: object) -> bool:
    if get_origin(kind) is Annotated:
        return _may_be_null(get_args(kind)[0])
    return get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)


def _must_hold_some(kind: object) -> bool:
    return bool(_limit_of(kind, "min_length"))


def _most_of(kind: object) -> float:
    """How many elements a list may have."""
    most: float = _limit_of(kind, "max_length") or inf
    return most


def _limit_of(kind: object, name: str) -> Any:
    marks = getattr(kind, "__metadata__", ())
    return next(
        (mark.limits[name] for mark in marks if isinstance(mark, FieldSpec) and name in mark.limits), None
    )


def _is_wide(value: object, depth: int = 0) -> bool:
    """Whether a list or an object in it is so long that an error for each of its elements is too many."""
    if type(value) is dict:
        if len(value) > _WIDE:
            return True
        for member in value.values():
            # The usual element is an object of scalars and one pair of integers.
            if (type(member) is dict or type(member) is list) and depth < _DEEPEST:
                if type(member) is list and len(member) == 2 and type(member[0]) is type(member[1]) is int:
                    continue
                if _is_wide(member, depth + 1):
                    return True
        return False
    if type(value) is list:
        if len(value) > _WIDE:
            return True
        return depth < _DEEPEST and any(_is_wide(member, depth + 1) for member in value)
    return False
