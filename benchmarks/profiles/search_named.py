"""Solve with another build of the native module: `search_named.py LIBRARY PROBLEM SECONDS WORKERS`."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_MODULE = "memstow.solvers._native"


def main(library: str, problem: str, seconds: str, workers: str) -> None:
    """Load the build in place of the installed one, then solve."""
    spec = spec_from_file_location(_MODULE, library)
    if spec is None or spec.loader is None:
        raise ImportError(library)
    sys.modules[_MODULE] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[_MODULE])

    import memstow

    document = memstow.read_problem(Path(problem).read_bytes())
    memstow.plan(document, memstow.Options(time_limit=float(seconds), workers=int(workers)))


if __name__ == "__main__":
    main(*sys.argv[1:])
