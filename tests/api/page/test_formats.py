"""What a plan is saved as: the documents as they were read, other formats by the service or a command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.pages import page_of as page_of_graph
from memstow.api.cli.pages import symbolic_page
from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.planner.generate.graph import graph as make_graph
from memstow.planner.generate.symbolic import symbolic as make_symbolic
from memstow.planner.model.options import Options
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.solve import engine
from tests.api.asking import over, submit
from tests.api.page import samples
from tests.api.page.browser import Look
from tests.api.page.modules import run
from tests.api.serving import Server

QUICK = Options(deterministic=True)


def saved(look: Look, item: str, folder: Path) -> Path:
    """The file that an item of the menu saves."""
    look.page.click("#export")
    look.wait(f"[...document.querySelectorAll('.items button')].some((it) => it.innerText === {item!r})")
    with look.page.expect_download() as download:
        look.page.click(f".items button:text-is({item!r})")
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def commands(look: Look) -> list[str]:
    """What the page says to run for each other format."""
    look.page.click("#export")
    look.page.click(".items button:has-text('other formats')")
    look.wait("document.querySelector('dialog[open] .formats pre')")
    assert look.violations() == []
    result: list[str] = look.page.locator(".formats pre").all_inner_texts()
    return result


def test_problem_and_plan_are_saved_as_they_were_read(look: Look, tmp_path: Path) -> None:
    problem, plan = samples.solved(samples.network(12, 3))
    look.show(samples.page_of(problem, plan), tmp_path)
    assert json.loads(saved(look, "Problem, JSON", tmp_path).read_bytes()) == json.loads(problem)
    assert json.loads(saved(look, "Plan, JSON", tmp_path).read_bytes()) == json.loads(plan)


@pytest.mark.parametrize("kind", ["problem", "graph", "symbols"])
def test_each_command_makes_what_it_says(look: Look, tmp_path: Path, kind: str) -> None:
    if kind == "problem":
        page = samples.page_of(*samples.solved(samples.network(12, 3)))
    elif kind == "graph":
        graph = make_graph(8, 0)
        page = page_of_graph(graph, engine.plan(graph, QUICK), "")
    else:
        symbolic = make_symbolic(12, 0)
        page = symbolic_page(symbolic, plan_symbolic(symbolic, QUICK), "", {})
    look.show(page, tmp_path).wait("document.querySelector('#export')")
    saved(look, "Graph, JSON" if kind == "graph" else "Problem, JSON", tmp_path)
    saved(look, "Plan, JSON", tmp_path)
    output = commands(look)
    assert any(".h" in command for command in output)
    # Loops are drawn of stripes only, and a model is what the user has.
    for command in [entry for entry in output if "MODEL" not in entry and ".loops.svg" not in entry]:
        program, *arguments = command.split()
        assert program == "memstow"
        run_command = [sys.executable, "-m", "memstow.api.cli.main", *arguments]
        subprocess.run(run_command, cwd=tmp_path, check=True, capture_output=True)
        assert (tmp_path / arguments[-1]).stat().st_size > 0


def test_the_service_writes_each_format_of_its_job(running: Any, server: Server, address: str) -> None:
    look = Look(running)
    with server.client() as client:
        job = submit(client, samples.buffers((8, 0, 2), (8, 1, 3)))
        over(client, job)
    look.open(f"{address}/jobs/{job}").wait("document.querySelector('h1')?.innerText.startsWith('16 B')")
    look.page.click("#export")
    look.page.click(".items button:has-text('other formats')")
    look.wait("document.querySelector('.formats button')")
    assert look.violations() == []
    ends = {}
    for place in range(look.page.locator(".formats button").count()):
        with look.page.expect_download() as download:
            look.page.locator(".formats button").nth(place).click()
        ends[str(download.value.suggested_filename)] = Path(download.value.path()).read_text()
        look.wait("!document.querySelector('.formats button').disabled")
    assert "#define PLAN_OFFSET_a" in ends["sample.h"]
    assert '#include "sample.h"' in ends["sample.c"]
    assert {"sample.rs", "sample.ld", "sample.check.c", "sample.plan.csv", "sample.usmp.json"} <= set(ends)
    look.close()


def test_every_format_of_the_service_but_that_for_the_page_is_offered() -> None:
    document = create_app(Settings()).openapi()
    parameters = document["paths"]["/v1/jobs/{job}/plan"]["get"]["parameters"]
    formats = next(
        parameter["schema"]["enum"] for parameter in parameters if parameter["name"] == "output_format"
    )
    program = """
import { FORMATS } from "./shell/formats.tsx";
export default () => FORMATS.map((one) => one.format);
"""
    # Step tables and plans of STAlloc are of recorded allocations alone, and go to where the program runs;
    # a plan for each program is of several programs alone.
    assert {*run(program, None), "json", "page", "replay", "stalloc", "programs"} == set(formats)
