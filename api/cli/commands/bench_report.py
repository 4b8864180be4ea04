"""`memstow bench report`: a report of the results of a run, with tables and figures."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.commands.bench_arguments import instances_of, two_solvers
from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command, whole
from memstow.api.cli.io.output import replace_file
from memstow.api.cli.io.page_file import page_of_run
from memstow.api.cli.io.problem_input import naming_option

if TYPE_CHECKING:
    from memstow.planner.bench.analysis.best_known import Best
    from memstow.planner.bench.instances.sources import Instances
    from memstow.planner.bench.records.results import Run
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem

MOST_PICTURES = 10_000


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "report",
        "write a report of the results as HTML, Markdown and CSV",
        details="""
Writes report.html, a single self-contained file; report.md with its figures; report.tex, tables for LaTeX;
and runs.csv and summary.csv.
The same results give the same files. Needs matplotlib (extra: bench).""",
        examples="""
memstow bench report results
memstow bench report results --update-best --best best_known.json
memstow bench report results --figures pdf --output paper
memstow bench report results --interactive --pictures 20
memstow bench report results --output page --title 'Release 1.2' --scatter exact,cpsat
""",
    )
    parser.add_argument("folder", metavar="DIR", help="folder with the results, or a results.jsonl")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="folder to write to (default: that of the results)"
    )
    _add_comparison(parser)
    _add_pictures(parser)
    parser.set_defaults(run=run)


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="TEXT", help="title of the report (default: the folder's name)")
    parser.add_argument(
        "--best",
        metavar="FILE",
        help="file with the best known values (default: best_known.json beside the results)",
    )
    parser.add_argument(
        "--update-best",
        action="store_true",
        help="update that file with better values, from verified plans only",
    )
    parser.add_argument(
        "--scatter",
        type=two_solvers,
        metavar="A,B",
        help="two solvers to compare in the scatter plot (default: the best two)",
    )


def _add_pictures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--figures",
        choices=("svg", "pdf"),
        default="svg",
        help="format of the figures; pdf also writes them as PDF, for papers (default: svg)",
    )
    parser.add_argument(
        "--problems",
        action="append",
        default=[],
        metavar="PATH",
        help="where the problems are now, as for `bench run`; may be repeated "
        "(default: where they were during the run)",
    )
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="link to a page of each plan of the instances with a picture, as of `memstow view`; without it "
        "nothing of the report has a script",
    )
    parser.add_argument(
        "--pictures",
        type=whole(0, MOST_PICTURES),
        metavar="N",
        help="maximum number of memory pictures, those where solvers differ most first (default: 100)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the report and print the names of its files."""
    from memstow.planner.bench.analysis.best_known import to_json
    from memstow.planner.bench.analysis.ratios import rate
    from memstow.planner.bench.instances.problem import find_problems
    from memstow.planner.bench.records.folder import BEST
    from memstow.planner.bench.records.results import read
    from memstow.planner.bench.report import MOST_MEMORY_PICTURES, figures, report
    from memstow.planner.bench.report.plan_pages import FOLDER
    from memstow.planner.show.formatting import plain

    results = read(Path(args.folder))
    folder = results.path.parent
    best = folder / BEST if args.best is None else Path(args.best)
    bench = rate(results, _known(best, needed=args.best is not None and not args.update_best))
    sources = _sources(args.problems, folder)
    output = folder if args.output is None else Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    pages: list[str] = []

    def viewer(file: str, problem: "Problem", plan: "Plan", run: "Run") -> None:
        (output / file).parent.mkdir(exist_ok=True)
        replace_file(output / file, page_of_run(problem, plan, run))
        pages.append(file)

    with naming_option("pair", "--scatter"):
        made = report(
            bench,
            args.title or f"memstow bench: {folder.resolve().name}",
            lambda wanted: find_problems(sources, results.runs, wanted),
            pair=args.scatter,
            memory_pictures=MOST_MEMORY_PICTURES if args.pictures is None else args.pictures,
            viewer=viewer if args.interactive else None,
        )
    written = {name: text.encode() for name, text in made.items()}
    if args.figures == "pdf":
        written |= figures(bench, args.scatter)
    for name, data in written.items():
        replace_file(output / name, data)
        print(plain(str(output / name)))
    if pages:
        print(plain(f"{output / FOLDER}: {len(pages):,} {'page' if len(pages) == 1 else 'pages'}"))
    if args.update_best:
        replace_file(best, to_json(bench.known))
        print(plain(str(best)))
    return Exit.DONE


def _known(path: Path, needed: bool) -> "dict[str, Best]":
    from memstow.planner.bench.analysis.best_known import from_json
    from memstow.planner.reading.source import read_bytes

    return from_json(read_bytes(path), str(path)) if needed or path.exists() else {}


def _sources(paths: list[str], folder: Path) -> "list[Instances]":
    """The given paths of problems, or those recorded during the run that still exist."""
    from memstow.planner.bench.instances.problem import read_paths
    from memstow.planner.model.errors import InputError

    if paths:
        return [instances_of(path) for path in paths]
    found = []
    for path in read_paths(folder):
        try:
            found.append(instances_of(path))
        except InputError:
            continue
    return found
