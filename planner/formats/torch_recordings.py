"""Recordings of PyTorch's allocators as problems, and the places of its allocator as plans."""

from functools import partial
from typing import Final

from memstow.planner.formats.format import Format
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.recorded.recording import (
    SNAPSHOT,
    STALLOC_LOG,
    TRACE,
    read_recorded_plan,
    read_recording,
)


def _read_problem(name: str, data: bytes) -> Problem:
    return read_recording(data, name).problem


def _read_plan(name: str, data: bytes, problem: Problem) -> Plan:
    return read_recorded_plan(data, name, problem)


SNAPSHOT_FORMAT: Final = Format(
    name=SNAPSHOT,
    is_json=False,
    read_problem=partial(_read_problem, SNAPSHOT),
    read_plan=partial(_read_plan, SNAPSHOT),
)
TRACE_FORMAT: Final = Format(
    name=TRACE,
    is_json=False,
    read_problem=partial(_read_problem, TRACE),
    read_plan=partial(_read_plan, TRACE),
)
STALLOC_FORMAT: Final = Format(
    name=STALLOC_LOG,
    is_json=False,
    read_problem=partial(_read_problem, STALLOC_LOG),
    read_plan=partial(_read_plan, STALLOC_LOG),
)
