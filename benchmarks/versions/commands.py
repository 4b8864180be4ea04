"""Commands, calls and the service: large problems, limits, small problems and the time to start."""

from typing import Final

from benchmarks.hard.instances import HEIGHT, LETTERS
from benchmarks.versions.case import Case, Figures, Row
from benchmarks.versions.checkout import Checkout
from benchmarks.versions.inputs import Inputs
from benchmarks.versions.requests import requests

MILLION: Final = 1_000_000
MANY: Final = 100_000
LIMIT: Final = 1.0
CALLED: Final = 60_000
CALL_LIMIT: Final = 0.05
SMALL: Final = 10
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
        "solve": solved.seconds,
        "memory": solved.peak_bytes / _MIB,
        "verify": verified.seconds,
        "verify-memory": verified.peak_bytes / _MIB,
    }


def one_pass(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """The same with as much work as there are buffers."""
    plan = inputs.output("pass.plan.json")
    words = ("--solver", "greedy", "--work-limit", f"{MILLION}", "--output", plan)
    ran = checkout.solve(inputs.random_csv(MILLION), *words)
    return {"pass": ran.seconds, "pass-memory": ran.peak_bytes / _MIB}


def late(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """How long a process takes beyond its limit."""
    ran = checkout.solve(inputs.random_csv(MANY), "--time-limit", f"{LIMIT:g}", "--quiet")
    return {"late": ran.seconds - LIMIT}


def call(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A call of the library with a short limit."""
    return {"call": checkout.plan(inputs.random_csv(CALLED), time_limit=CALL_LIMIT)["seconds"]}


def small(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A small problem, from the start of the command to its end."""
    return {"small": checkout.solve(inputs.network(SMALL)).seconds}


def fitting(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A-K of MiniMalloc, only to fit, one process after the other."""
    words = ("--capacity", f"{HEIGHT}", "--fit-only", "--time-limit", "10", "--json")
    paths = [inputs.published(f"minimalloc/{letter}.{HEIGHT}.csv") for letter in LETTERS]
    return {"fitting": sum(checkout.solve(path, *words).seconds for path in paths)}


def imports(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """An interpreter that imports the library, and one that uses a class of it as well."""
    alone, used = (
        checkout.run(checkout.python, "-P", "-c", code).seconds
        for code in ("import memstow", "import memstow; memstow.Problem")
    )
    return {"import": alone, "import-problem": used}


CASES: Final = (
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
        "small",
        (Row("small", "10 buffers, `memstow solve`, s", ".3f", wanted=0.12),),
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
            Row(
                "of-bare", "share of the requests of a plain FastAPI route", wanted=0.35, more_is_better=True
            ),
        ),
        requests,
        runs=3,
    ),
)
