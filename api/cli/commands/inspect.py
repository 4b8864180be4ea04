"""`memstow inspect`: describe a problem."""

import argparse
import sys
from typing import TYPE_CHECKING

from memstow.api import options
from memstow.api.cli.parser import Commands, add_command, add_options
from memstow.api.cli.problem_input import (
    add_graph_changes,
    add_problem,
    document_in,
    read_bytes_of,
    recording_in,
    refuse_two_stdins,
    warn_if_terminal,
)
from memstow.api.cli.terminal import Exit, columns, draws_unicode
from memstow.planner.graph.documents import labels_in, problem_of

if TYPE_CHECKING:
    from memstow.planner.explain.needs import Needs
    from memstow.planner.model.problem import Problem

NEEDS_SECONDS = 10.0


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "inspect",
        "describe a problem or a graph: counts, bounds, live bytes over time, busiest times, what it needs",
        examples="""
memstow inspect model.json
memstow inspect model.csv --rows 20
memstow inspect model.json --json
memstow inspect model.json --needs --time-limit 60
memstow inspect model.json --capacity 12MiB --needs --without conv1
""",
    )
    add_problem(parser)
    add_options(parser, *options.CHANGES)
    add_graph_changes(parser)
    add_options(parser, options.ROWS, options.WITHOUT, options.NEEDS, options.NEEDS_TIME, options.FACTS_JSON)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the problem and print its description."""
    if args.time_limit is not None and not args.needs:
        from memstow.planner.model.errors import InputError

        message = "it limits --needs: add that, or leave it out"
        raise InputError.single("unused_option", "--time-limit", message)
    refuse_two_stdins(args.file, args.target)
    warn_if_terminal(args.file)
    data = read_bytes_of(args.file)
    recording = recording_in(data, args.file, args)
    document = document_in(data, args.file, args, recording)
    problem, labels = problem_of(document), labels_in(document)
    if args.without:
        from memstow.planner.explain.shortfall import without_buffers

        problem = without_buffers(problem, set(args.without))

    from memstow.planner.model.problem import Problem
    from memstow.planner.show.survey import facts, survey

    if args.json:
        import json

        described = facts(problem, args.rows, labels)
        if not isinstance(document, Problem):
            from memstow.planner.show.graph_survey import graph_facts

            described = {"graph": graph_facts(document, args.rows), **described}
        if recording is not None:
            from memstow.planner.show.recording_report import usage_facts

            described = {"recorded": usage_facts(recording.usage, args.rows), **described}
        if args.needs:
            from memstow.planner.explain.needs import as_data

            described["needs"] = as_data(_needs(problem, args.time_limit))
        print(json.dumps(described, indent=2))
        return Exit.DONE

    from memstow.planner.show.text_picture import ASCII, UNICODE

    glyphs = UNICODE if draws_unicode(sys.stdout) else ASCII
    if not isinstance(document, Problem):
        from memstow.planner.show.graph_survey import graph_survey

        print(graph_survey(document, args.rows), "", sep="\n")
    if recording is not None:
        from memstow.planner.show.recording_report import usage_report

        print(usage_report(recording.usage, args.rows), "", sep="\n")
    print(survey(problem, args.rows, columns(sys.stdout), glyphs, labels))
    if args.needs:
        from memstow.planner.show.report import needs_report

        print("", needs_report(_needs(problem, args.time_limit)), sep="\n")
    return Exit.DONE


def _needs(problem: "Problem", seconds: float | None) -> "Needs":
    from memstow.planner.explain.needs import needs

    return needs(problem, NEEDS_SECONDS if seconds is None else seconds)
