"""Write what type checkers read of a native module: `python write_stub.py MODULE.so STUB.pyi`, run by CMake.

nanobind writes the stub from the signatures and texts of the bindings. It takes a block of integers for an
array of NumPy, which we do not need: here they are arrays and views of the standard library.
"""

import importlib.util
import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen


def main(library: Path, stub: Path) -> None:
    name = library.name.split(".")[0]
    spec = importlib.util.spec_from_file_location(name, library)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{library} is no module of Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = StubGen(module, quiet=True)
    generator.put(module)
    text = re.sub(
        r"Annotated\[NDArray\[numpy\.int64\], dict\([^]]*\)\]", "array[int] | memoryview", generator.get()
    )
    text = re.sub(r"Annotated\[memoryview, dict\([^]]*\)\]", "memoryview", text)
    text = re.sub(r"^(import numpy|from numpy\.typing import .*)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^from typing import Annotated$", "from array import array", text, flags=re.MULTILINE)
    stub.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
