"""Whether a JSON body is a problem alone or our envelope around one: told from what it holds."""

from typing import Any, Final

from memstow.planner.formats.detect import problem_format
from memstow.planner.model.errors import InputError

# What only an envelope holds, and what only a problem of our own holds.
_BESIDE: Final = ("options", "target", "plan", "hint", "priority", "hint_job")
_INSIDE: Final = ("version", "buffers")
_WRAPPED: Final = '{"problem": {"version": 1, "buffers": [...]}, "options": {...}}'


def format_alone(raw: Any) -> str | None:
    """The format of a body that is a problem alone; None for an envelope, or for what is neither."""
    if isinstance(raw, list):
        return problem_format(raw)
    if not isinstance(raw, dict):
        return None
    inside = [name for name in _INSIDE if name in raw]
    beside = [name for name in _BESIDE if name in raw]
    wrapped = "problem" in raw and "schema_version" not in raw
    if inside and (wrapped or beside):
        one, other = inside[0], "problem" if wrapped else beside[0]
        message = f"`{other}` stands beside `{one}`, which belongs into the problem: send {_WRAPPED}"
        raise InputError.single("not_wrapped", "$", message)
    form = problem_format(raw)
    return form if not wrapped and (inside or form != "json") else None
