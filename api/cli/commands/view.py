"""`memstow view`: a plan, or two beside each other, as a page in the browser, or as a file that holds it."""

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

from memstow.api import options
from memstow.api.cli.output_files import refuse_one_file_twice, refuse_unwritable, suffix_of, write_out
from memstow.api.cli.pages import comparison_of, page_of, show_page, symbolic_page_of
from memstow.api.cli.parser import Commands, add_command, add_options, first_named
from memstow.api.cli.plan_input import read_chosen_plan, refuse_plan_format_of_front
from memstow.api.cli.plan_output import LOOPS_HEADER, LOOPS_SUFFIXES, loops_by_suffix, loops_content
from memstow.api.cli.problem_input import (
    STDIN,
    add_graph_changes,
    is_front,
    loops_in,
    naming_file,
    naming_option,
    read_bytes_of,
    read_document,
    read_plan,
    refuse_two_stdins,
    warn_if_terminal,
)
from memstow.api.cli.terminal import Exit, print_error
from memstow.api.options import LOOPS
from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.check import CheckedProof
    from memstow.planner.proofs.walk import Walk


_MAP: Final = ".map.json"


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "view",
        "look at a plan in the browser, or compare two",
        details="""
Makes one file that holds the page and the plan: it works offline, loads nothing and sends nothing. Without
--output the file is temporary and the browser shows it. With two plans it shows both beside each other, and
which buffers moved. With a front and what it is a front of it shows the points to choose from, and the plan
of each. With the map of a program, NAME.map.json, it shows the graph and the plan that memstow build wrote
beside it. With a problem with symbols and its plan it has a slider for each symbol. A plan in CSV says what
its buffers are, and so does a recording of an allocator, which is shown beside its plan; other plans need
their problem, by --problem or, both in JSON, before the plan. With an --output that ends with .loops.json,
.loops.txt, .loops.h or .loops.svg it writes the loops of a plan of a graph instead: what runs step by step,
and where in memory.
A plan that was made with --target, --capacity or --fit-only is for the problem changed that way: pass the
same options here.""",
        examples="""
memstow view plan.json --problem model.json
memstow view plan.json --problem model.tflite --output plan.html
memstow view offsets.csv --output plan.html
memstow view front.json --point 2 --problem net.json --output net.loops.txt
memstow view before.json after.json --problem model.json --output diff.html
memstow view model.tflite front.json --output front.html
memstow view attention.json plan.json --output attention.html
memstow view plan.json --problem model.json --proof plan.proof --output plan.html
memstow solve model.json --open
""",
    )
    parser.add_argument("plan", metavar="PLAN", help="the plan; - reads it from standard input")
    parser.add_argument(
        "other", metavar="OTHER", nargs="?", help="another plan of the same problem, to compare"
    )
    add_options(parser, options.PROBLEM, options.VIEW_FORMAT, options.DEVICE, options.VIEW_PLAN_FORMAT)
    add_options(
        parser,
        options.VIEW_POINT,
        options.VIEW_AT,
        options.VIEW_PROOF,
        options.PAGE_OUTPUT,
        options.PAGE_FORMAT,
        options.LOOPS_PREFIX,
    )
    add_options(parser, *options.CHANGES)
    add_graph_changes(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the plans and their problem, and show the page."""
    refuse_two_stdins(args.plan, args.other, args.problem, args.target)
    _take_problem_first(args)
    name = _take_plan_of_map(args)
    files: list[str] = [args.plan] if args.other is None else [args.plan, args.other]
    form = _form(args)
    refuse_unwritable(args.output)
    if args.output is not None:
        read = {"the plan": args.plan, "the other plan": args.other, "the problem": args.problem}
        refuse_one_file_twice([(args.output, "the output")], read)
    for path in (*files, args.problem):
        warn_if_terminal(path)
    if args.proof is not None and (form in LOOPS or args.other is not None or args.problem is None):
        _refuse_proof()
    if form in LOOPS:
        _write_loops(args, form)
        return Exit.DONE
    symbolic = symbolic_page_of(args)
    if symbolic is not None:
        show_page(symbolic, args.output)
        return Exit.DONE
    front_files = _front_among(args)
    if front_files is not None:
        if args.proof is not None:
            _refuse_proof()
        return _show_front(*front_files, args)
    if args.point is not None:
        _refuse("no_front", "--point", "it names a point of a front, and none is given; leave it out")
    document, plans = _read_alone(files, args) if args.problem is None else _read_both(files, args)
    source = name or args.problem or args.plan
    if len(plans) == 1:
        proof = None if args.proof is None else _proof(args, document, plans[0])
        show_page(page_of(document, plans[0], source, of_map=name is not None, proof=proof), args.output)
    else:
        show_page(comparison_of(document, plans, files, source), args.output)
    return Exit.DONE


def _refuse_proof() -> NoReturn:
    _refuse("no_proof", "--proof", "a proof is of one plan of a problem in JSON: give it by --problem")


def _proof(
    args: argparse.Namespace, document: "Problem | Graph", plan: "Plan"
) -> "tuple[CheckedProof, Walk | None]":
    """What the checker says of the proof, which it has to accept, and the steps."""
    from memstow.api.cli.proof_output import checked_proof
    from memstow.planner.proofs.walk_order import walk_of

    checked = checked_proof(document, plan, read_bytes_of(args.problem), args.proof)
    if not checked.shows:
        _refuse("no_proof", plain(args.proof, most=200), f"memstow-check does not accept it: {checked.says}")
    return checked, walk_of(document, problem_of(document, plan), args.proof)


def _take_problem_first(args: argparse.Namespace) -> None:
    """Take a problem that is named before its plan, as for `memstow verify`, as one of --problem.

    A recording beside a plan is both: the problem, and the plan of the allocator that was recorded.
    """
    if args.problem is not None or args.other is None or STDIN in (args.plan, args.other):
        return
    recordings = [path for path in (args.plan, args.other) if _is_recording(path)]
    if len(recordings) == 1:
        args.problem = recordings[0]
        return
    # Where the first is a plan, as in a comparison, the second need not be read for this.
    if _is_plan(args.plan) is False and _is_plan(args.other) is True:
        args.problem, args.plan, args.other = args.plan, args.other, None


def _take_plan_of_map(args: argparse.Namespace) -> str | None:
    """Take the graph and the plan that `memstow build` writes beside the map of a program; its name."""
    if args.other is not None or args.problem is not None or args.plan == STDIN:
        return None
    table = loops_in(read_bytes_of(args.plan))
    if table is None:
        return None
    stem = args.plan.removesuffix(_MAP)
    graph, plan = f"{stem}.graph.json", f"{stem}.plan.json"
    if stem == args.plan or not (os.path.isfile(graph) and os.path.isfile(plan)):
        message = "a table of loops is shown by its graph and its plan: memstow view GRAPH PLAN"
        _refuse("no_problem", plain(args.plan, most=200), message)
    from memstow.planner.reading.json_text import parse_json

    with naming_file(plan):
        planned = parse_json(read_bytes_of(plan))
    if not isinstance(planned, dict) or planned.get("digest") != table["digest"]:
        message = f"it is of another plan than {plain(plan, most=200)}, as their digests say"
        _refuse("other_problem", plain(args.plan, most=200), message)
    args.problem, args.plan = graph, plan
    return str(os.path.basename(stem))


def _is_recording(path: str) -> bool:
    from memstow.planner import formats

    return formats.recorded_format(read_bytes_of(path)) is not None


def _is_plan(path: str) -> bool | None:
    """Whether a file of JSON is a plan, and not a problem, a graph or a front; None: it is not JSON."""
    from memstow.planner import formats
    from memstow.planner.reading.json_text import parse_json

    data = read_bytes_of(path)
    if not formats.looks_like_json(data):
        return None
    with naming_file(path):
        return formats.is_plan(parse_json(data))


def _form(args: argparse.Namespace) -> str:
    """What is written; an InputError for options that are not about that."""
    form: str = args.output_format or loops_by_suffix(args.output) or _page_format(args.output)
    if args.prefix is not None and form != LOOPS_HEADER:
        _refuse("unused_option", "--prefix", "it is for loops in C: name an output such as net.loops.h")
    if form in LOOPS and args.output is None:
        _refuse("no_output", "--output", "name the file for the loops; - writes to standard output")
    if form in LOOPS and args.other is not None:
        _refuse("two_plans", "OTHER", "loops are those of one plan; leave the other out")
    if form in LOOPS and args.problem is None:
        _refuse("no_problem", "--problem", "loops are those of a graph's operators; give the graph")
    return form


def _page_format(path: str | None) -> str:
    """The format of a page; an InputError for a name that ends as that of something else."""
    if suffix_of(path) not in ("", ".html", ".htm"):
        message = (
            f"{plain(suffix_of(path))} is not a supported format: use a name that ends with .html, or for "
            f"loops with {', '.join(LOOPS_SUFFIXES)}; or choose with --output-format"
        )
        _refuse("unknown_suffix", plain(path or ""), message)
    return "html"


def _write_loops(args: argparse.Namespace, form: str) -> None:
    if args.point is not None:
        refuse_plan_format_of_front(args)
    document = read_document(args.problem, args)
    chosen = read_chosen_plan(args.plan, document, args.plan_format, args.point, args.target)
    with naming_file(args.plan):
        data = loops_content(chosen.document, chosen.plan, form, args.prefix)
    write_out(data, args.output)


def _front_among(args: argparse.Namespace) -> tuple[str, str] | None:
    """The file of a front and that of what it is a front of; None: none is given."""
    if args.other is not None and args.problem is not None:
        return None
    paths = [args.plan, args.other or args.problem]
    for path, source in (paths, paths[::-1]):
        if path in (None, STDIN) or not is_front(read_bytes_of(path)):
            continue
        if source is None:
            message = "a front has plans, which name buffers, but not their sizes; give what it is a front of"
            _refuse("no_problem", "--problem", message)
        return path, source
    return None


def _show_front(path: str, source: str, args: argparse.Namespace) -> int:
    from memstow.api.cli.pages import front_page, plans_left_out
    from memstow.planner.front.front_documents import read_front

    refuse_plan_format_of_front(args)
    document = read_document(source, args)
    with naming_file(path):
        front = read_front(read_bytes_of(path))
    number = len(front.points)
    if args.point is not None and args.point > number:
        _refuse("no_point", "--point", f"the front has points 1 to {number}; name one of them")
    shown = front_page(document, front, source, None if args.point is None else args.point - 1)
    left_out = plans_left_out(shown, front)
    if left_out is not None:
        print_error(left_out)
    show_page(shown.page, args.output)
    return Exit.DONE


def _read_both(files: list[str], args: argparse.Namespace) -> "tuple[Problem | Graph, list[Plan]]":
    document = read_document(args.problem, args)
    # What an allocator did is in the format of its recording; --plan-format is of the plan beside it.
    own = args.problem if len(set(files)) > 1 else None
    plans = [
        read_plan(path, problem_of(document), None if path == own else args.plan_format) for path in files
    ]
    _refuse_other_orders(document, files, plans)
    problems = [problem_of(document, plan) for plan in plans]
    if problems[-1] != problems[0]:
        _refuse(
            "other_order",
            "OTHER",
            "the two plans are of different orders of the graph; only maps of one order compare",
        )
    _refuse_nothing(files, plans)
    _refuse_other_problems(document, files, plans)
    return document, plans


def _refuse_other_orders(document: "Problem | Graph", files: list[str], plans: "list[Plan]") -> None:
    """An order that the graph does not allow has no map."""
    from memstow.planner.graph.schedules import allowed_order, only_orders, scheduled_graph
    from memstow.planner.model.problem import Problem

    for path, plan in zip(files, plans, strict=True):
        if plan.schedule is None or isinstance(document, Problem):
            continue
        with naming_file(path):
            if only_orders(plan.schedule):
                allowed_order(document, plan.schedule.order)
            else:
                scheduled_graph(document, plan.schedule)


def _refuse_other_problems(document: "Problem | Graph", files: list[str], plans: "list[Plan]") -> None:
    """Plans of two problems do not compare; of one for another problem than the given it is only said."""
    from memstow.planner.model.digest import digest
    from memstow.planner.model.problem import Problem

    if len({plan.digest for plan in plans if plan.digest is not None}) > 1:
        _refuse("other_problem", "OTHER", "the two plans are for different problems, as their digests say")
    if not isinstance(document, Problem):
        return
    for path, plan in zip(files, plans, strict=True):
        if plan.digest not in (None, digest(document)):
            print_error(
                f"{plain(path, most=200)}: the plan is for another problem, as its digest says; "
                "give the options with which it was made"
            )


# Options of documents that plans are not.
_OF_PROBLEMS: Final = (
    options.VIEW_AT,
    options.ORDER,
    options.DIM,
    options.IN_PLACE,
    options.NO_IN_PLACE,
)


def _read_alone(files: list[str], args: argparse.Namespace) -> "tuple[Problem, list[Plan]]":
    """Plans that say what their buffers are: rows with an offset each, or what an allocator did."""
    from memstow.planner import formats
    from memstow.planner.targets import with_overrides

    contents = [read_bytes_of(path) for path in files]
    if any(map(formats.looks_like_json, contents)) or args.target is not None:
        _refuse(
            "no_problem",
            "--problem",
            "a plan names buffers, but not their sizes and lifetimes; give its problem",
        )
    of_problem = first_named(args, _OF_PROBLEMS)
    if of_problem is not None:
        message = "it is for what --problem names, and that is not there; leave it out"
        _refuse("unused_option", of_problem.spelling, message)
    problems = []
    for path, data in zip(files, contents, strict=True):
        with naming_file(path), naming_option("device", options.DEVICE.spelling):
            document = formats.read_document(data, args.format, device=args.device)
        problems.append(_without_pins(problem_of(document)))
    first, last = (
        {buffer.id: buffer for buffer in problem.buffers} for problem in (problems[0], problems[-1])
    )
    if first != last:
        _refuse(
            "other_problem",
            "OTHER",
            "the two plans are not of the same buffers; only plans of one problem compare",
        )
    changed = with_overrides(problems[0], None, args.capacity, args.fit_only)
    return changed, [formats.read_plan(data, changed, args.plan_format) for data in contents]


def _without_pins(problem: "Problem") -> "Problem":
    """The offsets of a plan in CSV are its places; as a problem they would be pins."""
    return replace(
        problem, buffers=tuple(replace(buffer, pool=None, offset=None) for buffer in problem.buffers)
    )


def _refuse_nothing(files: list[str], plans: "list[Plan]") -> None:
    """Two plans are compared by their places, so both need some."""
    if len(plans) == 2:
        for path, plan in zip(files, plans, strict=True):
            if plan.status not in PLANNED:
                _refuse(
                    "no_places",
                    plain(path, most=200),
                    f"its status is {plan.status}: it has no places to compare",
                )


def _refuse(code: str, path: str, message: str) -> NoReturn:
    raise InputError.single(code, path, message)
