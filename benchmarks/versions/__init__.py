"""Two versions of the project on one machine, in turns: `python -m benchmarks versions ../before`.

The other version is a checkout with an environment of its own:
`git worktree add ../before COMMIT && make -C ../before install`. What is measured uses only commands, options
and names of the library that both have.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.page import ROOT
from benchmarks.versions import commands, engine
from benchmarks.versions.case import Case
from benchmarks.versions.checkout import Checkout, FailedError
from benchmarks.versions.inputs import Inputs
from benchmarks.versions.report import report
from benchmarks.versions.turns import measured

PARTS: Final = {"commands": commands.CASES, "engine": engine.CASES}
ROWS: Final = {case.name: case for cases in PARTS.values() for case in cases}


def parts(other: Path, rows: Sequence[str] = (), runs: int | None = None) -> dict[str, Callable[[], str]]:
    """What measures each part, or only these rows of it, as often as each says or so many times."""
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        raise FailedError(f"no row is called {unknown[0]!r}; there are: {', '.join(ROWS)}")
    before, now = Checkout(other.absolute()), Checkout(ROOT)
    for checkout in (before, now):
        checkout.check()
    chosen = {
        name: [case for case in cases if not rows or case.name in rows] for name, cases in PARTS.items()
    }
    return {name: partial(measure, cases, before, now, runs) for name, cases in chosen.items() if cases}


def measure(cases: Sequence[Case], before: Checkout, now: Checkout, runs: int | None) -> str:
    """The table of these cases, after a word on what was measured."""
    load, commits = os.getloadavg()[1], [checkout.commit() for checkout in (before, now)]
    with TemporaryDirectory() as folder:
        results = [measured(case, before, now, Inputs(Path(folder)), runs) for case in cases]
    return (
        f"Before: {commits[0]}; now: {commits[1]}. Medians; the two versions took turns, each run in "
        f"a process of its own. The load of the machine was {load:.1f} at the start:\n\n{report(results)}"
    )
