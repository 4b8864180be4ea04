"""Problems in columns know few options: each other option of a command has to lead to the models."""

import argparse

import pytest

from memstow.api.cli import problem_input
from memstow.api.cli.parser import build_parser

# What the commands do the same with columns and with objects.
_BOTH = "help format capacity fit_only time_limit json output"
FOLLOWED = {
    "solve": f"{_BOTH} file solver gap deterministic seed workers work_limit memory_limit output_format "
    "picture open quiet",
    "verify": f"{_BOTH} problem plan plan_format strict",
}
# Without the option that it belongs to, each says nothing.
SILENT = {"solve": "locked key", "verify": ""}


@pytest.mark.parametrize("command", FOLLOWED)
def test_no_option_is_forgotten(command: str) -> None:
    parser = build_parser([command])
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    options = {action.dest for action in commands.choices[command]._actions}
    elsewhere = {option.name for option in problem_input.NEED_OBJECTS}
    here = {*FOLLOWED[command].split(), *SILENT[command].split()}
    assert options <= here | elsewhere
