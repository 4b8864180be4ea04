"""What was found out about a value that never changes, kept for as long as the value lives."""

from typing import Generic, TypeVar
from weakref import ref

_Subject = TypeVar("_Subject")
_Found = TypeVar("_Found")


class Memo(Generic[_Subject, _Found]):
    """By identity: to compare two problems takes longer than most of what is remembered of them here.

    An equal copy begins anew. What dies is forgotten before another value can have its address.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[_Subject], _Found]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, subject: _Subject) -> _Found | None:
        """What was noted of this very value."""
        known = self._known.get(id(subject))
        return None if known is None else known[1]

    def note(self, subject: _Subject, found: _Found) -> None:
        """Remember it until the value is gone."""
        known, key = self._known, id(subject)

        def forget(_: ref[_Subject]) -> None:
            known.pop(key, None)

        known[key] = ref(subject, forget), found
