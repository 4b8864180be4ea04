"""docs/front.md: its examples work as they stand, and no field of the schema is missing from it."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

import memstow
from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.planner.front.front_documents import read_front
from memstow.planner.model.front import Front, FrontOptions, FrontPoint, TargetFront
from memstow.planner.model.plan import Stripe

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "front.md").read_text(encoding="utf-8")
STRIPES = (DOCS / "stripes.md").read_text(encoding="utf-8")
(EDGES,) = re.findall(r"```json graph\n(.*?)```", STRIPES, flags=re.DOTALL)


def test_the_example_gives_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (problem,) = re.findall(r"```json problem\n(.*?)```", PAGE, flags=re.DOTALL)
    shown, shown_of_parts, _ = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    (deep,) = re.findall(r"```json graph\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "two.json").write_text(problem)
    (tmp_path / "deep.json").write_text(deep)
    lines = [line[2:] for line in PAGE.splitlines() if line.startswith("$ memstow ")]
    for line in lines:
        limit = ("--time-limit", "240") if line.startswith("memstow front ") else ()
        assert main([*shlex.split(line)[1:], *limit]) == Exit.DONE, line
    said = capsys.readouterr().out
    assert said.startswith(shown.rstrip()), said
    assert shown_of_parts.rstrip() in said
    assert read_front((tmp_path / "front.json").read_bytes()).complete


def test_the_example_with_parts_of_channels_is_what_it_is_said_to_be() -> None:
    (text,) = re.findall(r"```json graph\n(.*?)```", PAGE, flags=re.DOTALL)
    graph = memstow.read_graph(text.encode())
    with_parts = memstow.front(graph, generators=["stripes", "channels"])
    schedule = with_parts.points[-1].plan.schedule
    assert schedule is not None
    assert schedule.alternatives
    without = memstow.front(graph)
    assert f"the last would need {without.points[-1].values['peak']:,} bytes" in PAGE
    parts_alone = memstow.front(graph, generators=["channels"])
    assert f"such parts alone {parts_alone.points[-1].values['peak']:,}." in PAGE


def test_stripes_need_what_their_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.json").write_text(EDGES)
    for line in re.findall(r"^\$ memstow (.*)$", STRIPES, flags=re.MULTILINE):
        assert main([*shlex.split(line), "--time-limit", "240"]) == Exit.DONE, line
    problem = memstow.lower_graph(memstow.read_graph(EDGES.encode()))
    whole = memstow.read_plan((tmp_path / "whole.json").read_bytes(), problem)
    front = read_front((tmp_path / "front.json").read_bytes())
    assert front.complete
    assert front.points[-1].values == {"peak": 51_456, "cost": 442368 + 331776 + 294912}
    peaks = {f"{whole.pools[0].peak:,} bytes", f"{front.points[-1].values['peak']:,} bytes"}
    assert peaks <= set(re.findall(r"[\d,]+ bytes", STRIPES)), peaks
    schedule = front.points[-1].plan.schedule
    assert schedule is not None
    assert schedule.stripes == (Stripe(begin=0, end=3, columns=48),)
    assert '`{"begin": 0, "end": 3, "columns": 48}`' in STRIPES
    capsys.readouterr()


@pytest.mark.campaign
def test_the_example_of_the_library_runs_and_draws_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (problem,) = re.findall(r"```json problem\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "two.json").write_text(problem)
    _, _, shown = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    # Its solvers run in processes of their own, which a busy machine may take long to start.
    patient = code.replace("time_limit=60", "time_limit=600")
    assert patient != code
    exec(patient, {})
    assert capsys.readouterr().out == shown
    picture = DOCS / "front.svg"
    assert (tmp_path / "front.svg").read_text() == picture.read_text()


def test_every_field_is_on_the_page() -> None:
    own = {"values", "version", "name", "digest", "memstow"}
    for holder in (Front, FrontPoint, FrontOptions, TargetFront):
        for field in dataclasses.fields(holder):
            assert field.name in own or f"`{field.name}`" in PAGE, (holder, field.name)
