"""Tiles for operators of a graph, as the service is asked for them."""

from dataclasses import replace
from typing import Any

from memstow.api.operations.body import parse_document_body
from memstow.api.operations.requests import TileRequest
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem
from memstow.planner.model.tiling import TilingOptions
from memstow.planner.tiling.document import all_as_data, as_data
from memstow.planner.tiling.options import multiples_of, pixels_of, terms_of
from memstow.planner.tiling.tile import tile, tile_all


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
