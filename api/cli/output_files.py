"""Writing to standard output, or to a file atomically; and the format of a file by its name."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import plain

STDOUT = "-"
PICTURE = "svg"
PICTURE_SUFFIX = f".{PICTURE}"
_FORMAT_OF = {"": "json", ".json": "json", ".csv": "csv"}
ONLY_SUFFIXES = "use a name that ends with .json or .csv"
OR_CHOOSE = "or choose with --output-format"


def write_out(data: bytes, path: str | None) -> None:
    """Write to the file, or to standard output if the path is None or -."""
    if path is None or path == STDOUT:
        to_stdout(data)
    else:
        replace_file(path, data)


def to_stdout(data: bytes) -> None:
    """Write bytes to standard output, whatever encoding the terminal has."""
    sys.stdout.flush()
    rest = memoryview(data)
    while rest:
        # If Python runs unbuffered, this is a raw file, which may write only a part.
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a temporary file and rename it: readers see the old content or the new, never a part.

    A pipe or a device such as /dev/stdout cannot be replaced and is written to directly. A file that holds
    just this stays as it is, so that a build system does not take it for new.
    """
    replace_files({path: data})


def replace_files(contents: Mapping[str | os.PathLike[str], bytes]) -> None:
    """The same of several files: where one cannot be written, such as on a full disk, none is replaced.

    A signal that ends the process does so when nothing temporary is left: before the first file is replaced,
    or after the last.
    """
    scratches: dict[str, str] = {}
    path: str | os.PathLike[str] = ""
    with ending_signals_held() as held:
        try:
            for path, data in contents.items():
                if held:
                    return
                if os.path.exists(path) and not os.path.isfile(path):
                    with open(path, "wb") as device:
                        device.write(data)
                    continue
                target = os.path.realpath(path)
                if not _holds(target, data):
                    folder, name = os.path.split(target)
                    # A process that was killed may have left one of its own, and others may have its number.
                    scratch = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
                    scratches[scratch] = target
                    _write_through(scratch, data, like=target)
            if not held:
                for scratch, path in scratches.items():
                    os.replace(scratch, path)
        except OSError as error:
            # That of a write names no file, and the user does not know about the temporary one.
            error.filename, error.filename2 = os.fspath(path), None
            raise
        finally:
            for scratch in scratches:
                with suppress(OSError):
                    os.unlink(scratch)


def _write_through(path: str, data: bytes, like: str) -> None:
    """Write a new file down to the disk, with the permissions of another if that is there."""
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if os.path.exists(like):
        os.chmod(path, os.stat(like).st_mode)


_ENDING: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGXCPU)


@contextmanager
def ending_signals_held(hurry: Callable[[], object] = bool) -> Iterator[list[int]]:
    """Let signals that end the process wait; yields those that have come, which end it afterwards.

    `hurry` is called when one comes: what is under way may end early.

    Other threads than the main one cannot change what a signal does: there none is held.
    """
    held: list[int] = []
    before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def hold(number: int, _: FrameType | None) -> None:
        held.append(number)
        hurry()

    try:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                handler = signal.getsignal(number)
                if handler in (signal.SIG_DFL, signal.default_int_handler):
                    before[number] = handler
                    signal.signal(number, hold)
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came in held:
            signal.raise_signal(came)


def _holds(path: str, data: bytes) -> bool:
    try:
        if os.stat(path).st_size != len(data):
            return False
        with open(path, "rb") as file:
            return file.read() == data
    except OSError:
        return False


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
        raise InputError.single("not_writable", plain(path), f"{why}; name a file that can be written")


def refuse_one_file_twice(written: Sequence[tuple[str, str]], read: Mapping[str, str | None]) -> None:
    """Report a file that is to hold two things, or one that is read: each with what it is called."""
    for place, (path, what) in enumerate(written):
        others = [*written[:place], *((entry, called) for called, entry in read.items() if entry is not None)]
        for other, other_what in others:
            if _are_same(path, other):
                whats = "two outputs" if what == other_what else f"{other_what} and {what}"
                message = f"{whats} cannot be the same file; choose another name for the output"
                raise InputError.single("one_file_twice", plain(path), message)


def _are_same(one: str, other: str) -> bool:
    """Whether both paths are the same plain file."""
    if STDOUT in (one, other) or (os.path.exists(one) and not os.path.isfile(one)):
        return False
    return os.path.realpath(one) == os.path.realpath(other)


def refuse_unwritable_json(path: str | None) -> None:
    """The same of a file that is written as JSON alone, whose name must not end as that of something else."""
    if suffix_of(path) not in ("", ".json"):
        raise unknown_suffix(path, "this is written as JSON, so use a name that ends with .json")
    refuse_unwritable(path)


def format_of(path: str | None, chosen: str | None, advice: str = f"{ONLY_SUFFIXES}; {OR_CHOOSE}") -> str:
    """The format to write: the chosen one, else by the suffix of the name; JSON if it has none.

    `advice` is for a name that tells none: what the command that writes can do instead.
    """
    if chosen is not None:
        return chosen
    suffix = suffix_of(path)
    if suffix not in _FORMAT_OF:
        raise unknown_suffix(path, advice)
    return _FORMAT_OF[suffix]


def unknown_suffix(path: str | None, advice: str) -> "InputError":
    """The error about a file whose name tells no format that can be written."""
    message = f"{plain(suffix_of(path))} is not a supported format: {advice}"
    return InputError.single("unknown_suffix", plain(path or ""), message)


def refuse_other_pictures(path: str | None) -> None:
    """Reject a picture whose file name has the suffix of another format."""
    suffix = suffix_of(path)
    if suffix not in ("", PICTURE_SUFFIX):
        message = f"{plain(suffix)} is not supported for pictures: use a name that ends with {PICTURE_SUFFIX}"
        raise InputError.single("unknown_suffix", plain(path or ""), message)


def suffix_of(path: str | None) -> str:
    """The suffix of a file name; empty for names like `model-1.5`, pipes and devices."""
    if path is None or path == STDOUT or (os.path.exists(path) and not os.path.isfile(path)):
        return ""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix[1:2].isalpha() else ""
