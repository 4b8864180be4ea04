"""Options of a tiling as text, and tilings as JSON, in the form of docs/tiling.md, and read from it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Final, Literal, get_args

from memstow.planner.formats.native import plain
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.tiling import (
    TILING_TERMS,
    WHOLE_TILE,
    Chosen,
    Loop,
    Piece,
    Tiling,
    TilingOptions,
    Tilings,
    TilingTerm,
    together,
)
from memstow.planner.reading.json_text import Path, parse_json
from memstow.planner.reading.sections import Findings, missing_field, read_section, read_whole, unknown_field

LOOPS: Final[tuple[Loop, ...]] = get_args(Loop)
_MOST: Final = 1 << 31


def terms_of(text: str) -> tuple[TilingTerm, ...]:
    """The terms of an objective such as `bytes,tiles`."""
    terms = [entry for entry in TILING_TERMS for word in text.split(",") if word.strip() == entry]
    words = [word.strip() for word in text.split(",")]
    unknown = [word for word in words if word not in terms]
    if unknown or len(set(words)) < len(words):
        message = f"{text!r} is no list of terms: write some of {', '.join(TILING_TERMS)}, each once"
        raise InputError.single("unknown_term", "objective", message)
    return tuple(sorted(terms, key=words.index))


def multiples_of(text: str) -> tuple[tuple[Loop, int], ...]:
    """The multiples of a list such as `channels=4,columns=2`."""
    multiples: dict[Loop, int] = {}
    for part in text.split(","):
        name, _, number = (entry.strip() for entry in part.partition("="))
        loop = next((entry for entry in LOOPS if entry == name), None)
        if loop is None or loop in multiples or not number.isdecimal() or not 0 < int(number[:12]) < _MOST:
            message = (
                f"{part!r} is no multiple: write for example channels=4,columns=2, of {', '.join(LOOPS)}"
            )
            raise InputError.single("not_a_multiple", "multiple", message)
        multiples[loop] = int(number)
    return tuple(multiples.items())


def pixels_of(text: str) -> int | Literal["tile"]:
    """The pixels that im2col lays out at once: a number, or `tile`."""
    if text == WHOLE_TILE:
        return "tile"
    if not text.isdecimal() or int(text[:12]) >= _MOST:
        message = f"{text!r} is neither a number of pixels nor `tile`, for all pixels of a tile"
        raise InputError.single("not_pixels", "im2col", message)
    return int(text)


def options_of_texts(
    options: TilingOptions, *, objective: str | None, im2col: str | None, multiples: str | None
) -> TilingOptions:
    """The options with what callers write as text; what they leave out stays as it is."""
    return replace(
        options,
        objective=options.objective if objective is None else terms_of(objective),
        im2col=options.im2col if im2col is None else pixels_of(im2col),
        multiples=options.multiples if multiples is None else multiples_of(multiples),
    )


def check_options(options: TilingOptions) -> None:
    """InputError with all that is wrong with the options by themselves."""
    issues = list(_issues(options))
    if issues:
        raise InputError(issues)


def require_home(options: TilingOptions, has_home: bool) -> None:
    """InputError where the objective needs a second memory and there is none."""
    if "beyond" in options.objective and not has_home:
        message = "`beyond` counts what does not fit a second memory, and there is none; name it as `home`"
        raise InputError.single("no_home", "objective", message)


def _issues(options: TilingOptions) -> Iterator[Issue]:
    objective = options.objective
    if len(set(objective)) < len(objective) or not set(objective) <= set(TILING_TERMS):
        yield Issue("unknown_term", "objective", f"give some of {', '.join(TILING_TERMS)}, each once")
    loops = [loop for loop, _ in options.multiples]
    if len(set(loops)) < len(loops) or not set(loops) <= set(LOOPS):
        yield Issue("not_a_multiple", "multiple", f"give some of {', '.join(LOOPS)}, each once")
    if any(not 0 < multiple < _MOST for _, multiple in options.multiples):
        yield Issue("not_a_multiple", "multiple", "a multiple is a whole number of at least 1")
    if options.im2col != WHOLE_TILE and not 0 <= int(options.im2col) < _MOST:
        yield Issue("not_pixels", "im2col", "give a number of pixels, or `tile`")
    if options.capacity is not None and not 0 <= options.capacity <= 1 << 62:
        yield Issue("too_large", "capacity", "give bytes from 0 to 2^62")
    if options.work < 1:
        yield Issue("too_small", "work", "at least one combination must be looked at")


_OF_ALL: Final = "tilings"
_OF_CHOSEN: Final = tuple(field.name for field in fields(Chosen))
_OF_FRAME: Final = tuple(field.name for field in fields(Tiling) if field.name != "chosen")


def as_data(tiling: Tiling) -> dict[str, object]:
    """The tiling as JSON holds it."""
    data: dict[str, object] = {name: getattr(tiling, name) for name in _OF_FRAME if name != "front"}
    data["options"] = asdict(tiling.options)
    data["whole"] = None if tiling.whole is None else asdict(tiling.whole)
    chosen = tiling.chosen
    if chosen is None:
        data["tile"] = None
    else:
        pieces = chosen.pieces
        data |= {
            "tile": asdict(chosen.tile),
            "loops": list(chosen.loops),
            "tiles": chosen.tiles,
            "bytes": chosen.bytes,
            "beyond": chosen.beyond,
            "alignment": chosen.alignment,
            "l1": chosen.l1,
            "moved": [asdict(entry) for entry in chosen.moved],
            "buffers": [asdict(buffer) for buffer in chosen.buffers],
            "pieces": {
                "channels": [_piece(channel) for channel in pieces.channels],
                "rows": [_piece(row) for row in pieces.rows],
                "columns": [_piece(column) for column in pieces.columns],
                "inputs": [list(input_) for input_ in pieces.inputs],
            },
            "problem": plain(chosen.problem),
            "plan": plain(chosen.plan),
        }
    if tiling.front is not None:
        data["front"] = [asdict(point) | {"loops": list(point.loops)} for point in tiling.front]
    return data


def write_tiling(tiling: "Tiling") -> "bytes":
    """The tiling as a JSON document, which `read_tiling` reads."""
    return (json.dumps(as_data(tiling), indent=2, ensure_ascii=False) + "\n").encode()


def all_as_data(tilings: Sequence[Tiling]) -> dict[str, object]:
    """The tilings of all operators of a graph, and what they move together."""
    sums = together(tilings)
    return {
        "tilings": [as_data(tiling) for tiling in sums.tilings],
        "tiled": sums.tiled,
        "bytes": sums.bytes,
        "least": sums.least,
    }


def is_tiling(raw: object) -> bool:
    """Whether a JSON value is meant to be a tiling, or those of all operators of a graph."""
    return isinstance(raw, dict) and (_OF_ALL in raw or {"operator", "unit"} <= raw.keys())


def read_tiling(data: "bytes") -> "Tiling":
    """The tiling of an operator in a JSON document; InputError where it is none."""
    document = parse_tilings(parse_json(data))
    if isinstance(document, Tiling):
        return document
    message = "these are the tilings of all operators of a graph; take one of `tilings`"
    raise InputError.single("several_tilings", "$", message)


def parse_tilings(raw: object) -> Tiling | Tilings:
    """The tiling of an operator, or those of all operators of a graph; InputError where it is neither."""
    findings = Findings(raw)
    is_of_all = isinstance(raw, dict) and _OF_ALL in raw
    document = _tilings(raw, findings) if is_of_all else _tiling(raw, findings, ())
    if findings or document is None:
        raise findings.error()
    return document


def _tilings(raw: Any, findings: Findings) -> Tilings | None:
    sums = read_section(Tilings, raw | {_OF_ALL: []}, findings)
    if not isinstance(raw[_OF_ALL], list):
        read_whole(Tilings, raw, findings)
        return None
    tilings = []
    for number, entry in enumerate(raw[_OF_ALL]):
        if findings.full:
            break
        tilings.append(_tiling(entry, findings, (_OF_ALL, number)))
    return Tilings(**sums.values | {_OF_ALL: tuple(tilings)}) if not findings else None


def _tiling(raw: object, findings: Findings, at: Path) -> Tiling | None:
    """The members of the best tile stand beside those of the tiling; where there is none, `tile` is null."""
    if not isinstance(raw, dict):
        return read_whole(Tiling, raw, findings, at)
    frame = {name: value for name, value in raw.items() if name not in _OF_CHOSEN}
    if raw.get("tile") is None and "tile" in raw:
        frame |= {name: value for name, value in raw.items() if name in _OF_CHOSEN and name != "tile"}
        chosen = None
    else:
        chosen = read_whole(Chosen, {entry: raw[entry] for entry in _OF_CHOSEN if entry in raw}, findings, at)
    missing = [entry for entry in _OF_FRAME if entry not in raw and entry != "front"]
    for name in missing:
        findings.add("missing_field", (*at, name), missing_field(name))
    unknown = [entry for entry in frame if entry not in _OF_FRAME]
    for name in unknown:
        findings.add("unknown_field", (*at, str(name)), unknown_field(str(name), (*_OF_FRAME, *_OF_CHOSEN)))
    if missing or unknown:
        return None
    tiling = read_whole(Tiling, frame, findings, at)
    return replace(tiling, chosen=chosen) if isinstance(tiling, Tiling) else None


def _piece(piece: Piece) -> dict[str, list[int]]:
    return {"output": list(piece.output), "input": list(piece.input)}
