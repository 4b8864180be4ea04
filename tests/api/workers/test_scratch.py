"""The temporary folders of servers: gone at their end, and after a kill when the next one starts."""

import fcntl
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memstow.api.workers.isolated_run import ChildExecutor, Scratch, remove_abandoned
from tests.api.serving import Server
from tests.waiting import PATIENCE, wait_for

OWNER = """
import sys
from pathlib import Path
from memstow.api.workers.isolated_run import Scratch
scratch = Scratch(Path(sys.argv[1]))
(scratch.path / "left").write_text("x" * 1000)
print("here", flush=True)
sys.stdin.read()
"""


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"here\n"
        assert remove_abandoned(tmp_path) == 0
        (folder,) = tmp_path.iterdir()
        assert (folder / "left").exists()
        owner.kill()
        owner.wait(PATIENCE)
    assert remove_abandoned(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "in-use").write_text("")
    (tmp_path / "memstow-server-link").symlink_to(target)
    (tmp_path / "memstow-server-new").mkdir()
    (tmp_path / "memstow-other").mkdir()
    assert remove_abandoned(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 4


def test_a_folder_that_is_taken_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Path] = []
    lock = fcntl.flock

    def take_away(handle: int, how: int) -> None:
        if not taken:
            taken.extend(tmp_path.iterdir())
            shutil.rmtree(taken[0])
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", take_away)
    scratch = Scratch(tmp_path)
    assert taken != [scratch.path]
    assert list(tmp_path.iterdir()) == [scratch.path]
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_children_work_in_the_folder_and_leave_nothing_in_it(tmp_path: Path) -> None:
    executor = ChildExecutor(scratch=Scratch(tmp_path))
    (folder,) = tmp_path.iterdir()
    executor.prepare()
    wait_for(lambda: len(list(folder.glob("memstow-*"))) == 1, "the child to make its folder")
    executor.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.campaign
def test_a_server_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    server = Server(tmp_path / "data").start()
    (left,) = temporary.glob("memstow-server-*")
    server.kill()
    assert left.exists()
    server.start()
    wait_for(lambda: not left.exists(), "the folder to be removed")
    assert len(list(temporary.glob("memstow-server-*"))) == 1
    server.signal(signal.SIGTERM)
    server.wait()
    assert list(temporary.glob("memstow-server-*")) == []
