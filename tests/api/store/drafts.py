"""Jobs for tests of the store."""

from typing import Any

from memstow.api.store.tables import Draft


def draft(**changed: Any) -> Draft:
    """A job; its cache key is its own unless one is given."""
    given = {
        "problem": b'{"version": 1, "buffers": []}',
        "digest": "d",
        "cache_key": f"c{len(_made)}",
        "buffers": 0,
        "options": "{}",
        **changed,
    }
    _made.append(1)
    return Draft(**given)


_made: list[int] = []
