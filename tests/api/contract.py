"""Compares a running service with its OpenAPI document, by requests that schemathesis makes up.

`make contract` runs all of it, with and without keys; the tests run a short part.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from tests.api.serving import ROOT, Server
from tests.waiting import PATIENCE

PROGRAM = Path(sys.executable).parent / "schemathesis"
ALL_PHASES = "examples,coverage,fuzzing,stateful"
COVERAGE = "coverage"
OF_SYMBOLS = ("SymbolicProblem", "SymbolicPlan")
# That what a schema allows is accepted cannot be checked: whether names refer to each other, whether a format
# can express a problem and what the settings allow are beyond JSON Schema.
LEFT_OUT = "positive_data_acceptance"
# However busy the machine is: what takes long is not wrong, and only what never ends is.
LONGEST = ("--request-timeout", str(PATIENCE), "--max-response-time", str(PATIENCE))
# No request waits long, so that there may be many; and nobody is refused for asking often.
SETTINGS = {
    "sync_seconds": 0.1,
    "max_time_limit": 0.2,
    "key_rate": 1e6,
    "key_burst": 10**6,
    # Each operation is tried with keys that open nothing.
    "failed_keys": 10**6,
}


def is_here() -> bool:
    """Whether schemathesis is installed."""
    return PROGRAM.exists()


def new_key(data: Path) -> str:
    """A key for the store in this folder."""
    command = [sys.executable, "-m", "memstow.api.cli.main", "keys", "create", "--name", "contract"]
    made = subprocess.run(
        [*command, "--data", str(data)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    match = re.search(r"msk_\S+", made.stdout)
    assert match is not None, made.stdout
    return match.group()


def compare(url: str, key: str | None, folder: Path, phases: str, *options: str) -> tuple[bool, str]:
    """Whether the service does what the document says, and the report of schemathesis."""
    document: dict[str, Any] = json.loads(json.dumps(create_app(Settings()).openapi()))
    if key is not None:
        # Where there are keys, none is no way in.
        document["security"] = [way for way in document["security"] if way]
    rest = ",".join(part for part in phases.split(",") if part != COVERAGE)
    runs = [(rest, document)] if rest else []
    if COVERAGE in phases.split(","):
        runs.append((COVERAGE, shallow(document)))
    result = [_compared(url, key, folder, phases, document, *options) for phases, document in runs]
    return all(agrees for agrees, _ in result), "".join(report for _, report in result)


def shallow(document: dict[str, Any]) -> dict[str, Any]:
    """The document in which problems and plans with symbols have members, and these may hold anything.

    Coverage goes through every member of every member: by the full schemas that is thousands of bodies for
    each operation, and each is read in a process of its own, because formulas may take long to examine.
    Fuzzing makes bodies up by the full schemas all the same.
    """
    made: dict[str, Any] = json.loads(json.dumps(document))
    for name in OF_SYMBOLS:
        properties = made["components"]["schemas"][name]["properties"]
        for member, schema in properties.items():
            if "$ref" in json.dumps(schema):
                properties[member] = {name: schema[name] for name in ("type", "minItems") if name in schema}
    return made


def _compared(
    url: str, key: str | None, folder: Path, phases: str, document: dict[str, Any], *options: str
) -> tuple[bool, str]:
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "schemathesis.toml").write_text("")
    command = [str(PROGRAM), "--config-file", "schemathesis.toml", "run", "openapi.json", "--url", url]
    command += ["--checks", "all", "--exclude-checks", LEFT_OUT, "--phases", phases, "--warnings", "off"]
    command += ["--continue-on-failure", "--no-color", *LONGEST, *options]
    if key is not None:
        command += ["--header", f"Authorization:Bearer {key}"]
    learned = {"SCHEMATHESIS_HOOKS": "tests.api.media_types", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | learned, capture_output=True, text=True, check=False
    )
    return ran.returncode == 0, ran.stdout + ran.stderr


def main() -> int:
    """Compare with and without keys; 1 if there are deviations."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--phases", default=ALL_PHASES)
    parser.add_argument("--examples", type=int, default=30, help="made-up requests for each operation")
    args = parser.parse_args()
    if not is_here():
        parser.error("schemathesis is not installed")
    same = True
    for keyed in (False, True):
        folder = Path(tempfile.mkdtemp(prefix="memstow-contract-"))
        key = new_key(folder / "data") if keyed else None
        server = Server(folder / "data", **SETTINGS).start()
        try:
            options = ("--max-examples", str(args.examples))
            agrees, report = compare(server.url, key, folder, args.phases, *options)
        finally:
            server.kill()
            shutil.rmtree(folder)
        sys.stdout.write(report)
        same = same and agrees
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
