"""The documents of a library of instances: what is known of each, and the index of all.

docs/library-format.md says what the fields mean together.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Literal, get_args

from memstow.planner.model.model_class import WITHOUT_NUL, Field, model_class, shared_fields
from memstow.planner.model.problem import Digest, Version

InstanceId = Annotated[
    str, Field(strict=True, min_length=1, max_length=100, pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$")
]
"""The name of a folder: no separator, no begin with a dot, no two dots, the same on every file system."""
_Line = Annotated[str, Field(strict=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Term = Annotated[str, Field(strict=True, min_length=1, max_length=1100, pattern=WITHOUT_NUL)]
_Text = Annotated[str, Field(strict=True, max_length=4000, pattern=WITHOUT_NUL)]
_Licence = Annotated[str, Field(strict=True, min_length=1, max_length=100, pattern=r"^[A-Za-z0-9.+ ()-]+$")]
_Date = Annotated[str, Field(strict=True, pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
_Count = Annotated[int, Field(strict=True, ge=0)]

DocumentKind = Literal["problem", "graph"]
FileName = Literal[
    "problem.json", "problem.json.gz", "graph.json", "graph.json.gz", "plan.json", "plan.proof"
]
State = Literal["open", "claimed", "proven", "infeasible"]
STATES: Final[tuple[State, ...]] = get_args(State)
Change = Literal["value", "bound", "proof", "infeasible"]
ShownBy = Literal["judge", "proof"]


@model_class
class Origin:
    """Where an instance comes from."""

    command: _Line | None = Field(default=None, description="The command that makes it again.")
    source: _Text | None = Field(default=None, description="Whose it is and where it was published.")

    def __init__(self, *, command: "str | None" = None, source: "str | None" = None) -> None: ...


@model_class
class TermRecord:
    """The best that is known of a term of the objective."""

    term: _Term
    value: _Count = Field(description="Of the plan.")
    bound: _Count = Field(
        default=0,
        description="No plan has less, those before as they are here; it was checked.",
    )
    shown_by: ShownBy | None = Field(default=None, description="Who has checked the bound; null: it is 0.")
    claimed: _Count | None = Field(
        default=None, description="A higher bound that the plan claims and nothing here shows."
    )

    def __init__(
        self,
        *,
        term: "str",
        value: "int",
        bound: "int" = 0,
        shown_by: "ShownBy | None" = None,
        claimed: "int | None" = None,
    ) -> None: ...


@model_class
class RecordEvent:
    """A record that became better."""

    date: _Date = Field(description="ISO 8601.")
    by: _Line = Field(description="Who brought it.")
    solver: _Line | None = Field(default=None, description="What found the plan, as the plan says.")
    version: _Line | None = Field(default=None, description="Of memstow, as the plan says.")
    changed: Annotated[tuple[Change, ...], Field(min_length=1)] = Field(description="What became better.")
    values: tuple[_Count, ...] = Field(default=(), description="Of each term.")
    bounds: tuple[_Count, ...] = Field(default=(), description="Of each term.")

    def __init__(
        self,
        *,
        date: "str",
        by: "str",
        changed: "Iterable[Change]",
        solver: "str | None" = None,
        version: "str | None" = None,
        values: "Iterable[int]" = (),
        bounds: "Iterable[int]" = (),
    ) -> None: ...


@model_class
class LibraryFile:
    """A file beside the metadata."""

    name: FileName
    bytes: _Count
    sha256: Digest

    def __init__(self, *, name: "FileName", bytes: "int", sha256: "str") -> None: ...  # noqa: A002


@shared_fields
class AnyInstance:
    """What the metadata of an instance and its line in the index have in common."""

    __slots__ = ()

    id: InstanceId
    title: _Line
    family: InstanceId
    licence: Annotated[
        str, Field(strict=True, min_length=1, max_length=100, pattern=r"^[A-Za-z0-9.+ ()-]+$")
    ] = Field(description="SPDX expression.")
    kind: DocumentKind
    state: State = Field(
        description="open; claimed: optimal, or infeasible, by the word of a solver; proven: optimal, and "
        "infeasible: nothing fits, both checked."
    )


@model_class
class LibraryInstance(AnyInstance):
    """`instance.json`: all that is known of an instance."""

    version: Version = Field(description="Version of this schema.")
    models: _Text = Field(default="", description="What it stands for, in words.")
    origin: Origin
    features: dict[str, int] = Field(description="Counts by name; those that are 0 are left out.")
    live: _Count | None = Field(
        default=None, description="Bytes of the largest live set; null: of a graph without a listed order."
    )
    slack: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Best peak / live, with four digits; null where the first term is no peak."
    )
    digest: Digest = Field(description="Of the problem or the graph.")
    form: Digest = Field(description="Of its canonical form: two that are equal but for names have one.")
    best: tuple[TermRecord, ...] = Field(default=(), description="Of each term; empty: there is no plan.")
    history: tuple[RecordEvent, ...] = Field(default=(), description="The oldest first.")
    files: Annotated[tuple[LibraryFile, ...], Field(min_length=1)]

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        title: "str",
        family: "str",
        licence: "str",
        kind: "DocumentKind",
        state: "State",
        origin: "Origin",
        features: "Mapping[str, int]",
        digest: "str",
        form: "str",
        files: "Iterable[LibraryFile]",
        models: "str" = "",
        live: "int | None" = None,
        slack: "float | None" = None,
        best: "Iterable[TermRecord]" = (),
        history: "Iterable[RecordEvent]" = (),
        version: "int" = 1,
    ) -> None: ...


@model_class
class IndexLine(AnyInstance):
    """An instance in the index."""

    buffers: _Count
    values: tuple[_Count, ...] = ()
    bounds: tuple[_Count, ...] = ()
    updated: _Date | None = Field(default=None, description="When its record was last broken.")
    sha256: Digest = Field(description="Of its `instance.json`.")

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        title: "str",
        family: "str",
        licence: "str",
        kind: "DocumentKind",
        state: "State",
        buffers: "int",
        sha256: "str",
        values: "Iterable[int]" = (),
        bounds: "Iterable[int]" = (),
        updated: "str | None" = None,
    ) -> None: ...


@model_class
class LibraryIndex:
    """`index.json`: all instances in the order of their ids, written from their metadata."""

    version: Version = Field(description="Version of this schema.")
    instances: tuple[IndexLine, ...] = ()

    def __init__(self, *, instances: "Iterable[IndexLine]" = (), version: "int" = 1) -> None: ...
