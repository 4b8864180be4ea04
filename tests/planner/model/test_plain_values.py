"""What is plain, pydantic takes as well, and makes the same of it; what pydantic refuses is never plain."""

import random
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError

from memstow.planner.formats.executorch_format import Tensor
from memstow.planner.formats.structured_format import Document
from memstow.planner.formats.usmp_format import PoolAllocations
from memstow.planner.model import Status
from memstow.planner.model.front import Front, FrontOptions
from memstow.planner.model.graph import Graph
from memstow.planner.model.loops import Loops
from memstow.planner.model.model_class import (
    Field,
    FieldSpec,
    NotPlainError,
    alternatives,
    fields_of,
    plain_value,
)
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Cut, Plan, RefutedOrders, TermValue
from memstow.planner.model.problem import Buffer, Id, Interval, Pool, Problem, Target
from memstow.planner.model.symbolic import SymbolicGraph, SymbolicPlan, SymbolicProblem
from tests.campaign import rounds

ROOTS: Final[tuple[Any, ...]] = (
    Buffer,
    Pool,
    Problem,
    Options,
    Plan,
    TermValue,
    Cut,
    RefutedOrders,
    Target,
    Graph,
    Loops,
    Front,
    FrontOptions,
    SymbolicProblem,
    SymbolicPlan,
    SymbolicGraph,
    Document,
    PoolAllocations,
    Tensor,
)
ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    1 << 31,
    1 << 53,
    (1 << 53) + 1,
    1 << 62,
    (1 << 62) + 1,
    1 << 63,
    10**400,
    0.0,
    1.0,
    0.5,
    -0.5,
    1e300,
    float("inf"),
    float("nan"),
    "",
    "a",
    "always",
    "optimal",
    "x" * 1024,
    "x" * 1025,
    "é",
    "\ud800",
    "\0",
    "a\0",
    b"a",
    "1",
    "cut",
    Status.OPTIMAL,
    (),
    [],
    [0, 1],
    (0, 1),
    [0],
    [0, 1, 2],
    ["a", "b"],
    ["a", 1],
    {1},
    {},
    {"kind": "cut"},
    {"kind": "least"},
    {"a": 1},
    {1: 1},
    Buffer(id="a", size=1),
    Pool(id="m"),
)


def kinds_in(kind: Any, seen: dict[Any, None]) -> None:
    """All types inside of a type."""
    if kind in seen or isinstance(kind, FieldSpec):
        return
    seen[kind] = None
    for inner in get_args(kind) if get_origin(kind) is not Literal else ():
        kinds_in(inner, seen)
    for one in alternatives(kind):
        if hasattr(one, "__pydantic_config__"):
            for facts in fields_of(one).values():
                kinds_in(facts.kind, seen)


def all_kinds() -> list[Any]:
    seen: dict[Any, None] = {}
    for root in ROOTS:
        kinds_in(root, seen)
    return [kind for kind in seen if kind is not Ellipsis and kind is not type(None)]


KINDS: Final = all_kinds()


def made(choose: random.Random, kind: Any, depth: int = 0) -> Any:
    """A value that may be of this kind; often it is, or nearly."""
    if depth > 5 or choose.random() < 0.04:
        return choose.choice(ODD)
    options = alternatives(kind)
    if not options:
        return None
    one = choose.choice(options)
    origin, inner = get_origin(one), get_args(one)
    if origin is Literal:
        return choose.choice(inner)
    if origin is tuple and inner[-1] is Ellipsis:
        values = [made(choose, inner[0], depth + 1) for _ in range(choose.choice((0, 1, 1, 2, 3)))]
        return values if choose.random() < 0.8 else tuple(values)
    if origin is tuple:
        return [made(choose, part, depth + 1) for part in inner]
    if origin is dict:
        return {choose.choice("abc"): made(choose, inner[1], depth + 1) for _ in range(choose.randrange(3))}
    if hasattr(one, "__pydantic_config__"):
        return given_to(choose, one, depth)
    simple: dict[Any, Callable[[], Any]] = {
        int: lambda: choose.choice((0, 1, 1, 2, 7, 1 << 20)),
        float: lambda: choose.choice((0.0, 0.5, 1, 1.0)),
        bool: lambda: choose.random() < 0.5,
        str: lambda: choose.choice(("a", "b", "é", "peak")),
        Status: lambda: choose.choice(("optimal", Status.FEASIBLE)),
    }
    return simple[one]() if one in simple else choose.choice(ODD)


