"""A plan that one model carries, as a plan of another file of the same model."""

from collections.abc import Iterator
from dataclasses import replace

from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator
from memstow.planner.model.plan import Schedule
from memstow.planner.tflm.carried_plan import CarriedPlan, carried_plan


def plan_in(planned: bytes, graph: Graph) -> CarriedPlan:
    """The plan that a file carries, for the graph of the same model with its operators in any order.

    Raises InputError if the file carries none, or is another model.
    """
    found = carried_plan(planned)
    if found is None:
        message = "the model carries no memory plan: the runtime places everything by its own rule"
        raise InputError.single("no_carried_plan", "$", message)
    order = tuple(_order(graph, read_graph(planned)))
    return replace(found, plan=replace(found.plan, schedule=Schedule(order=order)))


def _order(graph: Graph, planned: Graph) -> Iterator[str]:
    """The operators of the graph in the order of the file."""
    if _data(graph) != _data(planned):
        raise _other()
    # Equal operators keep their order: what one of them does, the other does too.
    waiting: dict[object, list[str]] = {}
    for operator in reversed(graph.operators):
        waiting.setdefault(_content(operator), []).append(operator.id)
    for operator in planned.operators:
        names = waiting.get(_content(operator))
        if not names:
            raise _other()
        yield names.pop()
    if any(waiting.values()):
        raise _other()


def _data(graph: Graph) -> object:
    """The tensors; what they are called makes no difference."""
    return [replace(tensor, name=None) for tensor in graph.tensors], graph.inputs, graph.outputs


def _content(operator: Operator) -> object:
    return operator.type, operator.inputs, operator.outputs, operator.temporaries, operator.window


def _other() -> InputError:
    message = "the plan is of another model: its tensors or operators are not those of the first file"
    return InputError.single("other_model", "$", message)
