"""The JSON list that ExecuTorch's tensors are exported to: id, size, life and alignment, and nothing else.

An object is what its planner for Cadence gets, with memories and placements: see `cadence_reading`.
Plans of both are lists: see `allocations`.
"""

from typing import Annotated, Any, Final

from memstow.planner.formats.executorch.allocations import read_plan, write_plan
from memstow.planner.formats.executorch.cadence_reading import read_cadence
from memstow.planner.formats.executorch.cadence_writing import document_of
from memstow.planner.formats.format import Format, Refusals
from memstow.planner.formats.native import encode_document, list_of_lines
from memstow.planner.formats.plain_problem import refuse_beyond_buffers, refuse_pins, single_life
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.problem import Alignment, Buffer, Bytes, Id, Problem, Time
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.messages import wrong_type
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.paths import Path
from memstow.planner.reading.sections import index_before, read_elements


@model_class
class Tensor:
    """One buffer, live in [lower, upper)."""

    id: Id
    size: Bytes
    lower: Time
    upper: Time
    alignment: Annotated[Alignment, Field(description="Of the offset, in bytes.")] = 1


def read_problem(raw: Any) -> Problem:
    """The problem of a list of tensors, or of what Cadence's planner gets."""
    findings = Findings(raw)
    with collector_at_rest():
        problem = read_cadence(raw, findings) if isinstance(raw, dict) else _read_list(raw, findings)
    if findings or problem is None:
        raise findings.error()
    return problem


def _read_list(raw: Any, findings: Findings) -> Problem | None:
    if not isinstance(raw, list):
        findings.add("wrong_root", (), wrong_type("a list or an object", raw))
        return None
    tensors, lost = read_elements(Tensor, raw, findings, ())
    problem = Problem(version=1, buffers=tuple(map(_buffer, tensors)))
    check_made(problem, findings, lambda path: _place(path, lost))
    return problem


def write_problem(problem: Problem) -> bytes:
    """The problem as a list of tensors; as an object where memories or placements are given."""
    refusals = Refusals("executorch")
    placed = problem.relative or any(b.pool is not None or b.pools is not None for b in problem.buffers)
    if placed or len(problem.pools) > 1 or problem.pools[0].capacity is not None:
        document = document_of(problem, refusals)
        refusals.raise_any()
        return encode_document(document)
    refuse_beyond_buffers(problem, refusals)
    refuse_pins(problem, refusals)
    lives = [single_life(b, f"$.buffers[{i}]", refusals) for i, b in enumerate(problem.buffers)]
    refusals.raise_any()
    return list_of_lines(
        {"id": b.id, "size": b.size, "lower": lower, "upper": upper, "alignment": b.alignment}
        for b, (lower, upper) in zip(problem.buffers, lives, strict=True)
    )


def _buffer(tensor: Tensor) -> Buffer:
    return Buffer(
        id=tensor.id, size=tensor.size, lifetime=(tensor.lower, tensor.upper), alignment=tensor.alignment
    )


def _place(path: Path, lost: list[int]) -> Path:
    if len(path) < 2 or not isinstance(path[1], int):
        return ()
    field = ("lower",) if path[2:3] == ("lifetime",) else path[2:]
    return (index_before(lost, path[1]), *field)


FORMAT: Final = Format(
    name="executorch",
    is_json=True,
    read_problem=read_problem,
    write_problem=write_problem,
    read_plan=read_plan,
    write_plan=write_plan,
)
