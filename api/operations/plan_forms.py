"""The form in which a plan is returned: a format, for source code how its names begin, for a model its flags.

It travels as one text, such as `csv` or `c-header?prefix=net&section=dtcm%3D.dtcm_bss`: in messages between
processes, and in the keys of what is remembered.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlencode

from memstow.api.operations.request_types import BodyForm
from memstow.api.options import POOL_AND_SECTION
from memstow.planner import exports, formats, loops
from memstow.planner.exports.naming import DEFAULT_PREFIX, Naming, check_words, sections_of
from memstow.planner.graph.documents import labels_in, problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem
from memstow.planner.reading.sections import wrong_type

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan


FLAGS: Final = ("order_only", "replan")
"""What a query may say about a model that is written: no plan in it; a plan in the place of its own."""


def require_writable(model: bytes, document: "Problem | Graph", form: BodyForm) -> None:
    """Refuse a model that cannot be written again as the request asks, before anything is searched."""
    from memstow.planner.tflm import planned_model

    wanted = planned_model.WriteOptions(
        order="given" if isinstance(document, Problem) else document.order,
        in_place=form.changes.get("in_place") is True,
        order_only="order_only" in form.model_flags,
        replan="replan" in form.model_flags,
        pools=len(problem_of(document).pools),
    )
    names = planned_model.OptionNames(
        free="order=free",
        in_place="in_place=true",
        order_only="order_only=true",
        of_order="query.order",
        of_in_place="query.in_place",
        of_pools="query.target",
    )
    try:
        planned_model.require_writable(model, wanted, names)
    except InputError as error:
        raise _naming_parameter(error) from None


def model_with_plan(model: bytes, plan: Plan, flags: tuple[str, ...]) -> bytes:
    """The model with the plan in it; without one where the rule of the runtime needs no more memory."""
    from memstow.planner.tflm.planned_model import written_model
    from memstow.planner.tflm.reordering import reorder_model

    if "order_only" in flags:
        if plan.schedule is None:
            raise InputError.single("no_order", "schedule", "the plan has no order of operators")
        return reorder_model(model, plan.schedule.order)
    try:
        return written_model(model, plan, replan="replan" in flags).model
    except InputError as error:
        raise _naming_parameter(error) from None


def plan_in_model(model: bytes) -> Plan:
    """The plan that a model carries."""
    from memstow.planner.tflm.planned_model import carried_plan

    carried = carried_plan(model)
    if carried is None:
        message = "this model carries no memory plan; send a problem with its plan, or a model that has one"
        raise InputError.single("no_plan", "$", message)
    return carried.plan


def _naming_parameter(error: InputError) -> InputError:
    """The error with the parameter of the query in the place of the option of the command line."""
    if error.issues[0].code != "carries_plan":
        return error
    message = "the model carries a memory plan already; replan=true puts a new one in its place"
    return InputError.single("carries_plan", "$", message)


Query = Mapping[str, Sequence[str]]
"""The values of the parameters that are given."""

MODEL: Final = "tflite"
"""Not the plan, but the TensorFlow Lite model that came with the request, written again as its plan says."""
PICTURE: Final = "svg"
"""The plan as a drawing."""
PAGE: Final = "page"
"""A plan, a front or a verdict as a view document, for the page of the service."""
SYMBOLIC: Final = ("json", "c-header")
"""The forms of a plan of a problem with symbols."""
_PREFIX: Final = "prefix"
_OF_SOURCE: Final = (_PREFIX, "section", "header")
PARAMETERS: Final = (*_OF_SOURCE, *FLAGS)
"""Of a query: how the names in source code begin, and where it goes; what of the plan is in a model."""

# Buffers and pairs of a problem whose self-check or drawing is written at once.
_MOST_AT_ONCE: Final = 2000


def names() -> tuple[str, ...]:
    """The formats a plan is returned in."""
    return (*formats.written_plan_names(), *exports.names(), *loops.names(), PICTURE, MODEL)


def form_of(name: str, query: Query) -> str:
    """The form as a text, with what the query says about it; InputError where the parts do not make one."""
    used = _used_by(name)
    for parameter in PARAMETERS:
        if parameter in query and parameter not in used:
            of = MODEL if parameter in FLAGS else f"source code: {', '.join(exports.names())}"
            of += f", {loops.HEADER}" if parameter == _PREFIX else ""
            raise InputError.single("unused_parameter", f"query.{parameter}", f"it is for {of}; leave it out")
    if name == MODEL:
        parameters = [(flag, "true") for flag in FLAGS if _is_set(flag, query)]
    else:
        parameters = _source_parameters(query) if used else []
    return f"{name}?{urlencode(parameters, errors='surrogatepass')}" if parameters else name


def _used_by(name: str) -> tuple[str, ...]:
    """The parameters that a form may have."""
    if name in exports.names():
        return _OF_SOURCE
    return {MODEL: FLAGS, loops.HEADER: (_PREFIX,)}.get(name, ())


def flags_of(form: str) -> tuple[str, ...]:
    """What the form says about a model."""
    return tuple(parse_qs(form.partition("?")[2]))


def _is_set(flag: str, query: Query) -> bool:
    text = query.get(flag, ("false",))[0]
    if text not in ("true", "false"):
        raise InputError.single("not_a_boolean", f"query.{flag}", wrong_type("true or false", text))
    return text == "true"


def _source_parameters(query: Query) -> list[tuple[str, str]]:
    prefix, header = (query.get(name, (None,))[0] for name in ("prefix", "header"))
    by_pool = sections_of(map(_section, query.get("section", ())))
    check_words(Naming(DEFAULT_PREFIX if prefix is None else prefix, by_pool, header))
    parameters = [("prefix", prefix)] if prefix is not None else []
    parameters += [("section", f"{pool}={section}") for pool, section in by_pool.items()]
    parameters += [("header", header)] if header is not None else []
    return parameters


def refuse_other_documents(document: Problem | Graph, form: str) -> None:
    """An InputError where plans of this document cannot be had in this form."""
    if form.partition("?")[0] in loops.names() and isinstance(document, Problem):
        raise loops.no_loops("query.output_format")


def require_symbolic(form: str) -> None:
    """An InputError where plans of problems with symbols cannot be had in this form."""
    name, _, query = form.partition("?")
    if name not in (*SYMBOLIC, PAGE):
        message = f"a plan of a problem with symbols can be had as {' or '.join(SYMBOLIC)}"
        raise InputError.single("unknown_format", "query.output_format", message)
    for parameter in parse_qs(query, errors="surrogatepass"):
        if parameter != _PREFIX:
            message = "it is not for plans of problems with symbols; leave it out"
            raise InputError.single("unused_parameter", f"query.{parameter}", message)


def write_symbolic(document: "SymbolicDocument", plan: "SymbolicPlan", form: str) -> bytes:
    """The plan of a problem with symbols in a form."""
    from memstow.planner.formats.native import write_symbolic_plan
    from memstow.planner.shapes.symbolic_c import write_symbolic_c

    require_symbolic(form)
    name, _, query = form.partition("?")
    if name == "json":
        return write_symbolic_plan(plan)
    parameters = parse_qs(query, errors="surrogatepass")
    return write_symbolic_c(document, plan, parameters.get(_PREFIX, [DEFAULT_PREFIX])[0])


def takes_long(problem: Problem, form: str) -> bool:
    """Whether writing the plan may take longer than a small solve: a drawing, loops, a self-check."""
    if form == PICTURE or form.partition("?")[0] in loops.names():
        return len(problem.buffers) > _MOST_AT_ONCE
    related = (problem.conflicts, problem.exclusive, problem.relative, problem.in_place)
    return form.startswith("c-check") and len(problem.buffers) + sum(map(len, related)) > _MOST_AT_ONCE


def write(document: Problem | Graph, plan: Plan, form: str) -> bytes:
    """The plan of this document in a form, other than as a model."""
    name, _, query = form.partition("?")
    parameters = parse_qs(query, strict_parsing=bool(query), errors="surrogatepass")
    prefix = parameters.get(_PREFIX, [DEFAULT_PREFIX])[0]
    refuse_other_documents(document, form)
    if name in loops.names() and not isinstance(document, Problem):
        return loops.write_loops(loops.loops(document, plan), name, prefix=prefix)
    problem = problem_of(document, plan)
    if name == PAGE:
        from memstow.planner.show.view_document import verdict_document

        return verdict_document(document, problem, plan, "service")
    if name == PICTURE:
        from memstow.planner.show.svg_picture import svg

        return svg(problem, plan).encode()
    if name not in exports.names():
        return formats.write_plan(problem, plan, name)
    return exports.export(
        problem,
        plan,
        name,
        prefix=prefix,
        sections=dict(map(_section, parameters.get("section", ()))),
        header=parameters.get("header", [None])[0],
        labels=labels_in(document),
    )


def _section(text: str) -> tuple[str, str]:
    read = POOL_AND_SECTION.read(text)
    if read is None:
        message = f"{printable(text, 80)!r} is not a pool and a section; write for example dtcm=.dtcm_bss"
        raise InputError.single("bad_section", "query.section", message)
    return read
