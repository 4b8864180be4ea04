"""The temporary folder of a child: named by its parent, made and removed by the child itself.

A parent that made it could be killed before there is a child to remove it.
"""

import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "memstow-"
_VARIABLE = "MEMSTOW_FOLDER"


def new_name(parent: Path | None = None) -> Path:
    """A folder that is not there yet, in `parent` or where the system has such folders.

    Nobody can guess its name, and make it before.
    """
    return (parent or Path(tempfile.gettempdir())) / f"{_PREFIX}{os.urandom(8).hex()}"


def variables(folder: Path) -> dict[str, str]:
    """What the environment of the child says of its folder."""
    return {"TMPDIR": str(folder), _VARIABLE: str(folder)}


def move_in() -> None:
    """Make the folder of this process, if it has one, and work there.

    A child does this before it listens to its parent: at the end of what it hears it removes the folder.
    """
    folder = os.environ.get(_VARIABLE)
    if folder:
        os.mkdir(folder, 0o700)
        os.chdir(folder)


def move_out() -> None:
    """Remove the folder of this process."""
    folder = os.environ.get(_VARIABLE)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
