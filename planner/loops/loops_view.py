"""The loops of a program as the page shows them: what runs in order, and where in memory each thing lies.

Segments stand in the order of the operators of the graph as its plan runs it (`segment_graph`), so that the
page finds the one by the other. Of a stripe there is what each step makes, reads and holds, as far as
pictures of loops show it, and all of it in the words of the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypedDict

from memstow.planner.formats.native import write_document
from memstow.planner.loops.loop_table import program_of
from memstow.planner.loops.loop_writers import drawn_rows, drawn_steps, step_lines, strip_lines
from memstow.planner.model.graph import Alternative, Graph, Operator
from memstow.planner.model.loops import (
    Copy,
    Loops,
    RowRing,
    Scratch,
    StripeLoops,
    StripeMember,
    WholeOperator,
)
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.model.problem import Problem
from memstow.planner.show.formatting import count, plain, short_name


class Operand(TypedDict):
    """A tensor, ring or scratch that a segment works on."""

    role: str
    name: str
    buffer: int
    """By its place in the problem."""
    pool: str
    offset: int
    size: int
    what: str


class Step(TypedDict):
    """A step of a stripe: who runs, in words, and the rows that are drawn."""

    member: int
    text: str
    cells: list[int]
    """By fours: operator, line, row, and 0 for kept, 1 for read, 2 for made."""


class Member(TypedDict):
    """An operator of a stripe."""

    name: str
    makes: str
    extent: str
    keeps: str
    lines: int


class Segment(TypedDict):
    """What runs: an operator, a copy or a stripe; `members` and what follows are of stripes."""

    kind: str
    name: str
    what: str
    operands: list[Operand]
    aside: int
    """How many tensors it uses that are not planned, such as weights."""
    members: list[Member]
    steps: list[Step]
    all_steps: int
    words: list[str]


_STATES: Final = {"kept": 0, "read": 1, "made": 2}


def segment_graph(graph: Graph, schedule: Schedule | None) -> Graph:
    """The graph whose operators are the segments."""
    return program_of(graph, schedule).striped


def members_of(graph: Graph, problem: Problem, plan: Plan, table: Loops) -> dict[str, bytes | object]:
    """What the page has of a program: the graph in the order in which it runs, and its segments."""
    return {
        "graph": write_document(segment_graph(graph, plan.schedule)),
        "loops": segments_of(graph, problem, table),
    }


def segments_of(graph: Graph, problem: Problem, table: Loops) -> list[Segment]:
    """All segments; the graph is that of the model, the problem that of its plan."""
    return list(_View(graph, problem, table).segments())


class _View:
    def __init__(self, graph: Graph, problem: Problem, table: Loops) -> None:
        self._table = table
        self._buffer_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
        parts: tuple[Graph | Alternative, ...] = (graph, *graph.alternatives)
        self._operators: Mapping[str, Operator] = {
            operator.id: operator for part in parts for operator in part.operators
        }
        self._names = {tensor.id: tensor.name for part in parts for tensor in part.tensors if tensor.name}
        self._whole = {tensor.id: tensor for tensor in table.tensors}

    def segments(self) -> Iterator[Segment]:
        """One after the other."""
        for segment in self._table.segments:
            match segment:
                case StripeLoops():
                    yield self._stripe(segment)
                case Copy():
                    operands = [
                        *self._tensors("reads", [segment.source]),
                        *self._tensors("makes", [segment.target]),
                    ]
                    yield _segment("copy", "copy", f"of {_name(segment.source)}", operands, 0)
                case WholeOperator():
                    operands = [
                        *self._tensors("reads", segment.inputs),
                        *self._tensors("makes", segment.outputs),
                        *self._scratches(segment.temporaries),
                    ]
                    aside = len({*segment.inputs, *segment.outputs} - self._whole.keys())
                    again = "" if segment.runs is None else "once more"
                    yield _segment("operator", self._called(segment), again, operands, aside)

    def _stripe(self, stripe: StripeLoops) -> Segment:
        rings = {ring.tensor: ring for ring in stripe.rings}
        made = {member.makes for member in stripe.operators}
        inputs = [name for member in stripe.operators for name in member.inputs if name not in made]
        outputs = [member.makes for member in stripe.operators if member.makes not in rings]
        operands = [
            *self._tensors("reads", inputs),
            *self._tensors("makes", outputs),
            *(self._ring(ring) for ring in stripe.rings),
        ]
        for member in stripe.operators:
            if member.sums is not None:
                sums = f"sums of {_name(member.makes)}, which they become after the last strip"
                operands += self._scratches((member.sums,), "sums", sums)
            operands += self._scratches(member.temporaries)
        columns = "1 column" if stripe.columns == 1 else f"{count(stripe.columns)} columns"
        strips = (
            "one strip" if len(stripe.strips) == 1 else f"{count(len(stripe.strips))} strips of {columns}"
        )
        what = f"{count(len(stripe.operators))} operators, {strips}, {count(len(stripe.steps))} steps in each"
        names = [self._called(member) for member in (stripe.operators[0], stripe.operators[-1])]
        segment = _segment("stripe", f"stripe of {' to '.join(dict.fromkeys(names))}", what, operands, 0)
        segment["aside"] = len({*inputs} - self._whole.keys())
        segment["members"] = [self._member(stripe, place, rings) for place in range(len(stripe.operators))]
        segment["steps"] = list(self._steps(stripe))
        segment["all_steps"] = len(stripe.steps)
        if len(stripe.strips) > 1:
            segment["words"] = [*strip_lines(stripe), ""]
        segment["words"] += ["in each strip:", *step_lines(stripe)]
        return segment

    def _member(self, stripe: StripeLoops, place: int, rings: Mapping[str, RowRing]) -> Member:
        member = stripe.operators[place]
        ring = rings.get(member.makes)
        keeps = "whole" if ring is None else "1 row" if ring.rows == 1 else f"{count(ring.rows)} rows"
        extent = f"{count(member.rows)} × {count(member.columns)}"
        again = "1 column" if member.again == 1 else f"{count(member.again)} columns"
        return {
            "name": self._called(member),
            "makes": _name(member.makes),
            "extent": f"{extent}, {again} again" if member.again else extent,
            "keeps": "sums" if member.sums is not None else keeps,
            "lines": drawn_rows(stripe, place),
        }

    def _steps(self, stripe: StripeLoops) -> Iterator[Step]:
        for step, drawn in zip(stripe.steps, drawn_steps(stripe), strict=False):
            member = stripe.operators[step[0]]
            reads = [
                f"{_rows(step[at], step[at + 1] - 1)} of {_name(name)}"
                for name, at in zip(member.reads, range(2, len(step), 2), strict=True)
                if step[at] < step[at + 1]
            ]
            read = " and ".join(reads) or "nothing"
            held = ", ".join(f"{_name(name)} {_rows(first, last)}" for name, first, last in drawn.held)
            if member.sums is not None:
                does = f"adds {read} to {_name(member.makes)}"
            else:
                does = f"makes row {count(step[1])} of {_name(member.makes)} from {read}"
            yield {
                "member": step[0],
                "text": f"{self._called(member)} {does}. "
                + (f"Held: {held}." if held else "Nothing is held."),
                "cells": [
                    number
                    for cell in drawn.cells
                    for number in (cell.place, cell.line, cell.row, _STATES[cell.state])
                ],
            }

    def _tensors(self, role: str, names: Sequence[str]) -> Iterator[Operand]:
        for name in dict.fromkeys(names):
            tensor = self._whole.get(name)
            if tensor is None:
                continue
            extents = " × ".join(map(count, tensor.shape or ()))
            kind = " ".join(filter(None, (extents, tensor.type)))
            yield {
                "role": role,
                "name": _name(name),
                "buffer": self._buffer_of[name],
                "pool": tensor.pool,
                "offset": tensor.offset,
                "size": tensor.size,
                "what": self._with_name(tensor.of or name, kind),
            }

    def _ring(self, ring: RowRing) -> Operand:
        rows = "1 row" if ring.rows == 1 else f"{count(ring.rows)} rows, row r at r mod {count(ring.rows)}"
        return {
            "role": "ring",
            "name": _name(ring.tensor),
            "buffer": self._buffer_of[ring.tensor],
            "pool": ring.pool,
            "offset": ring.offset,
            "size": ring.rows * ring.pitch,
            "what": self._with_name(ring.tensor, f"{rows}; {count(ring.pitch)} bytes a row"),
        }

    def _scratches(
        self, scratches: Sequence[Scratch], role: str = "needs", what: str = "only while it runs"
    ) -> Iterator[Operand]:
        for entry in scratches:
            yield {
                "role": role,
                "name": plain(entry.id, most=60),
                "buffer": self._buffer_of[entry.id],
                "pool": entry.pool,
                "offset": entry.offset,
                "size": entry.size,
                "what": what,
            }

    def _with_name(self, tensor: str, what: str) -> str:
        """What a tensor is, and what the model calls it, where that is not its id."""
        name = self._names.get(tensor, tensor)
        return what if name == tensor else "; ".join(filter(None, (what, plain(short_name(name), most=80))))

    def _called(self, segment: WholeOperator | StripeMember) -> str:
        """What an operator computes, and its id, which may be a number alone."""
        kind = self._operators[segment.runs or segment.id].type
        name = plain(segment.id, most=60)
        return name if kind is None or kind in segment.id else f"{plain(kind, most=40)} {name}"


def _name(tensor: str) -> str:
    return plain(tensor, most=60)


def _rows(first: int, last: int) -> str:
    return f"row {count(first)}" if first == last else f"rows {count(first)} to {count(last)}"


def _segment(kind: str, name: str, what: str, operands: list[Operand], aside: int) -> Segment:
    return {
        "kind": kind,
        "name": name,
        "what": what,
        "operands": operands,
        "aside": aside,
        "members": [],
        "steps": [],
        "all_steps": 0,
        "words": [],
    }
