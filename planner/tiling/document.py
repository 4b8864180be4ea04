"""Tilings as JSON, in the form of docs/tiling.md, and read from it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Final

from memstow.planner.formats.native import plain
from memstow.planner.model.errors import InputError
from memstow.planner.model.tiling import Chosen, Piece, Tiling, Tilings, together
from memstow.planner.reading.json_text import Path, parse_json
from memstow.planner.reading.sections import Findings, missing_field, read_section, read_whole, unknown_field

_OF_ALL: Final = "tilings"
_OF_CHOSEN: Final = tuple(field.name for field in fields(Chosen))
_OF_FRAME: Final = tuple(field.name for field in fields(Tiling) if field.name != "chosen")


def as_data(tiling: Tiling) -> dict[str, Any]:
    """The tiling as JSON holds it."""
    found: dict[str, Any] = {
        "operator": tiling.operator,
        "type": tiling.type,
        "pool": tiling.pool,
        "capacity": tiling.capacity,
        "home": tiling.home,
        "unit": tiling.unit,
        "options": asdict(tiling.options),
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


def write_tiling(tiling: "Tiling") -> "bytes":
    """The tiling as a JSON document, which `read_tiling` reads."""
    return (json.dumps(as_data(tiling), indent=2, ensure_ascii=False) + "\n").encode()


def all_as_data(tilings: Sequence[Tiling]) -> dict[str, Any]:
    """The tilings of all operators of a graph, and what they move together."""
    found = together(tilings)
    return {
        "tilings": [as_data(it) for it in found.tilings],
        "tiled": found.tiled,
        "bytes": found.bytes,
        "least": found.least,
    }


def is_tiling(raw: object) -> bool:
    """Whether a JSON value is meant to be a tiling, or those of all operators of a graph."""
    return isinstance(raw, dict) and (_OF_ALL in raw or {"operator", "unit"} <= raw.keys())


def read_tiling(data: "bytes") -> "Tiling":
    """The tiling of an operator in a JSON document; InputError where it is none."""
    found = parse_tilings(parse_json(data))
    if isinstance(found, Tiling):
        return found
    message = "these are the tilings of all operators of a graph; take one of `tilings`"
    raise InputError.single("several_tilings", "$", message)


def parse_tilings(raw: object) -> Tiling | Tilings:
    """The tiling of an operator, or those of all operators of a graph; InputError where it is neither."""
    findings = Findings(raw)
    is_of_all = isinstance(raw, dict) and _OF_ALL in raw
    found = _tilings(raw, findings) if is_of_all else _tiling(raw, findings, ())
    if findings or found is None:
        raise findings.error()
    return found


def _tilings(raw: Any, findings: Findings) -> Tilings | None:
    sums = read_section(Tilings, raw | {_OF_ALL: []}, findings)
    if not isinstance(raw[_OF_ALL], list):
        read_whole(Tilings, raw, findings)
        return None
    made = []
    for number, it in enumerate(raw[_OF_ALL]):
        if findings.full:
            break
        made.append(_tiling(it, findings, (_OF_ALL, number)))
    return Tilings(**sums.values | {_OF_ALL: tuple(made)}) if not findings else None


def _tiling(raw: object, findings: Findings, at: Path) -> Tiling | None:
    """The members of the best tile stand beside those of the tiling; where there is none, `tile` is null."""
    if not isinstance(raw, dict):
        return read_whole(Tiling, raw, findings, at)
    frame = {name: value for name, value in raw.items() if name not in _OF_CHOSEN}
    if raw.get("tile") is None and "tile" in raw:
        frame |= {name: value for name, value in raw.items() if name in _OF_CHOSEN and name != "tile"}
        chosen = None
    else:
        chosen = read_whole(Chosen, {it: raw[it] for it in _OF_CHOSEN if it in raw}, findings, at)
    missing = [it for it in _OF_FRAME if it not in raw and it != "front"]
    for name in missing:
        findings.add("missing_field", (*at, name), missing_field(name))
    unknown = [it for it in frame if it not in _OF_FRAME]
    for name in unknown:
        findings.add("unknown_field", (*at, str(name)), unknown_field(str(name), (*_OF_FRAME, *_OF_CHOSEN)))
    if missing or unknown:
        return None
    made = read_whole(Tiling, frame, findings, at)
    return replace(made, chosen=chosen) if isinstance(made, Tiling) else None


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
