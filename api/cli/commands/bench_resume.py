"""The way to go on with a bench that ended early, added to what went wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# By the codes of issues.
_HINTS: Final = {
    "has_results": "--resume goes on with them",
    "not_a_record": "without this line --resume does that run again",
}


@contextmanager
def resume_hint() -> Iterator[None]:
    """Say in errors of a bench how `--resume` goes on; of a function as a decorator."""
    from dataclasses import replace

    from memstow.planner.bench.records.journal import InterruptedBenchError
    from memstow.planner.model.errors import InputError

    try:
        yield
    except InterruptedBenchError as error:
        raise InterruptedBenchError(f"{error}; what is recorded stays, and --resume goes on") from None
    except InputError as error:
        raise InputError(
            replace(issue, message=f"{issue.message}; {_HINTS[issue.code]}")
            if issue.code in _HINTS
            else issue
            for issue in error.issues
        ) from None
