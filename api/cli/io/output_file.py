"""Where results go: standard output, or a file that is either whole or not there."""

import os
import sys
from contextlib import suppress
from pathlib import Path

STDOUT = "-"
WRITABLE = ("json", "csv", "structured")
PICTURE = ".svg"
_FORMAT_OF = {"": "json", ".json": "json", ".csv": "csv"}


def write_out(data: bytes, path: str | None) -> None:
    """Write to the file, or to standard output where there is none."""
    if path is None or path == STDOUT:
        to_stdout(data)
    else:
        replace_file(Path(path), data)


def to_stdout(data: bytes) -> None:
    """Bytes as they are: what is piped on must not depend on the terminal's encoding."""
    sys.stdout.flush()
    rest = memoryview(data)
    while rest:
        # Where Python runs unbuffered this is the bare file, which may take a part only.
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def replace_file(path: Path, data: bytes) -> None:
    """Write beside the file, then rename: a reader sees the old content or the new, never a part.

    What is not a plain file (a pipe, /dev/stdout) cannot be renamed onto and is written to directly.
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
            # Whoever reads of it knows nothing of the scratch file.
            error.filename, error.filename2 = str(path), None
        raise


def refuse_unwritable(*paths: str | None) -> None:
    """Told before the work, not after it: where a file is to be written there must be a folder for it."""
    for path in paths:
        if path is None or path == STDOUT:
            continue
        folder = os.path.dirname(os.path.realpath(path))
        if not path or os.path.isdir(path):
            why = "this is a directory" if path else "the name of the file is empty"
        elif not os.path.isdir(folder):
            why = "there is no such folder"
        elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
            why = "the permissions do not let it be written"
        else:
            continue
        from memstow.planner.model.errors import InputError
        from memstow.planner.show.formatting import plain

        raise InputError.single("not_writable", plain(path), f"{why}; name a file that can be written")


def format_of(path: str | None, chosen: str | None) -> str:
    """The format to write: the one asked for, or that of the name; JSON where the name says nothing."""
    if chosen is not None:
        return chosen
    suffix = _suffix(path)
    if suffix not in _FORMAT_OF:
        from memstow.planner.model.errors import InputError
        from memstow.planner.show.formatting import plain

        hint = "a picture is drawn with --picture" if suffix == PICTURE else "or choose with --output-format"
        message = f"nothing is written as {plain(suffix)}: let the name end with .json or .csv; {hint}"
        raise InputError.single("unknown_suffix", plain(path or ""), message)
    return _FORMAT_OF[suffix]


def refuse_other_pictures(path: str | None) -> None:
    """A picture is SVG: a name that promises something else would be a lie."""
    suffix = _suffix(path)
    if suffix not in ("", PICTURE):
        from memstow.planner.model.errors import InputError
        from memstow.planner.show.formatting import plain

        message = f"pictures are not written as {plain(suffix)}: let the name end with {PICTURE}"
        raise InputError.single("unknown_suffix", plain(path or ""), message)


def _suffix(path: str | None) -> str:
    """How the name of a file ends; of `model-1.5`, of a pipe or a device it says nothing."""
    if path is None or path == STDOUT or (os.path.exists(path) and not os.path.isfile(path)):
        return ""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix[1:2].isalpha() else ""
