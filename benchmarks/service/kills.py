"""Jobs and SIGKILLs: `python -m benchmarks.service.kills [SECONDS] [URL]` prints what became of every job.

A server is killed at random moments while jobs come, singly and in batches, are stopped, and end. At the end
each job that was accepted must have ended once, with its plan, and the counts of the store must be right.
Without the URL of an empty database on PostgreSQL it is a folder.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from benchmarks.process import MEMSTOW
from benchmarks.service.servers import free_port
from memstow.planner import formats
from memstow.planner.generate.planted import planted

SECONDS = 120.0
SUBMITTERS = 3
PAUSE = 0.5
BATCH = 5


class Campaign:
    """A server that is killed and started again, and its clients."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.port = free_port()
        self.kills = 0
        self.accepted: set[str] = set()
        self.discarded: set[str] = set()
        self.refused: Counter[str] = Counter()
        self._log = folder / "log"
        self._command = [MEMSTOW, "serve", "--port", str(self.port)]
        settings = {"slots": 2, "lease_seconds": 1, "log_format": "json", "max_attempts": 100}
        if url is None:
            settings["data"] = str(folder / "data")
        else:
            settings["database"] = url
        named = {f"MEMSTOW_{name.upper()}": str(value) for name, value in settings.items()}
        self._environment = {**os.environ, **named}
        self._over = threading.Event()

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[bytes]]:
        """A server until the block ends, however it ends."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(self._command, env=self._environment, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """An answer of the server; OSError when it is away."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        with urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def submit(self, seed: int) -> None:
        """A client: submits jobs and batches, and stops or removes some of them, until the end."""
        random = Random(seed)
        while not self._over.wait(PAUSE * random.random()):
            try:
                self._act(random)
            except HTTPError as error:
                self.refused[f"{error.code}"] += 1
            except (URLError, OSError, json.JSONDecodeError):
                # Killed meanwhile: what was not acknowledged may be there or not.
                self.refused["away"] += 1

    def _act(self, random: Random) -> None:
        problem = json.loads(
            formats.write_problem(planted(random.choice([20, 60, 300]), random.getrandbits(20), slack=0.01))
        )
        limit = random.choice([0.05, 0.3, 2.0])
        if random.random() < 0.2:
            settings = [{"name": f"{i}", "options": {"seed": i, "time_limit": limit}} for i in range(BATCH)]
            made = self.ask("POST", "/v1/batches", {"problems": [{"problem": problem}], "settings": settings})
            self.accepted |= {it["job"] for row in made["table"].values() for it in row.values()}
            return
        job = self.ask("POST", "/v1/jobs", {"problem": problem, "options": {"time_limit": limit}})["id"]
        self.accepted.add(job)
        if random.random() < 0.1:
            discard = random.random() < 0.5
            if discard:
                self.discarded.add(job)
            self.ask("DELETE", f"/v1/jobs/{job}?discard={str(discard).lower()}")

    def run(self, seconds: float) -> None:
        """Kill the server at random until the time is over; then let it finish what waits."""
        random = Random(1)
        clients = [threading.Thread(target=self.submit, args=(seed,)) for seed in range(SUBMITTERS)]
        for client in clients:
            client.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self.server() as process:
                self._wait_until_it_answers()
                time.sleep(random.uniform(0.5, 5.0))
                process.send_signal(signal.SIGKILL)
                self.kills += 1
        self._over.set()
        for client in clients:
            client.join()
        with self.server():
            while self._waiting():
                time.sleep(0.5)
            self.report()

    def _wait_until_it_answers(self) -> None:
        while True:
            with suppress(URLError, OSError):
                self.ask("GET", "/version")
                return
            time.sleep(0.05)

    def _waiting(self) -> bool:
        with suppress(URLError, OSError):
            return any(
                self.ask("GET", f"/v1/jobs?state={state}&limit=1")["jobs"] for state in ("queued", "running")
            )
        return True

    def report(self) -> None:
        """Print what became of the jobs."""
        ends: Counter[str] = Counter()
        for job in self.accepted:
            try:
                state = self.ask("GET", f"/v1/jobs/{job}")["state"]
                done = sum("event: done" in line for line in self._events(job))
                plan = state != "done" or "status" in self.ask("GET", f"/v1/jobs/{job}/plan")
                ends[state if (done, plan) == (1, True) else f"{state}, {done} ends, plan {plan}"] += 1
            except HTTPError as error:
                ends["discarded" if error.code == 404 and job in self.discarded else f"{error.code}"] += 1
        written = Counter(
            re.findall(r'"job": "(\w+)"', line)[0]
            for line in self._log.read_text().splitlines()
            if '"job_finished"' in line and '"written": true' in line
        )
        print(f"{self.kills} kills, {len(self.accepted)} accepted jobs: {dict(ends)}")
        print(f"ended twice: {sum(count > 1 for count in written.values())}; refused: {dict(self.refused)}")
        metrics = Request(f"http://127.0.0.1:{self.port}/metrics")
        time.sleep(2.0)
        with urlopen(metrics, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        print(
            *(it for it in lines if re.match("memstow_(jobs_queued|jobs_running|store_errors_total) ", it)),
            sep="; ",
        )

    def _events(self, job: str) -> list[str]:
        with urlopen(f"http://127.0.0.1:{self.port}/v1/jobs/{job}/events", timeout=30) as answer:
            return str(answer.read().decode()).splitlines()


def main(words: Sequence[str]) -> int:
    """Run a campaign."""
    seconds = float(words[0]) if words else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        Campaign(Path(folder), words[1] if len(words) > 1 else None).run(seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
