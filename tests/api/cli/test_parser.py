"""What the parser does not understand it tells in a line, with what may have been meant."""

from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli


@pytest.mark.parametrize(
    ("arguments", "said", "usage"),
    [
        ("slove x", "there is no command 'slove'; did you mean solve? there are solve, ", "memstow COMMAND"),
        ("model.json", "there is no command 'model.json'; there are solve, ", "memstow COMMAND"),
        (
            "solve x --capcity 3",
            "there is no option --capcity; did you mean --capacity?",
            "memstow solve FILE",
        ),
        ("solve --capcity=3", "there is no option --capcity; did you mean --capacity?", "memstow solve FILE"),
        (
            "solve x --determ",
            "there is no option --determ; did you mean --deterministic?",
            "memstow solve FILE",
        ),
        ("solve x --colour", "there is no option --colour", "memstow solve FILE"),
        ("solve x -q", "there is no option -q", "memstow solve FILE"),
        ("--json solve x", "there is no option --json before the command", "memstow COMMAND"),
        ("solve", "missing argument: FILE", "memstow solve FILE"),
        ("solve a b", "'b' is an unexpected argument", "memstow solve FILE"),
        ("solve x -o", "-o/--output: a value is missing", "memstow solve FILE"),
        ("solve x --json=3", "--json: it takes no value", "memstow solve FILE"),
        (
            "solve x --format jsn",
            "--format: 'jsn' is not one of json, csv, structured, executorch, usmp, xla, torch-snapshot, "
            "torch-trace, stalloc, programs, graph, tflite, onnx, pt2; did you mean json?",
            "memstow solve",
        ),
        (
            "generate planed",
            "there is no kind 'planed'; did you mean planted? there are",
            "memstow generate KIND",
        ),
        (
            "generate planted --hight 3",
            "there is no option --hight; did you mean --height?",
            "memstow generate planted",
        ),
        ("db", "missing argument: ACTION, one of upgrade, status", "memstow db ACTION"),
        ("keys revoke", "missing argument: ID", "memstow keys revoke ID"),
        ("bench run", "missing argument: PATH", "memstow bench run PATH..."),
        (
            "schema plna",
            "KIND: 'plna' is not one of problem, options, plan, target, graph, front, loops, programs, "
            "program-plans, symbolic, symbolic-plan, symbolic-graph, library-instance, library-index; "
            "did you mean plan?",
            "memstow schema [KIND]",
        ),
    ],
)
def test_mistakes_are_told_by_the_command_they_are_made_in(
    cli: Cli, arguments: str, said: str, usage: str
) -> None:
    ran = cli(*arguments.split())
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    first, second, third = ran.err.splitlines()
    assert first.startswith(f"memstow: {said}")
    assert second.startswith(f"usage: {usage}")
    assert (
        third
        == f"`{usage.removesuffix('...').rstrip('[]ABCDEFGHIJKLMNOPQRSTUVWXYZ ')} --help` shows all options"
    )


def test_one_command_is_asked_for_not_several(cli: Cli) -> None:
    assert cli("keys", "lst").err.splitlines()[1] == "usage: memstow keys ACTION [OPTION...]"


def test_a_misspelt_option_is_told_before_a_missing_file(cli: Cli) -> None:
    ran = cli("solve", "--jsno")
    assert "did you mean --json?" in ran.err
    assert "missing" not in ran.err


def test_words_that_only_look_like_options_are_values(cli: Cli, three: Path) -> None:
    assert cli("solve", "--json", "--", three).code == Exit.DONE
    assert "out of range" in cli("solve", three, "--seed", "-1").err


def test_a_long_or_strange_option_cannot_drive_the_terminal(cli: Cli) -> None:
    said = cli("solve", "x", "--\x1b[2J" + "y" * 5000).err
    assert "\x1b" not in said
    assert len(said) < 400


def test_output_has_a_short_form(cli: Cli, three: Path, tmp_path: Path) -> None:
    assert cli("solve", three, "-o", tmp_path / "plan.csv").code == Exit.DONE
    assert (tmp_path / "plan.csv").read_text().startswith("id,")
    assert cli("generate", "random", "-o", tmp_path / "made.csv").code == Exit.DONE
    assert cli("convert", tmp_path / "made.csv", "-").code == Exit.DONE


@pytest.mark.parametrize("command", ["", "generate", "library", "bench", "db", "keys"])
def test_a_help_lists_what_there_is_and_no_empty_value(cli: Cli, command: str) -> None:
    ran = cli(*command.split(), "--help")
    assert ran.code == Exit.DONE
    assert "usage: memstow" in ran.out
    assert "None" not in ran.out
