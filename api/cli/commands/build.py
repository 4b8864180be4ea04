"""`memstow build`: a model as a program in C that runs in the memory that was planned for it."""

import argparse
import json
import os
import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from memstow.api import options
from memstow.api.cli.output_files import STDOUT, replace_files, to_stdout
from memstow.api.cli.parser import Commands, add_command, add_option, add_options
from memstow.api.cli.problem_input import STDIN, dimensions_of, read_bytes_of, read_target, warn_if_terminal
from memstow.api.cli.search_arguments import options_without_hint
from memstow.api.cli.terminal import Exit, Interruptible, print_error
from memstow.planner.model.errors import InputError, changing_issues
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.planner.firmware import Built

_NONE: Final = "none"
_MOST_LISTED: Final = 3
_OPTIONS: Final = {
    "generators": "--with",
    "external": "--external",
    "kernels": "--kernels",
    "point": "--point",
    "capacity": "--capacity",
    "prefix": "--name",
}
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9]+", re.ASCII)


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "build",
        "write a model as a program in C that runs in the memory that was planned for it",
        details="""
Finds the front of the model's memory against its work, takes the point that is asked for, and writes
NAME.c, NAME.h, NAME.map.json (what is where and when), NAME.graph.json and NAME.plan.json (for verify and
view), CMakeLists.txt and, where tflite-micro is installed, NAME_check.c, which compares the outputs with
those of TensorFlow Lite Micro; of an ONNX model, with those of ONNX Runtime (onnxruntime).

Exit code 0: the program was written; 3: nothing fits; 130: interrupted.""",
        examples="""
memstow build model.tflite --output model
memstow build model.tflite --output model --capacity 20KiB
memstow build model.tflite --output model --point 1 --with stripes,channels,recompute
memstow build model.tflite --output model --target stm32h743
memstow build model.tflite --output model --external inputs,outputs
memstow build model.tflite --output model --kernels cmsis-nn
""",
    )
    parser.add_argument(
        "file", metavar="MODEL", help="the TensorFlow Lite or ONNX model; - reads standard input"
    )
    program = parser.add_argument_group("program")
    add_options(program, options.PROGRAM_FOLDER, options.PROGRAM, options.DIM)
    add_option(program, options.PROGRAM_KERNELS, default="own")
    memory = parser.add_argument_group("memory")
    add_options(memory, options.PROGRAM_CAPACITY, options.TARGET, options.PROGRAM_POINT)
    add_option(memory, options.PROGRAM_ORDER, default="free")
    add_option(memory, options.PROGRAM_WITH, type=_listed, default=("stripes",))
    add_option(memory, options.PROGRAM_EXTERNAL, type=_listed, default=())
    add_options(parser.add_argument_group("search"), options.DETERMINISTIC, options.SEED)
    add_options(parser.add_argument_group("limits"), *options.LIMITS)
    add_option(parser.add_argument_group("results"), options.PROGRAM_JSON)
    parser.set_defaults(run=run, solver=options.SOLVER.default, gap=options.GAP.default)


def _listed(text: str) -> tuple[str, ...]:
    return () if text == _NONE else tuple(dict.fromkeys(text.split(",")))


def run(args: argparse.Namespace) -> int:
    """Read the model, build it, and write the files."""
    if not args.output:
        message = "say into which folder the program goes, such as --output model"
        raise InputError.single("missing_option", "--output", message)
    if args.output == STDOUT or (os.path.lexists(args.output) and not os.path.isdir(args.output)):
        raise InputError.single("no_folder", "--output", f"{plain(args.output)} is no folder; name one")
    if args.target is not None and args.capacity is not None:
        message = "the target says how large its memories are; leave this or --target out"
        raise InputError.single("unused_option", "--capacity", message)
    name = _name(args)
    warn_if_terminal(args.file)
    data = read_bytes_of(args.file)
    _require_model(data, args.file)
    target = None if args.target is None else read_target(args.target)
    search = options_without_hint(args)
    dims = dimensions_of(args)

    from memstow.planner.firmware import build
    from memstow.planner.firmware.memories import NOTHING_FITS

    def work(cancel: threading.Event) -> "Built":
        return build(
            data,
            name=name,
            capacity=args.capacity,
            point=args.point,
            target=target,
            generators=args.generators,
            order=args.order,
            external=args.external,
            dims=dims,
            kernels=args.kernels,
            options=search,
            cancel=cancel,
        )

    call = Interruptible(work)
    try:
        with changing_issues(lambda issue: replace(issue, path=_OPTIONS.get(issue.path, issue.path))):
            built = call.run(None)
    except InputError as error:
        if error.issues[0].code != NOTHING_FITS:
            raise
        print_error(plain(error.issues[0].message, most=1000))
        return Exit.INTERRUPTED if call.interrupted else Exit.INFEASIBLE
    if call.interrupted:
        print_error("interrupted: nothing was written")
        return Exit.INTERRUPTED
    os.makedirs(args.output, exist_ok=True)
    replace_files({os.path.join(args.output, file): content for file, content in built.files.items()})
    _report(args, name, built)
    return Exit.DONE


