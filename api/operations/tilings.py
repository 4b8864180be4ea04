"""Tiles for operators of a graph, as the service is asked for them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memstow.api.operations.body import envelope, parse_document_body
from memstow.api.operations.body_documents import document_on_target
from memstow.api.operations.body_issues import collect
from memstow.api.operations.graph_members import GRAPH_MEMBERS
from memstow.api.operations.requests import TileRequest, VerifyRequest
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.problem import Problem
from memstow.planner.model.tiling import TilingOptions
from memstow.planner.tiling.document import all_as_data, as_data, parse_tilings
from memstow.planner.tiling.options import multiples_of, pixels_of, terms_of
from memstow.planner.tiling.tile import tile, tile_all
from memstow.planner.verify.tiling_verdict import judge_tilings
from memstow.planner.verify.verdict import as_data as verdict_as_data


def tiles_of(request: TileRequest) -> dict[str, Any]:
    """The answer to a request for tiles, as a JSON object."""
    document = parse_document_body(request.body, request.form, request.limits)
    if isinstance(document, Problem):
        message = "this is a problem, whose operators are not known; tiles are of a graph or a model"
        raise InputError.single("not_a_graph", "$", message)
    if request.front and request.operator is None:
        message = "the front is of one operator; name it as `operator`"
        raise InputError.single("no_operator", "query.front", message)
    try:
        options = _options(request)
        if request.operator is None:
            return all_as_data(tile_all(document, options))
        return as_data(tile(document, request.operator, options))
    except InputError as error:
        raise InputError(replace(issue, path=f"query.{issue.path}") for issue in error.issues) from None


def verdict_on_tilings(request: VerifyRequest, content: Mapping[str, Any]) -> dict[str, object]:
    """The verdict on the tiles in the member `tiling` of an envelope with their graph."""
    if request.recheck_seconds is not None:
        message = "tiles are not checked by solving again; leave it out"
        raise InputError.single("no_recheck", "query.recheck", message)
    if "problem" in content and "graph" not in content:
        message = "tiles are of operators, and a problem has none; send the graph as `graph`"
        raise InputError.single("not_a_graph", "$.problem", message)
    issues: list[Issue] = []
    allowed = ("graph", "target", *GRAPH_MEMBERS, "tiling")
    raw = envelope(issues, content, allowed, ("graph", "tiling"))
    graph = document_on_target(issues, raw, "graph", request.limits)
    tilings = collect(issues, "tiling", lambda: parse_tilings(raw["tiling"])) if "tiling" in raw else None
    if isinstance(graph, Problem):
        message = "this is a problem, whose operators are not known; tiles are of a graph"
        issues.append(Issue("not_a_graph", "$.graph", message))
    if issues or graph is None or isinstance(graph, Problem) or tilings is None:
        raise InputError(issues)
    return verdict_as_data(judge_tilings(graph, tilings))


def _options(request: TileRequest) -> TilingOptions:
    given = TilingOptions()
    return TilingOptions(
        pool=request.pool,
        capacity=request.capacity,
        home=request.home,
        objective=given.objective if request.objective is None else terms_of(request.objective),
        double_buffer=request.double_buffer,
        im2col=given.im2col if request.im2col is None else pixels_of(request.im2col),
        multiples=given.multiples if request.multiple is None else multiples_of(request.multiple),
        front=request.front,
    )
