"""Places inside a JSON document: as keys to walk, as text to read."""

import re
from typing import Final

from memstow.planner.reading.printable import LONGEST, shown

Path = tuple[str | int, ...]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEP: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def json_path(path: Path) -> str:
    """`$.buffers[3].lifetime[1]`"""
    return "$" + "".join(map(_step, path))


def parse_path(text: str) -> Path:
    """The keys of a path that `json_path` wrote."""
    keys: list[str | int] = []
    for name, index, quoted in _STEP.findall(text):
        keys.append(int(index) if index else name or quoted)
    return tuple(keys)


def value_at(root: object, path: Path) -> object:
    """The value there, or None where nothing is."""
    value = root
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def order_in(root: object, path: Path) -> tuple[int, ...]:
    """Sorts paths by the place in the document; missing fields come after the fields of their object."""
    order: list[int] = []
    value = root
    for key in path:
        if isinstance(value, dict):
            order.append(_rank(value, key))
            value = value.get(key)
        else:
            order.append(key if isinstance(key, int) else 0)
            inside = isinstance(value, list) and isinstance(key, int) and key < len(value)
            value = value[key] if inside and isinstance(value, list) and isinstance(key, int) else None
    return tuple(order)


def _rank(members: dict[object, object], key: object) -> int:
    # Finding a key's rank walks over the object: not worth it where an object is used as a long table.
    if key not in members or len(members) > 10_000:
        return len(members)
    return next(rank for rank, name in enumerate(members) if name == key)


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if len(key) <= LONGEST and _NAME.fullmatch(key) else f"[{shown(key)}]"
