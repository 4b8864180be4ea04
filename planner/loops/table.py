"""The table of a plan: where all is, and what runs one after the other."""

from collections.abc import Iterator
from typing import Final

from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.lowering import lower
from memstow.planner.loops.nest import Places, nest_of, refuse_endless
from memstow.planner.loops.program import Program, program_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph, is_planned, size_of
from memstow.planner.model.loops import Copy, Loops, StripeLoops, UsedPool, WholeOperator, WholeTensor
from memstow.planner.model.plan import Plan, peaks

_MOST_REPORTED: Final = 20


def table_of(graph: Graph, plan: Plan) -> Loops:
    """The table; an InputError if the plan is not valid for the graph."""
    require_valid(graph)
    if plan.status not in PLANNED:
        raise InputError.single(
            "no_plan", "status", f"there is no plan to write: the status is {plan.status}"
        )
    _refuse_wrong_plan(graph, plan)
    program = program_of(graph, plan.schedule)
    refuse_endless(program)
    problem = lower(program.striped, listed_order(program.striped))
    if plan.digest not in (None, digest(problem)):
        message = "the plan is for another problem, as its digest says; give the options it was made with"
        raise InputError.single("other_problem", "digest", message)
    places = Places({place.buffer: place for place in plan.placements})
    used = peaks(problem, plan.placements)
    return Loops(
        version=1,
        name=graph.name,
        digest=digest(problem),
        pools=tuple(UsedPool(id=pool.id, size=used.get(pool.id, 0)) for pool in problem.pools),
        tensors=tuple(_tensors(program, places)),
        segments=tuple(_segments(program, places)),
    )


def _refuse_wrong_plan(graph: Graph, plan: Plan) -> None:
    from memstow.planner.verify import verify

    # What else it claims, of bounds for example, makes no difference to a program.
    bare = Plan(status=Status.FEASIBLE, placements=plan.placements, schedule=plan.schedule)
    found = verify(graph, bare)
    if found:
        raise InputError(Issue(str(it.code), "plan", it.message) for it in found[:_MOST_REPORTED])


def _tensors(program: Program, places: Places) -> Iterator[WholeTensor]:
    graph = program.striped
    end = len(graph.operators)
    first = {name: number for number, operator in enumerate(graph.operators) for name in operator.outputs}
    last = {name: number for number, operator in enumerate(graph.operators) for name in operator.inputs}
    kept, there = set(graph.outputs), set(graph.inputs)
    for tensor in graph.tensors:
        if not is_planned(tensor):
            continue
        always = tensor.kind != "data"
        made = -1 if always or tensor.id in there else first.get(tensor.id, -1)
        where = places.placed[tensor.id]
        yield WholeTensor(
            id=tensor.id,
            of=program.versions.get(tensor.id),
            pool=where.pool,
            offset=where.offset,
            size=size_of(tensor),
            shape=tensor.shape,
            type=tensor.type,
            first=made,
            last=end if always or tensor.id in kept else last.get(tensor.id, made),
        )


def _segments(program: Program, places: Places) -> Iterator[WholeOperator | Copy | StripeLoops]:
    stripe_of = {program.listed.operators[it.end - 1].id: it for it in program.stripes}
    for operator in program.striped.operators:
        stripe = stripe_of.get(operator.id)
        if stripe is not None:
            yield nest_of(program, stripe, operator, places)
        elif operator.id in program.copies:
            yield Copy(id=operator.id, source=operator.inputs[0], target=operator.outputs[0])
        else:
            yield WholeOperator(
                id=operator.id,
                runs=program.runs.get(operator.id),
                inputs=operator.inputs,
                outputs=operator.outputs,
                temporaries=tuple(places.scratch(it.id, it.size, it.phases) for it in operator.temporaries),
            )
