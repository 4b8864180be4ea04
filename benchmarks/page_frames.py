"""What the page costs in a browser without a GPU: until it answers, each frame of a gesture, and a full draw.

    python -m benchmarks.page_frames PLAN.html ...

Each file is one that `memstow view` wrote. Times are those of the renderer's processor, so that other work on
the machine does not count; medians over the frames.
"""

import sys
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.page import table
from benchmarks.servers import worked
from tests.api.page.browser import Look, browser

FRAMES: Final = 40
SETTLED: Final = 5
_WHEEL: Final = """(deltaY) => new Promise((done) => {
  const map = document.querySelector('canvas[data-pool]');
  const box = map.getBoundingClientRect();
  const at = {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2};
  map.dispatchEvent(new WheelEvent('wheel', {deltaY, ...at, bubbles: true, cancelable: true}));
  requestAnimationFrame(() => setTimeout(done));
})"""
_SETTLE: Final = (
    "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => setTimeout(done)), 400))"
)


def _used_by_threads(processes: list[int]) -> float:
    """Milliseconds of the processor that the threads there are have used, to the nanosecond."""
    total = 0
    for process in processes:
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e6


def measure(path: Path) -> list[object]:
    """The row of one file."""
    with browser() as running:
        look = Look(running)
        began = perf_counter()
        look.open(path.resolve().as_uri())
        wall = perf_counter() - began
        # The processes of the pages of this browser.
        session = running.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        renderers = [int(process["id"]) for process in processes if process["type"] == "renderer"]
        ready = sum(map(worked, renderers))
        look.page.evaluate(_SETTLE)

        def cost(script: str, argument: object = None) -> float:
            before = _used_by_threads(renderers)
            look.page.evaluate(script, argument)
            return _used_by_threads(renderers) - before

        frames = [cost(_WHEEL, -40 if turn < FRAMES / 2 else 40) for turn in range(FRAMES)]
        look.page.evaluate(_SETTLE)
        settled = []
        for _ in range(SETTLED):
            look.page.evaluate(_WHEEL, -10)
            settled.append(cost(_SETTLE))
        look.close()
    return [path.name, f"{wall:.2f}", f"{ready:.2f}", f"{median(frames):.1f}", f"{median(settled):.0f}"]


def main() -> None:
    """Print the table."""
    rows = [measure(Path(name)) for name in sys.argv[1:]]
    header = (
        "file",
        "interactive, s of the clock",
        "s of its processor",
        "gesture frame, ms",
        "full draw, ms",
    )
    print(table(header, rows))


if __name__ == "__main__":
    main()
