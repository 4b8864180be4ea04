"""Records behave as frozen dataclasses with slots do."""

import dataclasses
import pickle
from functools import cached_property
from inspect import signature
from typing import Any

import pytest

from memstow.records import MISSING, field, fields, has_fields, open_record, record, replace


@record
class Mine:
    """A record."""

    one: int
    two: str = "x"
    more: list[int] = field(default_factory=list)

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


@open_record
class Base:
    """With what is computed once."""

    one: int = 1
    more: list[int] = field(default_factory=list)

    @cached_property
    def doubled(self) -> int:
        """Kept in the instance."""
        return 2 * self.one


@open_record
class Derived(Base):
    """One field more, which has no default, and another default."""

    two: str
    one: int = 7


def test_an_open_record_keeps_what_is_computed_and_has_subclasses() -> None:
    derived = Derived(two="a")
    assert (derived.one, derived.two, derived.more, derived.doubled) == (7, "a", [], 14)
    assert [entry.name for entry in dataclasses.fields(Derived)] == ["one", "more", "two"]
    assert [entry.name for entry in dataclasses.fields(Base)] == ["one", "more"]
    changed = replace(derived, one=3)
    assert (type(changed), changed.doubled, changed.two) == (Derived, 6, "a")
    assert changed == dataclasses.replace(derived, one=3) != derived
    assert derived != Base(one=7)
    assert pickle.loads(pickle.dumps(derived)) == derived
    refusing: Any = derived
    with pytest.raises(dataclasses.FrozenInstanceError):
        refusing.one = 4
    for wrong in (
        lambda: refusing.__class__("a"),
        lambda: refusing.__class__(),
        lambda: replace(derived, x=1),
    ):
        with pytest.raises(TypeError, match="Derived"):
            wrong()


def test_the_module_dataclasses_takes_a_record_as_one_of_its_own() -> None:
    mine, theirs = Mine(1, more=[2]), Theirs(1, more=[2])
    assert dataclasses.is_dataclass(mine)
    assert dataclasses.asdict(mine) == dataclasses.asdict(theirs)
    for one, other in zip(dataclasses.fields(Mine), dataclasses.fields(Theirs), strict=True):
        assert (one.name, one.type, one.kw_only) == (other.name, other.type, other.kw_only)
        assert (one.default, one.default_factory) == (other.default, other.default_factory)
    assert Mine.__match_args__ == Theirs.__match_args__


def test_the_fields_of_a_dataclass_are_read_as_those_of_a_record() -> None:
    for one, other in zip(fields(Mine), fields(Theirs), strict=True):
        assert (one.name, one.type, one.kw_only) == (other.name, other.type, other.kw_only)
        assert (one.default, one.default_factory) == (other.default, other.default_factory)
    assert [entry.default is MISSING for entry in fields(Theirs)] == [True, False, True]
    assert replace(Theirs(1), two="b") == Theirs(1, "b")
    assert [has_fields(one) for one in (Mine, Theirs, Derived, str, Mine(1))] == [
        True,
        True,
        True,
        False,
        False,
    ]
