"""`memstow bench`: run solvers on problems; report, compare and repeat the results; list public sets."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memstow.api.cli.commands import bench_run
from memstow.api.cli.commands.bench_run import instances_of
from memstow.api.cli.output_files import replace_file
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.problem_input import naming_option
from memstow.api.cli.terminal import Exit, print_error
from memstow.api.options import Choice, Flag, Option, Pair, Real, Text, Whole

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from memstow.planner.bench.analysis import Best
    from memstow.planner.bench.instances import Instances, LocalSet
    from memstow.planner.bench.journal import Run
    from memstow.planner.bench.library_records import Offered
    from memstow.planner.instance_library.records import Credit, Library
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


MOST_PICTURES = 10_000
SETS_VARIABLE = "MEMSTOW_SETS"
_MOST_DIFFERING: Final = 20

_REPORT: Final = Option(
    "output", "folder to write to", Text(), "DIR", otherwise="that of the results", short="-o"
)
_TITLE: Final = Option("title", "title of the report", Text(), "TEXT", otherwise="the folder's name")
_BEST: Final = Option(
    "best",
    "file with the best known values",
    Text(),
    "FILE",
    otherwise="``best_known.json`` beside the results",
)
_UPDATE_BEST: Final = Option(
    "update_best", "update that file with better values, from verified plans only", Flag()
)
_SCATTER: Final = Option(
    "scatter", "two solvers to compare in the scatter plot", Text(), "A,B", otherwise="the best two"
)
_FIGURES: Final = Option(
    "figures",
    "format of the figures; for papers ``pdf`` writes them as PDF as well, ``pgf`` for LaTeX with pgfplots",
    Choice(("svg", "pdf", "pgf")),
    default="svg",
)
_AGAINST: Final = Option(
    "against", "compare each solver with this one", Text(), "SOLVER", otherwise="each two of them"
)
_PROBLEMS: Final = Option(
    "problems",
    "where the problems are now, as for `bench run`",
    Text(),
    "PATH",
    is_repeated=True,
    otherwise="where they were during the run",
)
_INTERACTIVE: Final = Option(
    "interactive",
    "link to a page of each plan of the instances with a picture, as of `memstow view`; without it nothing "
    "of the report has a script",
    Flag(),
    more=" ([page.md](page.md))",
)
_PICTURES: Final = Option(
    "pictures",
    "maximum number of memory pictures, those where solvers differ most first",
    Whole(0, MOST_PICTURES),
    "N",
    otherwise="100",
)
_PAIR: Final = Option(
    "solvers",
    "compare these two solvers, B as the new one; only what {fail_on} names decides the exit code",
    Text(),
    "A,B",
)
_MEASURES: Final = Option("measures", "comma-separated measures to compare", Text(), "LIST", otherwise="all")
_FAIL_ON: Final = Option(
    "fail_on",
    "measures that decide the exit code",
    Text(),
    "LIST",
    otherwise="all but times and memory",
)
_TOLERANCE: Final = Option(
    "tolerance", "relative difference of means that counts as equal", Real(0, 10), "F", default=0.01
)
_SIGNIFICANCE: Final = Option(
    "significance", "significance level of the tests", Real(0, 1), "P", default=0.05
)
_COMPARISON_JSON: Final = Option("json", "print the comparison as JSON", Flag())
_BUNDLE: Final = Option(
    "output", "file to write", Text(), "FILE", otherwise="``bundle.tar.gz`` beside the results", short="-o"
)
_ALLOW_MISSING: Final = Option(
    "allow_missing", "leave out problems that are not where they were, and their runs", Flag()
)
_RERUN: Final = Option(
    "output", "folder of the results, in ``old`` and ``new``", Text(), "DIR", default="rerun", short="-o"
)
_PROGRAM: Final = Option(
    "program",
    "where an external program of the bundle is on this machine; without it its runs are left out",
    Pair("a solver and its program", "minimalloc=build/minimalloc", is_number=False),
    "NAME=PATH",
    is_repeated=True,
)
_JOBS: Final = Option("jobs", "number of runs at the same time", Whole(1, 4096), "N", default=1)
_RESUME: Final = Option("resume", "continue an interrupted run", Flag())
_FOLDER: Final = Option(
    "folder", "folder that contains the sets", Text(), "DIR", otherwise=f"``{SETS_VARIABLE}``, or none"
)
_SETS_JSON: Final = Option("json", "print the list as JSON", Flag())


def _add_report(commands: "Commands[argparse.ArgumentParser]") -> None:
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
memstow bench report results --figures pgf --against exact --output paper
memstow bench report results --interactive --pictures 20
memstow bench report results --output page --title 'Release 1.2' --scatter exact,cpsat
""",
    )
    parser.add_argument("folder", metavar="DIR", help="folder with the results, or a results.jsonl")
    add_options(parser, _REPORT, _TITLE, _BEST, _UPDATE_BEST)
    add_option(parser, _SCATTER, type=_two_solvers)
    add_options(parser, _FIGURES, _AGAINST)
    add_option(parser, _PROBLEMS, default=[])
    add_options(parser, _INTERACTIVE, _PICTURES)
    parser.set_defaults(run=_run_report)


