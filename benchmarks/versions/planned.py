"""Plan one problem and print what was found: `python -P planned.py PROBLEM OPTIONS`.

A script, which is run with the Python of either checkout: it uses only what is public in both.
"""

import json
import sys
import time
from pathlib import Path

import memstow


def main(path: str, options: str) -> None:
    """Read the problem, plan it with options given as JSON, and print the seconds of the call and values."""
    problem = memstow.read_problem(Path(path).read_bytes())
    asked = memstow.Options(**json.loads(options))
    # What only the first call of a process does, above all imports, is not part of what is measured.
    memstow.plan(memstow.Problem(buffers=[memstow.Buffer(id="one", size=1, lifetime=(0, 1))]))
    began = time.perf_counter()
    plan = memstow.plan(problem, asked)
    seconds = time.perf_counter() - began
    term = plan.objective[0] if plan.objective else None
    print(
        json.dumps(
            {
                "seconds": seconds,
                "status": str(plan.status.value),
                "value": None if term is None else term.value,
                "bound": None if term is None else term.bound,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
