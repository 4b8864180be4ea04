"""Run a command of memstow and write how long some functions took: `timed.py OUTPUT PARTS WORD ...`.

PARTS is JSON: for each part of the work, its functions as `module:name`, in the module that calls them. Time
in a function that another one calls counts for the inner one only. The functions are few and long, so that
measuring them costs nothing. What is counted is the time of processors, so that what else the machine does
changes little: nothing else of the process works meanwhile but threads of these functions.
"""

import functools
import json
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from threading import local
from typing import Any


class Clock:
    """Seconds of processors by part."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner = local()

    def watch(self, part: str, function: str) -> None:
        """Count the time of this function for this part."""
        module, _, path = function.partition(":")
        owner: Any = import_module(module)
        *outer, name = path.split(".")
        for step in outer:
            owner = getattr(owner, step)
        setattr(owner, name, self._watched(part, getattr(owner, name)))

    def _watched(self, part: str, function: Any) -> Any:
        @functools.wraps(function)
        def watched(*args: Any, **named: Any) -> Any:
            # A thread has its own calls.
            before = getattr(self._inner, "seconds", 0.0)
            self._inner.seconds = 0.0
            began = time.process_time()
            try:
                return function(*args, **named)
            finally:
                took = time.process_time() - began
                self.seconds[part] += took - self._inner.seconds
                self._inner.seconds = before + took

        return watched


def main(output: str, parts: str, *words: str) -> int:
    """Watch the functions, run the command, and write what they took."""
    from memstow.api.cli.main import main as memstow

    clock = Clock()
    for part, functions in json.loads(parts).items():
        for function in functions:
            clock.watch(part, function)
    code = memstow(list(words))
    Path(output).write_text(json.dumps(clock.seconds))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
