"""Names of C and Rust for any id, and any id in a comment.

Two names never differ in case alone, because the names of Rust's constants are upper case and those of its
functions lower case, and because some tools compare symbols that way.
"""

import re
from collections.abc import Iterable
from typing import Final

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9]+", re.ASCII)
# Comments of C end at `*/`, and lines go on after a backslash, which C before C23 also spells `??/`.
_NOT_IN_COMMENTS: Final = re.compile(r"[^A-Za-z0-9 _.,:;@#%&+=<>()\[\]{}|~^!$/'-]", re.ASCII)


def identifiers(ids: Iterable[str]) -> dict[str, str]:
    """A name for each id, as the end of an identifier: the id itself where that is possible.

    They do not depend on the order of the ids. An id that can be a name has it; the others get a number where
    their name is taken.
    """
    ordered = sorted(set(ids))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for one in ordered:
        if _as_name(one) == one and one.lower() not in taken:
            taken.add(one.lower())
            names[one] = one
    numbers: dict[str, int] = {}
    for one in ordered:
        if one not in names:
            stem = name = _as_name(one)
            while name.lower() in taken:
                numbers[stem.lower()] = numbers.get(stem.lower(), 1) + 1
                name = f"{stem}_{numbers[stem.lower()]}"
            taken.add(name.lower())
            names[one] = name
    return names


def _as_name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text).strip("_") or "x"


def in_comment(text: str) -> str:
    """The text in quotes, in characters that mean nothing in a comment of any language."""
    return '"' + _NOT_IN_COMMENTS.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text) + '"'
