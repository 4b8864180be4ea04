"""Messages survive any cutting into pieces, and nothing but a message is taken for one."""

import struct
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.processes.frames import GarbageError, Message, Reader, pack

VALUES = st.recursive(
    st.integers() | st.text() | st.none() | st.binary(),
    lambda entry: st.lists(entry, max_size=3) | st.dictionaries(st.text(), entry, max_size=3),
    max_leaves=6,
)
messages = st.dictionaries(st.text(), VALUES, max_size=5).map(lambda entries: {**entries, "kind": "any"})


@given(st.lists(messages, max_size=5), st.lists(st.integers(0, 400), max_size=10))
def test_cut_anywhere_the_messages_are_the_same(sent: list[Message], cuts: list[int]) -> None:
    data = b"".join(map(pack, sent))
    at = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = Reader()
    heard = [message for low, high in pairwise(at) for message in reader.feed(data[low:high])]
    assert heard == sent


@given(messages, st.data())
def test_a_changed_byte_is_never_taken_for_another_message(message: Message, data: st.DataObject) -> None:
    packed = bytearray(pack(message))
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    reader = Reader()
    try:
        heard = list(reader.feed(bytes(packed)))
    except GarbageError:
        return
    assert heard == []


def framed(text: bytes, beside: bytes = b"") -> bytes:
    checksum = crc32(text + beside)
    return struct.pack("<4sIII", b"MSTW", len(text), len(beside), checksum) + text + beside


NAME = b'["0123456789abcdef",'


@pytest.mark.parametrize(
    "body",
    [
        *(b"[]", b"{}", b'{"kind": 1}', b"nonsense", b"\xff", b'["short",{"kind":"a"}]'),
        *(NAME + rest + b"]" for rest in (b"[]", b"{}", b'{"kind": 1}', b'{"kind": "a"}, 1', b"\xff")),
    ],
)
def test_a_frame_must_hold_an_object_with_a_kind(body: bytes) -> None:
    with pytest.raises(GarbageError):
        list(Reader().feed(framed(body)))


@pytest.mark.parametrize("place", ["[0,6]", "[-1,2]", "[3,2]", "[0]", "7", '"0"', "[0,1,2]", "[0.0,1.0]"])
def test_bytes_must_be_where_they_are_said_to_be(place: str) -> None:
    text = NAME + f'{{"kind":"a","body":{{"0123456789abcdef":{place}}}}}]'.encode()
    with pytest.raises(GarbageError):
        list(Reader().feed(framed(text, b"12345")))


def test_bytes_travel_as_they_are() -> None:
    body = bytes(range(256)) * 4
    packed = pack({"kind": "any", "body": body})
    assert body in packed
    assert list(Reader().feed(packed)) == [{"kind": "any", "body": body}]
