"""`memstow library`: a folder of instances, with the best plans known of them and what shows that."""

import argparse
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.terminal import Exit, Interruptible, print_error
from memstow.api.options import Choice, Duration, Flag, Option, Text, Whole
from memstow.planner.model import LONGEST_RUN
from memstow.planner.model.errors import InputError
from memstow.planner.processes.machine import start_thread
from memstow.planner.show.formatting import plain, table

if TYPE_CHECKING:
    from memstow.api.cli.remote_library import RemoteLibrary
    from memstow.planner.instance_library.folder import Folder
    from memstow.planner.instance_library.records import Credit, Difference, Fetched
    from memstow.planner.model.library import LibraryInstance

_STATES: Final = ("open", "claimed", "proven", "infeasible")
_FETCH_SECONDS: Final = 600.0
_Result = TypeVar("_Result")

_IDS: Final = Option("id", "only instances whose id matches this pattern", Text(), "GLOB", otherwise="all")
_ONE_ID: Final = Option(
    "id",
    "id of the new instance, or of that of the plan",
    Text(),
    "ID",
    otherwise="from the name of the file, or by the digest in the plan",
)
_SET: Final = Option("set", "which set", Choice(("standard",)), default="standard")
_WORK: Final = Option(
    "work_limit",
    "steps of work for the first record of an instance, and as many for its proof; 0: no record",
    Whole(0, 1 << 62),
    "N",
    otherwise="a few seconds' worth",
)
_TIME: Final = Option(
    "time_limit",
    "time limit for the whole call",
    Duration(LONGEST_RUN),
    "S",
    otherwise="none; 10 minutes for a URL",
    more="; what was not reached is said, and the exit code is 1",
)
_BY: Final = Option("by", "who brings the record", Text(), "NAME", default="memstow")
_DATE: Final = Option("date", "when, as in 2026-01-31", Text(), "DATE", otherwise="today")
_LICENCE: Final = Option("licence", "licence of the files, as SPDX names it", Text(), "SPDX")
_TITLE: Final = Option("title", "what it is, in a line", Text(), "TEXT", otherwise="the name in the file")
_FAMILY: Final = Option("family", "family of the instance", Text(), "NAME", default="other")
_SOURCE: Final = Option("source", "whose it is, and where it was published", Text(), "TEXT")
_MODELS: Final = Option("models", "what it stands for", Text(), "TEXT")
_PROOF: Final = Option("proof", "the proof of the plan", Text(), "FILE")
_OF_FAMILY: Final = Option("family", "only this family", Text(), "NAME", otherwise="all")
_STATE: Final = Option("state", "only instances of this state", Choice(_STATES), otherwise="all")
_SITE_TITLE: Final = Option("title", "what the site is called", Text(), "TEXT", default="memstow library")
_URL: Final = Option(
    "url",
    "where the site will be, for the feed, citations and commands",
    Text(),
    "URL",
    otherwise="relative links, and no commands that fetch",
)
_BENCH: Final = Option(
    "bench",
    "results of `memstow bench run`, for a page of solvers",
    Text(),
    "DIR",
    more="; needs matplotlib (extra: bench)",
)
_RESULTS: Final = Option(
    "bench",
    "results of `memstow bench run`, of which what is better is taken",
    Text(),
    "DIR",
)
_JSON: Final = Option("json", "print the list as JSON, as in `index.json`", Flag())


class _Action(NamedTuple):
    name: str
    summary: str
    run: Callable[[argparse.Namespace], int]
    options: tuple[Option, ...]
    operands: tuple[tuple[str, str, str], ...] = ()
    """Name, metavar and help of what comes after the folder."""
    examples: str = ""
    details: str = ""


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command and its actions."""
    parser = add_command(
        commands,
        "library",
        "keep instances with the best plans known of them, and what shows that",
        details="docs/library-format.md describes the folder. All of it is checked before it is written.",
        examples="""
