"""Reads bodies that hold a plain problem and options, without objects for the buffers.

Nothing is refused here: a body that is anything else, or not right, is none of these, and the ordinary reader
(`body.py`) says what it is or what is wrong with it. What is read here means the same there.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memstow.api.operations.body import options_within
from memstow.api.operations.body_documents import json_value
from memstow.api.operations.encoding import cache_key_of_parts, hint_key, options_to_text
from memstow.api.operations.requests import BodyForm, Limits, QueryValue
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.digest import digest
from memstow.planner.plain.document import columns_and_options_in, columns_in, looks_like_json
from memstow.planner.solve.plain import takes

# Options longer than this hold a hint; those of most requests are the same few.
_LONGEST_OPTIONS: Final = 1_000
# No option has a longer word as its value.
_LONGEST_WORD: Final = 100
_OPTIONS_KEPT: Final = 256

# A query as it is told apart: 1, 1.0 and true are equal in Python.
_Query = tuple[tuple[str, str, QueryValue], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainBody:
    """A plain problem to solve, with its options; the digest and the key are those of the ordinary reader."""

    columns: Columns
    options: Options
    digest: str
    cache_key: str


def plain_body(body: bytes, form: BodyForm, limits: Limits) -> PlainBody | None:
    """The plain problem and the options of a body; None for any other body."""
    # Few bytes hold few values: what may hold too many is counted by the ordinary reader.
    if _asks_for_more(form) or len(body) > limits.max_values:
        return None
    read = _columns_and_options(body, form)
    if read is None or len(read[0]) > limits.max_buffers:
        return None
    columns, text = read
    query: _Query = tuple((name, type(value).__name__, value) for name, value in form.options.items())
    asked = _options(text, query, limits)
    if asked is None:
        return None
    options, written = asked
    name = digest(columns)
    key = cache_key_of_parts(name, written, hint_key(None))
    return PlainBody(columns=columns, options=options, digest=name, cache_key=key)


def _asks_for_more(form: BodyForm) -> bool:
    """Whether the request changes the problem, or asks for anything else than a plan of it."""
    return bool(form.changes or form.dims or form.shapes or form.members) or form.front is not None


def _columns_and_options(body: bytes, form: BodyForm) -> tuple[Columns, bytes] | None:
    if form.format is None and not looks_like_json(body):
        return None
    columns = columns_in(body, form.format)
    if columns is not None:
        return columns, b""
    return columns_and_options_in(body) if form.format is None else None


def _options(text: bytes, query: _Query, limits: Limits) -> tuple[Options, str] | None:
    """The options and what of them is part of the cache key; None for what columns do not take."""
    short = all(len(value) <= _LONGEST_WORD for _, _, value in query if isinstance(value, str))
    return _known_options(text, query, limits) if short and len(text) <= _LONGEST_OPTIONS else None


@lru_cache(_OPTIONS_KEPT)
def _known_options(text: bytes, query: _Query, limits: Limits) -> tuple[Options, str] | None:
    try:
        given = json_value(text, limits) if text else {}
        if not isinstance(given, dict):
            return None
        options = options_within({**{name: value for name, _, value in query}, **given}, limits)
    except InputError:
        return None
    # What is deterministic may depend on how the problem is written.
    return (options, options_to_text(options)) if takes(options) and not options.deterministic else None
