"""Recordings of PyTorch at the command line: what was lost, and plans beside the allocator's own."""

import base64
import gzip
import json
import random
import re
from pathlib import Path

import pytest

from memstow.api.cli import problem_input
from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.torch_recordings import CachingAllocator, pickled, sample, snapshot_of, trace_of, training_step


@pytest.fixture
def step(tmp_path: Path) -> tuple[Path, CachingAllocator]:
    """A snapshot, and the allocator that it is of."""
    allocator = sample()
    path = tmp_path / "step.pickle"
    path.write_bytes(pickled(snapshot_of(allocator)))
    return path, allocator


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A snapshot of two devices, the second with two streams."""
    second = CachingAllocator(1)
    for stream in (0, 7):
        training_step(second, random.Random(stream), layers=3, stream=stream)
    path = tmp_path / "both.pickle"
    path.write_bytes(pickled(snapshot_of(sample(), second)))
    return path


def test_inspect_says_what_was_lost_and_to_whom(cli: Cli, step: tuple[Path, CachingAllocator]) -> None:
    path, allocator = step
    ran = cli("inspect", path, "--rows", "2")
    lost = allocator.most_reserved - allocator.most_allocated
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert f"reserved   {allocator.most_reserved:,} bytes" in ran.out
    assert f"allocated  {allocator.most_allocated:,} bytes" in ran.out
    assert f"lost       {lost:,} bytes" in ran.out
    assert f"least      {allocator.most_allocated:,} bytes" in ran.out
    assert "(expandable_segments off)" in ran.out
    assert ran.out.count(" forward ") == 2
    document = json.loads(cli("inspect", path, "--json", "--rows", "3").out)
    assert document["recorded"]["reserved"] == allocator.most_reserved
    assert document["recorded"]["lost"] == lost
    assert document["recorded"]["expandable_segments"] is False
    assert len(document["recorded"]["users"]) == 3
    assert document["pools"][0]["bound"] == document["recorded"]["least"]


def test_solve_says_what_a_plan_saves(cli: Cli, step: tuple[Path, CachingAllocator], tmp_path: Path) -> None:
    path, allocator = step
    plan = tmp_path / "plan.json"
    ran = cli("solve", path, "--output", plan)
    assert ran.code == Exit.DONE
    saved = allocator.most_reserved - allocator.most_allocated
    assert f"this plan needs {allocator.most_allocated:,}, {saved:,} less (" in ran.out
    assert "this plan needs" not in cli("solve", path, "--quiet").out
    assert cli("verify", path, plan, "--strict").code == Exit.DONE
    own = cli("verify", path, path)
    assert own.code == Exit.DONE
    assert own.out.startswith("valid: ")


def test_the_allocators_plan_and_ours_are_shown_beside_each_other(
    cli: Cli, step: tuple[Path, CachingAllocator], tmp_path: Path
) -> None:
    path, page = step[0], tmp_path / "page.html"
    plan = tmp_path / "plan.json"
    assert cli("solve", path, "--output", plan).code == Exit.DONE
    assert cli("view", path, plan, "--problem", path, "--output", page).code == Exit.DONE
    named = page.read_bytes()
    ran = cli("view", path, plan, "--output", page)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert page.read_bytes() == named
    assert cli("view", path, plan, "--plan-format", "json", "--output", page).code == Exit.DONE
    assert page.read_bytes() == named
    assert "[no_header]" in cli("view", path, plan, "--plan-format", "csv", "--output", page).err
    match = re.search(r'id="held">([\w+/=]*)<', page.read_text())
    assert match is not None
    held = json.loads(gzip.decompress(base64.b64decode(match.group(1))))
    sizes = {buffer["id"]: buffer["size"] for buffer in held["problem"]["buffers"]}
    own, ours = (
        max(place["offset"] + sizes[place["buffer"]] for place in held[name]["placements"])
        for name in ("plan", "other")
    )
    assert ours == step[1].most_allocated < own <= step[1].most_reserved


def test_a_device_is_chosen_where_there_are_several(cli: Cli, both: Path, tmp_path: Path) -> None:
    for command in ("inspect", "solve"):
        ran = cli(command, both)
        assert ran.code == Exit.USAGE
        assert "--device: name one of its devices: 0 (" in ran.err
    assert cli("convert", both, tmp_path / "first.json").code == Exit.USAGE
    plan = tmp_path / "plan.json"
    assert cli("solve", both, "--device", "1", "--output", plan).code == Exit.DONE
    assert cli("verify", both, plan, "--device", "1").code == Exit.DONE
    assert cli("verify", both, both, "--device", "1").code == Exit.DONE
    assert cli("convert", both, tmp_path / "second.json", "--device", "1").code == Exit.DONE
    written = json.loads((tmp_path / "second.json").read_text())
    assert [pool["id"] for pool in written["pools"]] == ["stream 0", "stream 7"]
    assert "[unknown_device]" in cli("solve", both, "--device", "2").err


def test_traces_are_taken_as_snapshots_are(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    path.write_bytes(trace_of(sample()))
    output = cli("inspect", path).out
    assert "expandable_segments was on is not recorded" in output
    assert "model.py" in output
    assert "less (" in cli("solve", path).out
    assert cli("verify", path, path).code == Exit.DONE


def test_options_of_other_documents_are_refused(
    cli: Cli, step: tuple[Path, CachingAllocator], tmp_path: Path
) -> None:
    path = step[0]
    for option in ("--order=free", "--in-place", "--at=s=1", "--dim=N=1"):
        ran = cli("solve", path, option)
        assert ran.code == Exit.USAGE, option
        assert option.split("=")[0] in ran.err
    problem = tmp_path / "problem.json"
    assert cli("convert", path, problem).code == Exit.DONE
    assert "[no_devices]" in cli("solve", problem, "--device", "0").err


def test_a_pickle_that_would_run_code_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "evil.pickle"
    path.write_bytes(pickled({"device_traces": [], "segments": print}))
    ran = cli("solve", path)
    assert ran.code == Exit.USAGE
    assert "[runs_code]" in ran.err


def test_more_of_a_recording_is_read_where_the_user_says_so(
    cli: Cli, step: tuple[Path, CachingAllocator], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = step
    monkeypatch.setattr(problem_input, "LARGEST_INPUT", 1000)
    ran = cli("inspect", path)
    assert ran.code == Exit.USAGE
    assert "more than 1,000 bytes" in ran.err
    assert "MEMSTOW_MAX_RECORDING=2GiB" in ran.err
    monkeypatch.setenv("MEMSTOW_MAX_RECORDING", "1MiB")
    assert cli("inspect", path).code == Exit.DONE
    # Anything else is as large as before.
    table = tmp_path / "step.csv"
    cli("convert", path, table)
    assert table.stat().st_size > 1000
    ran = cli("inspect", table)
    assert (ran.code, "more than 1,000 bytes" in ran.err) == (Exit.USAGE, True)


@pytest.mark.parametrize("text", ["5GiB", "much", "1"])
def test_how_much_of_a_recording_is_read_is_an_amount_within_limits(
    cli: Cli, step: tuple[Path, CachingAllocator], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MEMSTOW_MAX_RECORDING", text)
    ran = cli("inspect", step[0])
    assert ran.code == Exit.USAGE
    assert "MEMSTOW_MAX_RECORDING: " in ran.err