memstow library generate instances --id '*-trivial-*'
memstow library list instances --state open
memstow library submit instances plan.json --proof plan.proof
memstow library verify instances
""",
    )
    kinds = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    for action in _ACTIONS:
        below = add_command(
            kinds, action.name, action.summary, examples=action.examples, details=action.details
        )
        below.add_argument("folder", metavar="FOLDER", help="the library")
        for name, metavar, text in action.operands:
            number = {"files": "+", "plan": "?"}.get(name)
            below.add_argument(name, metavar=metavar, nargs=number, help=text)
        for option in action.options:
            if option is _LICENCE:
                add_option(below, option, required=True)
            else:
                add_options(below, option)
        below.set_defaults(run=action.run)


def run_generate(args: argparse.Namespace) -> int:
    """Make the instances that are missing."""
    from memstow.planner.instance_library.records import opened
    from memstow.planner.instance_library.standard import FIRST_WORK, generate, recipes

    wanted = _wanted(args)
    names = [recipe.about.name for recipe in recipes() if wanted(recipe.about.name)]
    if not names:
        raise InputError.single("no_instances", "--id", f"no instance of the set matches {plain(args.id)}")
    work = FIRST_WORK if args.work_limit is None else args.work_limit

    def run(cancel: threading.Event) -> int:
        reached = 0
        with opened(_folder(args.folder, may_be_new=True)) as library:
            library.put_index()
            for one in generate(library, wanted, work, _credit(args), cancel):
                reached += 1
                if one.is_new:
                    print(_line(one.instance), flush=True)
        return reached

    reached, code = _within(args.time_limit, run)
    print(f"{reached:,} of {len(names):,} instances are there")
    return _ended(code, reached == len(names), "the same command goes on from here")


def run_add(args: argparse.Namespace) -> int:
    """Add files."""
    from memstow.api.cli.problem_input import naming_file, read_bytes_of
    from memstow.planner import formats
    from memstow.planner.instance_library.records import About, opened, posed

    if args.id is not None and len(args.files) > 1:
        raise InputError.single("unused_option", "--id", "it is the id of one file, and these are several")
    with opened(_folder(args.folder, may_be_new=True)) as library:
        for path in args.files:
            name = _slug(Path(path).name.split(".")[0]) if args.id is None else args.id
            with naming_file(path):
                entry = posed(formats.read_document(read_bytes_of(path)))
                about = About(
                    name=name,
                    title=args.title or _in_a_line(entry.document.name) or name,
                    family=args.family,
                    licence=args.licence,
                    source=args.source,
                    models=args.models or "",
                )
                print(_line(library.add(about, entry)))
    return Exit.DONE


def run_submit(args: argparse.Namespace) -> int:
    """Take a plan, or those of a bench, for the records of their instances, where they are better."""
    if (args.plan is None) == (args.bench is None):
        raise InputError.single("no_plan", "PLAN", "name a plan, or the results of a bench: --bench DIR")
    if args.bench is not None:
        return _submit_results(args)
    from memstow.planner import formats
    from memstow.planner.graph.documents import problem_of
    from memstow.planner.instance_library.folder import LARGEST_FILE, posed_of
    from memstow.planner.instance_library.judging import Answer
    from memstow.planner.instance_library.records import of_digest, opened
    from memstow.planner.model.problem import Problem
    from memstow.planner.proofs.check import StoppedError
    from memstow.planner.reading.json_text import read_bytes

    folder, data = _folder(args.folder), read_bytes(args.plan, LARGEST_FILE)
    proof = None if args.proof is None else read_bytes(args.proof, LARGEST_FILE)

    def run(cancel: threading.Event) -> tuple[str, tuple[str, ...]]:
        with opened(folder) as library:
            name = args.id
            if name is None:
                digest = formats.read_plan(data, Problem(buffers=())).digest
                name = None if digest is None else of_digest(library, digest)
                if name is None:
                    message = "no instance has the digest that it names; name the instance: --id ID"
                    raise InputError.single("unknown_instance", plain(args.plan), message)
            if name not in library.instances:
                raise InputError.single("unknown_instance", "--id", f"there is no instance {plain(name)}")
            entry = posed_of(folder, library.instances[name])
            plan = formats.read_plan(data, problem_of(entry.document))
            return name, library.submit(name, Answer(plan, proof), _credit(args), cancel)

    try:
        (name, changed), code = _within(args.time_limit, run)
    except StoppedError:
        print_error("the proof was not checked to its end: nothing was changed")
        return Exit.INVALID
    if changed:
        print(f"{name}: better: {', '.join(changed)}")
        return code
    print(f"{name}: the record stays; this is not better")
    return Exit.INVALID


def _submit_results(args: argparse.Namespace) -> int:
    """Take what is better in the results of a bench."""
    from memstow.api.cli.commands.bench import submit_to
    from memstow.planner.instance_library.records import opened

    for option, value in (("--id", args.id), ("--proof", args.proof)):
        if value is not None:
            raise InputError.single("unused_option", option, "it is about one plan, and not about a bench")
    folder = _folder(args.folder)

    def run(cancel: threading.Event) -> "tuple[list[str], bool]":
        outcomes: list[str] = []
        with opened(folder) as library:
            for one in submit_to(library, args.bench, _credit(args), cancel):
                outcomes.append(one.outcome)
                if one.says:
                    print(plain(f"{one.name}: {one.outcome}: {one.says}"), flush=True)
        return outcomes, cancel.is_set()

    (outcomes, is_late), code = _within(args.time_limit, run)
    return _counted(outcomes, ("better", "kept", "refused"), code, is_late)


def run_verify(args: argparse.Namespace) -> int:
    """Check all of the library."""
    from memstow.planner.instance_library.records import verify

    folder = _folder(args.folder)

    def run(cancel: threading.Event) -> tuple[int, int, bool]:
        checked = wrong = 0
        is_done = False
        for one in verify(folder, _wanted(args), cancel):
            checked, is_done = checked + bool(one.name), not one.name
            wrong += len(one.faults)
            for fault in one.faults:
                print(plain(f"{one.name or folder.name}: {fault}"), flush=True)
        return checked, wrong, is_done

    (checked, wrong, is_done), code = _within(args.time_limit, run)
    print(f"{checked:,} instances checked, {f'{wrong:,}' if wrong else 'no'} faults")
    code = _ended(code, is_done, "the rest was not checked")
    return Exit.INVALID if wrong and code == Exit.DONE else code


def run_list(args: argparse.Namespace) -> int:
    """List instances."""
    from memstow.planner.formats.native import list_of_lines
    from memstow.planner.formats.native import plain as as_json
    from memstow.planner.instance_library.folder import index_line, instance_of
    from memstow.planner.instance_library.records import matching

    folder = _folder(args.folder)
    every = (instance_of(folder, name) for name in folder.ids())
    listed = matching(every, _wanted(args), args.family, args.state)
    if args.json:
        from memstow.api.cli.output_files import to_stdout

        to_stdout(list_of_lines(as_json(index_line(instance)) for instance in listed))
        return Exit.DONE
    rows = [
        [
            instance.id,
            instance.state,
            f"{instance.features.get('buffers', 0):,}",
            " ".join(f"{term.value:,}" for term in instance.best) or "-",
            " ".join(f"{term.bound:,}" for term in instance.best) or "-",
            instance.history[-1].date if instance.history else "-",
        ]
        for instance in listed
    ]
    for line in table(("id", "state", "buffers", "best", "bound", "since"), rows, left=2):
        print(plain(line))
    return Exit.DONE


def run_diff(args: argparse.Namespace) -> int:
    """Show how two libraries differ."""
    from memstow.planner.instance_library.records import diff

    def differences(cancel: threading.Event) -> "Iterator[Difference]":
        other = _library_at(args.other, args.time_limit)
        return diff(_folder(args.folder), other, _wanted(args), cancel)

    return _print_differences(args, differences, "not all was compared")


def run_fetch(args: argparse.Namespace) -> int:
    """Take what is new or better in another library."""
    source = _library_at(args.other, args.time_limit)
    return _take(args, args.folder, source)


def run_push(args: argparse.Namespace) -> int:
    """Bring what is new or better here to another library."""
    from memstow.api.cli.remote_library import is_url

    if not is_url(args.other):
        return _take(args, args.other, _folder(args.folder))
    from memstow.api.cli.remote_library import push

    def differences(cancel: threading.Event) -> "Iterator[Difference]":
        return push(_folder(args.folder), _site(args.other, args.time_limit), _wanted(args), cancel)

    return _print_differences(args, differences, "the same command goes on from here")


def _print_differences(
    args: argparse.Namespace, differences: "Callable[[threading.Event], Iterator[Difference]]", rest: str
) -> int:
    """Print each difference as it comes; `rest`: what is said where that ended early."""

    def run(cancel: threading.Event) -> bool:
        for one in differences(cancel):
            print(plain(f"{one.name}: {one.side}{': ' if one.says else ''}{one.says}"), flush=True)
        return not cancel.is_set()

    is_done, code = _within(args.time_limit, run)
    return _ended(code, is_done, rest)


def run_site(args: argparse.Namespace) -> int:
    """Make the site of the library."""
    from memstow.api.cli.pages import page_of
    from memstow.api.page.assets import asset, manifest
    from memstow.api.page.offline import shared_script
    from memstow.planner.instance_library.site import Parts, Viewer, build
    from memstow.planner.instance_library.site_pages import Frame

    url = None if args.url is None else _page_url(args.url)
    folder, out, names = _folder(args.folder), Path(args.out), manifest()
    style, script = (f"assets/{names[name]}" for name in ("site_style", "site"))
    assets = {path: asset(path.removeprefix("assets/")) or b"" for path in (style, script)}
    for name, data in (shared_script("plan"), shared_script("loops")):
        assets[f"assets/{name}"] = data
    solvers = None
    if args.bench is not None:
        from memstow.api.cli.commands.bench import sections_and_style

        sections, report_style = sections_and_style(args.bench)
        name = f"assets/report-{sha256(report_style).hexdigest()[:12]}.css"
        assets[name], solvers = report_style, (sections, name)

    viewer: Viewer = lambda document, plan, title, proof: page_of(  # noqa: E731
        document, plan, title, proof=proof, title=plain(title, most=200), scripts="../assets/"
    )
    frame = Frame(args.title, url, style, script, solvers is not None)
    parts = Parts(frame, assets, viewer, solvers)
    built, code = _within(args.time_limit, lambda cancel: build(folder, out, parts, cancel))
    for name, fault in built.refused:
        print_error(plain(f"{name} is not shown: {fault}"))
    if not built.is_done:
        if code == Exit.DONE:
            print_error("time is up; the same command goes on from here")
        return code if code != Exit.DONE else Exit.INVALID
    what = f"{len(built.shown):,} instances, the pages of {built.drawn:,} are new"
    print(plain(f"{out / 'index.html'}: {what}"))
    return Exit.INVALID if code == Exit.DONE and built.refused else code


def _page_url(url: str) -> str:
    if not re.fullmatch(r"https?://[A-Za-z0-9._~:/@%+-]+", url):
        raise InputError.single(
            "url", "--url", f"{plain(url, most=200)} is no URL of pages, with http or https"
        )
    return url


def _take(args: argparse.Namespace, into: str, source: "Folder | RemoteLibrary") -> int:
    """Fetch from a library into a folder."""
    from memstow.planner.instance_library.records import fetch, opened

    def run(cancel: threading.Event) -> "tuple[list[Fetched], bool]":
        taken: list[Fetched] = []
        source.ids()  # Where there is none, nothing is made.
        with opened(_folder(into, may_be_new=True)) as library:
            library.put_index()
            for one in fetch(library, source, _wanted(args), cancel):
                taken.append(one)
                if one.outcome != "kept":
                    print(plain(f"{one.name}: {one.outcome}{': ' if one.says else ''}{one.says}"), flush=True)
        return taken, cancel.is_set()

    (taken, is_late), code = _within(args.time_limit, run)
    outcomes = [one.outcome for one in taken]
    return _counted(outcomes, ("new", "better", "kept", "refused"), code, is_late)


# What the actions share.


def _within(seconds: float | None, work: Callable[[threading.Event], _Result]) -> "tuple[_Result, Exit]":
    """What the work comes to; its event is set when time is up, or by Ctrl-C, which is the exit code."""
    late = threading.Event()

    def run(cancel: threading.Event) -> _Result:
        def end() -> None:
            late.set()
            cancel.set()

        timer = None if seconds is None else threading.Timer(seconds, end)
        if timer is not None:
            timer.daemon = True
            start_thread(timer)
        try:
            return work(cancel)
        finally:
            if timer is not None:
                timer.cancel()

    call = Interruptible(run)
    result = call.run(None)
    is_interrupted = call.interrupted and not late.is_set()
    return result, Exit.INTERRUPTED if is_interrupted else Exit.DONE


def _ended(code: Exit, is_done: bool, rest: str) -> Exit:
    """The exit code of a call that may have ended early, which is said."""
    if is_done:
        return code
    print_error(f"{'interrupted' if code == Exit.INTERRUPTED else 'time is up'}: {rest}")
    return Exit.INVALID if code == Exit.DONE else code


def _counted(outcomes: Sequence[str], kinds: tuple[str, ...], code: Exit, is_late: bool) -> Exit:
    """Print how many there are of each kind; the exit code."""
    print(", ".join(f"{outcomes.count(kind):,} {kind}" for kind in kinds))
    code = _ended(code, not is_late, "the same command goes on from here")
    return Exit.INVALID if "refused" in outcomes and code == Exit.DONE else code


def _folder(path: str, *, may_be_new: bool = False) -> "Folder":
    from memstow.planner.instance_library.folder import Folder

    folder = Folder(path)
    if not may_be_new or os.path.lexists(path):
        folder.require()
    return folder


def _library_at(place: str, seconds: float | None) -> "Folder | RemoteLibrary":
    from memstow.api.cli.remote_library import is_url

    return _site(place, seconds) if is_url(place) else _folder(place)


def _site(url: str, seconds: float | None) -> "RemoteLibrary":
    from memstow.api.cli.remote_library import RemoteLibrary

    return RemoteLibrary(url, _FETCH_SECONDS if seconds is None else seconds)


def _wanted(args: argparse.Namespace) -> Callable[[str], bool]:
    pattern: str | None = args.id
    return (lambda _: True) if pattern is None else (lambda name: fnmatchcase(name, pattern))


def _credit(args: argparse.Namespace) -> "Credit":
    from datetime import UTC, datetime

    from memstow.planner.instance_library.records import Credit

    return Credit(args.by, args.date or datetime.now(UTC).date().isoformat())


def _slug(name: str) -> str:
    """An id made of the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100] or "instance"


