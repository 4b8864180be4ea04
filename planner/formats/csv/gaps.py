"""The gaps of a CSV line: ranges of a life in which a buffer holds nothing, or only a window of its bytes.

A window becomes a buffer of its own at a fixed distance from the one it belongs to: what the rigid group
holds, moment by moment, is then exactly what the line says. Its id tells where it comes from: `b@7-9@2:13`.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from memstow.planner.formats.plain_problem import live_ranges
from memstow.planner.model.problem import Buffer, Interval, Problem, Relative

_GAP: Final = re.compile(r"(-?\d{1,4000})-(-?\d{1,4000})(?:@(\d{1,19}):(\d{1,19}))?", re.ASCII)


class Gap(NamedTuple):
    """A range of time, half-open, and the bytes of the buffer that are held in it."""

    begin: int
    end: int
    window: tuple[int, int] | None


class GapError(Exception):
    """A gap that cannot be read or that contradicts its line; says why."""


def parse_gaps(text: str, addend: int) -> list[Gap]:
    """The gaps of one cell, in order; `addend` is 1 where ends are last moments."""
    gaps: list[Gap] = []
    for part in text.split():
        match = _GAP.fullmatch(part)
        if match is None:
            raise GapError(f"{part[:48]!r} is not a gap; write 7-9 or, for a window of bytes, 7-9@2:13")
        begin, end, lower, upper = (None if group is None else int(group) for group in match.groups())
        if begin is None or end is None:
            raise GapError(f"{part[:48]!r} is not a gap")
        window = None if lower is None or upper is None else (lower, upper)
        gaps.append(Gap(begin, end + addend, window))
    return sorted(gaps, key=_times)


def check_gaps(gaps: list[Gap], life: Interval, size: int) -> None:
    """Refuse gaps outside the life, empty, overlapping, or with a window outside the buffer."""
    free_from = life[0]
    for gap in gaps:
        name = f"the gap [{gap.begin}, {gap.end})"
        if gap.begin >= gap.end:
            raise GapError(f"{name} is empty or reversed")
        if gap.begin < life[0] or gap.end > life[1]:
            raise GapError(f"{name} is not inside the life [{life[0]}, {life[1]})")
        if gap.begin < free_from:
            raise GapError(f"{name} overlaps the gap before it")
        free_from = gap.end
        if gap.window is not None and not gap.window[0] < gap.window[1] <= size:
            raise GapError(
                f"the window {gap.window[0]}:{gap.window[1]} is empty or outside the {size:,} bytes"
            )


def lives_between(life: Interval, gaps: list[Gap]) -> list[Interval]:
    """When the whole buffer is held: the life without its gaps."""
    lives: list[Interval] = []
    begin = life[0]
    for gap in gaps:
        if gap.begin > begin:
            lives.append((begin, gap.begin))
        begin = gap.end
    if begin < life[1]:
        lives.append((begin, life[1]))
    return lives


def window_id(buffer: str, gap: Gap) -> str:
    """The id of the buffer that stands for a window."""
    lower, upper = gap.window or (0, 0)
    return f"{buffer}@{gap.begin}-{gap.end}@{lower}:{upper}"


class Windows:
    """The buffers of a problem that stand for windows of others, recognised by all that makes them so."""

    def __init__(self, problem: Problem) -> None:
        by_id = {buffer.id: buffer for buffer in problem.buffers} if problem.relative else {}
        self.gaps: dict[str, list[Gap]] = {}
        """By the id of the buffer that has them."""
        self.ids: set[str] = set()
        """Of the buffers that stand for windows."""
        self.others: list[Relative] = []
        """Entries of `relative` that are not windows."""
        for tie in problem.relative:
            gap = _window_of(by_id, tie)
            if gap is None:
                self.others.append(tie)
            else:
                self.gaps.setdefault(tie.base, []).append(gap)
                self.ids.add(tie.buffer)


def _window_of(by_id: Mapping[str, Buffer], tie: Relative) -> Gap | None:
    child, base = by_id.get(tie.buffer), by_id.get(tie.base)
    if child is None or base is None or not isinstance(child.lifetime, tuple) or "@" not in child.id:
        return None
    begin, end = child.lifetime
    gap = Gap(begin, end, (tie.offset, tie.offset + child.size))
    # A group is a label, which the format does not have.
    plain = Buffer(id=window_id(base.id, gap), size=child.size, lifetime=child.lifetime, group=child.group)
    inside = tie.offset >= 0 and child.size > 0 and tie.offset + child.size <= base.size
    apart = all(end <= b or e <= begin for b, e in live_ranges(base) or ())
    return gap if child == plain and inside and apart and base.lifetime != "always" else None


def gaps_between(lives: Iterable[Interval], windows: list[Gap]) -> tuple[Interval, list[Gap]]:
    """The whole life and its gaps, from when the buffer is held and in which windows."""
    held = sorted([*(Gap(b, e, None) for b, e in lives), *windows], key=_times)
    gaps: list[Gap] = list(windows)
    for before, after in pairwise(held):
        if before.end < after.begin:
            gaps.append(Gap(before.end, after.begin, None))
    return (held[0].begin, max(part.end for part in held)), sorted(gaps, key=_times)


def format_gaps(gaps: Iterable[Gap]) -> str:
    """The gaps as a cell."""
    return " ".join(map(_written, gaps))


def _written(gap: Gap) -> str:
    window = "" if gap.window is None else f"@{gap.window[0]}:{gap.window[1]}"
    return f"{gap.begin}-{gap.end}{window}"


def _times(gap: Gap) -> Interval:
    return gap.begin, gap.end
