"""The standard library: 500 recipes of generators and seeds, and the first pass over what they make.

Nothing is copied from elsewhere: each instance follows from a line of the table, on any machine. Its first
record is the answer of a deterministic run, so that the same command makes the same files.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from memstow.planner.formulas.sizes import problem_at
from memstow.planner.generate import make, make_graph
from memstow.planner.generate.random_problems import Chance
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.graph.changes import with_order
from memstow.planner.instance_library.judging import NEVER, Answer, Posed, proved
from memstow.planner.instance_library.records import About, Credit, Library, posed
from memstow.planner.model import Status
from memstow.planner.model.graph import FREE, Graph
from memstow.planner.model.library import LibraryInstance
from memstow.planner.model.options import Options
from memstow.planner.model.problem import (
    Buffer,
    Kind,
    Pool,
    Problem,
    ReuseCost,
    Term,
    counted_once,
    profile,
    spans,
)
from memstow.planner.model.symbolic import points_of
from memstow.planner.solve.engine import plan
from memstow.solvers.core import DEFAULT_WORK, Budget

STANDARD: Final = "standard"
LICENCE: Final = "Apache-2.0"
FIRST_WORK: Final = DEFAULT_WORK // 4
"""Steps of a first record, and as many for its proof: a few seconds."""
LARGEST_PROOF: Final = 4 << 20
"""Larger proofs are not kept by a first pass."""

Size = Literal["trivial", "small", "large", "huge"]
Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an instance is made again."""

    about: About
    make: Callable[[], Problem | Graph]


