"""A survey of a graph, as text and as data: operators, tensors, what each step of its listed order needs."""

from collections import Counter
from collections.abc import Sequence
from heapq import nlargest

from memstow.planner.graph.graph_document import operator_label
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import Step, steps
from memstow.planner.model.graph import Graph, is_planned, size_of
from memstow.planner.show.formatting import count, human, names, short_name, table
from memstow.planner.solve.free_orders import outlook


def graph_facts(graph: Graph, rows: int) -> dict[str, object]:
    """The survey as a JSON object."""
    taken = steps(graph, listed_order(graph))
    best = outlook(graph)
    return {
        "name": graph.name,
        "order": graph.order,
        "operators": len(graph.operators),
        "tensors": dict(Counter(tensor.kind for tensor in graph.tensors)),
        "temporaries": sum(len(operator.temporaries) for operator in graph.operators),
        "views": len(graph.views),
        "in_place": sum(len(operator.in_place) for operator in graph.operators),
        "before": len(graph.before),
        "alternatives": len(graph.alternatives),
        "live": [step.bytes for step in taken],
        "peak_live": max((step.bytes for step in taken), default=0),
        "largest": [
            {
                "operator": graph.operators[step.operator].id,
                "type": graph.operators[step.operator].type,
                "bytes": step.bytes,
                "saved": step.saved,
            }
            for step in _largest(taken, rows)
        ],
        "any_order": None
        if best is None
        else {
            "bound": best.bound,
            "needed": best.needed,
            "cut": None if best.cut is None else graph.operators[best.cut].id,
            "critical": [graph.operators[i].id for i in best.critical[:rows]],
        },
    }


def graph_survey(graph: Graph, rows: int) -> str:
    """The survey in words."""
    taken = steps(graph, listed_order(graph))
    planned = [tensor for tensor in graph.tensors if is_planned(tensor)]
    kinds = Counter(tensor.kind for tensor in graph.tensors)
    listed = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    lines = [
        f"graph      {len(graph.operators):,} operators, {len(graph.tensors):,} tensors ({listed})",
        f"planned    {len(planned):,} tensors of {count(sum(map(size_of, planned)))} bytes in all",
        f"order      {graph.order}",
    ]
    others = [
        ("temporaries", sum(len(operator.temporaries) for operator in graph.operators)),
        ("pairs in place", sum(len(operator.in_place) for operator in graph.operators)),
        ("views", len(graph.views)),
        ("pairs in before", len(graph.before)),
        ("alternatives", len(graph.alternatives)),
    ]
    if any(number for _, number in others):
        lines.append("besides    " + ", ".join(f"{number:,} {what}" for what, number in others if number))
    if taken:
        most = max(step.bytes for step in taken)
        lines.append(f"as listed  at most {count(most)} bytes live ({human(most)})")
    lines += _outlook_lines(graph, rows)
    largest = _largest(taken, rows)
    if largest:
        header = ("largest steps", "type", "live bytes", "saved in place")
        cells = [
            (
                short_name(graph.operators[step.operator].id),
                short_name(graph.operators[step.operator].type or "-"),
                count(step.bytes),
                count(step.saved),
            )
            for step in largest
        ]
        lines += ["", *table(header, cells, left=2)]
    return "\n".join(lines)


def _outlook_lines(graph: Graph, rows: int) -> list[str]:
    """What the operators need in the best order."""
    best = outlook(graph)
    if best is None:
        return []
    by = "" if best.cut is None else f", for {short_name(operator_label(graph.operators[best.cut]))} alone"
    lines = [f"any order  at least {count(best.bound)} bytes ({human(best.bound)}){by}"]
    if best.needed > best.bound:
        lines.append(f"best found {count(best.needed)} bytes ({human(best.needed)})")
    if rows:
        critical = names([operator_label(graph.operators[i]) for i in best.critical], rows)
        lines.append(f"critical   {critical}: the most bytes in the best order")
    return lines


def _largest(taken: Sequence[Step], rows: int) -> list[Step]:
    return nlargest(rows, taken, key=lambda step: step.bytes)
