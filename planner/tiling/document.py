"""A tiling as a JSON object, in the form of docs/tiling.md."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from memstow.planner.formats.native import plain
from memstow.planner.model.tiling import Chosen, Piece, Tiling


def as_data(tiling: Tiling) -> dict[str, Any]:
    """The tiling as JSON holds it."""
    found: dict[str, Any] = {
        "operator": tiling.operator,
        "type": tiling.type,
        "pool": tiling.pool,
        "capacity": tiling.capacity,
        "home": tiling.home,
        "unit": tiling.unit,
        "why_not": tiling.why_not,
        "needs": tiling.needs,
        "bound": tiling.bound,
        "least": tiling.least,
        "whole": None if tiling.whole is None else asdict(tiling.whole),
        "complete": tiling.complete,
        "looked_at": tiling.looked_at,
        "replayed": tiling.replayed,
    }
    found |= {"tile": None} if tiling.chosen is None else _chosen(tiling.chosen)
    if tiling.front is not None:
        found["front"] = [asdict(point) | {"loops": list(point.loops)} for point in tiling.front]
    return found


def all_as_data(tilings: Sequence[Tiling]) -> dict[str, Any]:
    """The tilings of all operators of a graph, and what they move together."""
    tiled = [it for it in tilings if it.chosen is not None]
    return {
        "tilings": [as_data(it) for it in tilings],
        "tiled": len(tiled),
        "bytes": sum(it.chosen.bytes for it in tiled if it.chosen is not None),
        "least": sum(it.least or 0 for it in tiled),
    }


def _chosen(chosen: Chosen) -> dict[str, Any]:
    pieces = chosen.pieces
    return {
        "tile": asdict(chosen.tile),
        "loops": list(chosen.loops),
        "tiles": chosen.tiles,
        "bytes": chosen.bytes,
        "beyond": chosen.beyond,
        "alignment": chosen.alignment,
        "l1": chosen.l1,
        "moved": [asdict(it) for it in chosen.moved],
        "buffers": [asdict(it) for it in chosen.buffers],
        "pieces": {
            "channels": [_piece(it) for it in pieces.channels],
            "rows": [_piece(it) for it in pieces.rows],
            "columns": [_piece(it) for it in pieces.columns],
            "inputs": [list(it) for it in pieces.inputs],
        },
        "problem": plain(chosen.problem),
        "plan": plain(chosen.plan),
    }


def _piece(piece: Piece) -> dict[str, list[int]]:
    return {"output": list(piece.output), "input": list(piece.input)}
