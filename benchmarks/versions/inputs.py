"""The problems that both checkouts get: files that this one makes, once, so that they are the same bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.files import write_random_csv
from benchmarks.models import three_pools
from benchmarks.page import DATA
from benchmarks.versions.checkout import FailedError
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.generate.planted import planted


@dataclass(frozen=True, slots=True)
class Inputs:
    """The problems in a folder; each is made when it is first asked for."""

    folder: Path

    def random_csv(self, n: int) -> Path:
        """Random buffers, as in the benchmark of files."""
        path = self.folder / f"random-{n}.csv"
        if not path.exists():
            write_random_csv(path, n)
        return path

    def network(self, n: int) -> Path:
        """The tensors of a small network."""
        return self._made(f"network-{n}.json", lambda: formats.write_problem(network(n, 0)))

    def planted(self, n: int, seed: int, slack: float) -> Path:
        """A problem that is full, or nearly, at all times."""
        name = f"planted-{n}-{seed}-{slack}.json"
        return self._made(name, lambda: formats.write_problem(planted(n, seed, slack=slack)))

    def three_pools(self, n: int, seed: int) -> Path:
        """Buffers with a cost in each of three pools."""
        name = f"pools-{n}-{seed}.json"
        return self._made(name, lambda: formats.write_problem(three_pools(Random(seed), n)))

    def published(self, path: str) -> Path:
        """A problem of the shared data."""
        found = DATA / path
        if not found.exists():
            raise FailedError("`../shared/data` is not there")
        return found.resolve()

    def output(self, name: str) -> Path:
        """Where to write something that another run reads."""
        return self.folder / name

    def _made(self, name: str, make: Callable[[], bytes]) -> Path:
        path = self.folder / name
        if not path.exists():
            path.write_bytes(make())
        return path
