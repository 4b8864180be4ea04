"""Writing results to standard output, or to a file atomically."""

import os
import sys
from contextlib import suppress
from pathlib import Path

STDOUT = "-"
WRITABLE = ("json", "csv", "structured")
PICTURE = ".svg"
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
        from memstow.planner.show.formatting import plain

        raise InputError.single("not_writable", plain(path), f"{why}; name a file that can be written")


def format_of(path: str | None, chosen: str | None) -> str:
    """The format to write: the chosen one, else by the suffix of the name; JSON if it has none."""
    if chosen is not None:
        return chosen
    suffix = _suffix(path)
    if suffix not in _FORMAT_OF:
        from memstow.planner.model.errors import InputError
        from memstow.planner.show.formatting import plain

        hint = "a picture is drawn with --picture" if suffix == PICTURE else "or choose with --output-format"
        message = (
            f"{plain(suffix)} is not a supported format: use a name that ends with .json or .csv; {hint}"
        )
        raise InputError.single("unknown_suffix", plain(path or ""), message)
    return _FORMAT_OF[suffix]


def refuse_other_pictures(path: str | None) -> None:
    """Reject a picture whose file name has the suffix of another format."""
    suffix = _suffix(path)
    if suffix not in ("", PICTURE):
        from memstow.planner.model.errors import InputError
        from memstow.planner.show.formatting import plain

        message = f"{plain(suffix)} is not supported for pictures: use a name that ends with {PICTURE}"
        raise InputError.single("unknown_suffix", plain(path or ""), message)


def _suffix(path: str | None) -> str:
    """The suffix of a file name; empty for names like `model-1.5`, pipes and devices."""
    if path is None or path == STDOUT or (os.path.exists(path) and not os.path.isfile(path)):
        return ""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix[1:2].isalpha() else ""
