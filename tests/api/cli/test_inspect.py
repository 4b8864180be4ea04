"""`memstow inspect`."""

import json
from pathlib import Path

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli


def test_a_person_gets_counts_a_chart_and_the_hardest_moments(cli: Cli, three: Path) -> None:
    ran = cli("inspect", three)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "buffers    3 of 250 bytes in all" in ran.out
    assert "live bytes over time, at most 150" in ran.out
    assert "1 until 2 " in ran.out


def test_the_facts_can_be_json(cli: Cli, three: Path) -> None:
    facts = json.loads(cli("inspect", three, "--json", "--rows", "1").out)
    assert facts["peak_live"] == 150
    assert facts["buffers"]["count"] == 3
    assert len(facts["hardest"]) == 1


def test_no_moments_are_listed_when_none_are_asked_for(cli: Cli, three: Path) -> None:
    assert "hardest" not in cli("inspect", three, "--rows", "0").out


def test_an_empty_problem_can_be_inspected(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text('{"version": 1, "buffers": []}')
    ran = cli("inspect", path)
    assert (ran.code, ran.err) == (Exit.DONE, "")


def test_what_it_needs_is_told_in_words_and_as_data(cli: Cli, three: Path) -> None:
    output = cli("inspect", three, "--capacity", "120", "--needs").out
    assert "memory       120    150" in output
    assert "stands in the way:\n  it takes more capacity, as above, of memory" in output
    data = json.loads(cli("inspect", three, "--capacity", "120", "--needs", "--json").out)["needs"]
    assert (data["status"], data["pools"][0]["least"], data["releases"]) == ("infeasible", 150, [])
    assert "a plan exists" in cli("inspect", three, "--needs").out


def test_the_fewest_buffers_that_must_change_are_told(cli: Cli, three: Path) -> None:
    output = cli("inspect", three, "--capacity", "120", "--needs").out
    assert "memory: 2 moments have more live than 120 bytes" in output
    assert "memory: 1 buffer must change, which is enough for live bytes; for each of them, one of:" in output
    assert "confirmed by a plan: with these buffers smaller by so much, one exists" in output
    data = json.loads(cli("inspect", three, "--capacity", "120", "--needs", "--json").out)["needs"]
    (short,) = data["shortfalls"]
    assert (short["count"], short["least"], data["confirmed"]) == (1, 1, "shrunk")
    assert short["changes"][0]["shrink"] == 30


def test_a_buffer_can_be_left_out(cli: Cli, three: Path) -> None:
    facts = json.loads(cli("inspect", three, "--without", "b", "--json").out)
    assert facts["buffers"]["count"] == 2
    ran = cli("inspect", three, "--without", "nobody")
    assert ran.code == Exit.USAGE
    assert "there is no buffer 'nobody'" in ran.err


def test_without_time_it_is_said_that_nothing_was_decided(cli: Cli, three: Path) -> None:
    output = cli("inspect", three, "--capacity", "120", "--needs", "--time-limit", "0").out
    assert "not decided within the time whether a plan exists" in output
    assert "at least 0; enough: not known" in output


def test_a_limit_of_what_is_not_asked_for_is_refused(cli: Cli, three: Path) -> None:
    ran = cli("inspect", three, "--time-limit", "3")
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "it limits --needs" in ran.err
