"""What is measured from outside runs in a process of its own: `python -P in_process.py KIND WORD ...`.

A script, which the Python of any checkout runs by its path. `plan`, `calls`, `tiling` and `route` use only
names of the library that other versions have too; all that a kind needs is imported in its function, so that
none measures the imports of another.

* `plan PROBLEM OPTIONS [LIBRARY]`: plan once with OPTIONS as JSON and print what came of it; LIBRARY is
  another build of the native module.
* `route PORT`: serve a bare FastAPI route that validates the body of `POST /v1/plan` and echoes it.
* `clock OUTPUT PARTS WORD ...`: run a command of memstow and write how long some functions took. PARTS is
  JSON: for each part of the work, its functions as `module:name`, in the module that calls them.
* `sample OUTPUT WORD ...`: run a command of memstow and write where its main thread was.
* `calls`: print the milliseconds of the fastest calls of the library with few buffers and with many.
* `tiling PROBLEM`: solve with an object for each buffer, verify the plan, and print the seconds of both.
* `idle SECONDS`: print how late the machine alone makes an event loop with nothing to do, at p99.
"""

import functools
import json
import signal
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from threading import local
from types import FrameType
from typing import Any, Final

_SAMPLE_SECONDS: Final = 0.001
_SLEEP_SECONDS: Final = 0.5
_PATIENCE: Final = 600.0
_NATIVE: Final = "memstow.solvers._native"


def plan(path: str, options: str, library: str | None = None) -> None:
    """Read the problem, plan it, and print the seconds of the call and the values as JSON."""
    if library is not None:
        # Load this build of the native module in place of the installed one.
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(_NATIVE, library)
        if spec is None or spec.loader is None:
            raise ImportError(library)
        sys.modules[_NATIVE] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[_NATIVE])
    import memstow

    problem = memstow.read_problem(Path(path).read_bytes())
    chosen = memstow.Options(**json.loads(options))
    # What only the first call of a process does, above all imports, is not part of what is measured.
    memstow.plan(memstow.Problem(buffers=[memstow.Buffer(id="one", size=1, lifetime=(0, 1))]))
    began = time.perf_counter()
    result = memstow.plan(problem, chosen)
    seconds = time.perf_counter() - began
    term = result.objective[0] if result.objective else None
    print(
        json.dumps(
            {
                "seconds": seconds,
                "status": str(result.status.value),
                "value": None if term is None else term.value,
                "bound": None if term is None else term.bound,
            }
        )
    )


def route(port: str) -> None:
    """Serve the bare route: what the framework costs with the models of memstow."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    from memstow import Options, Problem

    class Body(BaseModel):
        """The envelope of `POST /v1/plan`."""

        problem: Problem
        options: Options = Options()

    app = FastAPI()

    @app.post("/echo")
    async def echo(body: Body) -> Body:
        """Return the body as it was understood."""
        return body

    uvicorn.run(app, port=int(port), http="httptools", log_level="critical", access_log=False)


class Clock:
    """Seconds of processors by part of the work.

    Time in a function that another one calls counts for the inner one only. The functions are few and long,
    so that measuring them costs nothing. What is counted is the time of processors, so that what else the
    machine does changes little: nothing else of the process works meanwhile but threads of these functions.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner = local()

    def watch(self, part: str, function: str) -> None:
        """Count the time of this function for this part."""
        module, _, path = function.partition(":")
        owner: Any = import_module(module)
        *outer, name = path.split(".")
        for step in outer:
            owner = getattr(owner, step)
        setattr(owner, name, self._watched(part, getattr(owner, name)))

    def _watched(self, part: str, function: Any) -> Any:
        @functools.wraps(function)
        def watched(*args: Any, **named: Any) -> Any:
            # A thread has its own calls.
            before = getattr(self._inner, "seconds", 0.0)
            self._inner.seconds = 0.0
            began = time.process_time()
            try:
                return function(*args, **named)
            finally:
                took = time.process_time() - began
                self.seconds[part] += took - self._inner.seconds
                self._inner.seconds = before + took

        return watched


def clock(output: str, parts: str, *words: str) -> int:
    """Watch the functions, run the command, and write what they took."""
    from memstow.api.cli.main import main as memstow

    watch = Clock()
    for part, functions in json.loads(parts).items():
        for function in functions:
            watch.watch(part, function)
    code = memstow(list(words))
    Path(output).write_text(json.dumps(watch.seconds))
    return code


