"""The plan of a CSV: an offset for each buffer, and what else its lines say of them."""

import re
from collections.abc import Iterator
from typing import Final

from memstow.planner.formats.csv.gaps import Windows
from memstow.planner.formats.csv.lines import CellError, Lines, number
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import REPEATED, Placement, Plan
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.messages import without_nul
from memstow.planner.reading.printable import shown

_COLUMNS: Final = ("id", "lower", "upper", "size", "alignment", "gaps", "pool", "offset", "address")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII | re.IGNORECASE)


def read_plan(data: bytes, problem: Problem) -> Plan:
    """The plan of a CSV: what else its lines say of the buffers is for the problem to say."""
    placements: list[Placement] = []
    line_of: dict[str, int] = {}
    with collector_at_rest():
        lines = Lines(data, _COLUMNS, ("id", "offset"))
        where = lines.columns.position
        c_pool = lines.columns.of("pool")
        if c_pool is None and len(problem.pools) > 1:
            message = "there is no column 'pool', and the problem has several pools"
            raise InputError.single("missing_column", "line 1", message)
        c_address = lines.columns.of("address")
        bases = {pool.id: pool.base for pool in problem.pools}
        for line, row in lines:
            pool = problem.pools[0].id if c_pool is None else row[c_pool]
            try:
                place = _placement(row[where["id"]], pool, row[where["offset"]])
                if c_address is not None:
                    _check_address(row[c_address].strip(), place, bases.get(pool))
                placements.append(place)
                before = line_of.setdefault(place.buffer, line)
                if before != line:
                    again = f"{place.buffer!r} has a place already, in line {before}"
                    raise CellError(REPEATED, "id", f"{again}; give each buffer one place")
            except CellError as error:
                lines.add(error.code, line, error.meaning, str(error))
                if lines.full:
                    break
    if lines.issues:
        raise lines.error()
    at = {placement.buffer: placement for placement in placements}
    placements.extend(_windows_placed(problem, at))
    return Plan(status=Status.FEASIBLE, placements=tuple(placements))


def _placement(name: str, pool: str, cell: str) -> Placement:
    offset = number(cell, "offset")
    if not 0 <= offset <= LIMIT:
        code, limit = ("too_small", "at least 0") if offset < 0 else ("too_large", "at most 2^62")
        raise CellError(code, "offset", f"expected {limit}, given {shown(offset)}")
    for text, meaning in ((name, "id"), (pool, "pool")):
        if not text:
            raise CellError("empty", meaning, "expected at least one character")
        if len(text) > 1024:
            message = f"expected at most 1,024 characters, given {len(text):,}"
            raise CellError("too_long", meaning, message)
        if "\0" in text:
            raise CellError("not_text", meaning, without_nul(text))
    return Placement(buffer=name, pool=pool, offset=offset)


def _check_address(cell: str, place: Placement, base: int | None) -> None:
    """Refuse an address that is not that of the offset."""
    if not cell:
        return
    if base is None:
        message = f"the pool {place.pool!r} has no base, so there are no addresses; leave the cell empty"
        raise CellError("no_base", "address", message)
    given = int(cell, 16) if _HEXADECIMAL.fullmatch(cell) else number(cell, "address")
    if given != base + place.offset:
        message = f"the offset {place.offset:,} in {place.pool!r} is the address {base + place.offset:#x}"
        raise CellError("contradiction", "address", f"{message}, not {given:#x}")


def _windows_placed(problem: Problem, at: dict[str, Placement]) -> Iterator[Placement]:
    """Where the windows of gaps are: they have no line of their own, but a fixed place in their buffer."""
    windows = Windows(problem).ids if problem.relative else set()
    for tie in problem.relative:
        base = at.get(tie.base)
        if tie.buffer not in windows or tie.buffer in at or base is None:
            continue
        if base.offset + tie.offset <= LIMIT:
            yield Placement(buffer=tie.buffer, pool=base.pool, offset=base.offset + tie.offset)
