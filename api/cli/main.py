"""`memstow`: selects and runs a command, and turns its result or error into a message and an exit code.

Nothing heavy is imported here: `memstow version` and `--help` must answer at once, and a small problem is
solved in less time than some libraries take to load.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from memstow.api.cli.parser import COMMANDS, build_parser
from memstow.api.cli.terminal import Exit, print_error
from memstow.planner.show.formatting import plain


def run() -> int:
    """Run the command line of this process and return the exit code."""
    # A run makes many long-lived objects and few cycles, then ends: garbage collection would only cost time.
    gc.disable()
    # Looking for pydantic plugins reads the metadata of everything installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if sys.stdout is None:
        # Started with standard output closed: discard what would be printed.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        # An id that the terminal's encoding lacks must not end the run.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return main(sys.argv[1:])
    finally:
        # Nor is it worth to look for garbage among all that is still there, as the interpreter does at exit.
        gc.freeze()


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code."""
    try:
        try:
            code = _dispatch(arguments)
        except SystemExit as stop:
            # argparse leaves this way: 0 after --help, 2 after a usage error.
            code = stop.code if isinstance(stop.code, int) else Exit.DONE
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print_error("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return Exit.BROKEN_PIPE
    except Exception as error:
        return _report_error(error)
    return code


def _dispatch(arguments: Sequence[str]) -> int:
    # Making the parsers of all commands takes longer than some commands do.
    parser = build_parser([name for name in COMMANDS if name in arguments[:1]] or COMMANDS)
    args = parser.parse_args(arguments)
    args.words = list(arguments)
    if args.version:
        from memstow.api.cli.commands import shipped

        return shipped.run_version(args)
    if args.command is None:
        parser.print_help(sys.stderr)
        return Exit.USAGE
    code: int = args.run(args)
    return code


def _report_error(error: Exception) -> int:
    from memstow.planner.model.errors import InputError, MemstowError, RefusedPlanError
    from memstow.planner.processes.machine import lacks_threads
    from memstow.planner.reading.sections import MOST_REPORTED

    match error:
        case InputError():
            most = MOST_REPORTED + 1  # readers add a line about the rest
            for issue in error.issues[:most]:
                print_error(plain(str(issue)))
            if len(error.issues) > most:
                print_error(f"and {len(error.issues) - most:,} more issues")
            return Exit.USAGE
        case RefusedPlanError():
            pass
        case MemstowError():
            print_error(plain(str(error)))
            return Exit.USAGE
        case OSError():
            named = f"{error.filename}: " if error.filename is not None else ""
            # Existing files are overwritten, so this error means that a folder could not be created.
            exists = isinstance(error, FileExistsError)
            reason = "a file with this name exists; a folder is needed" if exists else error.strerror
            print_error(plain(f"{named}{reason or error}"))
            _drop_stdout()
            return Exit.USAGE
        case MemoryError():
            print_error("there is not enough memory for this problem")
            return Exit.USAGE
        case RuntimeError() if lacks_threads(error):
            print_error(
                "no further thread can be started: the machine, or a limit of this process, allows none"
            )
            return Exit.USAGE
    if os.environ.get("MEMSTOW_DEBUG"):
        raise error
    print_error(plain(f"a defect of memstow, please report it: {type(error).__name__}: {error}"))
    print_error("MEMSTOW_DEBUG=1 shows where it happened")
    return Exit.DEFECT


def _drop_stdout() -> None:
    # The interpreter flushes standard output at exit, and would print_error once more about a gone reader.
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


if __name__ == "__main__":
    sys.exit(run())
