"""The command line as a whole: help, exit codes, and what happens when something goes wrong."""

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.parser import COMMANDS, build_parser
from memstow.api.cli.terminal import Exit
from memstow.planner.formats import write_graph
from memstow.planner.generate.graph import graph as graph_of
from memstow.planner.model.errors import DeclinedError, InputError, Issue, RefusedPlanError
from memstow.planner.model.problem import Problem
from memstow.planner.processes import machine
from tests.api.cli.conftest import ROOT, Cli, door, script
from tests.api.cli.fakes import FakeEngine
from tests.waiting import PATIENCE


def test_a_small_problem_is_solved_and_verified_without_what_takes_long_to_load(tmp_path: Path) -> None:
    code = (
        "import sys; from memstow.api.cli.main import main; code = main(sys.argv[1:]); "
        "heavy = {'pydantic', 'annotated_types', 'typing_extensions', 'zipfile', 'dataclasses', 'inspect'}; "
        "heavy |= {'email', 'importlib.metadata', 'csv', 'pathlib', 'numpy', 'memstow.api.page.offline'}; "
        "heavy |= {'_hashlib', 'locale'}; "
        "heavy &= set(sys.modules); sys.exit(code or (repr(heavy) if heavy else 0))"
    )
    problem = tmp_path / "problem.json"
    plan = tmp_path / "plan.json"
    buffers = [{"id": name, "size": 64, "lifetime": [0, 2 + at]} for at, name in enumerate("abc")]
    problem.write_text(json.dumps({"version": 1, "buffers": buffers}))
    constrained = tmp_path / "constrained.json"
    constrained.write_text(json.dumps({"version": 1, "buffers": buffers, "conflicts": [["a", "b"]]}))
    graph = tmp_path / "graph.json"
    graph.write_bytes(write_graph(graph_of(12, 0)))
    proof = ["--proof", tmp_path / "plan.proof"]
    for arguments in (
        ["solve", problem, "--output", plan],
        ["solve", problem],
        ["verify", problem, plan],
        ["solve", problem, "--output", plan, *proof],
        ["verify", problem, plan, *proof],
        ["solve", constrained, "--output", plan],
        ["verify", constrained, plan],
        ["solve", graph, "--output", plan],
        ["verify", graph, plan],
    ):
        ran = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("arguments", ["version", "--version", "--help", "solve --help"])
def test_what_needs_no_problem_loads_no_pydantic(arguments: str) -> None:
    code = (
        "import sys; from memstow.api.cli.main import main; main(sys.argv[1:]); "
        "heavy = {'shutil', 'dataclasses', 'memstow.api.cli.commands.solve'}; "
        "heavy = {'pydantic', 'shtab'} | (set() if '--help' in sys.argv else heavy); "
        "sys.exit(repr(heavy) if (heavy := heavy & set(sys.modules)) else 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_version_is_that_of_the_package(cli: Cli) -> None:
    from memstow import __version__

    assert cli("version").out == cli("--version").out == f"memstow {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(cli: Cli, name: str) -> None:
    ran = cli(name, "--help")
    assert ran.code == Exit.DONE
    assert f"usage: memstow {name}" in ran.out
    assert f"examples:\n  memstow {name}" in ran.out


def _inner_commands() -> Iterator[str]:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                for inner in parser._actions:
                    if isinstance(inner, argparse._SubParsersAction):
                        yield from (f"{name} {one}" for one in inner.choices)


@pytest.mark.parametrize("name", list(_inner_commands()))
def test_every_command_of_a_command_explains_itself_with_examples(cli: Cli, name: str) -> None:
    ran = cli(*name.split(), "--help")
    assert ran.code == Exit.DONE
    assert f"examples:\n  memstow {name}" in ran.out


@pytest.mark.parametrize("name", [*COMMANDS, *_inner_commands()])
def test_what_help_explains_is_as_wide_as_the_terminal(
    cli: Cli, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text, _, _ = cli(*name.split(), "--help").out.partition("examples:")
    # A list of choices is one word.
    assert max(len(line) for line in text.splitlines() if "{" not in line) <= 60


def test_no_command_is_a_usage_error_that_shows_the_help(cli: Cli) -> None:
    ran = cli()
    assert ran.code == Exit.USAGE
    assert ran.out == ""
    assert "solve" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        "nonsense",
        "solve",
        "solve x --gap 2",
        "solve x --workers 0",
        "solve x --memory-limit 1KiB",
        "solve x --time-limit nan",
    ],
)
def test_bad_usage_exits_with_2_and_says_why(cli: Cli, arguments: str) -> None:
    ran = cli(*arguments.split())
    assert ran.code == Exit.USAGE
    said, usage, more = ran.err.splitlines()
    assert said.startswith("memstow: ")
    assert usage.startswith("usage: memstow")
    assert more.endswith("--help` shows all options")
    assert ran.out == ""


