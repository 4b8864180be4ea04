"""The order of operators as a constraint model for CP-SAT of OR-tools, to compare the search with.

Operators have positions, storages have lives between them, and all that is live at a position adds up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ortools.sat.python import cp_model

from memstow.solvers.cpsat_model import proven_bound, sound_solver, tell_bounds
from memstow.solvers.orders import OrderInstance, OrderListeners, OrderOutcome, OrderTask, peak_of

if TYPE_CHECKING:
    from memstow.solvers import _native

# CP-SAT adds up bytes times positions.
_MOST: Final = 1 << 61
# Steps of work of the native search for each second of CP-SAT's own count of time.
_WORK_PER_SECOND: Final = 130_000_000

_Life = tuple[cp_model.IntVar, cp_model.IntVar]
"""Positions: the first at which a storage is live, and the first after."""
_Saving = tuple[int, cp_model.IntVar]
"""Bytes, and whether they are saved."""


class CpSatOrder:
    """The model, solved by CP-SAT."""

    name: Final = "cpsat"
    summary: Final = "constraint model on OR-tools CP-SAT: positions of operators and lives between them"

    def solve(self, task: OrderTask, budget: "_native.Budget", listeners: OrderListeners) -> OrderOutcome:
        """The best order found in time, the given one if there is none; and the bound that is proven."""
        instance = task.instance
        listed = list(instance.listed)
        best = OrderOutcome(listed, peak_of(instance, listed), task.bound, self.name)
        total = sum(instance.size) + sum(instance.extra) + instance.base
        if total * (instance.operator_count + 1) >= _MOST or not instance.operator_count:
            return best
        model = _Model(instance)
        solver = sound_solver()
        if (seconds := budget.seconds_left) is not None:
            solver.parameters.max_time_in_seconds = seconds
        if (work := budget.work_left) is not None:
            solver.parameters.max_deterministic_time = work / _WORK_PER_SECOND
        solver.parameters.num_workers = task.workers
        tell_bounds(solver, lambda bound: listeners.bound(self.name, bound + instance.base))
        status = solver.solve(model.model, _Heard(model, listeners, self.name))
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return best
        order = model.order(solver.value)
        proven = proven_bound(solver, model.model)
        bound = task.bound if proven is None else max(task.bound, proven + instance.base)
        return OrderOutcome(order, peak_of(instance, order), bound, self.name)


class _Heard(cp_model.CpSolverSolutionCallback):
    """Tells of each better order."""

    def __init__(self, model: "_Model", listeners: OrderListeners, name: str) -> None:
        super().__init__()
        self._model = model
        self._listeners = listeners
        self._name = name

    def on_solution_callback(self) -> None:
        """One was found."""
        value = int(self.value(self._model.highest)) + self._model.instance.base
        if self._listeners.order is not None:
            self._listeners.order(self._name, value, self._model.order(self.value))


class _Model:
    def __init__(self, instance: OrderInstance) -> None:
        self.instance = instance
        self.model = cp_model.CpModel()
        count = instance.operator_count
        self._at = [self.model.new_int_var(0, count - 1, "") for _ in range(count)]
        self._spans: list[cp_model.IntervalVar] = []
        self._demands: list[int] = []
        self._build()

    def order(self, value: Callable[[cp_model.IntVar], int]) -> list[int]:
        """The operators by their positions."""
        return sorted(range(self.instance.operator_count), key=lambda v: value(self._at[v]))

    def _build(self) -> None:
        model, instance = self.model, self.instance
        model.add_all_different(self._at)
        for place, operator in enumerate(instance.listed):
            model.add_hint(self._at[operator], place)
        for first, then in zip(instance.before[::2], instance.before[1::2], strict=True):
            model.add(self._at[first] < self._at[then])
        for at, extra in zip(self._at, instance.extra, strict=True):
            self._spans.append(model.new_fixed_size_interval_var(at, 1, ""))
            self._demands.append(extra)
        lives = [self._life(storage) for storage in range(instance.storage_count)]
        savings = self._savings(lives)
        for storage, life in enumerate(lives):
            self._add_storage(instance.size[storage], life, savings.get(storage, []))
        self.highest = model.new_int_var(0, sum(self._demands), "")
        model.add_cumulative(self._spans, self._demands, self.highest)
        model.minimize(self.highest)

    def _life(self, storage: int) -> _Life:
        """From the first writer to the last user."""
        model, instance, count = self.model, self.instance, self.instance.operator_count
        writers, readers = instance.writers_of(storage), instance.readers_of(storage)
        begin, end = (model.new_int_var(0, count, "") for _ in range(2))
        if instance.from_start[storage] or not writers:
            model.add(begin == 0)
        else:
            model.add_min_equality(begin, [self._at[writer] for writer in writers])
        if not (instance.from_start[storage] or writers):
            model.add(end == 0)
        elif instance.to_end[storage]:
            model.add(end == count)
        else:
            model.add_max_equality(end, [0, *(self._at[entry] + 1 for entry in (*writers, *readers))])
        return begin, end

    def _savings(self, lives: list[_Life]) -> dict[int, list[_Saving]]:
        """By output, the bytes that each of its pairs in place saves where it is chosen."""
        model, instance = self.model, self.instance
        savings: dict[int, list[_Saving]] = {}
        of_input: dict[tuple[int, int], list[cp_model.IntVar]] = {}
        for operator, source, target in zip(*(instance.in_place[k::3] for k in range(3)), strict=True):
            if instance.to_end[source] or instance.from_start[target]:
                continue
            chosen = model.new_bool_var("")
            model.add(lives[source][1] == self._at[operator] + 1).only_enforce_if(chosen)
            model.add(lives[target][0] == self._at[operator]).only_enforce_if(chosen)
            bytes_saved = min(instance.size[source], instance.size[target])
            savings.setdefault(target, []).append((bytes_saved, chosen))
            of_input.setdefault((operator, source), []).append(chosen)
        for rivals in (
            *of_input.values(),
            *([entry for _, entry in entries] for entries in savings.values()),
        ):
            model.add_at_most_one(rivals)
        return savings

    def _add_storage(self, size: int, life: _Life, savings: list[_Saving]) -> None:
        """Its bytes while it is live; those that are saved in place begin one position later."""
        below = 0
        for level in sorted({bytes_saved for bytes_saved, _ in savings}):
            chosen = [entry for bytes_saved, entry in savings if bytes_saved >= level]
            begin = self.model.new_int_var(0, self.instance.operator_count, "")
            self.model.add(begin == life[0] + sum(chosen))
            self._add_bytes(level - below, (begin, life[1]))
            below = level
        self._add_bytes(size - below, life)

    def _add_bytes(self, count: int, life: _Life) -> None:
        length = self.model.new_int_var(0, self.instance.operator_count, "")
        self._spans.append(self.model.new_interval_var(life[0], length, life[1], ""))
        self._demands.append(count)
