"""Calls of the library, run as a program by the Python of the recorded version: a line of JSON each."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

CALLS: Final = Path(__file__)


def _results() -> dict[str, Callable[[], Any]]:
    import memstow

    calls: dict[str, Callable[[], Any]] = {
        "names": lambda: sorted(name for name in dir(memstow) if not name.startswith("_"))
    }
    options: dict[str, Any] = {"deterministic": True, "work_limit": 200_000, "workers": 1}

    def place(sizes: list[Any], lower: list[Any], upper: list[Any], **more: Any) -> Callable[[], Any]:
        def call() -> Any:
            plan = memstow.place(sizes, lower, upper, **{**options, **more})
            return [list(plan.offsets or ()), plan.peak, plan.bound, str(plan.status)]

        return call

    calls["place"] = place([4, 8, 4], [0, 1, 3], [2, 4, 5])
    calls["place aligned"] = place([4, 8, 4], [0, 1, 3], [2, 4, 5], alignment=8)
    calls["place pinned"] = place([4, 8, 4], [0, 1, 3], [2, 4, 5], offsets=[None, 0, None])
    calls["place in too little"] = place([4, 8, 4], [0, 1, 3], [2, 4, 5], capacity=8)
    calls["place nothing"] = place([], [], [])
    calls["place wrong lengths"] = place([4, 8], [0], [1, 2])
    calls["place negative"] = place([-4], [0], [1])
    calls["place text"] = place(["a"], [0], [1])
    calls["place short lists"] = place([4, 8, 4], [0, 1, 3], [2, 4, 5], alignment=[64])

    def planned(name: str) -> Callable[[], Any]:
        def call() -> Any:
            problem = memstow.read_problem(Path(name).read_bytes())
            plan = memstow.plan(problem, memstow.Options(**options))
            return [memstow.write_plan(problem, plan).decode(), repr(memstow.verify(problem, plan))]

        return call

    for path in sorted(Path.cwd().glob("random-*.json")):
        if "." not in path.stem:
            calls[f"plan {path.name}"] = planned(path.name)
    for path in sorted(Path.cwd().glob("broken-problem*.json")):
        calls[f"plan {path.name}"] = planned(path.name)
    return calls


def main() -> None:
    """Make all calls."""
    for name, call in _results().items():
        try:
            result = json.dumps(call(), default=str)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps([f"library: {name}", result]) + "\n")


if __name__ == "__main__":
    main()