def _in_a_line(text: str | None) -> str:
    return " ".join((text or "").split())[:200]


def _line(instance: "LibraryInstance") -> str:
    """An instance in a line."""
    terms = (f"{plain(term.term)} {term.value:,} (bound {term.bound:,})" for term in instance.best)
    return ": ".join((instance.id, ", ".join((instance.state, *terms))))


_ACTIONS: Final = (
    _Action(
        "generate",
        "make the instances of a set that are missing, each with a first record",
        run_generate,
        (_SET, _IDS, _WORK, _TIME, _BY, _DATE),
        examples="""
memstow library generate instances --set standard
memstow library generate instances --id '*-trivial-*' --work-limit 1000000 --time-limit 60
""",
        details="""
The same command makes the same files on any machine, with --date on any day. It goes on where it was
interrupted.""",
    ),
    _Action(
        "add",
        "add problems, graphs or models",
        run_add,
        (_LICENCE, _ONE_ID, _TITLE, _FAMILY, _SOURCE, _MODELS),
        (("files", "FILE", "a problem, a graph or a model, in any format that is read"),),
        examples="memstow library add instances net.json --licence CC0-1.0 --source 'my own'",
        details="""
Refuses what is there already: under other names, in another order or unit, or backwards in time.""",
    ),
    _Action(
        "submit",
        "take a plan for the record of its instance, or those of a bench, if they are better",
        run_submit,
        (_ONE_ID, _PROOF, _RESULTS, _TIME, _BY, _DATE),
        (("plan", "PLAN", "the plan"),),
        examples="""
memstow library submit instances plan.json --by 'A. Name'
memstow library submit instances plan.json --id net --proof plan.proof
memstow library submit instances --bench results --by 'A. Name'
""",
        details="""
Better is a lower value, a higher bound that the judge or the proof shows, or a proof where there was none.
Exit code 1: it is right and not better; of a bench, something is refused or was not reached.""",
    ),
    _Action(
        "verify",
        "check all of it again: checksums, plans, proofs, records, duplicates",
        run_verify,
        (_IDS, _TIME),
        examples="""
memstow library verify instances
memstow library verify instances --id 'net*' --time-limit 60
""",
    ),
    _Action(
        "list",
        "list instances and their records",
        run_list,
        (_IDS, _OF_FAMILY, _STATE, _JSON),
        examples="memstow library list instances --state open --family reuse",
    ),
    _Action(
        "diff",
        "show what another library has more or better",
        run_diff,
        (_IDS, _TIME),
        (("other", "OTHER", "a folder, or a URL of one"),),
        examples="memstow library diff instances https://example.com/instances",
    ),
    _Action(
        "fetch",
        "take what is new or better in another library, once it is checked",
        run_fetch,
        (_IDS, _TIME),
        (("other", "OTHER", "a folder, or a URL of one"),),
        examples="memstow library fetch instances https://example.com/instances",
    ),
    _Action(
        "push",
        "bring what is new or better here to another library",
        run_push,
        (_IDS, _TIME),
        (("other", "OTHER", "a folder, or a URL that takes files by PUT"),),
        examples="memstow library push instances /srv/instances",
    ),
    _Action(
        "site",
        "make the static site of the library, of what is checked",
        run_site,
        (_SITE_TITLE, _URL, _BENCH, _TIME),
        (("out", "OUT", "the folder of the site: new, empty, or an older site"),),
        examples="""
memstow library site instances public
memstow library site instances public --title 'Our instances' --url https://example.com/memory --bench results
""",
        details="""
The same library makes the same files. What has not changed is not made again; where it was interrupted, it
goes on. Exit code 1: something in the library is wrong, and shown as that.""",
    ),
)
