"""Records behave as frozen dataclasses with slots do."""

import copy
import dataclasses
import pickle
from functools import cached_property
from inspect import signature
from typing import Any

import pytest

from memstow.records import as_dict, field, fields, has_fields, record, replace


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
class Valued:
    """With names that functions here give to their arguments."""

    value: int
    name: str = ""
    holder: int = 0


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


def test_a_copy_has_other_values_in_fields_of_any_name() -> None:
    valued: Any = Valued(1)
    assert replace(valued, value=2, holder=3) == Valued(2, holder=3) == valued.__replace__(value=2, holder=3)
    assert copy.copy(valued) == copy.deepcopy(valued) == valued
    with pytest.raises(TypeError, match="Valued"):
        replace(valued, other=1)


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


@record
class Base:
    """With what is computed once."""

    __slots__ = ("__dict__",)

    one: int = 1
    more: list[int] = field(default_factory=list)

    @cached_property
    def doubled(self) -> int:
        """Kept in the instance."""
        return 2 * self.one


@record
class Derived(Base):
    """Fields more, of which one has no default, and another default."""

    one: int = 7
    two: str = field(kw_only=True)
    three: int = 3


def test_a_derived_record_has_the_fields_of_its_base_and_keeps_what_is_computed() -> None:
    derived = Derived(two="a")
    assert (derived.one, derived.two, derived.three, derived.more) == (7, "a", 3, [])
    assert derived.doubled is derived.doubled == 14
    assert [entry.name for entry in fields(Derived)] == ["one", "more", "two", "three"]
    assert [entry.name for entry in fields(Base)] == ["one", "more"]
    assert Derived(1, [2], 4, two="b") == Derived(one=1, more=[2], two="b", three=4)
    changed = replace(derived, one=3)
    assert (type(changed), changed.doubled, changed.two) == (Derived, 6, "a")
    shown: Any = derived
    assert changed == dataclasses.replace(shown, one=3) != derived
    assert str(signature(Derived)) == (
        "(one: int = 7, more: list[int] = <factory>, three: int = 3, *, two: str) -> None"
    )
    assert derived != Base(7)
    assert pickle.loads(pickle.dumps(derived)) == derived
    with pytest.raises(dataclasses.FrozenInstanceError):
        shown.one = 4


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((1, [2], 3, "a"), {}),
        ((1, [2], "a"), {}),
        ((), {"two": "a", "four": 4}),
        ((1,), {"two": "a", "one": 1}),
    ],
)
def test_it_refuses_what_is_missing_unknown_or_only_taken_by_name(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="Derived"):
        Derived(*values, **named)


def test_the_module_dataclasses_takes_a_record_as_one_of_its_own() -> None:
    mine: Any = Mine(1, more=[2])
    assert dataclasses.asdict(mine) == dataclasses.asdict(Theirs(1, more=[2]))
    assert dataclasses.is_dataclass(mine)
    kind: Any = Mine
    for one, other in zip(dataclasses.fields(kind), dataclasses.fields(Theirs), strict=True):
        assert (one.name, one.type, one.kw_only) == (other.name, other.type, other.kw_only)
        assert (one.default, one.default_factory) == (other.default, other.default_factory)
    assert Mine.__match_args__ == Theirs.__match_args__


def test_the_fields_of_a_dataclass_are_read_as_those_of_a_record() -> None:
    for one, other in zip(fields(Mine), fields(Theirs), strict=True):
        assert (one.name, one.type, one.kw_only) == (other.name, other.type, other.kw_only)
        assert (one.default, one.default_factory) == (other.default, other.default_factory)
    assert replace(Theirs(1), two="b") == Theirs(1, "b")
    kinds = (Mine, Derived, Theirs, str, Mine(1), list[int])
    assert [has_fields(kind) for kind in kinds] == [True, True, True, False, False, False]


def test_as_a_dictionary_records_inside_are_dictionaries_too() -> None:
    inside = Mine(1, more=[Theirs(2), (Valued(3),)])  # type: ignore[list-item]
    assert as_dict(inside) == {
        "one": 1,
        "two": "x",
        "more": [{"one": 2, "two": "x", "more": []}, [{"value": 3, "name": "", "holder": 0}]],
    }
    assert as_dict(Theirs(1, more=[4])) == dataclasses.asdict(Theirs(1, more=[4]))