def given_to(choose: random.Random, holder: Any, depth: int = 0) -> dict[str, Any]:
    """Fields that the class may take."""
    given: dict[str, Any] = {}
    for name, facts in fields_of(holder).items():
        if choose.random() < (0.97 if facts.is_required or name == "kind" else 0.3):
            given[name] = made(choose, facts.kind, depth + 1)
    if choose.random() < 0.02:
        given["other"] = 1
    return given


def same(one: Any, two: Any) -> bool:
    """Whether they are equal, and of the same types throughout."""
    if type(one) is not type(two):
        return False
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(one[name], two[name]) for name in one)
    if hasattr(one, "__pydantic_config__"):
        return all(same(getattr(one, name), getattr(two, name)) for name in fields_of(type(one)))
    return bool(one == two)


def plain_or_not(kind: Any, adapter: TypeAdapter[Any], value: Any) -> bool:
    """Whether the value is plain; checked against pydantic."""
    try:
        read = plain_value(kind, value)
    except NotPlainError:
        return False
    try:
        assert same(read, adapter.validate_python(value)), (kind, value)
    except ValidationError:
        pytest.fail(f"pydantic refuses {value!r} as {kind}")
    return True


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind)[:60])
def test_of_odd_values_nothing_is_plain_that_pydantic_refuses_or_changes(kind: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    for value in ODD:
        plain_or_not(kind, adapter, value)


@pytest.mark.rounds
@pytest.mark.parametrize("holder", ROOTS, ids=lambda holder: holder.__name__)
def test_random_documents_are_read_as_pydantic_reads_them(holder: Any) -> None:
    choose = random.Random(f"{holder.__name__}")
    adapter: TypeAdapter[Any] = TypeAdapter(holder)
    plain = sum(plain_or_not(holder, adapter, given_to(choose, holder)) for _ in range(rounds(1_500)))
    # Values of the others may be anything.
    assert plain > rounds(20) or holder is Document


@pytest.mark.rounds
@pytest.mark.parametrize(
    "holder", [Buffer, Pool, Problem, Options, Plan, Graph], ids=lambda one: one.__name__
)
def test_random_arguments_make_what_pydantic_makes_of_them(holder: Any) -> None:
    choose = random.Random(holder.__name__)
    adapter: TypeAdapter[Any] = TypeAdapter(holder)
    for _ in range(rounds(1_500)):
        given = {"version": 1} if "version" in fields_of(holder) and holder is not Plan else {}
        given |= given_to(choose, holder)
        try:
            expected = adapter.validate_python(given)
        except ValidationError:
            with pytest.raises(ValidationError):
                holder(**given)
        else:
            assert same(holder(**given), expected)


def test_choices_of_kinds_that_look_alike_are_left_to_pydantic() -> None:
    for kind in (int | float, Id | Literal["always"], Interval | tuple[Id, Id], Pool | Buffer):
        with pytest.raises(NotPlainError):
            plain_value(kind, {"id": "a", "size": 1} if kind == Pool | Buffer else 1)


def test_limits_that_are_not_known_or_differ_are_left_to_pydantic() -> None:
    small = Annotated[int, Field(ge=0)]
    for kind, value in (
        (Annotated[str, Field(pattern="a")], "a"),
        (Annotated[int, object()], 1),
        (Annotated[small, Field(ge=5)], 7),
        (Annotated[small | None, Field(ge=5)], 7),
    ):
        with pytest.raises(NotPlainError):
            plain_value(kind, value)
    assert plain_value(Annotated[small, Field(le=5)], 3) == 3
    for wrong in (-1, 6):
        with pytest.raises(NotPlainError):
            plain_value(Annotated[small, Field(le=5)], wrong)
