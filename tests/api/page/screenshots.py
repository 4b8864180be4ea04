"""Draws the pictures of docs/page.md, by the page itself: `python -m tests.api.page.screenshots`."""

import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from memstow.api.cli.pages import front_page, page_of, symbolic_page
from memstow.planner.generate.graph import graph as make_graph
from memstow.planner.generate.planted import planted
from memstow.planner.generate.symbolic import symbolic as make_symbolic
from memstow.planner.model.options import Options
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.solve import engine
from tests.api.asking import submit
from tests.api.http.conftest import hard
from tests.api.page import samples
from tests.api.page.browser import ROOT, Look, browser
from tests.api.serving import Server

FOLDER = ROOT / "docs" / "page"
COLOURS = 256
"""Enough for the page, and a third of the bytes."""


def _pictures() -> dict[str, tuple[bytes, str, bool]]:
    """For each picture the page, the fragment, and whether it is dark."""
    network = samples.page_of(*samples.solved(samples.network(300, 3)))
    pools = samples.page_of(*samples.solved(samples.problem_of(samples.two_pools())))
    nothing = samples.page_of(*samples.solved(samples.problem_of(samples.infeasible())))
    deterministic = Options(deterministic=True)
    tiles = planted(90, 2)
    problem, greedy = samples.solved(tiles, replace(deterministic, solver="greedy"))
    best = samples.solved(tiles)[1]
    both = samples.compared(problem, (greedy, best), ("greedy.json", "auto.json"))
    graph = make_graph(24, 0)
    ordered = page_of(
        replace(graph, order="free"), engine.plan(replace(graph, order="free"), deterministic), ""
    )
    net = samples.conv_net()
    known = samples.front_of(net)
    front = front_page(net, known, "", None).page
    small = min(known.points, key=lambda point: point.values["peak"])
    symbolic = make_symbolic(55, 0, symbols=2)
    formed = plan_symbolic(symbolic, deterministic, shapes="pieces", pieces=2)
    return {
        "symbols": (symbolic_page(symbolic, formed, "attention.json", {}), "#value=256_4", False),
        "front": (front, "#at=3", False),
        "point": (front, "#point=3", True),
        "program": (page_of(net, small.plan, ""), "#step=40", False),
        "order": (ordered, "#operator=o3", False),
        "compare": (both, "#buffer=b70", False),
        "network": (samples.page_of(*samples.solved(samples.network(40, 0))), "#buffer=t16", False),
        "proof": (network, "#show=proof&buffer=t270", False),
        "two-pools": (pools, "", True),
        "infeasible": (nothing, "", False),
    }


def draw(folder: Path, only: tuple[str, ...] = ()) -> None:
    """Write them, or those with these names."""
    with browser() as running, tempfile.TemporaryDirectory() as scratch:
        for name, (page, fragment, dark) in _pictures().items():
            if only and name not in only:
                continue
            look = Look(running, dark=dark, wide=1280, tall=800).show(page, Path(scratch), fragment)
            look.page.evaluate("document.querySelector('.steps')?.scrollIntoView(false)")
            _save(look, folder / f"{name}.png")
        if only and not {"live", "new"} & {*only}:
            return
        server = Server(Path(scratch) / "data").start()
        try:
            _draw_served(running, server, folder)
        finally:
            server.kill()


def _draw_served(running: Any, server: Server, folder: Path) -> None:
    """Pictures of the page at a service: a job that runs, and the editor."""
    address = server.url.rstrip("/")
    with server.client() as client:
        job = submit(client, hard(300, 21), time_limit=30.0)
    look = Look(running, wide=1280, tall=860).open(f"{address}/jobs/{job}")
    look.wait(
        "document.querySelector('.strip')?.innerText.includes('best') && document.querySelector('.search')"
    )
    # The search is drawn after some of it.
    look.page.wait_for_timeout(6000)
    _save(look, folder / "live.png")
    look = Look(running, wide=1280, tall=560, refusals=(422,)).open(f"{address}/new?example=pools")
    look.wait("document.querySelector('.written')?.shadowRoot?.querySelector('.cm-content')")
    text = "document.querySelector('.written').shadowRoot.querySelector('.cm-content').innerText"
    look.wait(f"{text}.includes('dtcm')")
    wrong = look.page.evaluate(text).replace('"sram"]', '"sdram"]').replace('"size": 128', '"size": -128')
    look.page.locator(".cm-content").focus()
    look.page.keyboard.press("Control+a")
    look.page.keyboard.insert_text(wrong)
    look.page.click("button.main")
    look.wait("document.querySelectorAll('.faults li').length > 1")
    look.wait("document.querySelector('.written').shadowRoot.querySelector('.cm-lintRange-error')")
    _save(look, folder / "new.png")


def _save(look: Look, path: Path) -> None:
    # The caret is left as it is: to hide it, playwright would add a style, which the policy forbids.
    shot = Image.open(io.BytesIO(look.page.screenshot(caret="initial")))
    small = shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    look.close()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER, tuple(sys.argv[1:]))
