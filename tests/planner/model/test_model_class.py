"""Values made in Python: from lists and any integers, equal to those read from a document, and as strict."""

import copy
import dataclasses
import pickle
from collections.abc import Iterator
from inspect import Parameter, signature
from typing import Any

import pytest
from pydantic import ValidationError

from memstow.planner.formats import read_problem
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor
from memstow.planner.model.model_class import Field, fields_of, maker_of, model_class, shared_fields
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Live, Placement, Plan
from memstow.planner.model.problem import (
    Buffer,
    InPlace,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    Target,
)
from memstow.planner.model.symbolic import (
    SymbolicBuffer,
    SymbolicGraph,
    SymbolicOperator,
    SymbolicProblem,
    SymbolicTemporary,
    SymbolicTensor,
)
from memstow.planner.reading.parse import parse_target

CLASSES: tuple[Any, ...] = (
    Buffer,
    InPlace,
    Options,
    Placement,
    Plan,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    Target,
)


class Whole:
    """An integer that is no `int`, as NumPy's are."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


class Array:
    """Several, which say that they are no integer when asked."""

    def __index__(self) -> int:
        raise TypeError("only one element can be an index")


@pytest.mark.parametrize("holder", CLASSES, ids=lambda holder: holder.__name__)
def test_what_a_constructor_shows_is_what_the_class_holds(holder: Any) -> None:
    shown = signature(holder).parameters
    fields = fields_of(holder)
    assert set(shown) == set(fields) == {field.name for field in dataclasses.fields(holder)}
    for name, parameter in shown.items():
        assert parameter.kind is Parameter.KEYWORD_ONLY
        if name == "version" and holder in (Problem, Target):
            assert fields[name].is_required
            assert parameter.default == 1
        elif fields[name].is_required:
            assert parameter.default is Parameter.empty
        else:
            assert parameter.default == fields[name].default()


def test_an_instance_cannot_be_changed() -> None:
    buffer = Buffer(id="a", size=1)
    wrong: Any = buffer
    with pytest.raises(dataclasses.FrozenInstanceError, match="size"):
        wrong.size = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="size"):
        del wrong.size
    assert buffer == Buffer(id="a", size=1) != Buffer(id="a", size=2)
    other: Any = InPlace(input="a", output="b")
    assert buffer != other
    assert repr(other) == "InPlace(input='a', output='b')"
    assert copy.deepcopy(buffer) == copy.copy(buffer) == buffer


def test_a_class_without_a_declared_constructor_shows_its_fields() -> None:
    assert list(signature(Live).parameters) == ["bytes", "time"]
    assert signature(Live).parameters["time"].default is None
    assert Live(bytes=1) == Live(bytes=1, time=None)
    with pytest.raises(ValidationError, match="bytes"):
        Live(bytes=-1)


def test_lists_become_tuples() -> None:
    problem = Problem(
        pools=[Pool(id="m", reserved=[Reserved(offset=0, size=1)])],
        buffers=[
            Buffer(id="a", size=1, lifetimes=[[0, 1]], pools=["m"]),
            Buffer(id="b", size=1, lifetime=[0, 1]),
        ],
        conflicts=[["a", "b"]],
        objective=["peak"],
    )
    same = Problem(
        version=1,
        pools=(Pool(id="m", reserved=(Reserved(offset=0, size=1),)),),
        buffers=(
            Buffer(id="a", size=1, lifetimes=((0, 1),), pools=("m",)),
            Buffer(id="b", size=1, lifetime=(0, 1)),
        ),
        conflicts=(("a", "b"),),
        objective=("peak",),
    )
    assert problem == same
    assert hash(problem) == hash(same)
    assert repr(problem) == repr(same)
    assert pickle.loads(pickle.dumps(problem)) == same
    assert dataclasses.replace(problem, name="x") == dataclasses.replace(same, name="x")
    first, second = problem.buffers
    for several in (problem.buffers, problem.conflicts[0], first.lifetimes, first.pools, second.lifetime):
        assert isinstance(several, tuple)


def test_whatever_is_an_integer_becomes_an_int() -> None:
    buffer = Buffer(
        id="a", size=Whole(8), lifetime=(Whole(-1), 2), alignment=Whole(4), pool="m", offset=Whole(0)
    )
    assert buffer == Buffer(id="a", size=8, lifetime=(-1, 2), alignment=4, pool="m", offset=0)
    assert type(buffer.size) is type(buffer.offset) is int
    several = Buffer(id="a", size=8, lifetimes=[[Whole(0), Whole(1)], (Whole(2), 3)])
    assert several.lifetimes == ((0, 1), (2, 3))
    assert Problem(buffers=(), version=Whole(1)).version == 1
    assert Placement(buffer="a", pool="m", offset=Whole(8)).offset == 8
    assert Options(seed=Whole(3), workers=Whole(2)) == Options(seed=3, workers=2)


def test_integers_of_numpy_are_integers_and_its_other_values_are_not() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    sizes = numpy.array([8, 16], dtype=numpy.uint16)
    buffers = [Buffer(id=str(n), size=size, lifetime=[numpy.int64(0), n + 1]) for n, size in enumerate(sizes)]
    assert [(type(buffer.size), buffer.size) for buffer in buffers] == [(int, 8), (int, 16)]
    for wrong in (numpy.True_, numpy.float64(8), sizes):
        with pytest.raises(ValidationError, match="valid integer"):
            Buffer(id="a", size=wrong)


@pytest.mark.parametrize("wrong", [True, 1.0, "1", None, Array(), object(), [1]])
def test_nothing_else_is_an_integer(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        Buffer(id="a", size=wrong)
    with pytest.raises(ValidationError):
        Buffer(id="a", size=Whole(8), lifetime=(wrong, 9))


def test_a_foreign_integer_has_the_same_range() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Buffer(id="a", size=Whole(-1))
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        Problem(buffers=(), version=Whole(2))


def test_what_can_be_gone_through_once_is_never_taken_for_empty() -> None:
    def lifetimes() -> Iterator[tuple[Any, Any]]:
        yield (0, Whole(2))

    with pytest.raises(ValidationError, match="valid integer"):
        Buffer(id="a", size=Whole(8), lifetimes=lifetimes())
    assert len(Problem(buffers=(Buffer(id=name, size=1) for name in "abc")).buffers) == 3


def test_fields_that_there_are_not_and_values_without_names_are_refused() -> None:
    wrong: Any = Buffer
    with pytest.raises(ValidationError, match="Unexpected keyword"):
        wrong(id="a", size=1, sizes=2)
    with pytest.raises(ValidationError, match="size"):
        wrong(id="a")
    with pytest.raises(TypeError, match="positional"):
        wrong("a", 1)


def test_a_document_must_say_its_version() -> None:
    with pytest.raises(InputError) as problem:
        read_problem(b'{"buffers": []}')
    with pytest.raises(InputError) as target:
        parse_target({"pools": [{"id": "m"}]})
    for entry in (problem, target):
        assert [(issue.code, issue.path) for issue in entry.value.issues] == [("missing_field", "$.version")]


def test_a_plan_made_by_hand_is_a_hint() -> None:
    hint = Plan(status=Status.FEASIBLE, placements=[Placement(buffer="a", pool="m", offset=0)])
    assert Options(hint=hint).hint is hint


def test_what_is_made_without_checks_is_the_same() -> None:
    make = maker_of(Live, "time", "bytes")
    assert make(3, 5) == Live(bytes=5, time=3)
    assert maker_of(Live, "bytes")(5) == Live(bytes=5)
    with pytest.raises(TypeError, match="not named"):
        maker_of(Live, "time")
    with pytest.raises(ValueError, match="argument"):
        make(3)


@shared_fields
class Base:
    __slots__ = ()

    size: int | str = Field(default=0, description="How large.", ge=0)
    many: tuple[int | str, ...]


@model_class
class Narrow(Base):
    size: int
    many: tuple[int, ...] = (1,)
    own: int = 2


def test_fields_of_a_base_come_first_and_keep_what_a_class_does_not_say() -> None:
    assert list(fields_of(Narrow)) == ["size", "many", "own"]
    metadata = {field.name: field.metadata for field in dataclasses.fields(Narrow)}
    assert metadata["size"] == {"description": "How large.", "ge": 0}
    make: Any = Narrow
    assert make() == make(size=0, many=[1], own=2)
    for wrong in ({"size": "a"}, {"size": -1}, {"many": ["a"]}):
        with pytest.raises(ValidationError):
            make(**wrong)
    assert not hasattr(make(), "__dict__")


@pytest.mark.parametrize(
    ("ordinary", "symbolic", "differ"),
    [
        (Buffer, SymbolicBuffer, {"size"}),
        (Problem, SymbolicProblem, {"version", "buffers", "objective"}),
        (Tensor, SymbolicTensor, {"size", "shape"}),
        (Temporary, SymbolicTemporary, {"size"}),
        (Operator, SymbolicOperator, {"temporaries"}),
        (Graph, SymbolicGraph, {"version", "tensors", "operators", "order", "objective"}),
    ],
)
def test_documents_with_formulas_have_the_fields_of_those_without(
    ordinary: Any, symbolic: Any, differ: set[str]
) -> None:
    one, two = (
        {field.name: field for field in dataclasses.fields(holder)} for holder in (ordinary, symbolic)
    )
    common = one.keys() & two.keys()
    assert [name for name in one if name in common] == [name for name in two if name in common]
    for name in common - differ:
        facts = [(field.type, field.default, field.metadata) for field in (one[name], two[name])]
        assert facts[0] == facts[1]
