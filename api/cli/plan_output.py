"""The outputs of a plan: files by their suffixes, what is printed, the picture, and the loops of a graph."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from memstow.api.cli.output_files import (
    OR_CHOOSE,
    PICTURE,
    PICTURE_SUFFIX,
    STDOUT,
    format_of,
    refuse_one_file_twice,
    refuse_other_pictures,
    refuse_unwritable,
    suffix_of,
    unknown_suffix,
    write_out,
)
from memstow.api.cli.terminal import columns as screen_width
from memstow.api.cli.terminal import draws_unicode, print_error
from memstow.api.options import EXPORTS, LOOPS, MODEL, PROGRAMS, STEP_TABLE, SUFFIXES
from memstow.planner.graph.documents import labels_in, problem_of
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.exports.naming import Naming
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem
    from memstow.planner.plain._columns import Columns
    from memstow.planner.plain.column_documents import PlainPlan
    from memstow.planner.show.text_picture import Glyphs


LOOPS_HEADER: Final = LOOPS[2]
LOOPS_SUFFIXES: Final = dict(zip((".loops.json", ".loops.txt", ".loops.h", ".loops.svg"), LOOPS, strict=True))


def loops_by_suffix(path: str | None) -> str | None:
    """The format that the end of the name tells, if it is one of loops."""
    return next((form for end, form in LOOPS_SUFFIXES.items() if (path or "").lower().endswith(end)), None)


def graph_with_loops(document: "Problem | Graph") -> "Graph":
    """The document as a graph; an InputError if it is none: a problem says nothing of operators."""
    from memstow.planner.model.graph import Graph

    if isinstance(document, Graph):
        return document
    from memstow.planner.loops import no_loops

    raise no_loops("--output")


def loops_content(document: "Problem | Graph", plan: "Plan", form: str, prefix: str | None) -> bytes:
    """The table in this format."""
    from memstow.planner.exports.naming import DEFAULT_PREFIX
    from memstow.planner.loops import loops, write_loops

    table = loops(graph_with_loops(document), plan)
    return write_loops(table, form, prefix=DEFAULT_PREFIX if prefix is None else prefix)


# Where --prefix says how names begin.
_WITH_NAMES: Final = (*EXPORTS, LOOPS_HEADER)


@record
class Output:
    """A file to write, or standard output, and its format."""

    path: str
    form: str

    @property
    def is_printed(self) -> bool:
        """Whether it goes to standard output."""
        return self.path == STDOUT


def check_results(args: argparse.Namespace) -> None:
    """Report outputs that are impossible before the search, not after it."""
    outputs = _outputs(args)
    if len(_printed_forms(args, outputs)) > 1 or sum(output.is_printed for output in outputs) > 1:
        listed = " and ".join(sorted({*_printed_forms(args, outputs)})) or "output"
        message = f"standard output can hold only one of {listed}; write the other to a file"
        raise InputError.single("two_outputs", "arguments", message)
    refuse_unwritable(*(output.path for output in outputs), args.picture, args.lock)
    written = [(output.path, "the plan") for output in outputs if not output.is_printed]
    written += [(args.picture, "its picture")] if args.picture not in (None, STDOUT) else []
    written += [(args.lock, "its lock")] if args.lock is not None else []
    refuse_one_file_twice(written, {"the problem": args.file})
    refuse_other_pictures(args.picture)
    if (
        args.output_format is not None
        and len(outputs) > 1
        and all(_format_by_suffix(output.path) for output in outputs)
    ):
        message = "the name of each output tells its format; leave it out"
        raise InputError.single("unused_option", "--output-format", message)
    forms = {output.form for output in _with_printed(args, outputs)}
    if (args.prefix and forms.isdisjoint(_WITH_NAMES)) or (args.section and forms.isdisjoint(EXPORTS)):
        option = "--prefix" if args.prefix and forms.isdisjoint(_WITH_NAMES) else "--section"
        message = "it is for source code, and no output is: name one such as --output net.h, or leave it out"
        raise InputError.single("unused_option", option, message)


def check_names(args: argparse.Namespace, document: "Problem | Graph") -> None:
    """Report prefixes, sections and outputs that are impossible for this document, before the search."""
    outputs = _with_printed(args, _outputs(args))
    if any(output.form in LOOPS for output in outputs):
        graph_with_loops(document)
    if any(output.form in _WITH_NAMES for output in outputs):
        from memstow.planner.exports.naming import check_naming

        check_naming(problem_of(document), _naming(args, outputs))


def wants_model(args: argparse.Namespace) -> bool:
    """Whether an output is a model."""
    return any(output.form == MODEL for output in _with_printed(args, _outputs(args)))


def wants_json(args: argparse.Namespace) -> bool:
    """Whether an output is the plan as JSON."""
    outputs = _outputs(args)
    return "json" in {*_printed_forms(args, outputs), *(output.form for output in outputs)}


def write_results(
    args: argparse.Namespace, document: "Problem | Graph", plan: "Plan", model: bytes | None = None
) -> bool:
    """Write the plan to all outputs that were selected; none is written if one of them is refused.

    `model` has the plan in it. Returns whether standard output has room for more than the plan.
    """
    has_plan = plan.status in PLANNED
    outputs = _outputs(args)
    alone = _printed_forms(args, outputs)
    wanted = [output for output in outputs if not output.is_printed]
    wanted += [Output(STDOUT, form) for form in sorted(alone - {PICTURE})]
    contents = [
        (
            output,
            loops_content(document, plan, output.form, args.prefix)
            if has_plan and output.form in LOOPS
            else _content(output, document, plan, lambda: _naming(args, outputs), model),
        )
        for output in wanted
    ]
    for output, content in contents:
        if content is not None:
            write_out(content, output.path)
    if args.picture is not None:
        _draw(args.picture, document, plan, has_plan)
    # Last: a reader that closes the pipe early, as in `... | head`, ends the run.
    shows = not alone and not args.quiet
    if shows:
        from memstow.planner.show.report import plan_report

        problem, labels = problem_of(document, plan), labels_in(document)
        print(plan_report(problem, plan, screen_width(sys.stdout), _glyphs(), labels))
    return shows


def wants_columns_only(args: argparse.Namespace) -> bool:
    """Whether every output can be written from columns: the plan as JSON or CSV, and the report."""
    outputs = _with_printed(args, _outputs(args))
    return (
        args.picture is None and not args.open and all(output.form in ("json", "csv") for output in outputs)
    )


def writes_anything(args: argparse.Namespace) -> bool:
    """Whether there is an output, or standard output shows something."""
    outputs = _outputs(args)
    return bool(outputs or _printed_forms(args, outputs) or not args.quiet or args.picture)


def write_plain_results(args: argparse.Namespace, columns: "Columns", plan: "PlainPlan") -> None:
    """The same as `write_results` for a plan in columns, where the outputs allow it."""
    from memstow.planner.plain.column_documents import plan_of, problem_of, write_plan

    outputs = _outputs(args)
    alone = _printed_forms(args, outputs)
    wanted = [output for output in outputs if not output.is_printed]
    wanted += [Output(STDOUT, form) for form in sorted(alone)]
    if columns.related and (any(o.form != "json" for o in wanted) or not (alone or args.quiet)):
        # A table, and the report, have more to say of pins and relations.
        problem = problem_of(columns)
        write_results(args, problem, plan_of(columns, plan, problem))
        return
    contents = [(output.path, write_plan(columns, plan, output.form)) for output in wanted]
    for path, content in contents:
        write_out(content, path)
    if not alone and not args.quiet:
        from memstow.planner.show.report import plain_report

        print(plain_report(columns, plan, screen_width(sys.stdout), _glyphs()))


def _outputs(args: argparse.Namespace) -> list[Output]:
    """The outputs that were named, with their formats."""
    paths: Sequence[str] = args.output or ()
    chosen: str | None = args.output_format
    if len(paths) == 1 and chosen is not None:
        return [Output(paths[0], chosen)]
    return [Output(path, _format_by_suffix(path) or _format_otherwise(path, chosen)) for path in paths]


def _with_printed(args: argparse.Namespace, outputs: Sequence[Output]) -> list[Output]:
    """These, and what is printed although no output was named."""
    printed = not outputs and args.output_format is not None
    return [*outputs, *([Output(STDOUT, args.output_format)] if printed else [])]


def _format_by_suffix(path: str) -> str | None:
    """The format that the suffix of the name tells."""
    if (form := loops_by_suffix(path)) is not None:
        return form
    if path.lower().endswith(f".{PROGRAMS}.json"):
        return PROGRAMS
    suffix = suffix_of(path)
    if suffix in ("", ".json", ".csv", f".{STEP_TABLE}", f".{MODEL}"):
        return suffix[1:] or None
    from memstow.planner.exports import SUFFIXES

    return next((form for end, form in SUFFIXES.items() if path.lower().endswith(end)), None)


def _format_otherwise(path: str, chosen: str | None) -> str:
    if chosen is None and suffix_of(path):
        instead = "a picture is drawn with --picture" if suffix_of(path) == PICTURE_SUFFIX else OR_CHOOSE
        raise unknown_suffix(path, f"use a name that ends with {SUFFIXES}; {instead}")
    return format_of(None, chosen)


def _naming(args: argparse.Namespace, outputs: Sequence[Output]) -> "Naming":
    from memstow.planner.exports.naming import DEFAULT_PREFIX, Naming, sections_of

    headers = [output.path for output in outputs if output.form == "c-header" and not output.is_printed]
    return Naming(
        prefix=DEFAULT_PREFIX if args.prefix is None else args.prefix,
        sections=sections_of(args.section or ()),
        header=os.path.basename(headers[0]) if headers else None,
    )


def _printed_forms(args: argparse.Namespace, outputs: Sequence[Output]) -> set[str]:
    """The formats to print to standard output instead of the table."""
    forms = {"json"} if args.json else set()
    forms |= {output.form for output in _with_printed(args, outputs) if output.is_printed}
    if args.picture == STDOUT:
        forms.add(PICTURE)
    return forms


def _content(
    output: Output,
    document: "Problem | Graph",
    plan: "Plan",
    make_naming: "Callable[[], Naming]",
    model: bytes | None,
) -> bytes | None:
    """What goes into the output; None where there is no plan, which is said."""
    has_plan = plan.status in PLANNED
    if output.form == MODEL and model is not None:
        return model
    if has_plan and output.form in EXPORTS:
        from memstow.planner.exports import export

        naming = make_naming()
        return export(
            problem_of(document, plan),
            plan,
            output.form,
            prefix=naming.prefix,
            sections=naming.sections,
            header=naming.header,
            labels=labels_in(document),
        )
    if has_plan or output.form == "json":
        from memstow.planner import formats

        # A schedule that does more than order is in the problem, for formats that have no place for it.
        of = document if output.form == "json" else problem_of(document, plan)
        return formats.write_plan(of, plan, output.form)
    what = "nothing is printed" if output.is_printed else f"{plain(output.path)} is not written"
    print_error(f"{what}: there is no plan ({plan.status}), and {output.form} cannot represent that")
    return None


def _draw(path: str, document: "Problem | Graph", plan: "Plan", has_plan: bool) -> None:
    if not has_plan:
        what = "no picture" if path == STDOUT else f"{plain(path)} is not drawn"
        print_error(f"{what}: there is no plan ({plan.status})")
        return
    from memstow.planner.show.svg_picture import svg

    write_out(svg(problem_of(document, plan), plan).encode(), path)


def _glyphs() -> "Glyphs":
    from memstow.planner.show.text_picture import ASCII, UNICODE

    return UNICODE if draws_unicode(sys.stdout) else ASCII
