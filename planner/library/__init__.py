"""Plans without Python: libmemstow, a library with a C interface, and the command `memstow-plan`.

`native/memstow.h` says what each call does. `make -C planner/library/native` and CMake build it without
Python; an installed memstow has a copy, whose place this says. `mlir` is a pass plugin over it.
"""

from pathlib import Path

from memstow.planner.plain import _columns


def library_path() -> Path:
    """The shared library of this installation."""
    # Beside other native code: an editable install keeps all of it apart from the sources.
    return Path(_columns.__file__).parents[1] / "library" / "libmemstow.so"
