"""The options of a tiling: as text, and what is wrong with them."""

from collections.abc import Iterator
from typing import Final, Literal, get_args

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.tiling import TILING_TERMS, WHOLE_TILE, Loop, TilingOptions, TilingTerm

LOOPS: Final[tuple[Loop, ...]] = get_args(Loop)
_MOST: Final = 1 << 31


def terms_of(text: str) -> tuple[TilingTerm, ...]:
    """The terms of an objective such as `bytes,tiles`."""
    terms = [it for it in TILING_TERMS for word in text.split(",") if word.strip() == it]
    words = [word.strip() for word in text.split(",")]
    unknown = [word for word in words if word not in terms]
    if unknown or len(set(words)) < len(words):
        message = f"{text!r} is no list of terms: write some of {', '.join(TILING_TERMS)}, each once"
        raise InputError.single("unknown_term", "objective", message)
    return tuple(sorted(terms, key=words.index))


def multiples_of(text: str) -> tuple[tuple[Loop, int], ...]:
    """The multiples of a list such as `channels=4,columns=2`."""
    found: dict[Loop, int] = {}
    for part in text.split(","):
        name, _, number = (it.strip() for it in part.partition("="))
        loop = next((it for it in LOOPS if it == name), None)
        if loop is None or loop in found or not number.isdecimal() or not 0 < int(number[:12]) < _MOST:
            message = (
                f"{part!r} is no multiple: write for example channels=4,columns=2, of {', '.join(LOOPS)}"
            )
            raise InputError.single("not_a_multiple", "multiple", message)
        found[loop] = int(number)
    return tuple(found.items())


def pixels_of(text: str) -> int | Literal["tile"]:
    """The pixels that im2col lays out at once: a number, or `tile`."""
    if text == WHOLE_TILE:
        return "tile"
    if not text.isdecimal() or int(text[:12]) >= _MOST:
        message = f"{text!r} is neither a number of pixels nor `tile`, for all pixels of a tile"
        raise InputError.single("not_pixels", "im2col", message)
    return int(text)


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
