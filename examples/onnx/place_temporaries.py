"""Move the temporaries of C that emx-onnx-cgen wrote into the arenas of a plan.

    python3 place_temporaries.py model.c net.h > placed.c

The C must be made with `--large-temp-threshold 0 --no-restrict-arrays`, and net.h by memstow from the same
ONNX model. Before anything is written, this program follows the calls in the C and makes sure that no
temporary is overwritten while a later call reads it.
"""

import re
import sys
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

_BUFFER = re.compile(
    r'/\* Buffer "(?P<id>.*)" in "(?P<pool>.*)"\. \*/\n'
    r"#define \w+?_OFFSET_\w+ (?P<offset>\d+)\w*\n#define \w+ (?P<size>\d+)\w*\n"
    r"(?:#define \w+_ADDRESS_\w+ .*\n)?#define (?P<at>\w+) "
)
_FUNCTION = re.compile(r"^void \w+\((?P<parameters>[^;{]*)\) \{\n(?P<body>(?:    .*\n|\n)+)\}", re.MULTILINE)
_TEMPORARY = re.compile(
    r"^    (?P<type>\w+) (?P<name>tmp\d+_(?P<of>\w+))(?P<first>\[\d+\])(?P<rest>(?:\[\d+\])*);\n", re.M
)
_CALL = re.compile(r"^    \w+\((.*)\);$", re.MULTILINE)


class Place(NamedTuple):
    """Where a buffer is, as the header says."""

    pool: str
    offset: int
    size: int
    at: str

    def overlaps(self, other: "Place") -> bool:
        """Whether they share a byte."""
        apart = self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        return self.pool == other.pool and not apart


def places_of(header: str) -> dict[str, Place]:
    """The places of the buffers, by their names as emx-onnx-cgen writes them."""
    places: dict[str, Place] = {}
    for buffer in _BUFFER.finditer(header):
        name = re.sub(r"[^a-zA-Z0-9_]", "_", buffer["id"])
        name = f"v_{name}" if name[0].isdigit() else name
        if name in places:
            sys.exit(f"two buffers are called {name} in C; rename one in the model")
        places[name] = Place(buffer["pool"], int(buffer["offset"]), int(buffer["size"]), buffer["at"])
    return places


def lives_of(parameters: str, body: str) -> dict[str, tuple[int, int]]:
    """The first and the last call that uses a variable; parameters are used before, and after all calls."""
    calls = [set(re.findall(r"\w+", arguments)) for arguments in _CALL.findall(body)]
    lives: dict[str, tuple[int, int]] = {}
    for name in re.findall(r"(\w+)(?=\[)", parameters):
        uses = [i for i, names in enumerate(calls) if name in names]
        is_input = re.search(rf"const \w+ {name}\[", parameters) is not None
        lives[name] = (-1, max(uses, default=-1)) if is_input else (min(uses, default=0), len(calls))
    for entry in _TEMPORARY.finditer(body):
        uses = [i for i, names in enumerate(calls) if entry["name"] in names]
        lives[entry["name"]] = (min(uses), max(uses)) if uses else (0, len(calls))
    return lives


def placed(source: str, header: str, header_name: str) -> str:
    """The source with its temporaries at their places."""
    function = list(_FUNCTION.finditer(source))[-1]
    places, lives = places_of(header), lives_of(function["parameters"], function["body"])
    known = {
        name: place for name in lives if (place := places.get(re.sub(r"^tmp\d+_", "", name))) is not None
    }
    for one, other in combinations(known, 2):
        meet = lives[one][0] <= lives[other][1] and lives[other][0] <= lives[one][1]
        if meet and known[one].overlaps(known[other]):
            sys.exit(f"{one} and {other} are in use at the same time, and share memory in {header_name}")

    def declaration(match: re.Match[str]) -> str:
        name, kind = match["name"], match["type"]
        if name not in known:
            print(f"{name} is not in {header_name}: it stays on the stack", file=sys.stderr)
            return match[0]
        place = known[name]
        fits = (
            f'_Static_assert(sizeof({kind}{match["first"]}{match["rest"]}) <= {place.size}u, "{name} fits");'
        )
        return f"    {fits}\n    {kind} (*const {name}){match['rest']} = {place.at};\n"

    body = _TEMPORARY.sub(declaration, function["body"])
    start, end = function.span("body")
    return f'#include "{header_name}"\n\n' + source[:start] + body + source[end:]


if __name__ == "__main__":
    source_path, header_path = map(Path, sys.argv[1:])
    sys.stdout.write(placed(source_path.read_text(), header_path.read_text(), header_path.name))
