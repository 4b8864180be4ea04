"""Records behave as frozen dataclasses with slots do."""

import dataclasses
import pickle
from inspect import signature
from typing import Any

import pytest

from memstow.planner.model.records import record


@record
class Mine:
    """A record."""

    one: int
    two: str = "x"
    more: list[int] = dataclasses.field(default_factory=list)

    def doubled(self) -> int:
        """A method."""
        return 2 * self.one


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The same as a dataclass."""

    one: int
    two: str = "x"
    more: list[int] = dataclasses.field(default_factory=list)


@record
class Empty:
    """Nothing."""


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "a"), {}),
    ((1, "a", [1]), {}),
    ((), {"one": 1}),
    ((1,), {"more": [2]}),
    ((), {"two": "b", "one": 3}),
    ((), {}),
    ((1, "a", [1], 4), {}),
    ((1,), {"one": 2}),
    ((1,), {"three": 3}),
    ((1, "a", [1]), {"two": "b"}),
]


@pytest.mark.parametrize(("values", "named"), ARGUMENTS)
def test_it_takes_what_a_dataclass_takes(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    try:
        expected = Theirs(*values, **named)
    except TypeError:
        with pytest.raises(TypeError, match="Mine"):
            Mine(*values, **named)
        return
    made = Mine(*values, **named)
    assert dataclasses.astuple(made) == dataclasses.astuple(expected)
    assert repr(made) == repr(expected).replace("Theirs", "Mine")
    assert made == Mine(*values, **named) != dataclasses.replace(made, one=77)
    assert pickle.loads(pickle.dumps(made)) == made
    other: Any = expected
    assert made != other
    assert made.doubled() == 2 * made.one


def test_it_cannot_be_changed_and_has_a_hash() -> None:
    made: Any = Mine(1, "a", [])
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.one = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.one
    with pytest.raises(TypeError):
        hash(made)
    assert hash(Empty()) == hash(Empty())
    assert Empty() == Empty()
    assert Mine(1).more is not Mine(1).more


def test_it_shows_its_signature_and_matches_by_place() -> None:
    assert signature(Mine).parameters["two"].default == signature(Theirs).parameters["two"].default
    assert list(signature(Mine).parameters) == ["one", "two", "more"]
    match Mine(4, "c"):
        case Mine(one, two):
            assert (one, two) == (4, "c")
