"""The table as JSON."""

from memstow.planner.formats.native import encode_document, plain
from memstow.planner.model.loops import Loops


def write(table: Loops, _prefix: str) -> bytes:
    """The document of docs/loops.md."""
    return encode_document(plain(table))
