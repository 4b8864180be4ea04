"""Messages survive any cutting into pieces, and nothing but a message is taken for one."""

import struct
from itertools import pairwise
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.isolate.frames import GarbageError, Message, Reader, pack

messages = st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=5).map(
    lambda entries: {**entries, "kind": "any"}
)


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


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"kind": 1}', b"nonsense", b"\xff"])
def test_a_frame_must_hold_an_object_with_a_kind(body: bytes) -> None:
    with pytest.raises(GarbageError):
        list(Reader().feed(struct.pack("<4sII", b"MSTW", len(body), crc32(body)) + body))
