"""Every text that is not clean JSON is refused, with its place; clean JSON is read as Python reads it."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.reading.json_text import parse_json
from tests.planner.refusal import refusal, told

_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(_VALUES)
def test_json_comes_back_as_it_was_written(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value


@given(_VALUES)
def test_a_byte_order_mark_of_utf8_is_no_obstacle(value: object) -> None:
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=True).encode()) == value


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (b"", "empty", "$"),
        (b" \n", "empty", "$"),
        (b"\xef\xbb\xbf", "empty", "$"),
        ("{}".encode("utf-16"), "not_utf8", "$"),
        (b"\x30\x00\x00\x00ET12" + bytes(40), "executorch_program", "$"),
        (b"PK\x03\x04" + bytes(40), "packed", "$"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 300568\n", "lfs_pointer", "$"),
        ("{}".encode("utf-16-le"), "not_utf8", "$"),
        ("{}".encode("utf-16-be"), "not_utf8", "$"),
        ("{}".encode("utf-32"), "not_utf8", "$"),
        (b'{"a":\n "\xff"}', "not_utf8", "line 2, byte 3"),
        (b'\xef\xbb\xbf{"a": "\xff"}', "not_utf8", "line 1, byte 11"),
        (b'{"a": 1,}', "malformed_json", "line 1, column 9"),
        (b'{"a" 1}', "malformed_json", "line 1, column 6"),
        (b'{"a": 1', "malformed_json", "line 1, column 8"),
        (b"[1,\n2 3]", "malformed_json", "line 2, column 3"),
        (b"{}{}", "malformed_json", "line 1, column 3"),
        (b'["abc\x00"]', "malformed_json", "line 1, column 6"),
        (b"[1, \x00]", "malformed_json", "line 1, column 5"),
        (b'["\\x"]', "malformed_json", "line 1, column 3"),
        (b"{'a': 1}", "malformed_json", "line 1, column 2"),
        (b'["NaN", NaN]', "not_finite", "line 1, column 9"),
        (b"[-Infinity]", "not_finite", "line 1, column 2"),
        (b"[1,\n 1e999]", "not_finite", "line 2, column 2"),
        (b"[" * 100_000, "too_deep", "$"),
        (b'{"a":' * 100_000, "too_deep", "$"),
        (b"[1, " + b"9" * 5_000 + b"]", "integer_too_long", "line 1, column 5"),
        (b'{"a": 1, "b": {"c": [{}, {"d": 1, "d": 2}]}}', "duplicate_key", "$.b.c[1].d"),
        (b'{"a": 1, "a": 1}', "duplicate_key", "$.a"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(data: bytes, code: str, place: str) -> None:
    assert told(lambda: parse_json(data)) == [(code, place)]


def test_every_duplicate_key_is_told() -> None:
    data = b'[{"a": 1, "a": 2}, {"b": 1, "b": 2}]'
    assert [place for _, place in told(lambda: parse_json(data))] == ["$[0].a", "$[1].b"]


def test_a_text_of_too_many_values_is_refused_before_it_is_parsed() -> None:
    data = b"[" + b"{}," * 1000 + b"{}]"
    assert told(lambda: parse_json(data, most_values=2000)) == [("too_large", "$")]
    assert parse_json(data, most_values=2002) == [{}] * 1001


@pytest.mark.parametrize("data", [b'{"\x1b[2J": 1}', b'{"\\u001b": 1, "\\u001b": 2}', b"[\x1b]"])
def test_messages_do_not_repeat_what_could_move_the_cursor(data: bytes) -> None:
    assert all(issue.message.isprintable() for issue in refusal(lambda: parse_json(data)))


def test_the_collector_is_on_again_after_an_error() -> None:
    refusal(lambda: parse_json(b"["))
    assert gc.isenabled()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        refusal(lambda: parse_json(data))
