"""A proof in a file: what it shows, and where it is until it is whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

from memstow.planner.model.digest import hasher
from memstow.records import record

_BLOCK: Final = 1 << 18


@record
class Proof:
    """What a proof that was written shows."""

    bound: int
    """No plan is below it in the first term of the objective; where nothing fits, no peak would be."""
    steps: int
    size: int
    sha256: str
    """Of the file."""
    bounds: tuple[int, ...] = ()
    """By term of the objective: no plan is below that is no worse in the terms before it."""
    unfinished: int = 0
    """Lemmas of a search that the limits have ended: another can go on from them."""

    @property
    def shows_something(self) -> bool:
        """Whether more than what an unfinished search has learnt is in it."""
        return not self.unfinished or any(self.bounds)


def proof_in(path: str, bound: int, steps: int, bounds: tuple[int, ...], unfinished: int = 0) -> Proof:
    """The proof in this file."""
    with open(path, "rb") as file:
        return Proof(bound, steps, os.path.getsize(path), sha256_in(file), bounds, unfinished)


def sha256_in(file: BinaryIO) -> str:
    """Of all that is in the file, in hex."""
    identity = hasher(os.fstat(file.fileno()).st_size)
    while block := file.read(_BLOCK):
        identity.update(block)
    return identity.hexdigest()


@contextmanager
def draft_of(path: str) -> Iterator[str]:
    """A file beside this one that nobody else has, for what is not finished; it is gone afterwards."""
    folder, name = os.path.split(os.path.realpath(path))
    # With all of a long name, and a draft of a draft, the name would be longer than names may be.
    draft = os.path.join(folder, f".{name[:40]}.{os.urandom(6).hex()}.unfinished")
    _drafts.add(draft)
    try:
        yield draft
    finally:
        if os.path.exists(draft):
            os.remove(draft)
        _drafts.discard(draft)


_drafts: Final = set[str]()


def remove_drafts() -> None:
    """Remove what is not finished, where the process is about to end without any `finally`."""
    for draft in tuple(_drafts):
        with suppress(OSError):
            os.remove(draft)


def take_place(draft: str, path: str) -> None:
    """Give a finished draft this name, with the permissions of a file that had it before."""
    target = os.path.realpath(path)
    with suppress(FileNotFoundError):
        os.chmod(draft, os.stat(target).st_mode)
    os.replace(draft, target)
