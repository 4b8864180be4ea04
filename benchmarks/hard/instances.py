"""The problems from elsewhere that are hard, and the words for when they are not there."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.page import DATA
from memstow.planner.formats import read_problem
from memstow.planner.model.problem import Problem

SKIPPED = "Skipped: `../shared/data` is not there."
LETTERS = "ABCDEFGHIJK"
HEIGHT = 1_048_576
"""The height that the authors of A-K ask for."""


def there(folder: str) -> bool:
    """Whether the problems of this folder can be read."""
    return (DATA / folder).is_dir()


def minimalloc_path(letter: str) -> Path:
    """The file of one of A-K."""
    return DATA / "minimalloc" / f"{letter}.{HEIGHT}.csv"


def minimalloc() -> Iterator[tuple[str, Problem]]:
    """A-K by letter."""
    for letter in LETTERS:
        yield letter, read_problem(minimalloc_path(letter).read_bytes())
