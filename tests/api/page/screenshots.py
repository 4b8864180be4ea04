"""Draws the pictures of docs/page.md, by the page itself: `python -m tests.api.page.screenshots`."""

import io
import tempfile
from pathlib import Path

from PIL import Image

from tests.api.page import samples
from tests.api.page.browser import ROOT, Look, browser

FOLDER = ROOT / "docs" / "page"
COLOURS = 256
"""Enough for the page, and a third of the bytes."""


def _pictures() -> dict[str, tuple[bytes, str, bool]]:
    """For each picture the page, the fragment, and whether it is dark."""
    network = samples.page_of(*samples.solved(samples.network(300, 3)))
    pools = samples.page_of(*samples.solved(samples.problem_of(samples.two_pools())))
    nothing = samples.page_of(*samples.solved(samples.problem_of(samples.infeasible())))
    return {
        "network": (network, "", False),
        "proof": (network, "#show=proof&buffer=t270", False),
        "two-pools": (pools, "", True),
        "infeasible": (nothing, "", False),
    }


def draw(folder: Path) -> None:
    """Write them."""
    with browser() as running, tempfile.TemporaryDirectory() as scratch:
        for name, (page, fragment, dark) in _pictures().items():
            look = Look(running, dark=dark, wide=1280, tall=800).show(page, Path(scratch), fragment)
            shot = Image.open(io.BytesIO(look.page.screenshot()))
            small = shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            small.save(folder / f"{name}.png", optimize=True)
            look.close()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER)
