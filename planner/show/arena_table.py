"""What TensorFlow Lite Micro needs of an arena, before and after, as a table for people."""

from collections.abc import Callable, Sequence
from typing import Final

from memstow.planner.model.plan import Arena, Arenas
from memstow.planner.show.formatting import count, plain, table

_UNKNOWN: Final = "?"
_NO_MORE: Final = "-"


def arena_report(arenas: Arenas, is_written: bool, width: int) -> str:
    """The arena of a model as it is and with the plan, and why it shrinks or does not."""
    from textwrap import wrap

    shown = [it for it in (arenas.before, arenas.after) if it is not None]
    headings = ("as it is", "as written" if is_written else "with the plan")
    lines = _table(shown, headings[: len(shown)]) if shown else []
    for note in arenas.notes:
        lines += wrap(plain(note), width, subsequent_indent="  ")
    return "\n".join(lines)


def _table(arenas: Sequence[Arena], headings: Sequence[str]) -> list[str]:
    rows: Sequence[tuple[str, Callable[[Arena], str]]] = (
        ("head: tensors and scratch", lambda it: _figure(it.head, _UNKNOWN)),
        ("planning, in its place", lambda it: _figure(it.planning, _NO_MORE)),
        ("tail: what stays", lambda it: _figure(it.tail, _UNKNOWN)),
        ("least arena", _least),
    )
    cells = [(f"  {name}", *(pick(arena) for arena in arenas)) for name, pick in rows]
    return table(("TensorFlow Lite Micro, bytes", *headings), cells)


def _least(arena: Arena) -> str:
    if arena.least is not None:
        return count(arena.least)
    return _UNKNOWN if arena.head is None else f"tail + {max(arena.head, arena.planning or 0):,}"


def _figure(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else count(value)
