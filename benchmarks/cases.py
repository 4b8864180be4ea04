"""What is measured of a version: commands, calls and the service, and what the engine reaches in its time."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles
from typing import Any, Final

from benchmarks import limits
from benchmarks.load import closed_loop, steady
from benchmarks.measuring import IN_PROCESS
from benchmarks.problems import HEIGHT, LETTERS
from benchmarks.servers import bodies, free_port, lag_p99, running, service, worked
from benchmarks.versions import Case, Checkout, FailedError, Figures, Inputs, Row

_TURNS: Final = 6
_TURN_SECONDS: Final = 1.0
_WARM_SECONDS: Final = 0.5
# A server that does not answer is not waited for all night.
_MOST_SECONDS: Final = 120.0
# More than any server answers in these turns, so that no problem comes twice.
_BODIES: Final = int(2500 * (_TURNS * _TURN_SECONDS + _WARM_SECONDS))
_CACHED: Final = 50
STEADY_SECONDS: Final = 4.0
STEADY_RATE: Final = 125.0


def requests(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """Of the service, each with another problem; and beside the bare route, which takes turns with it.

    What else the machine does changes from one second to the next, and falls on both.
    """
    problems = bodies(_BODIES)
    bare_port = free_port()
    # The route of this checkout with the models of that one.
    route = running([checkout.python, "-P", str(IN_PROCESS), "route", str(bare_port)], bare_port)
    with service((checkout.memstow,), checkout.folder) as (port, process), route as bare_process:
        bare = _Server(bare_port, bare_process, "/echo")
        planning = _Server(port, process, "/v1/plan")
        turns: list[tuple[_Turn, _Turn]] = []
        sent = 0
        for seconds in (_WARM_SECONDS, *[_TURN_SECONDS] * _TURNS):
            rest = problems[sent:]
            turns.append((_turn(bare, rest, seconds), _turn(planning, rest, seconds)))
            sent += turns[-1][1].answers
        cached = _turn(planning, problems[:_CACHED], _TURNS * _TURN_SECONDS)
    with service((checkout.memstow,), checkout.folder) as (port, process):
        _turn(_Server(port, process, "/v1/plan"), problems[::-1], _WARM_SECONDS)
        took = asyncio.run(
            steady(port, "/v1/plan", lambda number: problems[number], STEADY_SECONDS, STEADY_RATE)
        )
        lag = lag_p99(port)
    late = 1e3 * quantiles(took, n=100)[98]
    counted = turns[1:]
    return {
        "rate": median(plans.rate for _, plans in counted),
        "of-bare": median(plans.rate / echoes.rate for echoes, plans in counted),
        "work-of-bare": median(echoes.work / plans.work for echoes, plans in counted),
        "cached": cached.rate,
        "p99": late,
        "lag": 1e3 * lag,
    }


@dataclass(frozen=True, slots=True)
class _Server:
    port: int
    process: int
    path: str


@dataclass(frozen=True, slots=True)
class _Turn:
    """Requests/s, how many were answered, and the time of a processor that each took."""

    rate: float
    answers: int
    work: float


def _turn(server: _Server, problems: Sequence[bytes], seconds: float) -> _Turn:
    """As many requests as it answers, round and round these problems."""

    async def load() -> tuple[float, Counter[int]]:
        async with asyncio.timeout(_MOST_SECONDS):
            return await closed_loop(
                server.port, server.path, lambda number: problems[(number - 1) % len(problems)], seconds
            )

    worked_before = worked(server.process)
    try:
        rate, statuses = asyncio.run(load())
    except (OSError, EOFError, TimeoutError) as error:
        raise FailedError(f"{server.path}: {error!r}") from None
    if statuses.keys() != {200}:
        raise FailedError(f"{server.path} answers {dict(statuses)}")
    answers = statuses.total()
    return _Turn(rate, answers, (worked(server.process) - worked_before) / answers)


MILLION: Final = 1_000_000
MANY: Final = 100_000
LATE_LIMIT: Final = 1.0
CALLED: Final = 60_000
CALL_LIMIT: Final = 0.05
SMALL: Final = 10
LESS_SMALL: Final = 300
BOUND_OF_S_1: Final = 1_498_635_932
_MIB: Final = 1 << 20
# 32 of a process that does nothing, 27 of the CSV, and 200 bytes for each buffer.
MEMORY_OF_MILLION: Final = 32.0 + 27.0 + 200 * MILLION / _MIB


def million(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """From a CSV to a plan, and then the verdict on it."""
    problem, plan = inputs.random_csv(MILLION), inputs.output("million.plan.json")
    plan.unlink(missing_ok=True)
    solved = checkout.solve(problem, "--solver", "greedy", "--output", plan)
    verified = checkout.run(checkout.memstow, "verify", problem, plan)
    return {
        "solve": solved.usage.seconds,
        "memory": solved.peak_memory / _MIB,
        "verify": verified.usage.seconds,
        "verify-memory": verified.peak_memory / _MIB,
    }


def one_pass(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """The same with as much work as there are buffers."""
    plan = inputs.output("pass.plan.json")
    words = ("--solver", "greedy", "--work-limit", f"{MILLION}", "--output", plan)
    ran = checkout.solve(inputs.random_csv(MILLION), *words)
    return {"pass": ran.usage.seconds, "pass-memory": ran.peak_memory / _MIB}


def late(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """How long a process takes beyond its limit."""
    ran = checkout.solve(inputs.random_csv(MANY), "--time-limit", f"{LATE_LIMIT:g}", "--quiet")
    return {"late": ran.usage.seconds - LATE_LIMIT}


def call(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A call of the library with a short limit."""
    return {"call": checkout.plan(inputs.random_csv(CALLED), time_limit=CALL_LIMIT)["seconds"]}


