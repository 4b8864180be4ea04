"""The order of operators as a model for CP-SAT, to compare the search with."""

from dataclasses import dataclass

from ortools.sat.python import cp_model

from memstow.solvers.order.instance import OrderInstance


@dataclass(frozen=True, slots=True)
class Modelled:
    """What the model has shown: a peak that some order has, and a bound of all."""

    peak: int
    bound: int
    seconds: float


def least_peak(instance: OrderInstance, seconds: float) -> Modelled | None:
    """The least peak without pairs in place: positions of operators, lives of storages."""
    model = cp_model.CpModel()
    count = instance.operator_count
    at = [model.new_int_var(0, count - 1, "") for _ in range(count)]
    model.add_all_different(at)
    for first, then in zip(instance.before[::2], instance.before[1::2], strict=True):
        model.add(at[first] < at[then])
    lives = [model.new_fixed_size_interval_var(it, 1, "") for it in at]
    demands = [*instance.extra, *instance.size]
    for storage in range(instance.storage_count):
        writers, readers = instance.writers_of(storage), instance.readers_of(storage)
        begin, size, end = (model.new_int_var(0, count, "") for _ in range(3))
        lives.append(model.new_interval_var(begin, size, end, ""))
        if instance.from_start[storage] or not writers:
            model.add(begin == 0)
        else:
            model.add_min_equality(begin, [at[it] for it in writers])
        if not (instance.from_start[storage] or writers):
            model.add(end == 0)
        elif instance.to_end[storage]:
            model.add(end == count)
        else:
            model.add_max_equality(end, [0, *(at[it] + 1 for it in (*writers, *readers))])
    peak = model.new_int_var(0, sum(demands), "")
    model.add_cumulative(lives, demands, peak)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    value, bound = solver.objective_value, solver.best_objective_bound
    return Modelled(int(value) + instance.base, int(bound) + instance.base, solver.wall_time)
