"""Tilings for people: one in detail, or a line for each operator of a graph."""

from collections.abc import Iterator, Sequence

from memstow.planner.model.tiling import Chosen, Loop, Tile, Tiling
from memstow.planner.show.formatting import count, plain, short_name, table


def tiling_report(tiling: Tiling) -> str:
    """The tiling of one operator, in lines of text."""
    return "\n".join(_lines(tiling))


def tilings_report(tilings: Sequence[Tiling]) -> str:
    """A line for each operator that has tiles, the sum, and why the others have none."""
    tiled = [tiling for tiling in tilings if tiling.why_not is None]
    lines = table(
        ("operator", "type", "tile", "loops", "tiles", "l1", "moved", "least", ""),
        [_row(entry) for entry in tiled],
        left=4,
    )
    chosen = [entry for entry in tiled if entry.chosen is not None]
    moved = sum(entry.chosen.bytes for entry in chosen if entry.chosen is not None)
    least = sum(entry.least or 0 for entry in chosen)
    who = "1 operator moves" if len(chosen) == 1 else f"{len(chosen):,} operators move"
    lines += ["", f"{who} {count(moved)} bytes; each element once: {count(least)}"]
    if chosen and any(not entry.complete for entry in tiled):
        lines.append("* not all tiles were looked at: there may be better ones")
    others: dict[str, list[str]] = {}
    for tiling in tilings:
        if tiling.why_not is not None:
            others.setdefault(tiling.why_not, []).append(_name(tiling))
    for reason, some in others.items():
        more = f" and {len(some) - 8:,} more" if len(some) > 8 else ""
        lines.append(f"no tiles: {', '.join(some[:8])}{more}: {plain(reason)}")
    return "\n".join(lines)


def _row(tiling: Tiling) -> tuple[str, ...]:
    head = short_name(tiling.operator), plain(tiling.type or "-", most=24)
    if tiling.chosen is None:
        return (
            *head,
            "none fits",
            "",
            "",
            "?" if tiling.needs is None else f"needs {count(tiling.needs)}",
            "",
            count(tiling.least or 0),
            "",
        )
    chosen = tiling.chosen
    times = f"{chosen.bytes / tiling.least:.2f}x" if tiling.least else ""
    return (
        *head,
        _size(chosen.tile),
        _loops(chosen) or "-",
        count(chosen.tiles),
        count(chosen.l1),
        count(chosen.bytes),
        count(tiling.least or 0),
        times + ("" if tiling.complete else "*"),
    )


def _lines(tiling: Tiling) -> Iterator[str]:
    yield f"operator  {_name(tiling)}"
    if tiling.why_not is not None:
        yield f"tiles     none: {plain(tiling.why_not)}"
        return
    yield f"memory    {short_name(tiling.pool)}: {count(tiling.capacity)} bytes for tiles"
    if tiling.chosen is None:
        word = (
            "none found among those that were looked at"
            if tiling.needs is None
            else f"none fits; the smallest needs {count(tiling.needs)} bytes"
        )
        yield f"tiles     {word}"
    else:
        yield from _chosen_lines(tiling, tiling.chosen)
    if tiling.whole is not None:
        word = "fits" if tiling.whole.fits else "does not fit"
        yield f"whole     {count(tiling.whole.l1)} bytes: {word}"
    if not tiling.complete:
        yield f"search    ended after {count(tiling.looked_at)} combinations: there may be better tiles"
    if tiling.chosen is not None:
        yield ""
        yield from _tables(tiling.chosen)
    if tiling.front is not None:
        yield ""
        yield from table(
            ("tile", "channels are", "tiles", "l1", "bytes moved"),
            [
                (
                    _size(entry.tile),
                    "outside" if entry.loops[0] == "channels" else "inside",
                    count(entry.tiles),
                    count(entry.l1),
                    count(entry.bytes),
                )
                for entry in tiling.front
            ],
            left=2,
        )


def _chosen_lines(tiling: Tiling, chosen: Chosen) -> Iterator[str]:
    tile = chosen.tile
    yield (
        f"tile      {tile.channels:,} channels x {tile.rows:,} rows x {tile.columns:,} columns, "
        f"of {tile.inputs:,} input channels"
    )
    yield f"tiles     {count(chosen.tiles)}: {_loops(chosen) or 'the layer is one tile'}"
    yield f"l1        {count(chosen.l1)} bytes"
    once = f"each element once: {count(tiling.least or 0)}"
    if tiling.bound is None:
        proof = "what is possible was not looked at to the end"
    elif tiling.bound == chosen.bytes:
        proof = "no tile that fits moves fewer"
    else:
        proof = f"tiles that fit move at least {count(tiling.bound)}"
    yield f"moved     {count(chosen.bytes)} bytes; {proof}; {once}"
    if chosen.beyond is not None:
        yield f"beyond    {count(chosen.beyond)} bytes of these to or from beyond {plain(tiling.home or '')}"
    if tiling.options.multiples:
        yield f"alignment {count(chosen.alignment)} from the next multiples"
    if not tiling.replayed:
        yield "judge     the steps are too many to walk through: what moves is counted by formulas alone"


def _tables(chosen: Chosen) -> Iterator[str]:
    home = chosen.beyond is not None
    yield from table(
        ("tensor", "role", *(["lies"] if home else []), "tiles moved", "bytes moved", "least"),
        [
            (
                short_name(entry.tensor),
                entry.role,
                *(["beyond" if entry.beyond else "home"] if home else []),
                count(entry.times),
                count(entry.bytes),
                count(entry.least),
            )
            for entry in chosen.moved
        ],
        left=3 if home else 2,
    )
    yield ""
    yield from table(
        ("buffer", "role", "offset", "bytes"),
        [
            (short_name(buffer.id), buffer.role, count(buffer.offset), count(buffer.size))
            for buffer in chosen.buffers
        ],
        left=2,
    )


def _name(tiling: Tiling) -> str:
    name = short_name(tiling.operator)
    return name if tiling.type is None else f"{name} ({short_name(tiling.type)})"


def _size(tile: Tile) -> str:
    return f"{tile.channels}x{tile.rows}x{tile.columns}/{tile.inputs}"


def _loops(chosen: Chosen) -> str:
    """The loops of more than one turn, outermost first."""
    pieces = chosen.pieces
    turns: dict[Loop, int] = {
        "channels": len(pieces.channels),
        "rows": len(pieces.rows),
        "columns": len(pieces.columns),
        "inputs": len(pieces.inputs),
    }
    return " > ".join(f"{turns[loop]:,} {loop}" for loop in chosen.loops if turns[loop] > 1)
