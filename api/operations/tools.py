"""Operations that answer without a job: a plan of formulas at values, tiles of operators, a program."""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from memstow.api.operations.body_documents import (
    document_on_target,
    parse_document_body,
    symbolic_within,
)
from memstow.api.operations.envelope import collect, envelope, json_value
from memstow.api.operations.request_types import (
    BuildRequest,
    Document,
    EvaluateRequest,
    Limits,
    TileRequest,
    VerifyRequest,
)
from memstow.planner.formats import write_plan
from memstow.planner.formats.native import is_symbolic, is_symbolic_plan, parse_symbolic_plan
from memstow.planner.graph.symbolic_graph import problem_of_plan
from memstow.planner.model.errors import InputError, Issue, changing_issues
from memstow.planner.model.front import Generator
from memstow.planner.model.options import Options
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan
from memstow.planner.model.tiling import TilingOptions
from memstow.planner.reading.sections import wrong_type
from memstow.planner.tiling.tile import tile, tile_all
from memstow.planner.tiling.tiling_documents import (
    all_as_data,
    as_data,
    options_of_texts,
    parse_tilings,
)
from memstow.planner.verify.tiling_verdict import judge_tilings

if TYPE_CHECKING:
    from memstow.planner.firmware import External
from memstow.planner.verify.verdict import as_data as verdict_as_data
from memstow.records import replace

_MEMBERS: Final = ("problem", "plan", "at")


def plan_at_values(request: EvaluateRequest) -> Document:
    """The plan for the problem at the values that the request names."""
    issues: list[Issue] = []
    raw = envelope(issues, json_value(request.body, request.limits), _MEMBERS, _MEMBERS)
    if issues:
        raise InputError(issues)
    problem = collect(issues, "problem", lambda: _problem(raw["problem"], request.limits))
    plan = collect(issues, "plan", lambda: _plan(raw["plan"]))
    at = collect(issues, "at", lambda: _values(raw["at"]))
    if issues or problem is None or plan is None or at is None:
        raise InputError(issues)
    with changing_issues(_placed):
        problem_of_plan(problem, plan)
        # What is wrong is told without waiting for this import.
        from memstow.planner.shapes.symbolic_layout import Layout, plan_of_layout

        ordinary, plan_there = plan_of_layout(Layout(problem, plan), at)
    return Document(write_plan(ordinary, plan_there, "json"), "json")


def _problem(raw: object, limits: Limits) -> SymbolicDocument:
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", "$", wrong_type("an object", raw))
    if not is_symbolic(raw):
        message = "this has no `symbols`: its sizes are numbers, and so it has no values to be laid out at"
        raise InputError.single("not_symbolic", "$", message)
    return symbolic_within(raw, limits)


def _plan(raw: object) -> SymbolicPlan:
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", "$", wrong_type("an object", raw))
    if not is_symbolic_plan(raw):
        message = "this is no plan of a problem with symbols, which says its `shapes`"
        raise InputError.single("not_symbolic", "$", message)
    return parse_symbolic_plan(raw)


def _values(raw: object) -> Mapping[str, int]:
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", "$", wrong_type("an object", raw))
    issues = [
        Issue("not_an_integer", f"$[{shown(name)}]", f"expected an integer, given {shown(value)}")
        for name, value in raw.items()
        if not isinstance(value, int) or isinstance(value, bool)
    ]
    if issues:
        raise InputError(issues)
    return raw


def _placed(issue: Issue) -> Issue:
    """The issue with a path in the body: a symbol or `at`, or a part of the plan."""
    path = issue.path
    if path.startswith("$."):
        return replace(issue, path=f"$.at.{path[2:]}")
    if path in _MEMBERS:
        return replace(issue, path=f"$.{path}")
    return replace(issue, path=f"$.plan.{path}")


def tiles_of(request: TileRequest) -> dict[str, object]:
    """The answer to a request for tiles, as a JSON object."""
    document = parse_document_body(request.body, request.form, request.limits, members=())
    if isinstance(document, Problem):
        message = "this is a problem, whose operators are not known; tiles are of a graph or a model"
        raise InputError.single("not_a_graph", "$", message)
    if request.front and request.operator is None:
        message = "the front is of one operator; name it as `operator`"
        raise InputError.single("no_operator", "query.front", message)
    with changing_issues(lambda issue: replace(issue, path=f"query.{issue.path}")):
        options = _tiling_options(request)
        if request.operator is None:
            return all_as_data(tile_all(document, options))
        return as_data(tile(document, request.operator, options))


def program_of(request: BuildRequest) -> Document:
    """The files of the program of a model, as an archive."""
    from memstow.planner.firmware import build
    from memstow.planner.targets import shipped_target

    with changing_issues(lambda issue: replace(issue, path=_QUERY_OF.get(issue.path, issue.path))):
        target = None if request.target is None else shipped_target(request.target)
        # A bad name is an error as any other.
        generators = None if request.generators is None else cast("list[Generator]", request.generators)
        built = build(
            request.body,
            name=request.name,
            capacity=request.capacity,
            point=request.point,
            target=target,
            generators=generators,
            external=cast("list[External]", request.external or []),
            dims=request.form.dims,
            kernels=request.kernels,
            order=request.order,
            options=Options(
                time_limit=request.build_seconds, deterministic=request.deterministic, seed=request.seed
            ),
            # The runtime does not run models that nobody vouches for.
            with_check=False,
        )
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as file:
        for name, content in built.files.items():
            # The same program is the same archive, whenever it was made.
            file.writestr(ZipInfo(f"{request.name}/{name}"), content, ZIP_DEFLATED)
    return Document(archive.getvalue(), "zip")


_QUERY_OF: Final = {
    "prefix": "query.name",
    "--dim": "query.dim",
    **{
        name: f"query.{name}" for name in ("capacity", "point", "generators", "external", "kernels", "target")
    },
}


def verdict_on_tilings(request: VerifyRequest, content: Mapping[str, Any]) -> dict[str, object]:
    """The verdict on the tiles in the member `tiling` of an envelope with their graph."""
    if request.recheck_seconds is not None:
        message = "tiles are not checked by solving again; leave it out"
        raise InputError.single("no_recheck", "query.recheck", message)
    if "problem" in content and "graph" not in content:
        message = "tiles are of operators, and a problem has none; send the graph as `graph`"
        raise InputError.single("not_a_graph", "$.problem", message)
    issues: list[Issue] = []
    raw = envelope(issues, content, ("graph", "target", "tiling"), ("graph", "tiling"))
    graph = document_on_target(issues, raw, "graph", request.limits)
    tilings = collect(issues, "tiling", lambda: parse_tilings(raw["tiling"])) if "tiling" in raw else None
    if isinstance(graph, Problem):
        message = "this is a problem, whose operators are not known; tiles are of a graph"
        issues.append(Issue("not_a_graph", "$.graph", message))
    if issues or graph is None or isinstance(graph, Problem) or tilings is None:
        raise InputError(issues)
    return verdict_as_data(judge_tilings(graph, tilings))


def _tiling_options(request: TileRequest) -> TilingOptions:
    options = TilingOptions(
        pool=request.pool,
        capacity=request.capacity,
        home=request.home,
        double_buffer=request.double_buffer,
        front=request.front,
    )
    texts = {"objective": request.objective, "im2col": request.im2col, "multiples": request.multiple}
    return options_of_texts(options, **texts)
