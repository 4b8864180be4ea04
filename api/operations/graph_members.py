"""What an envelope or a query may say of a graph: its memories, its order, whether operators run in place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem, Target
from memstow.planner.reading.messages import wrong_type
from memstow.planner.targets.target import retarget

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph, Order

GRAPH_MEMBERS: Final = ("order", "in_place")
CHANGES: Final = ("target", *GRAPH_MEMBERS)
"""What changes a document before it is planned."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How a document is changed before it is planned."""

    target: Target | None
    order: "Order | None"
    in_place: bool | None


def subject_of(raw: object) -> str:
    """The member of an envelope that holds what is to be planned."""
    return "graph" if isinstance(raw, dict) and "graph" in raw and "problem" not in raw else "problem"


def changes_of(raw: Mapping[str, Any], target: Target | None) -> Changes:
    """The changes that an envelope or a query asks for."""
    order, in_place = raw.get("order"), raw.get("in_place")
    if order is not None:
        # Requests about problems do not wait for this import.
        from memstow.planner.model.graph import ORDERS

        if order not in ORDERS:
            choices = " or ".join(f'"{it}"' for it in ORDERS)
            raise InputError.single("not_an_order", "$.order", wrong_type(choices, order))
    if in_place is not None and not isinstance(in_place, bool):
        raise InputError.single("not_a_boolean", "$.in_place", wrong_type("true or false", in_place))
    return Changes(target, order, in_place)


def changed(document: "Problem | Graph", changes: Changes) -> "Problem | Graph":
    """The document with these changes."""
    if isinstance(document, Problem):
        if changes.order is not None or changes.in_place is not None:
            message = "`order` and `in_place` are for graphs, and this is a problem; leave them out"
            raise InputError.single("not_a_graph", "$", message)
        return document if changes.target is None else retarget(document, changes.target)
    from memstow.planner.graph.changes import in_memories, with_order, without_in_place

    if changes.in_place is False:
        document = without_in_place(document)
    if changes.order is not None:
        document = with_order(document, changes.order)
    return document if changes.target is None else in_memories(document, changes.target, None, False)
