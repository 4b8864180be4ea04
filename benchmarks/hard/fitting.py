"""Only to fit in the height that the authors ask for: whole processes, one after the other."""

import json

from benchmarks.hard.effort import Effort
from benchmarks.hard.instances import HEIGHT, LETTERS, SKIPPED, minimalloc_path, there
from benchmarks.page import held, table
from benchmarks.process import MEMSTOW, Ran, run

SECONDS = 10.0
LIMIT = 2.5


def measure(effort: Effort) -> str:
    """A row for each problem, and all of them together."""
    if not there("minimalloc"):
        return SKIPPED
    seconds = effort.seconds(SECONDS)
    _run(LETTERS[0], seconds)  # from the disk into memory, and bytecode written
    runs = {letter: _run(letter, seconds) for letter in LETTERS}
    rows = [
        (letter, _told(ran), f"{ran.seconds:.2f}", f"{ran.cpu_seconds:.2f}") for letter, ran in runs.items()
    ]
    clock, processor = (
        sum(getattr(ran, field) for ran in runs.values()) for field in ("seconds", "cpu_seconds")
    )
    fit = sum(ran.code == 0 for ran in runs.values())
    rows.append(("in all", f"{fit} of {len(runs)}", held(f"{clock:.2f}", clock, LIMIT), f"{processor:.2f}"))
    return (
        f"`memstow solve FILE --capacity {HEIGHT} --fit-only`, whole processes; "
        f"limit for all eleven: {LIMIT} s:\n\n" + table(("problem", "fits", "s", "processor, s"), rows)
    )


def _run(letter: str, seconds: float) -> Ran:
    asked = ("--capacity", str(HEIGHT), "--fit-only", "--time-limit", f"{seconds}", "--json")
    return run(MEMSTOW, "solve", minimalloc_path(letter), *asked)


def _told(ran: Ran) -> str:
    return f"by {json.loads(ran.out)['solver']}" if ran.code == 0 else f"no: exit code {ran.code}"