def _run_report(args: argparse.Namespace) -> int:
    """Write the report and print the names of its files."""
    from memstow.planner.bench.analysis import rate, to_json
    from memstow.planner.bench.instances import find_problems
    from memstow.planner.bench.journal import read
    from memstow.planner.bench.library_records import with_libraries
    from memstow.planner.bench.record import BEST
    from memstow.planner.bench.report import FOLDER, MOST_MEMORY_PICTURES, figures, report
    from memstow.planner.show.formatting import plain

    results = read(Path(args.folder))
    folder = results.path.parent
    best = folder / BEST if args.best is None else Path(args.best)
    sources = _sources(args.problems, folder)
    known = _known(best, needed=args.best is not None and not args.update_best)
    bench = rate(results, with_libraries(known, sources, results.runs))
    output = folder if args.output is None else Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    pages: list[str] = []

    def viewer(file: str, problem: "Problem", plan: "Plan", run: "Run") -> None:
        (output / file).parent.mkdir(exist_ok=True)
        replace_file(output / file, _page_of_run(problem, plan, run))
        pages.append(file)

    with naming_option("pair", "--scatter"), naming_option("against", "--against"):
        texts = report(
            bench,
            args.title or f"memstow bench: {folder.resolve().name}",
            lambda wanted: find_problems(sources, results.runs, wanted),
            pair=args.scatter,
            memory_pictures=MOST_MEMORY_PICTURES if args.pictures is None else args.pictures,
            viewer=viewer if args.interactive else None,
            against=args.against,
        )
    written = {name: text.encode() for name, text in texts.items()}
    if args.figures == "pdf":
        written |= figures(bench, args.scatter)
    elif args.figures == "pgf":
        from memstow.planner.bench.report_pgf import pgf_figures

        written |= pgf_figures(bench)
    for name, data in written.items():
        replace_file(output / name, data)
        print(plain(str(output / name)))
    if pages:
        print(plain(f"{output / FOLDER}: {len(pages):,} {'page' if len(pages) == 1 else 'pages'}"))
    if args.update_best:
        replace_file(best, to_json(bench.known))
        print(plain(str(best)))
    return Exit.DONE


def sections_and_style(results: str) -> tuple[str, bytes]:
    """What the report of these results says, for a page with another frame, and its style."""
    from memstow.planner.bench.analysis import rate
    from memstow.planner.bench.journal import read
    from memstow.planner.bench.record import BEST
    from memstow.planner.bench.report import STYLE, sections

    read_results = read(Path(results))
    known = _known(read_results.path.parent / BEST, needed=False)
    return sections(rate(read_results, known)), STYLE.encode()


def submit_to(
    library: "Library", results: str, credit: "Credit", cancel: "threading.Event"
) -> "Iterator[Offered]":
    """Take what is better in these results for the records of a library."""
    from memstow.planner.bench.journal import read
    from memstow.planner.bench.library_records import submit_results

    return submit_results(library, read(Path(results)), credit, cancel)


def _page_of_run(problem: "Problem", plan: "Plan", run: "Run") -> bytes:
    """The page of a recorded plan, with the course of the run."""
    from memstow.api.page.offline import page_alone
    from memstow.planner.show.formatting import plain
    from memstow.planner.show.view_document import SearchStep, plan_document

    title = plain(f"{run.instance.name}: {run.solver}", most=200)
    events = run.record.events
    steps = [SearchStep(event.seconds, event.incumbent, event.bound, run.solver) for event in events]
    return page_alone(plan_document(problem, problem, plan, title, steps), title)


def _known(path: Path, needed: bool) -> "dict[str, Best]":
    from memstow.planner.bench.analysis import from_json
    from memstow.planner.reading.json_text import read_bytes

    return from_json(read_bytes(path), str(path)) if needed or path.exists() else {}


def _sources(paths: list[str], folder: Path) -> "list[Instances]":
    """The given paths of problems, or those recorded during the run that still exist."""
    from memstow.planner.bench.instances import read_paths
    from memstow.planner.model.errors import InputError

    if paths:
        return [instances_of(path) for path in paths]
    sources = []
    for path in read_paths(folder):
        try:
            sources.append(instances_of(path))
        except InputError:
            continue
    return sources


