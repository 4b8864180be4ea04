"""docs/recordings.md: its commands and its example run on a recorded step."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.planner.recorded.recording import read_recording
from tests.stalloc_logs import training
from tests.torch_recordings import pickled, sample, snapshot_of

PAGE = (Path(__file__).parents[1] / "docs" / "recordings.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with recorded steps."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mem_log_dev0.txt").write_bytes(training().data())
    (tmp_path / "step.pickle").write_bytes(pickled(snapshot_of(sample(3, layers=10))))
    return tmp_path


def test_the_commands_run_and_print_what_the_page_shows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line[2:] for line in PAGE.splitlines() if line.startswith("$ memstow ")]
    assert len(lines) == 7
    for line in lines:
        assert main(shlex.split(line)[1:]) == Exit.DONE, line
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert shown in capsys.readouterr().out
    assert (folder / "both.html").stat().st_size > 10_000


@pytest.mark.usefixtures("folder")
def test_the_example_in_python_holds() -> None:
    (example,) = [
        text for text in re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S) if "memstow" in text
    ]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(example, "docs/recordings.md", "exec"), {})
    usage = read_recording(Path("step.pickle").read_bytes()).usage
    assert said.getvalue().split() == [str(usage.reserved), str(usage.lost), str(usage.least)]
