"""The files in the folder of a run besides the results; some look like problems."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

PATHS: Final = "paths.json"
"""The paths given to the run, with which reports find the problems again."""
COMMANDS: Final = "commands.json"
"""The command lines of the run, and when they began."""
BEST: Final = "best_known.json"
"""The best value known of each instance."""
RUNS: Final = "runs.csv"
SUMMARY: Final = "summary.csv"
"""A report as tables."""
WRITTEN: Final = frozenset((PATHS, COMMANDS, BEST, RUNS, SUMMARY))


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that wrote results into the folder."""

    began: str
    """Date and time in UTC, to the minute: `2026-11-23 14:05 UTC`."""
    command: str


def commands(folder: Path) -> list[Command]:
    """The command lines of the runs of this folder; none where the file is missing or damaged."""
    try:
        known = json.loads((folder / COMMANDS).read_bytes())
        return [Command(str(entry["began"]), str(entry["command"])) for entry in known]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def commands_file(folder: Path, command: Command) -> bytes:
    """The content of `commands.json`: the commands before, then this one."""
    entries = [asdict(one) for one in (*commands(folder), command)]
    # Of bytes that are no text the escape of Python is that of JSON as well.
    return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode(errors="backslashreplace")