def _add_compare(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "show what got better or worse between two runs or solvers, with significance tests",
        details="""
OLD and NEW are folders with results, or results.jsonl files. Runs are paired by instance, solver and seed. A
difference must be statistically significant, unless both runs are deterministic.
With --solvers A,B the runs of A in OLD are paired with those of B in NEW; with one folder, both are in it.
Exit code 5: a measure of --fail-on got worse, a claim is false, or results are missing.""",
        examples="""
memstow bench compare before after
memstow bench compare results --solvers greedy,exact
memstow bench compare ours theirs --solvers auto,minimalloc --fail-on value
memstow bench compare baseline.jsonl after --fail-on solved,proven,steps --tolerance 0.05
memstow bench compare before after --json
""",
    )
    parser.add_argument("old", metavar="OLD", help="results of the old run")
    parser.add_argument(
        "new", metavar="NEW", nargs="?", help="results of the new run (default with --solvers: OLD)"
    )
    add_option(parser, _PAIR, type=_two_solvers)
    add_option(parser, _MEASURES, type=_measures)
    add_option(parser, _FAIL_ON, type=_measures)
    add_options(parser, _TOLERANCE, _SIGNIFICANCE, _COMPARISON_JSON)
    parser.set_defaults(run=_run_compare)


def _run_compare(args: argparse.Namespace) -> int:
    """Compare the results and print the differences."""
    from memstow.planner.bench.compare import (
        DECIDING,
        NAMES,
        OF_TWO_SOLVERS,
        Strictness,
        compare,
        comparison_json,
        comparison_text,
    )
    from memstow.planner.bench.journal import read
    from memstow.planner.model.errors import InputError

    if args.new is None and args.solvers is None:
        raise InputError.single(
            "nothing_to_compare", "NEW", "name the results to compare with, or two solvers: --solvers A,B"
        )
    by_default, all_measures = (DECIDING, NAMES) if args.solvers is None else ((), OF_TWO_SOLVERS)
    deciding = by_default if args.fail_on is None else args.fail_on
    measures = (*(all_measures if args.measures is None else args.measures), *deciding)
    old = read(Path(args.old))
    new = old if args.new is None else read(Path(args.new))
    strictness = Strictness(args.tolerance, args.significance)
    comparison = compare(old, new, strictness, measures, args.solvers)
    if args.json:
        import json

        print(json.dumps(comparison_json(comparison, deciding), indent=2))
    else:
        print(comparison_text(comparison, deciding))
    return Exit.WORSE if comparison.worse(deciding) else Exit.DONE


def _add_bundle(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "bundle",
        "write all that another machine needs to repeat a bench into one file",
        details="""
The file has the results, the commands, the problems, and a manifest with versions, machines, seeds and
checksums.""",
        examples="""
memstow bench bundle results
memstow bench bundle results --problems moved/instances --allow-missing --output bench.tar.gz
""",
    )
    parser.add_argument("folder", metavar="DIR", help="folder with the results")
    add_options(parser, _BUNDLE)
    add_option(parser, _PROBLEMS, default=[])
    add_options(parser, _ALLOW_MISSING)
    parser.set_defaults(run=_run_bundle)


def _run_bundle(args: argparse.Namespace) -> int:
    """Write the bundle."""
    from memstow.planner.bench.bundle import write_bundle
    from memstow.planner.show.formatting import count, human, plain

    folder = Path(args.folder)
    data, missing = write_bundle(folder, _sources(args.problems, folder), args.allow_missing)
    path = folder / "bundle.tar.gz" if args.output is None else Path(args.output)
    replace_file(path, data)
    print(f"{plain(str(path))}: {human(len(data))}")
    if missing:
        print(f"{count(len(missing))} problems are not in it")
    return Exit.DONE


def _add_rerun(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "rerun",
        "repeat the runs of a bundle here, and compare",
        details="""
Says what differs between the machines, repeats the runs with the same problems, options and seeds, and
compares them.
Commands that the bundle holds are not run: --program says which program is meant.
Exit code 5: a deterministic run gave something else, or something is worse as for `bench compare`.""",
        examples="""
memstow bench rerun bundle.tar.gz
memstow bench rerun bundle.tar.gz --program minimalloc=build/minimalloc --jobs 2 --output again --resume
""",
    )
    parser.add_argument("bundle", metavar="FILE", help="the bundle")
    add_options(parser, _RERUN)
    add_option(parser, _PROGRAM, default=[])
    add_options(parser, _JOBS, _RESUME)
    parser.set_defaults(run=_run_rerun)


