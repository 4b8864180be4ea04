"""Hints on `--resume`, added to the errors of a bench that ended early."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# By the codes of issues.
_HINTS: Final = {
    "has_results": "--resume continues with them",
    "not_a_record": "if the line is removed, --resume repeats that run",
}


@contextmanager
def resume_hint() -> Iterator[None]:
    """Add hints on `--resume` to errors of a bench; also usable as a decorator."""
    from dataclasses import replace

    from memstow.planner.bench.records.journal import InterruptedBenchError
    from memstow.planner.model.errors import InputError

    try:
        yield
    except InterruptedBenchError as error:
        raise InterruptedBenchError(f"{error}; the results so far are saved; --resume continues") from None
    except InputError as error:
        raise InputError(
            replace(issue, message=f"{issue.message}; {_HINTS[issue.code]}")
            if issue.code in _HINTS
            else issue
            for issue in error.issues
        ) from None