@dataclass(frozen=True, slots=True)
class _Family:
    """A row of the table: `each` instances of each size, with seeds from 0 on."""

    name: str
    title: str
    models: str
    each: int
    counts: Mapping[Size, int]
    """Of buffers, or of operators; the seeds of a size have up to half as many more."""
    make: Callable[[int, int], Problem | Graph]
    command: Callable[[int, int], str] | None = None
    """The command that makes the same file, where there is one."""

    def recipes(self) -> Iterator[Recipe]:
        """Those of this family."""
        for size, least in self.counts.items():
            for seed in range(self.each):
                yield self._recipe(size, least + least * seed // (2 * self.each), seed)

    def _recipe(self, size: Size, count: int, seed: int) -> Recipe:
        name = f"{self.name}-{size}-{seed:02}"
        command = (
            f"memstow library generate FOLDER --id {name}"
            if self.command is None
            else self.command(count, seed)
        )
        about = About(
            name=name,
            title=f"{count:,} {self.title}, seed {seed}",
            family=self.name,
            licence=LICENCE,
            command=command,
            models=self.models,
        )
        return Recipe(about, lambda: self.make(count, seed))


def _generated(
    kind: str, variants: Iterable[Arguments]
) -> tuple[Callable[[int, int], Problem], Callable[[int, int], str]]:
    """A generator with arguments that take turns from seed to seed, and the command that runs it."""
    turns = tuple(variants)

    def problem(count: int, seed: int) -> Problem:
        return make(kind, {"n": count, "seed": seed, **turns[seed % len(turns)]})

    def command(count: int, seed: int) -> str:
        words = [f"memstow generate {kind} --n {count} --seed {seed}"]
        for name, value in turns[seed % len(turns)].items():
            flag = f"--{name.replace('_', '-')}"
            shown = ",".join(value) if isinstance(value, tuple) else str(value)
            words.append(flag if value is True else f"{flag} {shown}")
        return " ".join(words)

    return problem, command


def _free_graph(count: int, seed: int) -> Graph:
    family = ("cells", "wiring", "chain", "wiring", "training")[seed % 5]
    return with_order(make_graph({"n": count, "seed": seed, "family": family}), FREE)


def _with_reuse_costs(count: int, seed: int) -> Problem:
    """A tiling with room to spare: it costs something to take over bytes, before or after the peak counts."""
    problem = make("planted", {"n": count, "seed": seed, "slack": 0.2})
    chance = Chance(seed)
    ends: dict[int, list[str]] = {}
    for buffer in problem.buffers:
        for _, end in spans(buffer):
            ends.setdefault(end, []).append(buffer.id)
    costs = [
        ReuseCost(buffers=(before, buffer.id), cost=chance.between(1, 9))
        for buffer in problem.buffers
        for begin, _ in spans(buffer)
        for before in ends.get(begin, ())
        if chance.happens(0.7)
    ]
    capacity = profile(counted_once(problem)).peak * (5 if seed % 2 else 4) // 4
    pools = (replace(problem.pools[0], capacity=capacity),) if seed % 2 else (Pool(id=problem.pools[0].id),)
    terms = (str(Term(Kind.REUSE_COST)), str(Term(Kind.PEAK)))
    return replace(
        problem, pools=pools, reuse_costs=tuple(costs), objective=terms if seed % 2 else terms[::-1]
    )


def _at_a_point(count: int, seed: int) -> Problem:
    """Blocks of transformers of one length and batch."""
    family = symbolic(count, seed, symbols=1 + seed % 2)
    points = points_of(family)
    return problem_at(family, points[seed * 7 % len(points)].at)


def _crowded(chance: Chance, count: int, full: int) -> list[tuple[int, int, int]]:
    """Sizes and lives of buffers that take all bytes at all times: what ends makes room for what begins."""
    live: list[tuple[int, int]] = []
    ended: list[tuple[int, int, int]] = []
    room, time = full, 0
    while len(live) + len(ended) < count:
        while room:
            size = min(room, chance.between(1, full // 4))
            live.append((size, time))
            room -= size
        time += 1
        stay = []
        for size, begin in live:
            if chance.happens(0.3):
                ended.append((size, begin, time))
                room += size
            else:
                stay.append((size, begin))
        live = stay
    return ended + [(size, begin, time + 1) for size, begin in live]


_KERNEL: Final = 40
"""Buffers of a kernel; fewer where all are fewer."""


def _lifted(count: int, seed: int) -> Problem:
    """Crowded kernels, scaled one above the other, mirrored and repeated in time, with bridges between."""
    chance = Chance(seed)
    kernel = _crowded(chance, min(count, _KERNEL), 40)
    span = max(end for _, _, end in kernel)
    buffers: list[Buffer] = []
    storeys = 1 + seed % 3
    copy = 0
    while len(buffers) < count:
        storey, turn = copy % storeys, copy // storeys
        start = turn * span
        for place, (size, begin, end) in enumerate(kernel):
            first, last = (begin, end) if (turn + storey) % 2 == 0 else (span - end, span - begin)
            life = (start + first, start + last)
            buffers.append(Buffer(id=f"k{copy}_{place}", size=size * (2 * storey + 1), lifetime=life))
        bridge = (start + span - 1, start + span + 1)
        buffers.append(Buffer(id=f"bridge{copy}", size=1, lifetime=bridge))
        copy += 1
    return Problem(name=f"lifted n={len(buffers)} seed={seed}", buffers=buffers)


_MIXTURES: Final[tuple[Arguments, ...]] = tuple(
    {"features": features}
    for features in (
        ("alignments", "reserved"),
        ("always", "lifetimes"),
        ("conflicts", "exclusive"),
        ("in_place",),
        ("relative",),
        ("pins", "alignments"),
        ("graph",),
        ("alignments", "reserved", "zero", "lifetimes"),
        ("in_place", "conflicts", "always"),
        ("relative", "exclusive", "lifetimes"),
    )
)

_FAMILIES: Final = (
    _Family(
        "network",
        "tensors of an inference network",
        "Activations of a convolutional network or a transformer, run operator by operator.",
        15,
        {"trivial": 8, "small": 60, "large": 600, "huge": 4000},
        *_generated("network", ({}, {"element": 1}, {"in_place": True})),
    ),
    _Family(
        "training",
        "buffers of a training step",
        "Forward, backward and the updates of an optimiser: activations wait for their way back.",
        10,
        {"trivial": 20, "small": 120, "large": 1000, "huge": 6000},
        *_generated("network", ({"training": True},)),
    ),
    _Family(
        "tiling",
        "tiles without a gap",
        "Every byte is taken at every time, so the least peak is known and hard to reach.",
        20,
        {"trivial": 8, "small": 40, "large": 300, "huge": 2000},
        *_generated("planted", ({}, {"height": 4096}, {"alignment": 64})),
    ),
    _Family(
        "planted",
        "tiles with slack",
        "A tiling of which tiles were shrunk or left out; the least peak stays the height of the tiling.",
        20,
        {"trivial": 12, "small": 60, "large": 300, "huge": 1500},
        *_generated(
            "planted", ({"slack": 0.05}, {"slack": 0.2}, {"drop": 0.15}, {"slack": 0.1, "drop": 0.1})
        ),
    ),
    _Family(
        "random",
        "random buffers",
        "Sizes of all magnitudes and lifetimes without a pattern.",
        10,
        {"trivial": 8, "small": 40, "large": 300, "huge": 2000},
        *_generated("random", ({}, {"horizon": 30}, {"largest": 100})),
    ),
    _Family(
        "pools",
        "buffers in several pools",
        "Memories that differ in cost and capacity, as on a microcontroller or an accelerator.",
        10,
        {"trivial": 6, "small": 20, "large": 80, "huge": 400},
        *_generated(
            "random",
            (
                {"features": ("pools",)},
                {"features": ("pools", "capacities")},
                {"features": ("pools", "capacities", "alignments", "reserved")},
                {"features": ("pools", "capacities", "pins")},
            ),
        ),
    ),
    _Family(
        "reuse",
        "buffers with costs of reuse",
        "Who takes over bytes waits for who had them: a synchronisation for each pair, as few as may be.",
        10,
        {"trivial": 8, "small": 24, "large": 100, "huge": 400},
        _with_reuse_costs,
    ),
    _Family(
        "mixture",
        "buffers with constraints",
        "Alignments, pins, conflicts, exclusive and in-place pairs, fixed distances: what compilers ask for.",
        10,
        {"trivial": 8, "small": 32, "large": 150, "huge": 600},
        *_generated("random", _MIXTURES),
    ),
    _Family(
        "order",
        "operators in any order",
        "A graph whose operators may be reordered: the order decides how much is live.",
        10,
        {"trivial": 8, "small": 40, "large": 120, "huge": 400},
        _free_graph,
    ),
    _Family(
        "symbols",
        "buffers of transformers at a length and a batch",
        "Sizes that are formulas of the sequence's length and the batch, at one point of these.",
        5,
        {"trivial": 12, "small": 60, "large": 300, "huge": 1200},
        _at_a_point,
    ),
    _Family(
        "lifted",
        "or more buffers of crowded kernels",
        "A small kernel that leaves no byte free, scaled, mirrored and repeated, with bridges in between.",
        5,
        {"trivial": 13, "small": 40, "large": 160, "huge": 1000},
        _lifted,
    ),
)


def recipes() -> tuple[Recipe, ...]:
    """All of the standard library, in the order of its families and sizes."""
    return tuple(recipe for family in _FAMILIES for recipe in family.recipes())


def first_answer(entry: Posed, work: int, cancel: threading.Event = NEVER) -> Answer | None:
    """The answer of a deterministic run of `work` steps, with a proof where it calls that final."""
    document = entry.document
    answer = plan(document, Options(deterministic=True, work_limit=work), cancel=cancel)
    if answer.status is Status.UNKNOWN:
        return None
    if answer.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return Answer(answer)
    return proved(entry, answer, Budget(-1.0, work), LARGEST_PROOF, cancel)


@dataclass(frozen=True, slots=True)
class Generated:
    """An instance of the table that is there now."""

    instance: LibraryInstance
    is_new: bool


def generate(
    library: Library,
    wanted: Callable[[str], bool],
    work: int,
    credit: Credit,
    cancel: threading.Event = NEVER,
) -> Iterator[Generated]:
    """Add the instances of the standard library that are missing, until `cancel` is set."""
    for recipe in recipes():
        name = recipe.about.name
        if not wanted(name):
            continue
        if name in library.instances:
            yield Generated(library.instances[name], is_new=False)
            continue
        if cancel.is_set():
            return
        entry = posed(recipe.make())
        answer = first_answer(entry, work, cancel) if work else None
        if cancel.is_set():
            return  # The run was cut short: what it says depends on when.
        first = None if answer is None else (answer, credit)
        yield Generated(library.add(recipe.about, entry, first), is_new=True)
