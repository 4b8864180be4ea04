"""A proof in a file: what it shows, and where it is until it is whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest

from memstow.planner.model.records import record


@record
class Proof:
    """What a proof that was written shows: no plan has a peak below the bound."""

    bound: int
    steps: int
    size: int
    sha256: str
    """Of the file."""


def proof_in(path: str, height: int, steps: int) -> Proof:
    """The proof in this file, of so many steps, that there is nothing up to the height."""
    with open(path, "rb") as file:
        return Proof(height + 1, steps, os.path.getsize(path), file_digest(file, "sha256").hexdigest())


@contextmanager
def draft_of(path: str) -> Iterator[str]:
    """A file beside this one that nobody else has, for what is not finished; it is gone afterwards."""
    folder, name = os.path.split(os.path.realpath(path))
    draft = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.unfinished")
    try:
        yield draft
    finally:
        if os.path.exists(draft):
            os.remove(draft)
