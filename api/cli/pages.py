"""Pages in one file that draw a plan, a front or a plan of formulas; written, or shown in the browser."""

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from memstow.api.cli.output_files import replace_file, write_out
from memstow.api.cli.problem_input import (
    STDIN,
    in_operator_order,
    naming_file,
    naming_option,
    read_bytes_of,
    read_symbolic_plan_of,
    refuse_for_symbolic,
    symbolic_in,
    values_of,
)
from memstow.api.cli.terminal import print_error
from memstow.planner.graph.documents import problem_of
from memstow.planner.show.formatting import count, plain
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.front import Front
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Event
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan
    from memstow.planner.proofs.check import CheckedProof
    from memstow.planner.proofs.walk import Walk
    from memstow.planner.show.view_document import SearchStep


def page_of(
    document: "Problem | Graph",
    plan: "Plan",
    source: str,
    events: "Iterable[Event]" = (),
    *,
    of_map: bool = False,
    proof: "tuple[CheckedProof, Walk | None] | None" = None,
    title: str | None = None,
    scripts: str | None = None,
) -> bytes:
    """The page; `source` is the file of the problem, whose name it has if the problem has none.

    It draws what the run found when, as its events tell, the loops of a program (`of_map`) and those of a
    graph whose operators do not run one by one, and the steps of a proof that was checked. `scripts` is the
    folder of what it shares with other pages: `page_alone`.
    """
    from memstow.api.page.offline import page_alone
    from memstow.planner.show.view_document import plan_document

    problem = problem_of(document, plan)
    title = title or _title(problem, source)
    program = _program_of(document, problem, plan, of_map)
    page = plan_document(document, problem, plan, title, _steps(events), program, proof)
    return page_alone(page, title, "plan" if program is None else "loops", scripts)


def _steps(events: "Iterable[Event]") -> "Iterator[SearchStep]":
    """Each better plan and each better bound."""
    from memstow.planner.model.options import Bound, Incumbent
    from memstow.planner.show.view_document import SearchStep

    for event in events:
        match event:
            case Incumbent(value, solver, seconds):
                yield SearchStep(seconds, value, None, solver)
            case Bound(value, solver, seconds):
                yield SearchStep(seconds, None, value, solver)


def _program_of(
    document: "Problem | Graph", problem: "Problem", plan: "Plan", of_map: bool
) -> "dict[str, bytes | object] | None":
    from memstow.planner.graph.schedules import only_orders
    from memstow.planner.loops import loops
    from memstow.planner.model.errors import InputError
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem) or not (of_map or (plan.schedule and not only_orders(plan.schedule))):
        return None
    from memstow.planner.loops.loops_view import members_of

    try:
        table = loops(document, plan)
    except InputError:
        # What the judge does not accept has none; the page says what is wrong with it.
        return None
    return members_of(document, problem, plan, table)


def comparison_of(
    document: "Problem | Graph", plans: "Sequence[Plan]", files: "Sequence[str]", source: str
) -> bytes:
    """The page of two plans of one problem, from these files."""
    from memstow.api.page.offline import page_alone
    from memstow.planner.show.view_document import comparison_document

    problem = problem_of(document, plans[0])
    names = [plain(os.path.basename(file), most=200) for file in files]
    title = _title(problem, source)
    return page_alone(comparison_document(document, problem, plans, names, title), title)


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


@record
class FrontPage:
    """The page, and how many of the points have their plans in it."""

    page: bytes
    plans: int


def front_page(document: "Problem | Graph", front: "Front", source: str, first: int | None) -> FrontPage:
    """The page of a front of this document. What the judge says against a point is told on the page.

    With `first` it opens with the plan of that point, and holds those around it.
    """
    from pathlib import Path

    from memstow.api.page.offline import page_alone
    from memstow.planner.front.find_front import with_choices
    from memstow.planner.front.front_view import front_document

    document = with_choices(document, front.request)
    _refuse_other_document(document, front)
    title = plain(front.name or document.name or Path(source).name, most=200)
    written = front_document(document, front, title, "file", first=first)
    return FrontPage(page_alone(written.content, title, "front"), written.plans)


def _refuse_other_document(document: "Problem | Graph", front: "Front") -> None:
    from memstow.planner.front.find_front import digest_of, other_document
    from memstow.planner.model.errors import InputError

    if front.targets and not front.points:
        message = "it compares targets; make the front of one memory, such as with --capacity, and view that"
        raise InputError.single("front_of_targets", "FRONT", message)
    if front.digest not in (None, digest_of(document)):
        message = f"{other_document(front)}; give that one, with the options with which the front was made"
        raise InputError.single("other_problem", "FRONT", message)


def plans_left_out(page: FrontPage, front: "Front") -> str | None:
    """What to tell where some plans did not go into the file."""
    left = len(front.points) - page.plans
    if not left:
        return None
    return (
        f"the page holds the plans of {count(page.plans)} points; the other {count(left)} are drawn without; "
        "--point N takes those around point N"
    )


def symbolic_page_of(args: argparse.Namespace) -> bytes | None:
    """The page that `memstow view` was asked for; None: no plan of formulas is among its files."""
    files = _files_among(args)
    if files is None:
        return None
    from memstow.planner.graph.symbolic_graph import problem_of_plan

    source, read, path = files
    refuse_for_symbolic(args)
    document = in_operator_order(read, source, args)
    plan = read_symbolic_plan_of(path)
    with naming_file(path):
        problem = problem_of_plan(document, plan)
    at = values_of(args)
    if at:
        from memstow.planner.formulas.sizes import require_values

        with naming_option("at", "--at"):
            require_values(problem, at)
    return symbolic_page(document, plan, source, at)


def symbolic_page(
    document: "SymbolicDocument", plan: "SymbolicPlan", source: str, at: Mapping[str, int]
) -> bytes:
    """The page; it begins at these values, or at the first point of the problem."""
    from pathlib import Path

    from memstow.api.page.offline import page_alone
    from memstow.planner.show.symbolic_view import symbolic_document

    title = plain(document.name or Path(source).name, most=200)
    return page_alone(symbolic_document(document, plan, title, at), title, "symbols")


def _files_among(args: argparse.Namespace) -> "tuple[str, SymbolicDocument, str] | None":
    """The file of a problem or graph with symbols, what is in it, the file of its plan; None: there is none.

    With --at, a plan that is not one of formulas is for the problem at that value, and nothing new.
    """
    if args.other is not None and args.problem is not None:
        return None
    paths = [args.plan, args.other or args.problem]
    for source, path in (paths, paths[::-1]):
        document = None if source in (None, STDIN) else symbolic_in(read_bytes_of(source), source)
        if document is None:
            continue
        if path is None:
            raise _input_error("no_plan", "PLAN", "this is a problem with symbols; give its plan as well")
        if path != STDIN and not _is_formed(read_bytes_of(path)):
            if args.at:
                return None
            message = "this is a plan for one value of the symbols; say which, such as --at s=128"
            raise _input_error("no_value", "--at", message)
        return source, document, path
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


def _input_error(code: str, path: str, message: str) -> "InputError":
    from memstow.planner.model.errors import InputError

    return InputError.single(code, path, message)
