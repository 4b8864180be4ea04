"""Scratch memory of operators, in what a plan leaves free.

Which point of a front is carried out does not depend on it: it is added to the plan where it fits, and an
operator that gets none is computed by kernels that need none. In stripes nobody needs any.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memstow.planner.firmware.layers import Layer
from memstow.planner.firmware.memories import NOTHING_FITS, Choice, Planned, planned
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.graph.operators import operator_costs
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Temporary
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.solve.schedules import plan_schedule

# Numbers in it have at most 32 bits.
_ALIGNMENT: Final = 4
_WORK: Final = 200_000
_MOST_TRIES: Final = 64


def planned_with_scratch(
    graph: Graph, layers: Mapping[str, Layer], chosen: Choice, options: Options, callbacks: FrontCallbacks
) -> Planned:
    """The plan that is chosen, with scratch memory; without stripes, in which none is, where that fits."""
    has_room = chosen.capacity is not None or (chosen.target is not None and len(chosen.target.pools) == 1)
    alone = tuple(generator for generator in chosen.generators if generator != "stripes")
    if has_room and chosen.point is None and alone != chosen.generators:
        end = time.monotonic() + options.time_limit
        first = options if options.deterministic else replace(options, time_limit=options.time_limit / 2)
        try:
            entry = planned(graph, replace(chosen, generators=alone), first, callbacks)
        except InputError as error:
            if error.issues[0].code != NOTHING_FITS:
                raise
        else:
            return with_scratch(entry, layers, chosen.capacity)
        if not options.deterministic:
            options = replace(options, time_limit=max(0.0, end - time.monotonic()))
    return with_scratch(planned(graph, chosen, options, callbacks), layers, chosen.capacity)


def with_scratch(entry: Planned, layers: Mapping[str, Layer], most: int | None = None) -> Planned:
    """The plan with scratch memory for operators that run alone, for as many as there is room for.

    That is what the memories hold; without a capacity of theirs, what the plan needs, or `most` bytes.
    """
    graph = entry.graph
    schedule = entry.plan.schedule or Schedule(order=tuple(operator.id for operator in graph.operators))
    in_stripes = {name for stripe in schedule.stripes for name in schedule.order[stripe.begin : stripe.end]}
    costs = dict(zip((operator.id for operator in graph.operators), operator_costs(graph), strict=True))
    sizes = {
        name: layers[name].alone_scratch
        for name in sorted(costs, key=lambda name: -costs[name])
        if layers[name].alone_scratch and name not in in_stripes
    }
    is_limited = bool(graph.pools) and all(pool.capacity is not None for pool in graph.pools)
    best, chosen = entry, list[str]()
    if not sizes:
        return entry
    # All of them, or else one after the other, those with most work first.
    for names in ([*sizes], *([name] for name in list(sizes)[:_MOST_TRIES])):
        with_them = _with_temporaries(graph, {name: sizes[name] for name in (*chosen, *names)})
        plan = plan_schedule(with_them, schedule, Options(deterministic=True, work_limit=_WORK), Callbacks())
        if plan.status in PLANNED and (is_limited or _height(plan) <= max(_height(entry.plan), most or 0)):
            best = replace(entry, graph=with_them, plan=plan)
            chosen += names
        if len(chosen) == len(sizes):
            break
    return best


def _height(plan: Plan) -> int:
    return sum(pool.peak for pool in plan.pools)


def _with_temporaries(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    operators = []
    for operator in graph.operators:
        size = sizes.get(operator.id)
        if size is not None:
            scratch = Temporary(id=f"scratch {operator.id}", size=size, alignment=_ALIGNMENT)
            operator = replace(operator, temporaries=(scratch,))
        operators.append(operator)
    return replace(graph, operators=tuple(operators))
