"""Record this checkout and another, and show what differs: `python -m tests.corpus ../before`."""

import argparse
import difflib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.corpus.recording import Result, record

_ROOT: Final = Path(__file__).parents[2]


def main(arguments: list[str] | None = None) -> int:
    """0 where both give the same."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument(
        "before", type=Path, help="another checkout with its .venv, or what --output wrote of one"
    )
    parser.add_argument("--output", type=Path, help="only record BEFORE, to this file of JSON lines")
    parser.add_argument("--show", type=int, default=20, help="how many differences to show (default: 20)")
    options = parser.parse_args(arguments)
    before = _results(options.before)
    if options.output:
        options.output.write_text("".join(json.dumps(result) + "\n" for result in before.values()))
        sys.stdout.write(f"{len(before)} results in {options.output}\n")
        return 0
    after = _results(_ROOT)
    differing = compare(before, after)
    for text in differing[: options.show]:
        sys.stdout.write(f"{text}\n")
    sys.stdout.write(f"{len(after)} cases, {len(differing)} differ\n")
    return 1 if differing else 0


def compare(before: Mapping[str, Result], after: Mapping[str, Result]) -> list[str]:
    """A difference as text for each case that does not give the same."""
    differing = []
    for name in {**before, **after}:
        old, new = _lines(before.get(name)), _lines(after.get(name))
        if old != new:
            difference = difflib.unified_diff(old, new, "before", "after", lineterm="", n=1)
            differing.append("\n".join([f"== {name}", *difference]))
    return differing


def _lines(result: Result | None) -> list[str]:
    if result is None:
        return ["no such case"]
    lines = [f"code {result['code']}", *result["out"].splitlines(), "-- errors", *result["err"].splitlines()]
    for name, content in result["files"].items():
        lines += [f"-- {name}", *content.splitlines()]
    return lines


def _results(source: Path) -> dict[str, Result]:
    results: list[Result]
    if source.is_file():
        results = [json.loads(line) for line in source.read_text().splitlines()]
    else:
        results = list(record(source.resolve()))
    return {result["name"]: result for result in results}


if __name__ == "__main__":
    sys.exit(main())
