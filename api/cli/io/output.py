"""Writing results: to standard output, or to a file atomically; a plan also as a picture."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.io.terminal import columns, draws_unicode, print_error
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem

STDOUT = "-"
WRITABLE = ("json", "csv", "structured")
PICTURE = "svg"
PICTURE_SUFFIX = f".{PICTURE}"
_FORMAT_OF = {"": "json", ".json": "json", ".csv": "csv"}


def write_out(data: bytes, path: str | None) -> None:
    """Write to the file, or to standard output if the path is None or -."""
    if path is None or path == STDOUT:
        to_stdout(data)
    else:
        replace_file(Path(path), data)


def to_stdout(data: bytes) -> None:
    """Write bytes to standard output, whatever encoding the terminal has."""
    sys.stdout.flush()
    rest = memoryview(data)
    while rest:
        # If Python runs unbuffered, this is a raw file, which may write only a part.
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def replace_file(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it: readers see the old content or the new, never a part.

    A pipe or a device such as /dev/stdout cannot be replaced and is written to directly.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with scratch.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            scratch.chmod(target.stat().st_mode)
        scratch.replace(target)
    except BaseException as error:
        with suppress(OSError):
            scratch.unlink()
        if isinstance(error, OSError):
            # The user does not know about the temporary file.
            error.filename, error.filename2 = str(path), None
        raise


def refuse_unwritable(*paths: str | None) -> None:
    """Report files that cannot be written before the work, not after it."""
    for path in paths:
        if path is None or path == STDOUT:
            continue
        folder = os.path.dirname(os.path.realpath(path))
        if not path or os.path.isdir(path):
            why = "this is a directory" if path else "the name of the file is empty"
        elif not os.path.isdir(folder):
            why = "there is no such folder"
        elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
            why = "permission to write is missing"
        else:
            continue
        from memstow.planner.model.errors import InputError

        raise InputError.single("not_writable", plain(path), f"{why}; name a file that can be written")


def format_of(path: str | None, chosen: str | None) -> str:
    """The format to write: the chosen one, else by the suffix of the name; JSON if it has none."""
    if chosen is not None:
        return chosen
    suffix = _suffix(path)
    if suffix not in _FORMAT_OF:
        from memstow.planner.model.errors import InputError

        hint = (
            "a picture is drawn with --picture"
            if suffix == PICTURE_SUFFIX
            else "or choose with --output-format"
        )
        message = (
            f"{plain(suffix)} is not a supported format: use a name that ends with .json or .csv; {hint}"
        )
        raise InputError.single("unknown_suffix", plain(path or ""), message)
    return _FORMAT_OF[suffix]


def refuse_other_pictures(path: str | None) -> None:
    """Reject a picture whose file name has the suffix of another format."""
    suffix = _suffix(path)
    if suffix not in ("", PICTURE_SUFFIX):
        from memstow.planner.model.errors import InputError

        message = f"{plain(suffix)} is not supported for pictures: use a name that ends with {PICTURE_SUFFIX}"
        raise InputError.single("unknown_suffix", plain(path or ""), message)


def _suffix(path: str | None) -> str:
    """The suffix of a file name; empty for names like `model-1.5`, pipes and devices."""
    if path is None or path == STDOUT or (os.path.exists(path) and not os.path.isfile(path)):
        return ""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix[1:2].isalpha() else ""


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the outputs."""
    results = parser.add_argument_group("results")
    results.add_argument("-o", "--output", metavar="FILE", help="write the plan to this file")
    results.add_argument(
        "--output-format",
        choices=WRITABLE,
        help="format of the plan (default: as the file's name ends, .json or .csv); "
        "without --output, prints only the plan in this format",
    )
    results.add_argument("--picture", metavar="FILE", help="draw the plan to this .svg file")
    results.add_argument("--json", action="store_true", help="print only the plan, as JSON")


def check_results(args: argparse.Namespace) -> None:
    """Report outputs that are impossible before the search, not after it."""
    from memstow.planner.model.errors import InputError

    if len(_printed_forms(args)) > 1:
        listed = " and ".join(sorted(_printed_forms(args)))
        message = f"standard output can hold only one of {listed}; write the other to a file"
        raise InputError.single("two_outputs", "arguments", message)
    refuse_unwritable(args.output, args.picture)
    for one, other, what in (
        (args.output, args.picture, "the plan and its picture"),
        (args.output, args.file, "the plan and the problem"),
        (args.picture, args.file, "the picture and the problem"),
    ):
        if one != STDOUT and _same_file(one, other):
            message = f"{what} cannot be the same file; choose another name for the output"
            raise InputError.single("one_file_twice", plain(one), message)
    format_of(args.output, args.output_format)
    refuse_other_pictures(args.picture)


def write_results(args: argparse.Namespace, problem: "Problem", plan: "Plan") -> None:
    """Write the plan to all outputs that were selected."""
    from memstow.planner.model.plan import PLANNED

    has_plan = plan.status in PLANNED
    if args.output is not None and args.output != STDOUT:
        _write(args.output, format_of(args.output, args.output_format), problem, plan, has_plan)
    alone = _printed_forms(args)
    if not alone:
        _show(problem, plan)
    for form in alone - {PICTURE}:
        _write(STDOUT, form, problem, plan, has_plan)
    if args.picture is not None:
        _draw(args.picture, problem, plan, has_plan)


def _printed_forms(args: argparse.Namespace) -> set[str]:
    """The formats to print to standard output instead of the table."""
    forms = {"json"} if args.json else set()
    if args.output == STDOUT or (args.output is None and args.output_format is not None):
        forms.add(format_of(None, args.output_format))
    if args.picture == STDOUT:
        forms.add(PICTURE)
    return forms


def _same_file(one: str | None, other: str | None) -> bool:
    """Whether both paths are the same plain file."""
    if one is None or other is None or (os.path.exists(one) and not os.path.isfile(one)):
        return False
    return os.path.realpath(one) == os.path.realpath(other)


def _write(path: str, form: str, problem: "Problem", plan: "Plan", has_plan: bool) -> None:
    from memstow.planner import formats

    if has_plan or form == "json":
        write_out(formats.write_plan(problem, plan, form), path)
    else:
        what = "nothing is printed" if path == STDOUT else f"{plain(path)} is not written"
        print_error(f"{what}: there is no plan ({plan.status}), and {form} cannot represent that")


def _draw(path: str, problem: "Problem", plan: "Plan", has_plan: bool) -> None:
    if not has_plan:
        what = "no picture" if path == STDOUT else f"{plain(path)} is not drawn"
        print_error(f"{what}: there is no plan ({plan.status})")
        return
    from memstow.planner.show.svg_picture import svg

    write_out(svg(problem, plan).encode(), path)


def _show(problem: "Problem", plan: "Plan") -> None:
    from memstow.planner.show.report import plan_report
    from memstow.planner.show.text_picture import ASCII, UNICODE

    glyphs = UNICODE if draws_unicode(sys.stdout) else ASCII
    print(plan_report(problem, plan, columns(sys.stdout), glyphs))
