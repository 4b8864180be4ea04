"""Run a command of memstow and write where its main thread was: `python sampled.py OUTPUT WORD ...`.

Sampling begins with the signal SIGUSR1. A sample is taken each millisecond of the process's processor time;
unlike a profiler that is called at each call, this costs a small function no more than a large one. Machine
code counts for the Python function that calls it.
"""

import json
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

EACH = 0.001


def main(output: str, *words: str) -> int:
    """Run the command; then write the stacks, innermost file first, and how often each was met."""
    from memstow.api.cli.main import main as memstow

    met: Counter[tuple[str, ...]] = Counter()

    def sample(_number: int, frame: FrameType | None) -> None:
        files: list[str] = []
        while frame is not None:
            name = frame.f_code.co_filename
            if not files or files[-1] != name:
                files.append(name)
            frame = frame.f_back
        met[tuple(files)] += 1

    def begin(_number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, EACH, EACH)

    signal.signal(signal.SIGPROF, sample)
    signal.signal(signal.SIGUSR1, begin)
    code = memstow(list(words))
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    Path(output).write_text(json.dumps(list(met.items())))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