def _name(args: argparse.Namespace) -> str:
    """What the program is called: as the user says, or as the file."""
    if args.name is not None:
        return str(args.name)
    if args.file == STDIN:
        return "model"
    from memstow.planner.firmware import TAKEN_NAMES

    stem = _NOT_IN_NAMES.sub("_", os.path.basename(args.file).rpartition(".")[0]).strip("_").lower()
    is_name = stem and not stem[0].isdigit() and stem not in TAKEN_NAMES
    return (stem if is_name else f"model_{stem}")[:64].rstrip("_")


def _require_model(data: bytes, path: str) -> None:
    from memstow.planner.formats import format_by_content

    if format_by_content(data) not in ("tflite", "onnx"):
        message = "a program is built from a model (.tflite, .onnx), and this is none"
        raise InputError.single("not_a_model", "MODEL" if path == STDIN else plain(path), message)


def _report(args: argparse.Namespace, name: str, built: "Built") -> None:
    if args.json:
        point = built.point
        facts = {
            "name": name,
            "arena": built.arena,
            "state": built.state,
            "constants": built.constants,
            "by_cmsis_nn": built.by_cmsis_nn,
            "memories": {pool.id: pool.size for pool in built.loops.pools if pool.size},
            "point": built.number,
            "values": {} if point is None else dict(point.values),
            "bounds": {} if point is None else dict(point.bounds),
            "proven": point is not None and point.proven,
            "no_check": built.no_check,
            "in_float": list(built.in_float),
            "files": sorted(built.files),
        }
        to_stdout((json.dumps(facts, indent=2) + "\n").encode())
        return
    used = [pool for pool in built.loops.pools if pool.size]
    work, which = f"of {len(used)} memories", ""
    if built.front is not None and built.point is not None:
        _, cost = built.front.terms
        points = built.front.targets[0].points if built.front.targets else built.front.points
        proven = ", proven" if built.point.proven else ""
        cheapest = min(point.values[cost] for point in points)
        times = f"{built.point.values[cost] / cheapest:.3f}" if cheapest else "1.000"
        work = f"at {times} times the least {'traffic' if built.front.request.cost == 'bytes' else 'work'}"
        which = f"point {built.number} of {len(points)}{proven}; {cost} {built.point.values[cost]:,}\n"
    comma = "" if built.front is None else ","
    print(f"{plain(name)}: works in {built.arena:,} bytes{comma} {work}\n{which}", end="")
    if len(used) > 1:
        print(", ".join(f"{plain(pool.id)}: {pool.size:,} bytes" for pool in used))
    if built.state:
        print(f"variables: {built.state:,} bytes beside that")
    print(f"constants: {built.constants:,} bytes")
    if built.in_float:
        listed = "; ".join(plain(entry) for entry in built.in_float[:_MOST_LISTED])
        more = "; ..." if len(built.in_float) > _MOST_LISTED else ""
        print(f"in floating point: {len(built.in_float)} operators ({listed}{more})")
    if args.kernels != "own":
        print(f"CMSIS-NN computes {built.by_cmsis_nn} of {len(built.graph.operators)} operators")
    print(f"{plain(args.output)}: {', '.join(sorted(built.files))}")
    if built.no_check is not None:
        print(f"no {plain(name)}_check.c: {plain(built.no_check, most=300)}")
    elif built.by_cmsis_nn:
        folder = plain(args.output)
        compiled = f"cmake -S {folder} -B {folder}/build -DCMSIS_NN=DIR && cmake --build {folder}/build"
        print(f"next: {compiled} && ctest --test-dir {folder}/build")
    else:
        source = f"{plain(args.output)}/{name}"
        print(f"next: cc -O2 {source}.c {source}_check.c -lm -o check && ./check")