def test_options_are_not_guessed_from_their_beginnings(cli: Cli, three: Path) -> None:
    assert cli("solve", three, "--determ").code == Exit.USAGE


def test_a_missing_file_is_named(cli: Cli, tmp_path: Path) -> None:
    ran = cli("solve", tmp_path / "none.json")
    assert ran.code == Exit.USAGE
    assert "none.json" in ran.err
    assert "there is no such file" in ran.err


def test_every_issue_of_an_input_is_shown(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"version": 1, "buffers": [{"id": "", "size": -1}]}')
    ran = cli("solve", path)
    assert ran.code == Exit.USAGE
    assert len(ran.err.splitlines()) == 2
    assert ran.err.count("memstow: ") == 2


def test_thousands_of_issues_are_cut_short(cli: Cli, three: Path, engine: FakeEngine) -> None:
    def refuse(_: Problem) -> None:
        raise InputError(Issue("bad", f"buffers[{index}]", "wrong") for index in range(5_000))

    engine.answer = refuse  # type: ignore[assignment]
    ran = cli("solve", three)
    assert len(ran.err.splitlines()) == 202
    assert "4,799 more" in ran.err


def test_as_many_issues_are_shown_as_the_readers_tell(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"version": 1, "buffers": [{"id": f"b{i}", "size": -1} for i in range(300)]}))
    lines = cli("solve", path).err.splitlines()
    assert len(lines) == 201
    assert lines[199].startswith(f"memstow: {path}: $.buffers[199].size: ")
    assert lines[200] == f"memstow: {path}: 100 more issues are not shown [more_issues]"


def test_messages_cannot_drive_the_terminal(cli: Cli, three: Path, engine: FakeEngine) -> None:
    def refuse(_: Problem) -> None:
        raise DeclinedError("solver x declines buffer '\x1b[2J\u202eevil\n'")

    engine.answer = refuse  # type: ignore[assignment]
    ran = cli("solve", three)
    assert ran.code == Exit.USAGE
    assert ran.err == "memstow: solver x declines buffer '\\x1b[2J\\u202eevil\\n'\n"


@pytest.mark.parametrize("error", [RefusedPlanError("overlap of a and b"), ZeroDivisionError("oops")])
def test_a_defect_is_told_without_a_traceback(
    cli: Cli, three: Path, engine: FakeEngine, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Problem) -> None:
        raise error

    monkeypatch.delenv("MEMSTOW_DEBUG", raising=False)
    engine.answer = fail  # type: ignore[assignment]
    ran = cli("solve", three)
    assert ran.code == Exit.DEFECT
    assert "a defect of memstow" in ran.err
    assert str(error) in ran.err
    assert "Traceback" not in ran.err

    monkeypatch.setenv("MEMSTOW_DEBUG", "1")
    with pytest.raises(type(error)):
        main(["solve", str(three)])


