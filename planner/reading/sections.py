"""Reads a document section by section, so that one bad element costs itself and not the rest of the file.

A section is an object whose fields are validated one by one, its lists element by element: what is broken is
reported and left out, what is sound goes on to the checks that need more than one field. Memory is bounded
whatever the document holds: pydantic gathers every error of a call, so no call gets more than a chunk, and an
element that could hold too many errors in itself is read as a section of its own. `Findings` collects a
bounded number of issues, in the order of the document; errors of pydantic become messages of memstow: a code,
the place, the value, the expectation.
"""

import re
from collections.abc import Callable, Iterable
from math import inf, isfinite
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.model_class import (
    WITHOUT_NUL,
    FieldSpec,
    NotPlainError,
    alternatives,
    element_of,
    fields_of,
    plain_value,
)
from memstow.planner.model.printable import printable, shown
from memstow.planner.reading.json_text import Path, json_path, order_in, value_at
from memstow.records import has_fields, record, replace

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_REPORTED: Final = 200
# More are gathered than reported, so that those reported are the first of the document, not the first found.
_MOST_GATHERED: Final = 5 * MOST_REPORTED


class Findings:
    """The issues found so far in the document `root`."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._issues: dict[tuple[str, Path, str], Issue] = {}

    def __bool__(self) -> bool:
        return bool(self._issues)

    @property
    def full(self) -> bool:
        """Nobody reads more than this: looking for more is wasted."""
        return len(self._issues) >= _MOST_GATHERED

    def add(self, code: str, path: Path, message: str) -> None:
        if not self.full:
            self._issues.setdefault((code, path, message), Issue(code, json_path(path), message))

    def in_order(self) -> list[Issue]:
        """The error: the first issues of the document, and a last one if there are more."""
        in_order = sorted(self._issues.items(), key=lambda item: order_in(self._root, item[0][1]))
        issues = [issue for _, issue in in_order[:MOST_REPORTED]]
        if len(in_order) > MOST_REPORTED:
            least = "at least " if self.full else ""
            rest = f"{least}{len(in_order) - MOST_REPORTED:,} more issues are not shown"
            issues.append(Issue("more_issues", "$", rest))
        return issues

    def error(self) -> InputError:
        """All of it as one exception."""
        return InputError(self.in_order())


class Renamed(Findings):
    """Findings of an object made from another document, reported at the places of that document."""

    def __init__(self, findings: Findings, place: Callable[[Path], Path]) -> None:
        super().__init__(None)
        self._findings = findings
        self._place = place

    @property
    def full(self) -> bool:
        return self._findings.full

    def add(self, code: str, path: Path, message: str) -> None:
        self._findings.add(code, self._place(path), message)


class FieldError(NamedTuple):
    """One thing that is wrong."""

    code: str
    path: Path
    message: str


@record
class Place:
    """Where an error of pydantic is in the document."""

    path: Path
    holder: Any
    """The dataclass the last step is in, where it is in one."""
    union: Path | None
    """Where a choice between types was made that the document does not name."""


_WRONG_TYPES: Final = {
    "int_type": ("not_an_integer", "an integer"),
    "int_from_float": ("not_an_integer", "an integer"),
    "int_parsing": ("not_an_integer", "an integer"),
    "float_type": ("not_a_number", "a number"),
    "float_parsing": ("not_a_number", "a number"),
    "bool_type": ("not_a_boolean", "true or false"),
    "bool_parsing": ("not_a_boolean", "true or false"),
    "string_type": ("not_a_string", "a string"),
    "tuple_type": ("not_a_list", "a list"),
    "list_type": ("not_a_list", "a list"),
    "dict_type": ("not_an_object", "an object"),
    "dataclass_type": ("not_an_object", "an object"),
    "model_type": ("not_an_object", "an object"),
    "model_attributes_type": ("not_an_object", "an object"),
}
_LIMITS: Final = {
    "greater_than_equal": ("too_small", "ge", "at least"),
    "greater_than": ("too_small", "gt", "more than"),
    "less_than_equal": ("too_large", "le", "at most"),
    "less_than": ("too_large", "lt", "less than"),
}
_WITH_UNIT: Final = re.compile(r"\s*(0[xX][0-9a-fA-F]+|[0-9][0-9.]*\s*(?=[a-zA-Z])[kKmMgGtT]?[iI]?[bB]?)\s*")
"""An amount of bytes as people write it, which options of the command line take and documents do not."""
_NUMBERS: Final = {2: "two", 3: "three"}
_FOREIGN_NAMES: Final = {
    "lower": "lifetime",
    "upper": "lifetime",
    "start": "lifetime",
    "begin": "lifetime",
    "end": "lifetime",
    "live_intervals": "lifetimes",
    "allowed_pools": "pools",
    "align": "alignment",
    "name": "id",
    "address": "offset",
    "bytes": "size",
}


def in_our_words(errors: "Iterable[ErrorDetails]", kind: object, raw: object, at: Path) -> list[FieldError]:
    """The errors of validating `raw`, found at `at`, as the type `kind`; those of a choice made one."""
    field_errors: dict[tuple[str, Path], FieldError] = {}
    for error in errors:
        inside = _place_of(kind, error["loc"])
        place = replace(inside, path=(*at, *inside.path))
        if inside.union is None:
            field_error: FieldError | None = _error_of(error, place)
        else:
            field_error = _error_of_a_union(error, place, value_at(raw, inside.union), (*at, *inside.union))
        if field_error is not None and field_error.code == "wrong_length":
            # Each value that is missing is an error of its own: the last tells how many there must be.
            field_errors[field_error.code, field_error.path] = field_error
        elif field_error is not None:
            field_errors.setdefault((field_error.code, field_error.path), field_error)
    return list(field_errors.values())


def of_one_value(error: "ErrorDetails") -> str:
    """The issue of a single value outside a document: a setting, a parameter."""
    return _error_of(error, Place((), None, None)).message


def unknown_field(name: str, known: Iterable[str]) -> str:
    """The message for an unknown field."""
    allowed = list(known)
    close = _likely(name, allowed)
    hint = f" did you mean {close}?" if close else ""
    return f"there is no field {shown(name)} here;{hint} allowed: {', '.join(allowed) or 'none'}"


def missing_field(name: str) -> str:
    """The message for a missing field."""
    return f"the field {shown(name)} is missing"


def wrong_type(expected: str, value: object) -> str:
    """The message for a value of the wrong type."""
    if expected == "an integer" and isinstance(value, float):
        hint = f"; write {int(value)}" if value.is_integer() and abs(value) < 2.0**63 else ""
        return f"expected an integer, given {shown(value)}{hint}"
    if expected == "an integer" and isinstance(value, str) and value.isascii() and value.isdigit():
        return f"expected an integer, given the string {shown(value)}; leave out the quotes"
    if expected == "an integer" and isinstance(value, str):
        return f"expected an integer, given {shown(value)}{size_in_full(value)}"
    return f"expected {expected}, given {shown(value)}"


def size_in_full(text: str) -> str:
    """What to write for a size with a unit, to end a message; nothing for other texts."""
    return "; write the number in full, such as 65536 for 64 KiB" if _WITH_UNIT.fullmatch(text) else ""


def without_nul(value: object) -> str:
    """The message for an id with a NUL."""
    return f"expected text without NUL (U+0000), given {shown(value)}"


def _error_of_a_union(error: "ErrorDetails", place: Place, value: object, at: Path) -> FieldError | None:
    """The error of one branch, if that is the one that was meant."""
    if at and (at[-1] == "size" or at[-2:-1] == ("shape",)):
        return _error_of_a_size(error, place, value, at)
    if isinstance(value, list):
        # It was meant as an interval: its own error helps more than that it is not "always".
        return None if error["type"] == "literal_error" else _error_of(error, place)
    if at and at[-1] == "im2col":
        return FieldError(
            "not_pixels", at, f'expected an integer from 0 below 2^31 or "tile", given {shown(value)}'
        )
    return FieldError("not_a_lifetime", at, f'expected [begin, end] or "always", given {shown(value)}')


def _error_of_a_size(error: "ErrorDetails", place: Place, value: object, at: Path) -> FieldError | None:
    """Of a size that may be a formula."""
    of_text = error["type"].startswith("string")
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return _error_of(error, replace(place, path=at)) if of_text == isinstance(value, str) else None
    expected = "a number of bytes or a formula" if at[-1] == "size" else "a number or a formula"
    return FieldError("not_a_size", at, f"expected {expected}, given {shown(value)}")


def _error_of(error: "ErrorDetails", place: Place) -> FieldError:
    field_error = (
        _error_of_a_type(error, place) or _error_of_a_length(error, place) or _error_of_a_choice(error, place)
    )
    return field_error or FieldError(
        "invalid", place.path, f"{printable(error['msg'], 200)}, given {shown(error['input'])}"
    )


def _error_of_a_type(error: "ErrorDetails", place: Place) -> FieldError | None:
    code, value = error["type"], error["input"]
    if code in _WRONG_TYPES:
        ours, expected = _WRONG_TYPES[code]
        return FieldError(ours, place.path, wrong_type(expected, value))
    if code in ("string_unicode", "invalid_key"):
        return FieldError(
            "not_text", place.path, f"expected text, given {shown(value)}: half a character or none"
        )
    if code == "finite_number" or (isinstance(value, float) and not isfinite(value)):
        return FieldError("not_finite", place.path, f"expected a finite number, given {shown(value)}")
    if code in _LIMITS:
        ours, key, words = _LIMITS[code]
        if place.path and place.path[-1] in ("version", "schema_version"):
            return FieldError("unsupported_version", place.path, f"expected version 1, given {shown(value)}")
        limit = _limit(error["ctx"][key])
        return FieldError(ours, place.path, f"expected {words} {limit}, given {shown(value)}")
    return None


def _error_of_a_length(error: "ErrorDetails", place: Place) -> FieldError | None:
    code, value, path = error["type"], error["input"], place.path
    if code == "missing" and isinstance(path[-1], int):
        return FieldError("wrong_length", path[:-1], _wrong_length(path[-1] + 1, value))
    if code == "missing":
        return FieldError("missing_field", path, missing_field(str(path[-1])))
    if code in ("unexpected_keyword_argument", "extra_forbidden"):
        return FieldError("unknown_field", path, unknown_field(str(path[-1]), fields_of(place.holder)))
    if code == "too_long":
        return FieldError("wrong_length", path, _wrong_length(error["ctx"]["max_length"], value))
    if code in ("too_short", "string_too_short"):
        what = "character" if isinstance(value, str) else "element"
        least = error["ctx"]["min_length"]
        if least > 1:
            message = f"expected at least {_NUMBERS.get(least, least)} {what}s, given {shown(value)}"
            return FieldError("wrong_length", path, message)
        return FieldError("empty", path, f"expected at least one {what}, given {shown(value)}")
    if code == "string_too_long" and isinstance(value, str):
        most = error["ctx"]["max_length"]
        return FieldError("too_long", path, f"expected at most {most:,} characters, given {len(value):,}")
    return None


def _wrong_length(expected: int, value: object) -> str:
    return f"expected {_NUMBERS.get(expected, expected)} values, given {shown(value)}"


def _error_of_a_choice(error: "ErrorDetails", place: Place) -> FieldError | None:
    code, value, path = error["type"], error["input"], place.path
    if code in ("literal_error", "enum"):
        expected = error["ctx"]["expected"].replace("'", '"')
        return FieldError("unknown_choice", path, f"expected {expected}, given {shown(value)}")
    if code == "string_pattern_mismatch" and "A-Za-z_" in error["ctx"]["pattern"]:
        expected = "expected letters, digits and _, and no digit first"
        return FieldError("not_a_name", path, f"{expected}, given {shown(value)}")
    if code == "string_pattern_mismatch" and error["ctx"]["pattern"] == WITHOUT_NUL:
        return FieldError("not_text", path, without_nul(value))
    if code == "union_tag_invalid":
        expected = error["ctx"]["expected_tags"].replace("'", '"')
        tag = shown(error["ctx"]["tag"])
        return FieldError("unknown_choice", (*path, "kind"), f"expected one of {expected}, given {tag}")
    if code == "union_tag_not_found":
        return FieldError("missing_field", (*path, "kind"), missing_field("kind"))
    return None


def _limit(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value >= 1 << 40 and value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return f"{value:,}" if isinstance(value, int) else shown(value)


def _likely(name: str, allowed: list[str]) -> str | None:
    close = closest_match(name, allowed)
    if close is not None:
        return close
    foreign = _FOREIGN_NAMES.get(name.lower())
    return foreign if foreign in allowed else None


def _place_of(kind: object, location: tuple[str | int, ...]) -> Place:
    """Pydantic's location without the labels it gives to the branches of a union."""
    path: list[str | int] = []
    holder: Any = None
    union: Path | None = None
    kinds = alternatives(kind)
    for step in location:
        if step == "[key]" and holder is None and path:
            continue  # It is about the name in an object, which the path has already.
        if len(kinds) > 1:
            if not all(map(has_fields, kinds)):
                union = tuple(path)
            kinds = [k for k in kinds if _label_fits(k, str(step))][:1]
            continue
        current: Any = kinds[0] if kinds else None
        path.append(step)
        holder = current if has_fields(current) else None
        kinds = alternatives(_member(current, step))
    if len(kinds) > 1 and not all(map(has_fields, kinds)):
        union = tuple(path)
    return Place(tuple(path), holder, union)


