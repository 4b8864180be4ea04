"""Options of commands one by one and in pairs: each combination is an answer, or an error that says why."""

import argparse
from pathlib import Path

import pytest

from memstow.api.cli.parser import build_parser
from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.option_values import VALUES, Asked, sampled, write_documents

STEADY = ("--deterministic", "--work-limit", "20000")
CASES = [
    *(("solve", (name, *STEADY)) for name in ("problem.json", "rows.csv", "ways.json", "symbolic.json")),
    *(("solve", (name, *STEADY)) for name in ("pools.json", "tight.json", "model.tflite", "step.pickle")),
    *(("front", (name, *STEADY)) for name in ("ways.json", "problem.json", "model.tflite")),
    *(("inspect", (name,)) for name in ("problem.json", "ways.json", "length.json", "step.pickle")),
    *(("convert", (name, "made.json")) for name in ("problem.json", "ways.json", "length.json")),
    *(("convert", (name, "made.csv")) for name in ("model.tflite", "step.pickle")),
    *(("build", (name, "--output", "program", *STEADY)) for name in ("person.tflite", "model.tflite")),
    *(("tile", (name,)) for name in ("layer.json", "problem.json", "length.json")),
    *(("verify", (name, "plan.json")) for name in ("problem.json", "ways.json", "symbolic.json")),
    *(("verify", (name, "step.pickle")) for name in ("step.pickle", "problem.json")),
    *(
        ("view", (*names, "--output", "made.html"))
        for names in (("problem.json", "plan.json"), ("rows.csv",))
    ),
    *(
        ("view", (*names, "--output", "made.html"))
        for names in (("step.pickle",), ("ways.json", "plan.json"))
    ),
    ("evaluate", ("symbolic.json", "plan.json")),
]
# They wait, open a browser or reach for the network.
_NOT_HERE = ("help", "server", "key", "open")


def words_of(action: argparse.Action) -> list[str]:
    """The values to try, or the spellings of an option without one."""
    if action.nargs == 0:
        return list(action.option_strings[-2:])
    return [*VALUES.get(action.dest, ()), *map(str, action.choices or ())][:6] or ["1"]


def options_of(command: str) -> dict[str, list[str]]:
    """By option of the command its values."""
    commands = next(
        action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {
        action.option_strings[-1]: words_of(action)
        for action in commands.choices[command]._actions
        if action.option_strings and action.dest not in _NOT_HERE
    }


def line_of(request: Asked) -> list[str]:
    """The options as words."""
    return [
        word for option, value in request for word in ([value] if value.startswith("--") else [option, value])
    ]


@pytest.mark.parametrize("count", [25, pytest.param(1_500, marks=pytest.mark.campaign)])
@pytest.mark.parametrize(("command", "base"), CASES, ids=[" ".join((case[0], *case[1])) for case in CASES])
def test_options_one_by_one_and_in_pairs_break_nothing(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    base: tuple[str, ...],
    count: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMSTOW_SERVER", raising=False)
    write_documents(tmp_path)
    documents = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for entry in sampled(options_of(command), count, f"{command} {base}"):
        ran = cli(command, *base, *line_of(entry))
        assert ran.code in (Exit.DONE, Exit.INVALID, Exit.USAGE, Exit.INFEASIBLE, Exit.UNKNOWN), (
            entry,
            ran.err,
        )
        assert ran.code != Exit.USAGE or ran.err.startswith("memstow: "), (entry, ran.err)
        assert "Traceback" not in ran.err, entry
    # Nothing that was read is written over.
    assert documents == {name: (tmp_path / name).read_bytes() for name in documents}
