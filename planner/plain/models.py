"""Columns to the models and back: for whoever asks for more than offsets."""

from dataclasses import replace
from typing import TypeVar

from memstow.planner.model.plan import LiveBytes, Plan, PoolUse, TermValue, make_placement
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan

_Proven = TypeVar("_Proven", PoolUse, TermValue)


def columns_of(problem: Problem) -> Columns | None:
    """The columns of a problem that is valid and plain; None for any other."""
    if len(problem.pools) != 1 or problem.terms() not in (("peak",), ()):
        return None
    if problem.conflicts or problem.exclusive or problem.relative or problem.in_place or problem.reuse_costs:
        return None
    pool = problem.pools[0]
    if pool.alignment != 1 or pool.reserved or pool.base is not None or pool.cost:
        return None
    columns = _columns.of_buffers(problem.buffers)
    if columns is not None:
        columns.set_memory(pool.id, pool.capacity)
        columns.fit_only = not problem.terms()
    return columns


def problem_of(columns: Columns) -> Problem:
    """The same problem with an object for each buffer."""
    alignments = list(columns.alignments)
    if len(alignments) < len(columns):
        alignments *= len(columns)
    rows = zip(columns.sizes, columns.begins, columns.ends, alignments, strict=True)
    with collector_at_rest():
        buffers = tuple(
            Buffer(id=columns.name(number), size=size, lifetime=(begin, end), alignment=alignment)
            for number, (size, begin, end, alignment) in enumerate(rows)
        )
        pools = (Pool(id=columns.pool, capacity=columns.capacity),)
        return Problem(buffers=buffers, pools=pools, objective=() if columns.fit_only else None)


def plan_of(columns: Columns, plan: PlainPlan, problem: Problem | None = None) -> Plan:
    """The same plan with an object for each placement; of this problem, if it is there already."""
    with collector_at_rest():
        if problem is None:
            names = [columns.name(number) for number in range(len(columns))]
        else:
            names = [buffer.id for buffer in problem.buffers]
        pool = columns.pool
        placements = tuple(
            make_placement(name, pool, offset) for name, offset in zip(names, plan.offsets, strict=True)
        )
        return replace(
            plan.frame,
            placements=placements,
            pools=tuple(_named(use, names, plan) for use in plan.frame.pools),
            objective=tuple(_named(term, names, plan) for term in plan.frame.objective),
        )


def _named(proven: _Proven, names: list[str], plan: PlainPlan) -> _Proven:
    certificate = proven.certificate
    if not isinstance(certificate, LiveBytes) or not plan.members:
        return proven
    buffers = tuple(names[member] for member in plan.members)
    return replace(proven, certificate=replace(certificate, buffers=buffers))