def test_running_out_of_memory_is_told(cli: Cli, three: Path, engine: FakeEngine) -> None:
    def fail(_: Problem) -> None:
        raise MemoryError

    engine.answer = fail  # type: ignore[assignment]
    ran = cli("solve", three)
    assert (ran.code, "not enough memory" in ran.err) == (Exit.USAGE, True)


def test_a_machine_without_a_further_thread_has_no_defect(
    cli: Cli, three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refusals = threading.Thread.start, 2

    def refuse_first(thread: threading.Thread) -> None:
        nonlocal refusals
        refusals -= 1
        if refusals >= 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_first)
    assert cli("solve", three).code == Exit.DONE
    assert refusals < 0

    monkeypatch.setattr(machine, "_THREAD_SECONDS", 0.1)
    refusals = 10**6
    ran = cli("solve", three)
    assert (ran.code, "no further thread" in ran.err) == (Exit.USAGE, True)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_ends_the_run_quietly(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with door("0", "generate", "random", "--n", "20000", env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(60) == Exit.BROKEN_PIPE
        assert process.stderr.read() == b""


def test_a_plan_is_written_before_a_reader_can_leave(three: Path, tmp_path: Path) -> None:
    """Both with a plan in columns and with one in objects, which a picture needs."""
    picture = tmp_path / "plan.svg"
    for more in ([], ["--picture", str(picture)]):
        plan = tmp_path / f"plan{len(more)}.json"
        with door("0", "solve", str(three), "--output", str(plan), *more) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.wait(60) == Exit.BROKEN_PIPE
        assert plan.stat().st_size > 0
    assert picture.stat().st_size > 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["version", "generate random --n 3", "solve --help"])
def test_a_full_disk_is_told(arguments: str, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with (
        open("/dev/full", "wb") as full,
        door("0", *arguments.split(), stdout=full, env=environment) as process,
    ):
        assert process.stderr is not None
        assert process.wait(60) == Exit.USAGE
        assert process.stderr.read() == b"memstow: No space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_an_output_that_could_not_be_written_is_named(cli: Cli, tmp_path: Path) -> None:
    assert cli("generate", "random", "--n", "3", "-o", str(tmp_path / "p.json")).code == Exit.DONE
    ran = cli("solve", str(tmp_path / "p.json"), "-o", "/dev/full", "--quiet")
    assert (ran.code, ran.err) == (Exit.USAGE, "memstow: /dev/full: No space left on device\n")


@pytest.mark.parametrize("arguments", ["version", "generate random --n 3"])
def test_a_closed_standard_output_is_no_defect(arguments: str) -> None:
    with door("0", *arguments.split(), preexec_fn=lambda: os.close(1)) as process:
        assert process.stderr is not None
        assert process.wait(60) == Exit.DONE
        assert process.stderr.read() == b""


@pytest.mark.parametrize("arguments", ["solve -", "inspect -", "verify - plan.json", "convert - out.json"])
def test_a_closed_standard_input_is_no_defect(arguments: str) -> None:
    command = [sys.executable, "-m", "memstow.api.cli.main", *arguments.split()]
    ran = subprocess.run(
        command, preexec_fn=lambda: os.close(0), capture_output=True, cwd=ROOT, timeout=PATIENCE, check=False
    )
    assert (ran.returncode, ran.stdout) == (Exit.USAGE, b"")
    assert ran.stderr == b"memstow: standard input: it is closed; name a file instead of - [no_stdin]\n"


def test_an_interrupt_while_the_commands_are_loaded_leaves_no_traceback() -> None:
    code = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'argparse': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from memstow.api.cli.__main__ import run\n"
        "sys.exit(run())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (ran.returncode, ran.stderr) == (Exit.INTERRUPTED, b"memstow: interrupted\n")


def test_the_console_script_runs_as_a_process() -> None:
    ran = script("version")
    assert (ran.returncode, ran.stdout[:8], ran.stderr) == (0, b"memstow ", b"")


def test_the_parser_names_every_command() -> None:
    text = build_parser().format_help()
    assert all(f"    {name} " in text for name in COMMANDS)
