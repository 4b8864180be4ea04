"""Mixed load while solves run: `python -m benchmarks.service.mixed [MINUTES]` puts its figures on the page.

Small problems that nobody asked before, jobs that are followed to their end and whose plans are fetched, and
people who look at lists, figures and health, all at once.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from benchmarks.page import put, table
from benchmarks.service.servers import Connection, bodies, lag_p99, resident, service
from memstow.planner import formats
from memstow.planner.generate.planted import planted

MINUTES = 10.0
PLANNERS = 4
PLAN_EVERY = 0.05
JOB_EVERY = 3.0
JOB_SECONDS = 3.0
LOOK_EVERY = 1.0
WARM_UP = 0.2
"""The share of the run after which memory should not grow."""
KEEP_SECONDS = 30.0

Turn = Callable[[Connection, int], Awaitable[None]]


@dataclass(slots=True)
class Seen:
    """What a run has shown."""

    statuses: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)
    lag: float = 0.0
    idle_lag: float = 0.0  # of an event loop beside it that has nothing to do

    def errors(self) -> int:
        """Answers that were none, and jobs that were not done."""
        failed = sum(count for name, count in self.statuses.items() if name.split()[-1] not in ("200", "202"))
        return failed + sum(count for end, count in self.ends.items() if end != "done")

    def after_warm_up(self) -> list[int]:
        """Memory from when it should be flat."""
        return self.memory[int(len(self.memory) * WARM_UP) :]


def run(minutes: float) -> Seen:
    """Load a server of its own."""
    command = [sys.executable, "-m", "benchmarks.service.idle", str(minutes * 60)]
    with service(keep_seconds=KEEP_SECONDS) as (port, pid):
        idle = subprocess.Popen(command, stdout=subprocess.PIPE)
        seen = asyncio.run(_load(port, pid, minutes * 60))
        seen.lag = lag_p99(port)
        told, _ = idle.communicate(timeout=60)
    seen.idle_lag = float(told)
    return seen


async def _load(port: int, pid: int, seconds: float) -> Seen:
    seen = Seen()
    small = bodies(1000)
    large = [formats.write_problem(planted(300, seed, slack=0.01)).decode() for seed in range(20)]
    end = time.perf_counter() + seconds

    async def ask(connection: Connection, method: str, path: str, body: bytes = b"") -> bytes:
        status, answer = await connection.request(method, path, body)
        seen.statuses[f"{method} {path.split('?')[0].replace('/v1', '')} {status}"] += 1
        return answer

    async def plan(connection: Connection, number: int) -> None:
        # The seed makes it another question each time.
        body = small[number % len(small)][:-1] + f', "options": {{"seed": {number}}}}}'.encode()
        await ask(connection, "POST", "/v1/plan", body)

    async def job(connection: Connection, number: int) -> None:
        options = f'{{"time_limit": {JOB_SECONDS}, "seed": {number}}}'
        body = f'{{"problem": {large[number % len(large)]}, "options": {options}}}'
        made = json.loads(await ask(connection, "POST", "/v1/jobs", body.encode()))["id"]
        followers.add(asyncio.create_task(follow(made)))

    async def follow(made: str) -> None:
        connection = Connection(port)
        lines = await connection.lines(f"/v1/jobs/{made}/events")
        last = json.loads(next(it for it in reversed(lines) if it.startswith(b"data:"))[5:])
        seen.ends[last.get("state", "no end")] += 1
        status, _ = await connection.request("GET", f"/v1/jobs/{made}/plan")
        seen.statuses[f"GET /jobs/ID/plan {status}"] += 1
        connection.close()

    async def look(connection: Connection, _: int) -> None:
        for path in ("/v1/jobs?limit=50", "/readyz", "/metrics"):
            await ask(connection, "GET", path)
        seen.memory.append(resident(pid))

    async def again(turn: Turn, every: float, first: int = 0, step: int = 1) -> None:
        connection, number = Connection(port), first
        while time.perf_counter() < end:
            await turn(connection, number)
            number += step
            await asyncio.sleep(every)
        connection.close()

    followers: set[asyncio.Task[None]] = set()
    planners = (again(plan, PLAN_EVERY, first, PLANNERS) for first in range(PLANNERS))
    await asyncio.gather(*planners, again(job, JOB_EVERY), again(look, LOOK_EVERY))
    await asyncio.gather(*followers)
    return seen


def summary(minutes: float, seen: Seen) -> str:
    """The text of this part of the page."""
    memory = seen.after_warm_up()
    shown = [f"{memory[i * (len(memory) - 1) // 8] / 2**20:.1f}" for i in range(9)]
    rows = [(name, f"{count:,}") for name, count in sorted(seen.statuses.items())]
    return (
        f"{minutes:g} minutes; {seen.ends['done']:,} jobs of {JOB_SECONDS:g} s done, {seen.errors()} errors; "
        f"the event loop is at most {seen.lag * 1e3:g} ms late (p99), one beside it with nothing to do "
        f"{seen.idle_lag * 1e3:.0f} ms.\n"
        f"Memory of the server after the warm-up, in MiB: {', '.join(shown)}.\n\n"
        + table(("request and answer", "times"), rows)
    )


def main(words: list[str]) -> int:
    """Load, print, and put the figures on the page."""
    minutes = float(words[0]) if words else MINUTES
    seen = run(minutes)
    text = summary(minutes, seen)
    print(text)
    if minutes >= MINUTES:
        put("service-mixed", text)
    return int(seen.errors() > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
