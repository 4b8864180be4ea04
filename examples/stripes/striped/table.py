"""The table of loops as memstow writes it (docs/loops.md): only the fields that the interpreter reads."""

import json
from pathlib import Path
from typing import Literal, NotRequired, TypedDict


class Pool(TypedDict):
    """A memory, and how many bytes of it are used."""

    id: str
    size: int


class Whole(TypedDict):
    """A tensor that is there as a whole."""

    id: str
    of: NotRequired[str]
    pool: str
    offset: int
    size: int
    first: int
    last: int


class Scratch(TypedDict):
    """Bytes that an operator has while it runs."""

    id: str
    pool: str
    offset: int
    size: int
    phases: NotRequired[list[int]]


class Member(TypedDict):
    """An operator of a stripe."""

    id: str
    runs: NotRequired[str]
    inputs: list[str]
    reads: list[str]
    makes: str
    rows: int
    columns: int
    again: NotRequired[int]
    sums: NotRequired[Scratch]
    temporaries: NotRequired[list[Scratch]]


class Ring(TypedDict):
    """Rows that are kept at a time."""

    tensor: str
    pool: str
    offset: int
    rows: int
    pitch: int
    pixel: int


class Alone(TypedDict):
    """An operator that makes its whole output."""

    kind: Literal["operator"]
    id: str
    runs: NotRequired[str]
    inputs: list[str]
    outputs: list[str]
    temporaries: NotRequired[list[Scratch]]


class Copy(TypedDict):
    """A tensor that is copied."""

    kind: Literal["copy"]
    id: str
    source: str
    target: str


class Stripe(TypedDict):
    """Operators that run together."""

    kind: Literal["stripe"]
    id: str
    operators: list[Member]
    rings: list[Ring]
    strips: list[list[list[int]]]
    steps: list[list[int]]
    frees: list[list[int]]


class Table(TypedDict):
    """The whole program."""

    version: int
    pools: list[Pool]
    tensors: list[Whole]
    segments: list[Alone | Copy | Stripe]


def read(data: bytes) -> Table:
    """The table in this JSON."""
    table: Table = json.loads(data)
    if table["version"] != 1:
        raise ValueError(f"the table has version {table['version']}; this program reads version 1")
    return table


def read_file(path: Path) -> Table:
    """The table in this file."""
    return read(path.read_bytes())
