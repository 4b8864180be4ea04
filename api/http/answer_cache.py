"""Answers kept in memory by the bytes of the request: a question that comes again is not even read."""

import hashlib
from dataclasses import dataclass

from memstow.api.lru import Recent

# The body, and what was said beside it. The bytes themselves: a digest would take a turn of the event loop.
Key = tuple[bytes, tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Ready:
    """An answer that can be sent as it is."""

    body: bytes
    media_type: str
    etag: str


def ready(body: bytes, media_type: str) -> Ready:
    """The answer with its tag."""
    return Ready(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


Remembered = Recent[Key, Ready]


def remembered(most_bytes: int) -> Remembered:
    """Answers of at most so many bytes, requests included."""
    return Recent(most_bytes, lambda key, answer: len(key[0]) + len(answer.body))
