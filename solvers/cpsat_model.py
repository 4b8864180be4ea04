"""The constraint model of a task in CP-SAT, its run on one level of the objective, and explanations.

Boxes in time and memory, and disjunctions for other pairs. CP-SAT runs without steps that are known to prove
what is not so, and its bounds count as far as they are exact. Where nothing fits, a small set of items that
cannot be placed together is found by leaving items out.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from ortools.sat.python import cp_model

from memstow.solvers.constraints import (
    BankPair,
    Pair,
    Rectangle,
    Relations,
    bank_pairs,
    choices,
    horizons,
    look_alikes,
    restrict_to,
    rows,
    tops,
)
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Answer, Best, Level, LevelEnd, Limits
from memstow.solvers.solver import Task, Term, TermKind, choice_weights

# CP-SAT's own type names are not exported under a stable name; expressions and literals are opaque here.
Expr = Any
Literal = Any


def peak_expression(
    cp: cp_model.CpModel, term: Term, peaks: Mapping[int, cp_model.IntVar], most: int
) -> Expr:
    """One of the peaks, their sum, or the largest, which is at most `most`."""
    if term.kind is TermKind.POOL_PEAK:
        return peaks[term.pool]
    if term.kind is TermKind.PEAK:
        return sum(peaks.values())
    largest = cp.new_int_var(0, most, "max_peak")
    for peak in peaks.values():
        cp.add(largest >= peak)
    return largest


# Load rows help the linear relaxation with several pools; more of them than this cost more than they help.
_MOST_LOAD_ENTRIES = 200_000


class Model:
    """A task as a CP-SAT model."""

    def __init__(self, task: Task, relations: Relations, first_value: int | None) -> None:
        self.task = task
        self.relations = relations
        self.cp = cp_model.CpModel()
        self._always = self.cp.new_constant(1)
        self._tops = tops(task.instance)
        self.horizon = horizons(task, relations, first_value)
        self.choices = choices(task.instance, self.horizon)
        self.rectangles, self.pairs = relations.rectangles()
        self._sides: dict[tuple[int, int, int], tuple[Literal, Literal]] = {}
        self._over: dict[tuple[int, int], Literal] = {}
        self._reuse, self._fixed_reuse = relations.reuse()
        self.taken: list[list[Literal]] = []
        self.steps: list[list[Expr]] = []
        self._kept: list[tuple[int, Literal]] = []
        self._locks: dict[int, int] = {}
        kinds = {term.kind for term in task.terms}
        self._reuse_counts = TermKind.REUSE_COST in kinds
        self._make_items()
        self._make_peaks(kinds)
        self._make_boxes()
        for pair in self.pairs:
            self._keep_apart(pair)
        if self._reuse_counts:
            self._make_reuse()
        self._touching: dict[tuple[int, int, int], tuple[Literal, Literal, Literal] | None] = {}
        self._in_one_bank: list[tuple[BankPair, Literal]] = []
        for bank_pair in bank_pairs(task.instance):
            if bank_pair.cost is None or TermKind.BANK_COST in kinds:
                self._make_bank_pair(bank_pair)
        if TermKind.MOVES in kinds:
            self._make_moves()
        self._break_symmetry()
        self._expressions = [self._expression(term) for term in task.terms]

    def layout(self, value: Any) -> Layout:
        """The layout of a solution, given a function for the value of an expression."""
        layout = Layout()
        for mine, taken, steps in zip(self.choices, self.taken, self.steps, strict=True):
            for choice, literal, step in zip(mine, taken, steps, strict=True):
                if value(literal):
                    layout.pool.append(choice.pool)
                    layout.offset.append(choice.residue + choice.modulus * value(step))
                    break
        return layout

    def ask(self, term: int | None, locks: Sequence[int], start: Layout | None) -> None:
        """Make one term the objective, with locks on the ones before."""
        for at, value in enumerate(locks):
            if value < self._locks.get(at, value + 1):
                self.cp.add(self._expressions[at] <= value)
                self._locks[at] = value
        self.cp.clear_objective()
        if term is not None:
            self.cp.minimize(self._expressions[term])
        self.cp.clear_hints()
        if start is not None:
            self._hint(start)

    def _make_items(self) -> None:
        for item, mine in enumerate(self.choices):
            steps, taken = [], []
            for choice in mine:
                domain = cp_model.Domain.from_intervals([list(r) for r in choice.steps])
                steps.append(self.cp.new_int_var_from_domain(domain, f"step{item}_{choice.pool}"))
                alone = len(mine) == 1
                taken.append(self._always if alone else self.cp.new_bool_var(f"in{item}_{choice.pool}"))
            self.steps.append(steps)
            self.taken.append(taken)
            if len(mine) != 1:
                self.cp.add_exactly_one(taken)

    def _offset(self, item: int, at: int) -> Expr:
        choice = self.choices[item][at]
        return self.steps[item][at] * choice.modulus + choice.residue

    def _in_pool(self, item: int, pool: int) -> int | None:
        for at, choice in enumerate(self.choices[item]):
            if choice.pool == pool:
                return at
        return None

    def _make_peaks(self, kinds: set[TermKind]) -> None:
        """The peaks of pools that are part of the objective."""
        instance = self.task.instance
        wanted: set[int] = set()
        if kinds & {TermKind.PEAK, TermKind.MAX_PEAK}:
            wanted = set(range(instance.pool_count))
        wanted |= {term.pool for term in self.task.terms if term.kind is TermKind.POOL_PEAK}
        self.peaks = {p: self.cp.new_int_var(0, self.horizon[p], f"peak{p}") for p in sorted(wanted)}
        for item, mine in enumerate(self.choices):
            for at, choice in enumerate(mine):
                if choice.pool in self.peaks:
                    end = self._offset(item, at) + self._tops[item]
                    above = self.cp.add(self.peaks[choice.pool] >= end)
                    if len(mine) > 1:
                        above.only_enforce_if(self.taken[item][at])

    def _make_boxes(self) -> None:
        for pool in range(self.task.instance.pool_count):
            mine = [r for r in self.rectangles if self._in_pool(r.item, pool) is not None]
            if len(mine) < 2:
                continue
            times, bytes_ = [], []
            for r in mine:
                at = self._in_pool(r.item, pool)
                assert at is not None  # noqa: S101
                low = self._offset(r.item, at) + r.delta
                name = f"{r.item}_{r.begin}_{r.delta}_{pool}"
                literal = self.taken[r.item][at]
                length = r.end - r.begin
                if len(self.choices[r.item]) == 1:
                    times.append(self.cp.new_fixed_size_interval_var(r.begin, length, "t" + name))
                    bytes_.append(self.cp.new_fixed_size_interval_var(low, r.size, "b" + name))
                else:
                    times.append(
                        self.cp.new_optional_fixed_size_interval_var(r.begin, length, literal, "t" + name)
                    )
                    bytes_.append(
                        self.cp.new_optional_fixed_size_interval_var(low, r.size, literal, "b" + name)
                    )
            self.cp.add_no_overlap_2d(times, bytes_)
            self._add_load(pool, mine, times)

    def _add_load(self, pool: int, mine: list[Rectangle], times: list[Any]) -> None:
        """Items that live together fit below the end of a pool, whatever their offsets."""
        height = self.peaks.get(pool, self.horizon[pool])
        self.cp.add_cumulative(times, [r.size for r in mine], height)
        if all(len(self.choices[r.item]) == 1 for r in mine):
            return
        entries = 0
        for row in rows(mine):
            entries += len(row)
            if entries > _MOST_LOAD_ENTRIES:
                break
            load = [(r.size, self.taken[r.item][self._in_pool(r.item, pool) or 0]) for r in row]
            self.cp.add(sum(size * literal for size, literal in load) <= height)

    def _between(self, first: int, second: int, pool: int) -> tuple[Literal, Literal] | None:
        """Literals for one part being below the other in the pool; None if they cannot both be there."""
        key = (first, second, pool)
        if key in self._sides:
            return self._sides[key]
        instance, item_of = self.task.instance, self.relations.item_of
        one, two = self._in_pool(item_of[first], pool), self._in_pool(item_of[second], pool)
        if one is None or two is None:
            return None
        a = self._offset(item_of[first], one) + instance.part_delta[first]
        b = self._offset(item_of[second], two) + instance.part_delta[second]
        below = self.cp.new_bool_var(f"below{first}_{second}_{pool}")
        above = self.cp.new_bool_var(f"above{first}_{second}_{pool}")
        self.cp.add(a + instance.part_size[first] <= b).only_enforce_if(below)
        self.cp.add(b + instance.part_size[second] <= a).only_enforce_if(above)
        self._sides[key] = (below, above)
        return below, above

    def _not_both(self, first: int, second: int, pool: int) -> list[Literal]:
        """Literals of which one is true if the two parts are not both in the pool."""
        item_of = self.relations.item_of
        clauses = []
        for item in (item_of[first], item_of[second]):
            at = self._in_pool(item, pool)
            if at is not None and len(self.choices[item]) > 1:
                clauses.append(self.taken[item][at].negated())
        return clauses

    def _keep_apart(self, pair: Pair) -> None:
        for pool in range(self.task.instance.pool_count):
            sides = self._between(pair.first, pair.second, pool)
            if sides is None:
                continue
            ways = [*sides, *self._not_both(pair.first, pair.second, pool)]
            if pair.shared:
                ways.append(self._start_together(pair, pool))
            self.cp.add_bool_or(ways)

    def _start_together(self, pair: Pair, pool: int) -> Literal:
        instance, item_of = self.task.instance, self.relations.item_of
        together = self.cp.new_bool_var(f"together{pair.first}_{pair.second}_{pool}")
        starts = []
        for part in (pair.first, pair.second):
            at = self._in_pool(item_of[part], pool)
            assert at is not None  # noqa: S101
            starts.append(self._offset(item_of[part], at) + instance.part_delta[part])
        self.cp.add(starts[0] == starts[1]).only_enforce_if(together)
        return together

    def _make_reuse(self) -> None:
        for reuse in self._reuse:
            over = self.cp.new_bool_var(f"over{reuse.first}_{reuse.second}")
            self._over[reuse.first, reuse.second] = over
            for pool in range(self.task.instance.pool_count):
                sides = self._between(reuse.first, reuse.second, pool)
                if sides is not None:
                    not_both = self._not_both(reuse.first, reuse.second, pool)
                    self.cp.add_bool_or([over, *sides, *not_both])

    def _touches(self, part: int, pool: int, bank: int) -> Literal | None:
        """A literal that is true where the part touches the bank; None: it never does."""
        key = (part, pool, bank)
        if key not in self._touching:
            self._touching[key] = self._make_touching(part, pool, bank)
        literals = self._touching[key]
        return None if literals is None else literals[0]

    def _make_touching(self, part: int, pool: int, bank: int) -> tuple[Literal, Literal, Literal] | None:
        """Literals for touching it, being below and being above; of one of them only what it implies."""
        item = self.relations.item_of[part]
        at = self._in_pool(item, pool)
        if at is None:
            return None
        delta, size = self.task.instance.part_delta[part], self.task.instance.part_size[part]
        begin, end = self.task.instance.banks_of(pool)[bank]
        choice = self.choices[item][at]
        if choice.most() + delta + size <= begin or end <= choice.least() + delta:
            return None
        touches, below, above = (
            self.cp.new_bool_var(f"{what}{part}_{pool}_{bank}") for what in ("touches", "under", "over")
        )
        start = self._offset(item, at) + delta
        self.cp.add(start + size <= begin).only_enforce_if(below)
        self.cp.add(start >= end).only_enforce_if(above)
        ways = [touches, below, above]
        if len(self.choices[item]) > 1:
            ways.append(self.taken[item][at].negated())
        self.cp.add_bool_or(ways)
        return touches, below, above

    def _make_bank_pair(self, pair: BankPair) -> None:
        both: Literal | None = None
        if pair.cost is not None:
            both = self.cp.new_bool_var(f"bank{pair.first}_{pair.second}")
            self._in_one_bank.append((pair, both))
        for pool in range(self.task.instance.pool_count):
            for bank in range(len(self.task.instance.banks_of(pool))):
                first, second = (self._touches(part, pool, bank) for part in (pair.first, pair.second))
                if first is not None and second is not None:
                    clause = [first.negated(), second.negated()]
                    self.cp.add_bool_or(clause if both is None else [*clause, both])

    def _hint_banks(self, start: Layout) -> None:
        instance, item_of = self.task.instance, self.relations.item_of
        touched: set[tuple[int, int, int]] = set()
        for (part, pool, bank), literals in self._touching.items():
            if literals is None:
                continue
            here = start.pool[item_of[part]] == pool
            low = start.offset[item_of[part]] + instance.part_delta[part]
            begin, end = instance.banks_of(pool)[bank]
            below, above = low + instance.part_size[part] <= begin, end <= low
            inside = here and not below and not above
            if inside:
                touched.add((part, pool, bank))
            for literal, value in zip(literals, (inside, here and below, here and above), strict=True):
                self.cp.add_hint(literal, value)
        of_part: dict[int, set[tuple[int, int]]] = {}
        for part, pool, bank in touched:
            of_part.setdefault(part, set()).add((pool, bank))
        for pair, both in self._in_one_bank:
            self.cp.add_hint(both, bool(of_part.get(pair.first, set()) & of_part.get(pair.second, set())))

    def _make_moves(self) -> None:
        for place in self.task.hint_places:
            at = self._in_pool(place.item, place.pool)
            step = None if at is None else self.choices[place.item][at].step_of(place.offset)
            if at is None or step is None:
                continue
            stays = self.cp.new_bool_var(f"stays{place.item}_{place.offset}")
            self.cp.add_implication(stays, self.taken[place.item][at])
            self.cp.add(self.steps[place.item][at] == step).only_enforce_if(stays)
            self._kept.append((place.count, stays))

    def _break_symmetry(self) -> None:
        """Interchangeable items have one order. They live together, so they do not overlap."""
        for alike in look_alikes(self.task, self.relations):
            if len(self.choices[alike[0]]) == 1:
                for one, two in pairwise(alike):
                    self.cp.add(self.steps[one][0] < self.steps[two][0])

    def _expression(self, term: Term) -> Expr:
        instance = self.task.instance
        match term.kind:
            case TermKind.PEAK | TermKind.POOL_PEAK | TermKind.MAX_PEAK:
                return peak_expression(self.cp, term, self.peaks, max(self.horizon))
            case TermKind.PLACEMENT_COST | TermKind.PREFERENCE:
                adds = choice_weights(instance, term.kind)
                return sum(
                    adds[choice.index] * literal
                    for mine, taken in zip(self.choices, self.taken, strict=True)
                    for choice, literal in zip(mine, taken, strict=True)
                )
            case TermKind.REUSE_COST:
                paid = (pair.cost * self._over[pair.first, pair.second] for pair in self._reuse)
                return sum(paid) + self._fixed_reuse
            case TermKind.BANK_COST:
                return sum((pair.cost or 0) * both for pair, both in self._in_one_bank)
            case TermKind.MOVES:
                return self.task.hint_buffers - sum(count * stays for count, stays in self._kept)

    def _hint(self, start: Layout) -> None:
        start = self._in_order(start)
        for item, mine in enumerate(self.choices):
            for at, choice in enumerate(mine):
                here = choice.pool == start.pool[item]
                if len(mine) > 1:
                    self.cp.add_hint(self.taken[item][at], here)
                step = choice.step_of(start.offset[item]) if here else None
                self.cp.add_hint(self.steps[item][at], choice.steps[0][0] if step is None else step)
        ends = [0] * self.task.instance.pool_count
        for item, (pool, offset) in enumerate(zip(start.pool, start.offset, strict=True)):
            ends[pool] = max(ends[pool], offset + self._tops[item])
        for pool, peak in self.peaks.items():
            self.cp.add_hint(peak, min(ends[pool], self.horizon[pool]))
        self._hint_sides(start)
        self._hint_banks(start)

    def _hint_sides(self, start: Layout) -> None:
        instance, item_of = self.task.instance, self.relations.item_of
        for (first, second, pool), (below, above) in self._sides.items():
            both = start.pool[item_of[first]] == pool == start.pool[item_of[second]]
            a = start.offset[item_of[first]] + instance.part_delta[first]
            b = start.offset[item_of[second]] + instance.part_delta[second]
            self.cp.add_hint(below, both and a + instance.part_size[first] <= b)
            self.cp.add_hint(above, both and b + instance.part_size[second] <= a)
        for (first, second), over in self._over.items():
            a = start.offset[item_of[first]] + instance.part_delta[first]
            b = start.offset[item_of[second]] + instance.part_delta[second]
            same = start.pool[item_of[first]] == start.pool[item_of[second]]
            over_now = a < b + instance.part_size[second] and b < a + instance.part_size[first]
            self.cp.add_hint(over, same and over_now)

    def _in_order(self, start: Layout) -> Layout:
        """The layout with interchangeable items in the order of the model."""
        pools, offsets = start.pool[:], start.offset[:]
        for alike in look_alikes(self.task, self.relations):
            if len(self.choices[alike[0]]) == 1:
                for item, offset in zip(alike, sorted(start.offset[i] for i in alike), strict=True):
                    offsets[item] = offset
        return Layout(pools, offsets)


MOST_EXACT: Final = 1 << 53
"""A bound is read from a float, which holds integers exactly up to here."""


def sound_solver() -> cp_model.CpSolver:
    """A solver that leaves out two steps of OR-tools 9.15 which lose solutions.

    The one keeps coefficients of two-variable constraints in 32 bits: with numbers of 2^31, and with less
    where products pass it, models that have a solution were infeasible. The other adds up coefficients of
    Booleans in 32 bits, and takes a sum that it gave up half way for a whole one; it then drops the condition
    of a constraint (google/or-tools#5293, #5294). `tests/solvers/models/test_large_numbers.py` fails with
    either.
    """
    solver = cp_model.CpSolver()
    solver.parameters.auto_detect_greater_than_at_least_one_of = False
    solver.parameters.presolve_inclusion_work_limit = 0
    return solver


def proven_bound(solver: cp_model.CpSolver, cp: cp_model.CpModel) -> int | None:
    """The proven bound in integers, as CP-SAT has it internally; valid however the solve ended."""
    offset = cp.proto.objective.offset
    if abs(offset) > MOST_EXACT:
        return None
    return int(solver.response_proto.inner_objective_lower_bound) + round(offset)


def tell_bounds(solver: cp_model.CpSolver, tell: Callable[[int], None]) -> None:
    """Have it tell its bounds while it runs, as far as the floats that it reports are exact."""

    def on_bound(bound: float) -> None:
        if abs(bound) < MOST_EXACT:
            tell(round(bound))

    solver.best_bound_callback = on_bound


# Deterministic time is counted in seconds of about this many steps of work. One of them took 2 s of a
# processor with three pools, and 11 with reuse costs; native solvers take some 130 million steps in a second.
STEPS_PER_SECOND = 300_000_000


class Search:
    """One task, level by level."""

    def __init__(self, task: Task, relations: Relations, first: int | None) -> None:
        self._task = task
        self._model: Model | None = None
        self._make = partial(Model, task, relations, first)

    def solve(self, level: Level, best: Best) -> Answer:
        """Minimise one term."""
        begin = time.monotonic()
        if self._model is None:
            self._model = self._make()
        model = self._model
        if any(not mine for mine in model.choices):
            return Answer(LevelEnd.INFEASIBLE)
        model.ask(level.term, level.locks, level.start)
        solver = make_solver(self._task, level.seconds, level.work, begin)
        solver.parameters.relative_gap_limit = level.gap
        if level.term is not None:
            tell_bounds(solver, partial(best.bound, level.term))
        status = run_solver(solver, model.cp, _SolutionCallback(model, best))
        work = steps_of(solver)
        if status == cp_model.INFEASIBLE:
            return Answer(LevelEnd.INFEASIBLE, work=work)
        if status == cp_model.MODEL_INVALID:
            return Answer(LevelEnd.DONE, failure=f"CP-SAT refuses the model: {model.cp.validate()}"[:300])
        bound = None
        if level.term is not None and status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            bound = proven_bound(solver, model.cp)
        return Answer(LevelEnd.DONE, bound, work)


def make_solver(task: Task, seconds: float | None, work: int | None, begin: float) -> cp_model.CpSolver:
    """A solver with the limits of a level; a deterministic one where work is limited."""
    solver = sound_solver()
    parameters = solver.parameters
    parameters.random_seed = task.seed % (1 << 31)
    if work is not None:
        parameters.num_workers = 1
        # A step before may have used more than was left; a negative limit is refused.
        parameters.max_deterministic_time = max(work, 0) / STEPS_PER_SECOND
    else:
        parameters.num_workers = task.workers
    if seconds is not None:
        parameters.max_time_in_seconds = max(seconds - (time.monotonic() - begin), 0.001)
    return solver


def run_solver(
    solver: cp_model.CpSolver,
    cp: cp_model.CpModel,
    callback: cp_model.CpSolverSolutionCallback | None = None,
) -> Any:
    """Solve, and return the status.

    The search for symmetries in presolve of OR-tools 9.15 fails on some models that have no solution, with
    an IndexError of its own: those are solved once more without it.
    """
    begin = time.monotonic()
    try:
        return solver.solve(cp, callback)
    except IndexError:
        solver.parameters.symmetry_level = 0
        seconds_left = solver.parameters.max_time_in_seconds - (time.monotonic() - begin)
        solver.parameters.max_time_in_seconds = max(seconds_left, 0.001)
        return solver.solve(cp, callback)


def steps_of(solver: cp_model.CpSolver) -> int:
    """The steps of its last solve."""
    return int(solver.deterministic_time * STEPS_PER_SECOND)


class _SolutionCallback(cp_model.CpSolverSolutionCallback):
    """Offers each solution."""

    def __init__(self, model: Model, best: Best) -> None:
        super().__init__()
        self._model = model
        self._best = best

    def on_solution_callback(self) -> None:
        """A better solution was found."""

        def read(expression: Any) -> int:
            return int(self.value(expression))

        self._best.offer(self._model.layout(read))


# The limits of one attempt: a share of the time left, seconds, and steps where work is limited.
_SHARE = 0.25
_MOST_SECONDS = 2.0
_STEPS = 60_000_000


def smallest_core(task: Task, limits: Limits, seconds: float | None) -> tuple[int, ...]:
    """Items of an infeasible task that are infeasible by themselves: all of them, or fewer."""
    end = None if seconds is None else time.monotonic() + seconds
    core = list(range(task.instance.item_count))
    chunk = max(len(core) // 2, 1)
    while chunk:
        at = 0
        while at < len(core):
            fewer = core[:at] + core[at + chunk :]
            seconds_left = None if end is None else end - time.monotonic()
            if seconds_left is not None and seconds_left <= 0.01:
                return tuple(core)
            if fewer and _contradicts(task, fewer, seconds_left, limits):
                core = fewer
            else:
                at += chunk
        chunk = min(chunk // 2, max(len(core) // 2, 0)) if chunk > 1 else 0
    return tuple(core)


def _contradicts(task: Task, items: list[int], seconds_left: float | None, limits: Limits) -> bool:
    """Whether these items are proven to be infeasible within a short time."""
    begin = time.monotonic()
    part = Task(
        instance=restrict_to(task.instance, items),
        terms=(),
        lower_bounds=(),
        seed=task.seed,
        workers=task.workers,
    )
    model = Model(part, Relations(part.instance), None)
    if any(not mine for mine in model.choices):
        return True
    seconds = None if seconds_left is None else min(seconds_left * _SHARE, _MOST_SECONDS)
    solver = make_solver(part, seconds, None if limits.work is None else _STEPS, begin)
    return bool(run_solver(solver, model.cp) == cp_model.INFEASIBLE)
