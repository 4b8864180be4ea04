"""Whether a command can do its work in columns: plain problems, and nothing asked for that needs objects."""

import argparse
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.plain._columns import Columns

# Options that change the document or ask for more than columns hold, with the values that say nothing.
_NOT_GIVEN: Final[tuple[tuple[str, tuple[object, ...]], ...]] = (
    ("at", (None, [])),
    ("target", (None,)),
    ("order", (None,)),
    ("dim", (None, [])),
    ("in_place", (False,)),
    ("no_in_place", (False,)),
    ("hint", (None,)),
    ("lock", (None,)),
    ("server", (None,)),
    ("scheduler", (None,)),
    ("members", (None,)),
    ("shapes", (None,)),
    ("prefix", (None,)),
    ("section", (None, [])),
    ("scratch", (None,)),
    ("order_only", (False,)),
    ("replan", (False,)),
    ("point", (None,)),
    ("recheck", (False,)),
)


# Bytes of an input whose columns are large blocks.
_LARGE: Final = 8 << 20


def columns_in(args: argparse.Namespace, data: bytes) -> "Columns | None":
    """The columns of a plain problem; None where the ordinary way has to be gone."""
    if os.environ.get("MEMSTOW_SERVER"):
        return None
    if any(getattr(args, name, silent[0]) not in silent for name, silent in _NOT_GIVEN):
        return None
    from memstow.planner.plain.document import columns_in

    if len(data) > _LARGE:
        from memstow.api.http.large_blocks import return_large_blocks

        # Else what one step has freed leaves holes, and takes memory beside that of the next.
        return_large_blocks()
    columns = columns_in(data, args.format)
    if columns is None:
        return None
    columns.fit_only = columns.fit_only or args.fit_only
    if args.capacity is not None:
        if not 0 <= args.capacity <= 1 << 62:
            return None
        columns.set_memory(columns.pool, args.capacity)
    return columns