def sample(output: str, *words: str) -> int:
    """Run the command; then write the stacks, innermost file first, and how often each was met.

    Sampling begins with the signal SIGUSR1. A sample is taken each millisecond of the process's processor
    time; unlike a profiler that is called at each call, this costs a small function no more than a large one.
    Machine code counts for the Python function that calls it.
    """
    from memstow.api.cli.main import main as memstow

    met: Counter[tuple[str, ...]] = Counter()

    def take(_number: int, frame: FrameType | None) -> None:
        files: list[str] = []
        while frame is not None:
            name = frame.f_code.co_filename
            if not files or files[-1] != name:
                files.append(name)
            frame = frame.f_back
        met[tuple(files)] += 1

    def begin(_number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, _SAMPLE_SECONDS, _SAMPLE_SECONDS)

    signal.signal(signal.SIGPROF, take)
    signal.signal(signal.SIGUSR1, begin)
    code = memstow(list(words))
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    Path(output).write_text(json.dumps(list(met.items())))
    return code


def tiling(path: str) -> None:
    """Print the seconds of a plan by greedy and of the verdict on it, as JSON."""
    import gc

    import memstow

    # As the command line does: see api/cli/main.py.
    gc.disable()
    problem = memstow.read_problem(Path(path).read_bytes())
    began = time.perf_counter()
    result = memstow.plan(problem, memstow.Options(time_limit=_PATIENCE, solver="greedy"))
    solved = time.perf_counter()
    violations = memstow.verify(problem, result)
    verified = time.perf_counter()
    if violations:
        raise RuntimeError(str(violations[0]))
    print(json.dumps({"solve": solved - began, "verify": verified - solved}))


# Runs of a call with so many buffers.
_RUNS: Final = {10: 300, 100: 300, 1000: 30, 1_000_000: 3}
_LIFE: Final = 50


def calls() -> None:
    """Print the milliseconds of the fastest call of `plan` and `place` by number of buffers, as JSON."""
    from array import array
    from random import Random

    import memstow

    def columns(n: int) -> list["array[int]"]:
        random = Random(1)
        begins = array("q", (random.randrange(n) for _ in range(n)))
        ends = array("q", (begin + random.randint(1, _LIFE) for begin in begins))
        return [array("q", (64 * random.randint(1, 64) for _ in range(n))), begins, ends]

    def problem(n: int) -> "memstow.Problem":
        # Greedy's first passes prove the plan, as they do most.
        random = Random(0)
        buffers = [
            memstow.Buffer(
                id=f"b{i}", size=64 * random.randrange(1, 64), lifetime=(i, i + random.randrange(1, 6))
            )
            for i in range(n)
        ]
        return memstow.Problem(buffers=buffers)

    figures: dict[str, float] = {}

    def best(name: str, call: Any, inputs: list[Any]) -> None:
        took = []
        for words in inputs:
            began = time.perf_counter()
            call(*words)
            took.append(time.perf_counter() - began)
        figures[name] = 1000 * min(took)

    for n in (10, 1000):
        # Each call has a problem that no other had.
        best(f"plan-{n}", memstow.plan, [(problem(n),) for _ in range(_RUNS[n])])
    for n, runs in _RUNS.items():
        best(f"place-{n}", functools.partial(memstow.place, alignment=16), [columns(n)] * runs)
    print(json.dumps(figures))


def idle(seconds: str) -> None:
    """Print the 99th percentile of how late many short sleeps were, in seconds."""
    import asyncio
    from statistics import quantiles

    async def watch() -> list[float]:
        loop = asyncio.get_running_loop()
        end = loop.time() + float(seconds)
        late = []
        while (before := loop.time()) < end:
            await asyncio.sleep(_SLEEP_SECONDS)
            late.append(max(0.0, loop.time() - before - _SLEEP_SECONDS))
        return late

    print(quantiles(asyncio.run(watch()), n=100)[98])


if __name__ == "__main__":
    kinds = {one.__name__: one for one in (plan, route, clock, sample, calls, tiling, idle)}
    sys.exit(kinds[sys.argv[1]](*sys.argv[2:]))
