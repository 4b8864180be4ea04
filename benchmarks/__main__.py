"""Run the benchmarks named, or all of them: `python -m benchmarks [startup] [large] [growth] ...`."""

import sys

from benchmarks import growth, large, models, published, starts, startup
from benchmarks.page import put

ALL = {
    "startup": startup.measure,
    "published": published.measure,
    "large": large.measure,
    "growth": growth.measure,
    "models": models.measure,
    "starts": starts.measure,
}


def main(names: list[str]) -> int:
    """Measure, print, and put the tables on the page."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    for name in names or ALL:
        text = ALL[name]()
        print(f"\n## {name}\n\n{text}", flush=True)
        put(name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
