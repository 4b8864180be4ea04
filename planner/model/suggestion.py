"""Suggests the known word that a misspelt one is most like."""

from collections.abc import Iterable

_LONGEST = 64


def closest_match(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known word that is most like this one; None if none is similar."""
    # Imported late: it costs start-up time and only mistakes need it.
    from difflib import get_close_matches

    close = get_close_matches(word.lower()[:_LONGEST], list(known), n=1, cutoff=alike)
    return close[0] if close else None
