"""Pages in one file that draw a plan, a front or a plan of formulas; written, or shown in the browser.

The page cannot work out what stripes, runs again and copies make of a graph: for each point of a front, the
problem that its plan is for is in the file, as far as there is room.
"""

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memstow.api.cli.output_files import replace_file, write_out
from memstow.api.cli.problem_input import (
    STDIN,
    naming_file,
    naming_option,
    read_bytes_of,
    read_symbolic_plan_of,
    refuse_for_symbolic,
    symbolic_in,
    values_of,
)
from memstow.api.cli.terminal import print_error
from memstow.api.documents import problem_of
from memstow.planner.show.formatting import count, plain

if TYPE_CHECKING:
    from memstow.api.page.offline import Ordered, SearchStep
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.front import Front, FrontPoint
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Event
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem


class SearchRecord:
    """What a run found when: the steps of the search that the page draws."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def hear(self, event: "Event") -> None:
        """Note what the run tells."""
        self._events.append(event)

    def steps(self) -> "list[SearchStep]":
        """Each better plan and each better bound."""
        from memstow.api.page.offline import SearchStep
        from memstow.planner.model.options import Bound, Incumbent

        steps: list[SearchStep] = []
        for event in self._events:
            match event:
                case Incumbent(value, solver, seconds):
                    steps.append(SearchStep(seconds, value, None, solver))
                case Bound(value, solver, seconds):
                    steps.append(SearchStep(seconds, None, value, solver))
        return steps


def page_of(
    document: "Problem | Graph", plan: "Plan", source: str, search: "Iterable[SearchStep]" = ()
) -> bytes:
    """The page; `source` is the file of the problem, whose name it has if the problem has none."""
    from memstow.api.page.offline import page_alone, shortfalls_of
    from memstow.planner.formats import write_plan, write_problem

    problem = problem_of(document, plan)
    return page_alone(
        write_problem(problem),
        write_plan(problem, plan),
        _title(problem, source),
        search,
        ordered=_ordered(document, plan),
        shortfalls=shortfalls_of(problem, plan),
    )


def comparison_of(
    document: "Problem | Graph", plans: "Sequence[Plan]", files: "Sequence[str]", source: str
) -> bytes:
    """The page of two plans of one problem, from these files."""
    from memstow.api.page.offline import Comparison, page_alone
    from memstow.planner.formats import write_plan, write_problem

    problem = problem_of(document, plans[0])
    first, second = (write_plan(problem, plan) for plan in plans)
    names = tuple(plain(os.path.basename(file), most=200) for file in files)
    return page_alone(
        write_problem(problem),
        first,
        _title(problem, source),
        other=Comparison(second, (names[0], names[1])),
        ordered=_ordered(document, plans[0]),
    )


def _ordered(document: "Problem | Graph", plan: "Plan") -> "Ordered | None":
    """The graph with what the judge says of all of its orders; a problem has none."""
    from memstow.api.page.offline import Ordered
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        return None
    from memstow.planner.formats.native import write_document
    from memstow.planner.verify import Standing, Subject, judge

    claims = judge(document, plan).claims
    judged = (
        claim.name
        for claim in claims
        if claim.subject is Subject.BOUND and claim.standing is Standing.CHECKED
    )
    return Ordered(write_document(document), tuple(name for name in judged if name is not None))


def _title(problem: "Problem", source: str) -> str:
    return plain(problem.name or os.path.basename(source), most=200)


def show_page(page: bytes, output: str | None) -> None:
    """Write the page to the file; without one to a temporary file, which the browser then shows."""
    if output is not None:
        write_out(page, output)
        return
    import hashlib
    import tempfile
    import webbrowser
    from pathlib import Path

    # The same page has the same name: looking at it again leaves no further file behind.
    name = f"memstow-{os.getuid()}-{hashlib.sha256(page).hexdigest()[:16]}.html"
    path = Path(tempfile.gettempdir()) / name
    replace_file(path, page)
    if not webbrowser.open(path.as_uri()):
        print_error(f"no browser could be started; the page is in {path}")


class FrontPage(NamedTuple):
    """The page, and how many of the points have their plans in it."""

    page: bytes
    plans: int


def front_page(document: "Problem | Graph", front: "Front", source: str, first: int | None) -> FrontPage:
    """The page of a front of this document. What the judge says against a point is told on the page.

    With `first` it opens with the plan of that point, and holds those around it.
    """
    from pathlib import Path

    from memstow.api.page.offline import front_alone, point_plans
    from memstow.planner.front.find_front import with_choices
    from memstow.planner.front.front_documents import write_front
    from memstow.planner.model.problem import Problem

    document = with_choices(document, front.asked)
    _refuse_other_document(document, front)
    costed = document if isinstance(document, Problem) else _costed(document, front)
    told = [_said_against(costed, front, point) for point in front.points]
    held, front = point_plans(document, front, first, told)
    title = plain(front.name or document.name or Path(source).name, most=200)
    page = front_alone(write_front(front, "json"), held, told, title, first)
    return FrontPage(page, sum(at is not None for at in held.of))


def _refuse_other_document(document: "Problem | Graph", front: "Front") -> None:
    from memstow.planner.front.find_front import digest_of, other_document
    from memstow.planner.model.errors import InputError

    if front.targets and not front.points:
        message = "it compares targets; make the front of one memory, such as with --capacity, and view that"
        raise InputError.single("front_of_targets", "FRONT", message)
    if front.digest not in (None, digest_of(document)):
        message = f"{other_document(front)}; give that one, with the options with which the front was made"
        raise InputError.single("other_problem", "FRONT", message)


def _said_against(document: "Problem | Graph", front: "Front", point: "FrontPoint") -> str | None:
    """Why a point is not what it says; None: the judge has counted its plan, and of a graph its cost."""
    from memstow.planner.front.find_front import document_of_point
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem
    from memstow.planner.verify import recount

    try:
        violations = recount(document_of_point(document, front, point), point.plan)
        if violations:
            return plain(f"the judge says: {violations[0].message}", most=400)
        if isinstance(document, Problem):
            return None
        from memstow.planner.verify.graph_verdict import schedule_cost

        schedule = point.plan.schedule
        if schedule is None:
            return "its plan has no schedule"
        cost = schedule_cost(document, schedule)
    except (InputError, ValueError) as error:
        return plain(f"the judge says: {error}", most=400)
    if "cost" in point.values and cost != point.values["cost"]:
        return f"its schedule costs {count(cost)}, as the judge counts"
    return None


def _costed(document: "Problem | Graph", front: "Front") -> "Problem | Graph":
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem) or front.asked.cost != "bytes":
        return document
    from memstow.planner.model.errors import InputError
    from memstow.planner.verify.graph_replay import Refused
    from memstow.planner.verify.row_operators import in_bytes

    try:
        return in_bytes(document)
    except Refused as refused:
        raise InputError.single("too_large", "FRONT", str(refused)) from None


def plans_left_out(made: FrontPage, front: "Front") -> str | None:
    """What to tell where some plans did not go into the file."""
    left = len(front.points) - made.plans
    if not left:
        return None
    return (
        f"the page holds the plans of {count(made.plans)} points; the other {count(left)} are drawn without; "
        "--point N takes those around point N"
    )


def symbolic_page_of(args: argparse.Namespace) -> bytes | None:
    """The page that `memstow view` was asked for; None: no plan of formulas is among its files."""
    found = _files_among(args)
    if found is None:
        return None
    source, problem, path = found
    refuse_for_symbolic(args)
    plan = read_symbolic_plan_of(path)
    _require_same_problem(problem, plan, path)
    at = values_of(args)
    if at:
        from memstow.planner.formulas.sizes import require_values

        with naming_option("at", "--at"):
            require_values(problem, at)
    return symbolic_page(problem, plan, source, at)


def symbolic_page(
    problem: "SymbolicProblem", plan: "SymbolicPlan", source: str, at: Mapping[str, int]
) -> bytes:
    """The page; it begins at these values, or at the first point of the problem."""
    from pathlib import Path

    from memstow.api.page.offline import symbols_alone
    from memstow.planner.formats.native import write_symbolic, write_symbolic_plan
    from memstow.planner.verify.symbolic_verdict import judge_symbolic
    from memstow.planner.verify.verdict import Standing, Subject

    verdict = judge_symbolic(problem, plan)
    judged = plain(verdict.violations[0].message, most=400) if verdict.violations else ""
    counted = next(
        (
            plain(claim.by, most=100)
            for claim in verdict.claims
            if claim.subject is Subject.NOTHING_FITS and claim.standing is Standing.CHECKED
        ),
        "",
    )
    title = plain(problem.name or Path(source).name, most=200)
    return symbols_alone(write_symbolic(problem), write_symbolic_plan(plan), judged, counted, title, at)


def _files_among(args: argparse.Namespace) -> "tuple[str, SymbolicProblem, str] | None":
    """The file of a problem with symbols, the problem, and the file of its plan; None: there is none.

    With --at, a plan that is not one of formulas is for the problem at that value, and nothing new.
    """
    if args.other is not None and args.problem is not None:
        return None
    given = [args.plan, args.other or args.problem]
    for source, path in (given, given[::-1]):
        problem = None if source in (None, STDIN) else symbolic_in(read_bytes_of(source), source)
        if problem is None:
            continue
        if path is None:
            raise _input_error("no_plan", "PLAN", "this is a problem with symbols; give its plan as well")
        if path != STDIN and not _is_formed(read_bytes_of(path)):
            if args.at:
                return None
            message = "this is a plan for one value of the symbols; say which, such as --at s=128"
            raise _input_error("no_value", "--at", message)
        return source, problem, path
    return None


def _is_formed(data: bytes) -> bool:
    """Whether it is a plan of formulas."""
    from memstow.planner.formats.native import is_symbolic_plan
    from memstow.planner.model.errors import InputError
    from memstow.planner.reading.json_text import parse_json

    try:
        return is_symbolic_plan(parse_json(data))
    except InputError:
        return False


def _require_same_problem(problem: "SymbolicProblem", plan: "SymbolicPlan", path: str) -> None:
    from memstow.planner.model.symbolic import digest_symbolic

    if plan.digest is not None and plan.digest != digest_symbolic(problem):
        with naming_file(path):
            message = "the plan is for another problem, as its digest says; give that one"
            raise _input_error("other_problem", "digest", message)


def _input_error(code: str, path: str, message: str) -> "InputError":
    from memstow.planner.model.errors import InputError

    return InputError.single(code, path, message)
