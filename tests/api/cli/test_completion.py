"""What a shell completes with the script of `memstow completion`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memstow.api.cli.commands.shipped import SHELLS
from memstow.api.cli.parser import COMMANDS
from memstow.api.cli.terminal import Exit
from memstow.planner.targets import shipped
from memstow.solvers.registry import names
from tests.api.cli.conftest import Cli
from tests.waiting import PATIENCE

# Asks for the completions of the last word as a press of Tab does: by the function that `complete -F` names.
_PRESS_TAB = """
source "$1"
shift
registered=$(complete -p memstow)
[[ $registered =~ -F\\ ([^ ]+) ]]
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"${BASH_REMATCH[1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def completion(cli: Cli, tmp_path: Path) -> Path:
    """The script for bash, in a file."""
    path = tmp_path / "memstow.bash"
    path.write_text(cli("completion", "bash").out)
    return path


def _completions(script: Path, *words: str) -> set[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    command = [bash, "--norc", "-c", _PRESS_TAB, "bash", str(script), "memstow", *words]
    ran = subprocess.run(
        command, cwd=script.parent, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return set(ran.stdout.split())


def test_bash_completes_every_command(completion: Path) -> None:
    assert _completions(completion, "") >= set(COMMANDS)
    assert _completions(completion, "sol") == {"solve", "solvers"}


def test_bash_completes_the_options_of_a_command(completion: Path) -> None:
    assert _completions(completion, "solve", "--so") == {"--solver"}
    assert "--solver" not in _completions(completion, "verify", "--")


def test_bash_completes_commands_of_commands(completion: Path) -> None:
    assert _completions(completion, "bench", "") == {"run", "report", "compare", "bundle", "rerun", "sets"}
    assert _completions(completion, "keys", "create", "--na") == {"--name"}


def test_bash_completes_values(completion: Path) -> None:
    assert _completions(completion, "solve", "--solver", "") == {"auto", *names()}
    assert _completions(completion, "solve", "--target", "") == set(shipped())
    assert _completions(completion, "solve", "--output-format", "cs") == {"csv"}
    assert _completions(completion, "completion", "") == set(SHELLS)


def test_bash_completes_files_and_folders(completion: Path) -> None:
    (completion.parent / "model.json").touch()
    (completion.parent / "models").mkdir()
    assert _completions(completion, "solve", "mod") == {"model.json", "models"}
    assert _completions(completion, "solve", "model.json", "--hint", "mod") == {"model.json", "models"}
    assert _completions(completion, "convert", "model.json", "mod") == {"model.json", "models"}
    assert _completions(completion, "serve", "--data", "mod") == {"models"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_that_knows_memstow(cli: Cli, shell: str) -> None:
    ran = cli("completion", shell)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "memstow" in ran.out
    assert "solve" in ran.out


def test_a_shell_that_is_not_known_is_refused(cli: Cli) -> None:
    ran = cli("completion", "cmd")
    assert ran.code == Exit.USAGE
    assert "bash, zsh, fish, tcsh" in ran.err
