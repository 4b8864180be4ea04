"""What a reader says is wrong, for tests to compare."""

from collections.abc import Callable

import pytest

from memstow.planner.model.errors import InputError, Issue


def refusal(read: Callable[[], object]) -> tuple[Issue, ...]:
    """The issues of an input that must be refused."""
    with pytest.raises(InputError) as caught:
        read()
    assert caught.value.issues
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    return caught.value.issues


def told(read: Callable[[], object]) -> list[tuple[str, str]]:
    """Codes and places of what is wrong, in order."""
    return [(issue.code, issue.path) for issue in refusal(read)]