@bench_run.resume_hint()
def _run_rerun(args: argparse.Namespace) -> int:
    """Repeat the runs, print how they ended, and compare."""
    import gc

    from memstow.planner.bench.bundle import compared, read_bundle, repetition
    from memstow.planner.bench.compare import DECIDING, NAMES, Strictness, compare, comparison_text
    from memstow.planner.bench.journal import read
    from memstow.planner.bench.record import RESULTS
    from memstow.planner.model.errors import InputError
    from memstow.planner.show.formatting import count, plain

    gc.enable()
    bundle = read_bundle(Path(args.bundle))
    programs = {name: os.path.abspath(path) if os.sep in path else path for name, path in args.program}
    repeated = repetition(bundle, os.getcwd(), programs)
    for note in (*bundle.differences(), *repeated.left_out):
        print_error(plain(f"note: {note}", most=1000))
    if not repeated.tasks:
        raise InputError.single("nothing_to_repeat", args.bundle, "no run of it can be repeated here")
    old, new = (Path(args.output) / name for name in ("old", "new"))
    old.mkdir(parents=True, exist_ok=True)
    replace_file(old / RESULTS, repeated.results)
    code = bench_run.repeat(args, repeated.tasks, new)
    if code != Exit.DONE:
        return code
    before, after = read(old), read(new)
    comparison = compare(before, after, Strictness(), NAMES)
    print(f"\n{comparison_text(comparison, DECIDING)}")
    exact = compared(before, after)
    if exact.equal or exact.differing:
        total = exact.equal + len(exact.differing)
        print(f"{count(exact.equal)} of {count(total)} deterministic runs gave the same, place by place")
    for line in exact.differing[:_MOST_DIFFERING]:
        print(plain(f"differs: {line}", most=400))
    return Exit.WORSE if exact.differing or comparison.worse(DECIDING) else Exit.DONE


def _two_solvers(text: str) -> tuple[str, str]:
    """The names of two solvers, from `A,B`."""
    first, comma, second = text.partition(",")
    if not (comma and first and second) or first == second:
        raise argparse.ArgumentTypeError(f"{text!r} is not two solver names separated by a comma")
    return first, second


def _measures(text: str) -> tuple[str, ...]:
    from memstow.planner.bench.compare import NAMES

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"{name!r} is not a measure; choose from: {', '.join(NAMES)}")
    return names


def _add_sets(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "sets",
        "list public instance sets, and which of them are installed here",
        details="A set is installed if --folder has a folder of its name; the list says how to get others.",
        examples="""
memstow bench sets
memstow bench sets --folder instances
memstow bench run instances/minimalloc --solvers greedy,exact --output results
""",
    )
    add_options(parser, _FOLDER, _SETS_JSON)
    parser.set_defaults(run=_run_sets)


def _run_sets(args: argparse.Namespace) -> int:
    """List the sets."""
    from memstow.planner.bench.instances import local_sets

    named = args.folder or os.environ.get(SETS_VARIABLE)
    if named is not None and not Path(named).is_dir():
        from memstow.planner.model.errors import InputError

        raise InputError.single("not_found", named, "there is no such folder")
    sets = local_sets(None if named is None else Path(named))
    if args.json:
        import json

        entries = [
            {
                "name": one.public.name,
                "about": one.public.description,
                "source": one.public.source,
                "licence": one.public.licence,
                "instances": one.public.count,
                "steps": list(one.public.steps),
                "folder": None if one.folder is None else str(one.folder),
                "files": one.files,
            }
            for one in sets
        ]
        print(json.dumps(entries, indent=2))
    else:
        _print_sets(sets)
    return Exit.DONE


def _print_sets(sets: "Sequence[LocalSet]") -> None:
    from memstow.planner.show.formatting import plain

    for one in sets:
        public = one.public
        print(public.name)
        print(f"    {public.description}")
        print(f"    from {public.source}; licence {public.licence}")
        if one.folder is None:
            print("    not installed; to get it, in the folder of the sets:")
            print("".join(f"        {step}\n" for step in public.steps), end="")
        else:
            of = "" if public.count is None else f" of {public.count}"
            print(f"    installed: {one.files}{of} files in {plain(str(one.folder))}")


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its subcommands."""
    parser = add_command(
        commands,
        "bench",
        "run many solvers on many problems; report and compare the results",
        examples="""
memstow bench run instances/ --solvers greedy,exact,auto --time-limit 5 --seeds 3 --output results
memstow bench run instances/ --solvers greedy,exact,auto --time-limit 5 --seeds 3 --output results --resume
memstow bench report results
memstow bench compare before results
memstow bench sets
""",
    )
    kinds = parser.add_subparsers(title="commands", metavar="COMMAND", dest="kind", required=True)
    bench_run.add(kinds)
    _add_report(kinds)
    _add_compare(kinds)
    _add_bundle(kinds)
    _add_rerun(kinds)
    _add_sets(kinds)
