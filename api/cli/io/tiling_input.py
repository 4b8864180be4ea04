"""Tiles of `memstow tile`, where a plan is read."""

import argparse
from typing import TYPE_CHECKING, Final

from memstow.api.cli.io.problem_input import naming_file

if TYPE_CHECKING:
    from memstow.planner.model.tiling import Tiling, Tilings

# Options about plans, with the values that say nothing.
_OF_PLANS: Final = (
    ("--plan-format", (None, "json")),
    ("--point", (None,)),
    ("--hint", (None,)),
    ("--recheck", (False,)),
    ("--output", (None,)),
    ("--capacity", (None,)),
    ("--fit-only", (False,)),
    ("--order", (None,)),
    ("--in-place", (False,)),
    ("--no-in-place", (False,)),
)


def tilings_in(args: argparse.Namespace, data: bytes) -> "Tiling | Tilings | None":
    """The tiling in these bytes of the plan file, or those of all operators; None for something else."""
    # Read as a whole only where it may be one: files of plans are large.
    if b'"operator"' not in data and b'"tilings"' not in data:
        return None
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return None
    from memstow.planner.model.errors import InputError
    from memstow.planner.reading.json_text import parse_json
    from memstow.planner.tiling.document import is_tiling, parse_tilings

    with naming_file(args.plan):
        raw = parse_json(data)
        if not is_tiling(raw):
            return None
        for option, silent in _OF_PLANS:
            if getattr(args, option.removeprefix("--").replace("-", "_")) not in silent:
                message = "it is for plans, and the second file holds tiles of operators; leave it out"
                raise InputError.single("unused_option", option, message)
        return parse_tilings(raw)
