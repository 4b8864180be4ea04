"""The exceptions of memstow. Each message has the value, what is wrong with it, and what would be right.

`closest_match` is for messages about a word that may be misspelt.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from memstow.records import record


@record
class Issue:
    """One thing that is wrong with an input."""

    code: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.code}]"


class MemstowError(Exception):
    """Base of everything memstow raises on purpose."""


class InputError(MemstowError):
    """An input that cannot be understood or that contradicts itself; holds every issue found."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues = tuple(issues)
        super().__init__("\n".join(map(str, self.issues)))

    @classmethod
    def single(cls, code: str, path: str, message: str) -> "InputError":
        return cls([Issue(code, path, message)])


@contextmanager
def changing_issues(change: Callable[[Issue], Issue]) -> Iterator[None]:
    """Put what `change` makes of each issue in its place: with a path that the user knows, for example."""
    try:
        yield
    except InputError as error:
        raise InputError(map(change, error.issues)) from None


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Put the name of the file, which is safe to print, before the paths of issues."""
    with changing_issues(
        lambda issue: Issue(issue.code, f"{file}: {issue.path}".removesuffix(": $"), issue.message)
    ):
        yield


def require_kind(value: object, wanted: type, needed: str) -> None:
    """Raise a TypeError that says what is `needed`, such as "plan takes a Problem", if it is none."""
    if not isinstance(value, wanted):
        raise TypeError(f"{needed}, not {type(value).__name__}")


class UnknownSolverError(MemstowError):
    """A solver name that is not registered."""


class MissingBackEndError(MemstowError):
    """A solver whose back end is not installed."""


class DeclinedError(MemstowError):
    """A solver named by the caller cannot honour a constraint of the problem."""


class PlugInError(MemstowError):
    """A plug-in that does not do what it should: of another package, so no defect of memstow."""

    def __init__(self, message: str, codes: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.codes = tuple(codes)
        """Of a plan that is not valid, what the judge finds."""


class RefusedPlanError(MemstowError):
    """The judge refused a plan of memstow: a defect of memstow, never of the input."""


_LONGEST = 64


def closest_match(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known word that is most like this one; None if none is similar."""
    # Imported late: it costs start-up time and only mistakes need it.
    from difflib import get_close_matches

    close = get_close_matches(word.lower()[:_LONGEST], list(known), n=1, cutoff=alike)
    return close[0] if close else None