def _member(kind: Any, step: str | int) -> object | None:
    if has_fields(kind):
        field = fields_of(kind).get(str(step))
        return None if field is None else field.kind
    if get_origin(kind) is tuple and isinstance(step, int):
        arguments = get_args(kind)
        if arguments[-1] is Ellipsis:
            first: object = arguments[0]
            return first
        return arguments[step] if step < len(arguments) else None
    return None


def _label_fits(kind: Any, label: str) -> bool:
    if has_fields(kind):
        tag = fields_of(kind).get("kind")
        return tag is not None and label in get_args(tag.kind)
    if get_origin(kind) is tuple:
        return label.startswith("tuple[")
    if get_origin(kind) is Literal:
        return label.startswith("literal[")
    return bool(getattr(kind, "__name__", None) == label)


_CHUNK: Final = 2_000
_WIDE: Final = 1_000
_DEEPEST: Final = 6


class Section:
    """The valid fields of an object, and the invalid ones."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        # Of a list that lost elements: the indices of those.
        self.lost: dict[str, list[int]] = {}
        # Fields that could not be read at all.
        self.broken: set[str] = set()
        self.has_unknown = False

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
    element: Any = kind
    elements: list[Any] = []
    lost: list[int] = []
    for start in range(0, len(raw), _CHUNK):
        chunk = raw[start : start + _CHUNK]
        if not any(map(_is_wide, chunk)):
            sound, values, _ = _plain_or_validated(tuple[element, ...], chunk)
            if sound:
                elements.extend(values)
                continue
            # What is wrong is found again one by one, with its index.
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
    elif not raw and _limit_of(kind, "min_length"):
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
        sound, value, errors = _plain_or_validated(kind, raw)
        if sound:
            return True, value
    if holder is not None:
        section = read_section(holder, raw, findings, at)
        if not section.sound:
            return False, None
        # Each element may be right, and their number wrong.
        sound, value, errors = _made(lambda: holder(**section.values))
        if sound:
            return True, value
    for error in in_our_words(errors, kind, raw, at):
        findings.add(*error)
    return False, None


def _holder_of(kind: object, raw: object) -> Any | None:
    """The dataclass an object should be, its tag considered."""
    if not isinstance(raw, dict):
        return None
    holders = [one for one in alternatives(kind) if has_fields(one)]
    if len(holders) > 1:
        holders = [one for one in holders if raw.get("kind") in get_args(fields_of(one)["kind"].kind)]
    return holders[0] if len(holders) == 1 else None


def _plain_or_validated(kind: Any, raw: object) -> "tuple[bool, Any, list[ErrorDetails]]":
    """Whether the value is of this kind; the value as a field holds it, and what is wrong."""
    try:
        return True, plain_value(kind, raw), []
    except NotPlainError:
        from memstow.planner.model.validators import validator_of
    return _made(lambda: validator_of(kind).validate_python(raw))


def _made(make: Callable[[], Any]) -> "tuple[bool, Any, list[ErrorDetails]]":
    try:
        return True, make(), []
    except ValueError as error:
        # What is right does not wait for the import.
        from pydantic import ValidationError

        if not isinstance(error, ValidationError):
            raise
        return False, None, error.errors(include_url=False)


def _may_be_null(kind: object) -> bool:
    if get_origin(kind) is Annotated:
        return _may_be_null(get_args(kind)[0])
    return get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)


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
