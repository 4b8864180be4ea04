"""The front of two terms: plans of which none is better in one term without being worse in the other.

In JSON a point has a field for each term, named as the term is; here these are `FrontPoint.values`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, SupportsIndex

from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import Count, Version

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

Value = Annotated[int, Field(strict=True, ge=0)]
Generator = Literal["stripes", "recompute", "spill", "channels"]
CostUnit = Literal["given", "bytes"]

GENERATORS: Final[tuple[Generator, ...]] = ("stripes", "recompute", "spill", "channels")
"""What may be done with a graph to need less memory, in the order of the documentation."""
FORMATS: Final = ("json", "csv", "svg")
"""What a front can be written as."""
MOST_POINTS: Final = 1_000
"""No front has more points than this."""
OWN_FIELDS: Final = ("bounds", "proven", "plan")
"""The fields of a point in JSON beside those of its terms."""

_TermName = Annotated[str, Field(strict=True, min_length=1, max_length=1100)]
_Within = Annotated[float, Field(strict=True, ge=1, le=1_000_000)]
_Points = Annotated[int, Field(strict=True, ge=1, le=MOST_POINTS)]


@model_class
class FrontOptions:
    """Which front is asked for."""

    terms: tuple[_TermName, _TermName] | None = Field(
        default=None,
        description="The two terms. Default: peak and cost of a graph; of a problem the peak of its first "
        "pool, and the first cost that it has.",
    )
    generators: tuple[Generator, ...] | None = Field(
        default=None,
        description="Of a graph: what may be done to need less memory. Default: stripes. With channels, the "
        "front and its plans are of the graph with the alternatives that `memstow convert --channels` adds.",
    )
    cost: CostUnit = Field(
        default="given",
        description="Of a graph: cost as its operators give it (given), or the bytes that they move (bytes).",
    )
    within: _Within | None = Field(
        default=None,
        description="Only points whose second term is at most this many times its least value.",
    )
    points: _Points | None = Field(default=None, description="At most this many points. Default: 1,000.")

    def __init__(
        self,
        *,
        terms: "tuple[str, str] | list[str] | None" = None,
        generators: "Iterable[Generator] | None" = None,
        cost: "CostUnit" = "given",
        within: "float | None" = None,
        points: "SupportsIndex | None" = None,
    ) -> None: ...


@model_class
class FrontPoint:
    """One plan of a front."""

    values: dict[str, Value] = Field(description="The value of each term.")
    bounds: dict[str, Value] = Field(
        default_factory=dict,
        description="Of a term: no plan that has no more of the other term has less of this one.",
    )
    proven: Annotated[bool, Field(strict=True)] = Field(
        default=False,
        description="Both values are bounds: no plan is better in one and as good in the other.",
    )
    plan: Plan

    def __init__(
        self,
        *,
        values: "Mapping[str, int]",
        plan: "Plan",
        bounds: "Mapping[str, int] | None" = None,
        proven: "bool" = False,
    ) -> None: ...

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> dict[str, object]:
        """In JSON each value is a field of its own, named as its term."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        values = schema["properties"].pop("values")
        schema["required"].remove("values")
        schema["additionalProperties"] = values["additionalProperties"] | {
            "description": "The value of the term that this field is named after."
        }
        return schema


@model_class
class TargetFront:
    """The front in the memories of one target."""

    target: str
    fits: Literal["yes", "no", "unknown"] = Field(
        description="Whether the target will do: a plan fits in it."
    )
    bytes: Count | None = Field(description="All of its memory; null: a pool of it has no limit.")
    pool: str | None = Field(
        default=None,
        description="The memory that all is in, where a graph names none and the target has several: the "
        "fastest that holds the graph as it is, else (or with alternatives) the largest. Points and "
        "`complete` are about it.",
    )
    points: tuple[FrontPoint, ...] = ()
    complete: Annotated[bool, Field(strict=True)] = False
    explanation: Explanation | None = Field(default=None, description="Why nothing fits.")

    def __init__(
        self,
        *,
        target: "str",
        fits: "Literal['yes', 'no', 'unknown']",
        bytes: "SupportsIndex | None",  # noqa: A002
        pool: "str | None" = None,
        points: "Iterable[FrontPoint]" = (),
        complete: "bool" = False,
        explanation: "Explanation | None" = None,
    ) -> None: ...


@model_class
class KeptOrder:
    """That operators ran as they are listed, where the graph allows other orders."""

    bytes: Count = Field(
        description="Live bytes at the fullest moment as listed, in the pool that counts, each operator once."
    )
    free_bytes: Count | None = Field(
        default=None,
        description="The same of a better order, from a short search: a reason to ask for the free order. "
        "Null: none was found, or several pools count apart.",
    )

    def __init__(
        self,
        *,
        bytes: "SupportsIndex",  # noqa: A002
        free_bytes: "SupportsIndex | None" = None,
    ) -> None: ...


@model_class
class Front:
    """The front of two terms, as far as it is known."""

    version: Version = Field(description="Version of this schema.")
    name: str | None = Field(default=None, max_length=1024, description="The name of the problem or graph.")
    terms: tuple[_TermName, _TermName]
    points: tuple[FrontPoint, ...] = Field(
        default=(),
        description="By the value of the first term, ascending; none is as good as another in both.",
    )
    complete: Annotated[bool, Field(strict=True)] = Field(
        default=False,
        description="All points within what was asked for are there, and all are proven.",
    )
    request: FrontOptions = Field(default_factory=FrontOptions, description="Which front this is.")
    explanation: Explanation | None = Field(default=None, description="Why nothing fits.")
    kept_order: KeptOrder | None = Field(
        default=None,
        description="Of a graph whose order is given, where it allows others, which may need less.",
    )
    targets: tuple[TargetFront, ...] = Field(
        default=(), description="Where targets were compared: the front in each, the smallest target first."
    )
    smallest: str | None = Field(
        default=None,
        description="The smallest target that will do. Null: none is known to, or a smaller one may.",
    )
    seconds: Annotated[float, Field(strict=True, ge=0)] = 0.0
    work: Count = Field(default=0, description="Steps of work, the same on every machine.")
    digest: str | None = Field(default=None, description="SHA-256 of the canonical problem, or of the graph.")
    memstow: str | None = Field(default=None, description="Version of memstow.")

    def __init__(
        self,
        *,
        terms: "tuple[str, str] | list[str]",
        name: "str | None" = None,
        points: "Iterable[FrontPoint]" = (),
        complete: "bool" = False,
        request: "FrontOptions | None" = None,
        explanation: "Explanation | None" = None,
        kept_order: "KeptOrder | None" = None,
        targets: "Iterable[TargetFront]" = (),
        smallest: "str | None" = None,
        seconds: "float" = 0.0,
        work: "SupportsIndex" = 0,
        digest: "str | None" = None,
        memstow: "str | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...
