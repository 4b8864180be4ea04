"""What a body is taken for: a document alone, an envelope, a problem with symbols, or nothing."""

import json
from typing import Final

import pytest

from memstow.api.operations.body import SymbolicRequest, parse_request
from memstow.api.operations.request_types import BodyForm
from tests.api.operations.test_front import LIMITS
from tests.planner.refusal import refusal

SYMBOLIC: Final = {
    "version": 1,
    "symbols": [{"id": "s", "min": 1, "max": 9}],
    "buffers": [{"id": "a", "size": "4*s", "lifetime": [0, 1]}],
}


def test_symbols_are_seen_alone_in_an_envelope_and_in_a_text() -> None:
    for body in (SYMBOLIC, {"problem": SYMBOLIC}, {"problem": json.dumps(SYMBOLIC)}):
        parsed = parse_request(json.dumps(body).encode(), BodyForm(shapes={}), LIMITS)
        assert isinstance(parsed, SymbolicRequest)
        assert parsed.document.symbols[0].id == "s"


def test_a_body_in_a_format_is_no_envelope() -> None:
    alone = BodyForm(format="json", shapes={})
    assert isinstance(parse_request(json.dumps(SYMBOLIC).encode(), alone, LIMITS), SymbolicRequest)
    enveloped = json.dumps({"problem": SYMBOLIC}).encode()
    assert refusal(lambda: parse_request(enveloped, alone, LIMITS))[0].code == "unknown_field"


@pytest.mark.parametrize("body", [b"[]", b"[1]", b"1", b'"symbols"', b"null"])
@pytest.mark.parametrize("format_", [None, "json", "graph"])
def test_what_is_no_object_is_refused(body: bytes, format_: str | None) -> None:
    assert refusal(lambda: parse_request(body, BodyForm(format=format_, shapes={}), LIMITS))
