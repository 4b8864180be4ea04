"""The native core of memstow."""

from collections.abc import Callable, Sequence

from memstow.solvers import instance as _instance

class Instance:
    """The arrays of `solvers.instance.Instance`, and their rows."""

    def __init__(self, instance: _instance.Instance) -> None: ...

class Budget:
    """When a native run must stop."""

    def __init__(self, seconds: float, work: int, parent: Budget | None = None) -> None: ...
    def cancel(self) -> None: ...
    @property
    def spent(self) -> bool: ...
    @property
    def work(self) -> int: ...
    def count(self, steps: int) -> None: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def seconds_left(self) -> float | None: ...
    @property
    def work_left(self) -> int | None: ...

_Found = tuple[list[int] | None, int, int, int, list[int] | None, int]

class Cheapest:
    """The search for layouts of least reuse cost of one pool.

    Answers are (offsets by item or None, cost, top, bound, None or the dead items when there is no layout,
    searches that ran dry).
    """

    def __init__(self, instance: Instance, items: Sequence[int], seed: int) -> None: ...
    def offer(self, offsets: Sequence[int]) -> None: ...
    def cheapest(
        self,
        height: int,
        enough: int | None,
        budget: Budget,
        on_cost: Callable[[int, list[int]], None],
        on_bound: Callable[[int], None],
    ) -> _Found: ...
    def lowest(
        self,
        height: int,
        cost: int,
        bound: int,
        budget: Budget,
        on_height: Callable[[int, list[int]], None],
        on_bound: Callable[[int], None],
    ) -> _Found: ...

def greedy(
    instance: Instance,
    terms: Sequence[tuple[int, int]],
    hint: _instance.Layout | None,
    kept: Sequence[tuple[int, int, int, int]],
    hinted: int,
    lower_bounds: Sequence[int],
    seed: int,
    budget: Budget,
    on_score: Callable[[list[int] | None, str, tuple[bytes, bytes]], None] | None,
) -> tuple[tuple[bytes, bytes], list[int] | None, str]: ...
def score(
    instance: Instance,
    terms: Sequence[tuple[int, int]],
    kept: Sequence[tuple[int, int, int, int]],
    hinted: int,
    layout: _instance.Layout,
) -> list[int] | None: ...
def classics() -> list[str]: ...
def classic_declines(instance: Instance, name: str) -> str | None: ...
def classic(instance: Instance, name: str, budget: Budget) -> tuple[bytes, bytes]: ...
def exact(
    instance: Instance,
    start: _instance.Layout | None,
    fit_only: bool,
    bound: int,
    limit: int,
    workers: int,
    deterministic: bool,
    seed: int,
    budget: Budget,
    on_height: Callable[[int, tuple[bytes, bytes]], None],
    on_bound: Callable[[int], None],
) -> tuple[tuple[bytes, bytes] | None, int, int, list[tuple[int, int]], list[int] | None]: ...
def exact_reach(instance: Instance, start: _instance.Layout | None, bound: int) -> tuple[int, bool, bool]: ...
def improve(
    instance: Instance,
    start: _instance.Layout,
    fit_only: bool,
    bound: int,
    limit: int,
    workers: int,
    deterministic: bool,
    seed: int,
    budget: Budget,
    on_height: Callable[[int, tuple[bytes, bytes]], None],
) -> tuple[tuple[bytes, bytes], int]: ...
def dead_set(
    instance: Instance, items: Sequence[int], height: int, budget: Budget
) -> tuple[list[int], bool]: ...
def most_occupied(instance: Instance, layout: _instance.Layout) -> list[tuple[int, int | None]]: ...
def pool_peaks(instance: Instance, layout: _instance.Layout) -> list[int]: ...
def common_grid(instance: Instance, pool: int) -> tuple[int, int]: ...
def live_bound(instance: Instance, pools: Sequence[bool], unit: int) -> tuple[int, int | None, list[int]]: ...
def clique_bound(
    instance: Instance, pools: Sequence[bool], unit: int, nodes: int
) -> tuple[int, int | None, list[int]]: ...
