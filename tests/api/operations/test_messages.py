"""Requests and results pass from process to process, without what takes long to load."""

import subprocess
import sys
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from memstow.api.operations.operations import OPERATIONS
from memstow.api.operations.request_types import FrontUpdate, decode, encode
from memstow.planner.processes.frames import Message, Reader, pack
from memstow.records import fields, has_fields
from tests.campaign import rounds

_PLAIN: Final[dict[Any, st.SearchStrategy[Any]]] = {
    bool: st.booleans(),
    int: st.integers(-(1 << 70), 1 << 70),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(max_size=3),
    bytes: st.binary(max_size=5),
    object: st.none() | st.text(max_size=3) | st.integers(0, 9),
    NoneType: st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a message may hold."""
    origin, arguments = get_origin(kind), get_args(kind)
    if has_fields(kind):
        return st.fixed_dictionaries({entry.name: values_of(entry.type) for entry in fields(kind)}).map(
            lambda them: kind(**them)
        )
    if origin in (Union, UnionType):
        return st.one_of([values_of(argument) for argument in arguments])
    if origin in (Mapping, dict):
        return st.dictionaries(st.text(max_size=3), values_of(arguments[1]), max_size=2)
    if origin in (tuple, list):
        listed = st.lists(values_of(arguments[0]), max_size=2)
        return listed.map(tuple) if origin is tuple else listed
    return st.sampled_from(arguments) if origin is Literal else _PLAIN[kind]


KINDS: Final = sorted(
    {entry for operation in OPERATIONS.values() for entry in (operation.request, operation.result)}
    | {FrontUpdate},
    key=lambda kind: str(kind.__name__),
)


def through_a_pipe(message: Message) -> Message:
    (received,) = Reader().feed(pack({"kind": "run", "inside": message}))
    inside: Message = received["inside"]
    return inside


@pytest.mark.rounds
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_sent_arrives_and_pydantic_would_read_the_same(kind: type[Any]) -> None:
    @settings(max_examples=rounds(100), deadline=None)
    @given(values_of(kind))
    def arrives(value: object) -> None:
        message = through_a_pipe(encode(value))
        assert decode(kind, message) == value
        assert adapter.validate_python(message) == value
        assert decode(kind, {**message, "what a later version sends": 1}) == value

    adapter = TypeAdapter(kind)
    arrives()


@pytest.mark.parametrize("kind", KINDS)
def test_what_pydantic_would_refuse_is_refused(kind: type[Any]) -> None:
    @settings(max_examples=20, deadline=None)
    @given(
        values_of(kind), st.sampled_from(fields(kind)), st.sampled_from([None, [b""], b"\xff", {}, {"": 1}])
    )
    def refused(value: object, entry: Any, wrong: object) -> None:
        message = {**encode(value), entry.name: wrong}
        try:
            adapter.validate_python(message)
        except ValidationError:
            with pytest.raises(TypeError):
                decode(kind, message)

    adapter = TypeAdapter(kind)
    refused()


def test_a_message_without_a_field_is_refused() -> None:
    with pytest.raises(TypeError, match="misses the argument 'front'"):
        decode(FrontUpdate, {"points": []})


def test_a_child_loads_nothing_that_takes_longer_than_its_request() -> None:
    code = (
        "import sys; from memstow.api.operations import operations; operations.warm_up(); "
        "print(*{'pydantic', 'dataclasses', 'numpy', 'fastapi', 'asyncio', 'ortools'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