def calls(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """The fastest of many calls of the library with small problems, in milliseconds."""
    ran = checkout.run(checkout.python, "-P", IN_PROCESS, "calls")
    figures: Figures = json.loads(ran.out)
    return figures


def small(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """Small problems, from the start of the command to its end, and the verdict on a plan."""
    problem, plan = inputs.network(SMALL), inputs.output("small.plan.json")
    solved = checkout.solve(problem)
    larger = checkout.solve(inputs.network(LESS_SMALL), "--output", plan)
    verified = checkout.run(checkout.memstow, "verify", inputs.network(LESS_SMALL), plan)
    seconds = (ran.usage.seconds for ran in (solved, larger, verified))
    return dict(zip(("small", "less-small", "verify"), seconds, strict=True))


def large(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """S_1 of idealloc by single solvers, whole processes."""
    path = inputs.published("idealloc/S_1.csv")
    figures: dict[str, float] = {}
    for solver in ("greedy", "first-fit"):
        ran = checkout.solve(path, "--solver", solver, "--json")
        peak = sum(pool["peak"] for pool in json.loads(ran.out)["pools"])
        figures |= {f"{solver}-s": ran.usage.seconds, f"{solver}-of-bound": peak / BOUND_OF_S_1}
    return figures


def objects(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """Calls of the library with an object for each buffer: greedy on a perfect tiling, and the verdict."""
    problem = inputs.planted(MILLION, 1, 0.0)
    ran = checkout.run(checkout.python, "-P", IN_PROCESS, "tiling", problem)
    figures: dict[str, float] = json.loads(ran.out)
    return {**figures, "memory": ran.peak_memory / 2**30}


def fitting(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A-K of MiniMalloc, only to fit, one process after the other."""
    words = ("--capacity", f"{HEIGHT}", "--fit-only", "--time-limit", "10", "--json")
    paths = [inputs.published(f"minimalloc/{letter}.{HEIGHT}.csv") for letter in LETTERS]
    return {"fitting": sum(checkout.solve(path, *words).usage.seconds for path in paths)}


def imports(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """An interpreter that imports the library, and one that uses a class of it as well."""
    alone, used = (
        checkout.run(checkout.python, "-P", "-c", code).usage.seconds
        for code in ("import memstow", "import memstow; memstow.Problem")
    )
    return {"import": alone, "import-problem": used}


COMMAND_CASES: Final = (
    Case(
        "million",
        (
            Row("solve", "1,000,000 buffers, `solve --solver greedy`, s", wanted=8.0),
            Row("memory", "the same: memory, MiB", ".0f", wanted=MEMORY_OF_MILLION),
            Row("verify", "`verify` of its plan, s", wanted=3.0),
            Row("verify-memory", "`verify`: memory, MiB", ".0f", wanted=MEMORY_OF_MILLION),
        ),
        million,
        runs=3,
    ),
    Case(
        "pass",
        (
            Row("pass", "1,000,000 buffers, one pass of greedy (`--work-limit 1000000`), s"),
            Row("pass-memory", "one pass: memory, MiB", ".0f", wanted=MEMORY_OF_MILLION),
        ),
        one_pass,
        runs=3,
    ),
    Case(
        "late",
        (Row("late", "100,000 buffers at a limit of 1 s: beyond the limit, s", wanted=0.1),),
        late,
        runs=5,
    ),
    Case(
        "call",
        (Row("call", "60,000 buffers at a limit of 50 ms: a call of `memstow.plan`, s", ".3f", wanted=0.15),),
        call,
        runs=5,
    ),
    Case(
        "calls",
        (
            *(
                Row(f"plan-{n}", f"`memstow.plan`, {n:,} buffers, ms", ".3g", wanted=most)
                for n, most in ((10, 0.5), (1_000, 10.0))
            ),
            *(
                Row(f"place-{n}", f"`memstow.place`, {n:,} buffers, ms", ".3g", wanted=most)
                for n, most in ((10, 0.05), (100, 0.5), (1_000, 4.0), (MILLION, 1500.0))
            ),
        ),
        calls,
        runs=3,
    ),
    Case(
        "large",
        tuple(
            row
            for solver, wanted in (("greedy", 3.0), ("first-fit", None))
            for row in (
                Row(f"{solver}-s", f"S_1 of idealloc, `--solver {solver}`, s", wanted=wanted),
                Row(f"{solver}-of-bound", f"the same by {solver}: peak / bound", ".4f"),
            )
        ),
        large,
        runs=3,
    ),
    Case(
        "objects",
        (
            Row("solve", "perfect tiling of 1,000,000 buffers, `memstow.plan` by greedy, s", wanted=60.0),
            Row("verify", "`memstow.verify` of its plan, s", wanted=20.0),
            Row("memory", "both: memory, GiB", wanted=4.0),
        ),
        objects,
        runs=1,
    ),
    Case(
        "small",
        (
            Row("small", "10 buffers, `memstow solve`, s", ".3f", wanted=0.12),
            Row("less-small", "300 buffers, `memstow solve`, s", ".3f", wanted=0.25),
            Row("verify", "`memstow verify` of its plan, s", ".3f"),
        ),
        small,
        runs=15,
        warm=True,
    ),
    Case(
        "fitting",
        (Row("fitting", "A-K of MiniMalloc, `--fit-only`, all eleven, s", wanted=1.6),),
        fitting,
        runs=5,
        warm=True,
    ),
    Case(
        "import",
        (
            Row("import", "`import memstow`, s", ".3f", wanted=0.08),
            Row("import-problem", "`import memstow; memstow.Problem`, s", ".3f"),
        ),
        imports,
        runs=15,
        warm=True,
    ),
    Case(
        "service",
        (
            Row(
                "rate", "the service, nothing cached, requests/s", ",.0f", wanted=1000.0, more_is_better=True
            ),
            Row("of-bare", "share of the requests of a plain FastAPI route", wanted=0.5, more_is_better=True),
            Row("work-of-bare", "the same, by the time of a processor", more_is_better=True),
            Row("cached", "the service, all cached, requests/s", ",.0f", more_is_better=True),
            Row("p99", f"at {STEADY_RATE:g} requests/s, nothing cached: p99, ms", ".1f"),
            Row("lag", "the event loop is late, p99, ms", "g"),
        ),
        requests,
        runs=3,
    ),
)


ENGINE_SECONDS: Final = 10.0
LONG_ENGINE_SECONDS: Final = 20.0
ENGINE_WORKERS: Final = 2
SLACK: Final = 0.01
LOW_PEAK_OF_J: Final = 1_003_520


def one_of_minimalloc(letter: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """One of A-K."""
    path = inputs.published(f"minimalloc/{letter}.{HEIGHT}.csv")
    figures = _minimised(checkout.plan(path, time_limit=ENGINE_SECONDS, workers=ENGINE_WORKERS))
    return {**figures, "low": float("peak" in figures and figures["peak"] <= LOW_PEAK_OF_J)}


def full(n: int, slack: float, checkout: Checkout, inputs: Inputs, seed: int) -> Figures:
    """A planted problem; each run has another one."""
    return _minimised(
        checkout.plan(inputs.planted(n, seed, slack), time_limit=ENGINE_SECONDS, workers=ENGINE_WORKERS)
    )


def largest_of_idealloc(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """S_1, the largest of them."""
    path = inputs.published("idealloc/S_1.csv")
    return _minimised(checkout.plan(path, time_limit=LONG_ENGINE_SECONDS, workers=ENGINE_WORKERS))


def reuse(letter: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """One of the two with costs on pairs: the cost is to be low, and its bound near it."""
    path = inputs.published(f"minimalloc-dsa-rp/{letter}.json")
    result = checkout.plan(path, time_limit=LONG_ENGINE_SECONDS, workers=ENGINE_WORKERS)
    if result["value"] is None:
        return {}
    return {"cost": result["value"], "of-cost": result["bound"] / result["value"] if result["value"] else 1.0}


def by_three_pools(checkout: Checkout, inputs: Inputs, seed: int) -> Figures:
    """Three pools by cost; each run has another problem."""
    result = checkout.plan(inputs.three_pools(200, seed), time_limit=ENGINE_SECONDS, workers=ENGINE_WORKERS)
    return {} if result["value"] is None else {"gap": result["value"] / result["bound"] - 1.0}


def _minimised(result: dict[str, Any]) -> Figures:
    """Of a problem whose peak is to be low."""
    proven = result["status"] == "optimal"
    figures = {"proven": float(proven)}
    if result["value"] is not None:
        figures |= {"peak": result["value"], "of-bound": result["value"] / result["bound"]}
    return figures | ({"seconds": result["seconds"]} if proven else {})


def _full(n: int, slack: float, *, proven: float | None = None, of_bound: float | None = None) -> Case:
    kind = f"planted, {n:,} buffers" + (f", {slack:.0%} slack" if slack else "")
    rows = (
        Row(
            "proven",
            f"{kind}, {ENGINE_SECONDS:g} s: proven",
            wanted=proven,
            more_is_better=True,
            counted=True,
        ),
        Row("seconds", f"{kind}: s to the proof, where there is one"),
        Row("of-bound", f"{kind}: peak / bound", ".4f", wanted=of_bound),
    )
    return Case(f"{'slack' if slack else 'tiling'}-{n}", rows, partial(full, n, slack), runs=5)


def _reuse(letter: str) -> Case:
    kind = f"reuse costs of {letter}, {LONG_ENGINE_SECONDS:g} s"
    rows = (
        Row("cost", f"{kind}: cost", ".0f"),
        Row("of-cost", f"{kind}: bound / cost", wanted=0.5, more_is_better=True),
    )
    return Case(f"reuse-{letter}", rows, partial(reuse, letter), runs=3)


ENGINE_CASES: Final = (
    Case(
        "D",
        (
            Row(
                "proven",
                f"D of MiniMalloc, {ENGINE_SECONDS:g} s: proven",
                wanted=1.0,
                more_is_better=True,
                counted=True,
            ),
            Row("seconds", "D: s to the proof, where there is one"),
        ),
        partial(one_of_minimalloc, "D"),
        runs=5,
    ),
    Case(
        "J",
        (
            Row("peak", f"J of MiniMalloc, {ENGINE_SECONDS:g} s: peak", ",.0f"),
            Row("low", f"J: at most {LOW_PEAK_OF_J:,}", wanted=1.0, more_is_better=True, counted=True),
            Row("proven", "J: proven", counted=True),
        ),
        partial(one_of_minimalloc, "J"),
        runs=5,
    ),
    _full(200, SLACK, proven=1.0),
    _full(300, SLACK, of_bound=1.03),
    _full(600, SLACK, of_bound=1.06),
    _full(2_000, 0.0, proven=1.0),
    _full(5_000, 0.0, proven=1.0),
    Case(
        "S_1",
        (
            Row(
                "of-bound", f"S_1 of idealloc, {LONG_ENGINE_SECONDS:g} s: peak / bound", ".5f", wanted=1.0005
            ),
            Row("proven", "S_1: proven", counted=True),
            Row("seconds", "S_1: s to the proof, where there is one"),
        ),
        largest_of_idealloc,
        runs=3,
    ),
    _reuse("A"),
    _reuse("F"),
    Case(
        "pools",
        (
            Row(
                "gap",
                f"three pools of 200 buffers by cost, {ENGINE_SECONDS:g} s: above the bound",
                ".2%",
                wanted=0.01,
            ),
        ),
        by_three_pools,
        runs=4,
    ),
)

PARTS: Final = {"commands": COMMAND_CASES, "engine": ENGINE_CASES, "limits": limits.CASES}
