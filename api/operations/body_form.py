"""Whether a JSON body is a problem alone or our envelope around one: told from what it holds."""

from collections.abc import Sequence
from typing import Any, Final

from memstow.planner.formats.detect import is_plan, problem_format
from memstow.planner.model.errors import InputError

# What only an envelope holds, and what only a problem of our own holds.
_BESIDE: Final = ("options", "target", "plan", "hint", "priority", "hint_job")
_INSIDE: Final = ("version", "buffers")
# What the members of an envelope look like, for who forgot it.
_MEMBERS: Final = {
    "problem": '{"version": 1, "buffers": [...]}',
    "plan": '{"status": ..., "placements": [...]}',
    "problems": '[{"problem": {"version": 1, "buffers": [...]}}]',
    "options": "{...}",
}


def wrapped(members: Sequence[str]) -> str:
    """An envelope of these members, as an example."""
    return "{" + ", ".join(f'"{name}": {_MEMBERS[name]}' for name in members) + "}"


_PLANNED: Final = wrapped(("problem", "options"))


def format_alone(raw: Any) -> str | None:
    """The format of a body that is a problem alone; None for an envelope, or for what is neither."""
    if isinstance(raw, list):
        return problem_format(raw)
    if not isinstance(raw, dict):
        return None
    inside = [name for name in _INSIDE if name in raw]
    beside = [name for name in _BESIDE if name in raw]
    enveloped = "problem" in raw and "schema_version" not in raw
    if inside and (enveloped or beside):
        one, other = inside[0], "problem" if enveloped else beside[0]
        message = f"`{other}` stands beside `{one}`, which belongs into the problem: send {_PLANNED}"
        raise InputError.single("not_wrapped", "$", message)
    form = problem_format(raw)
    return form if not enveloped and (inside or form != "json") else None


def refuse_alone(raw: Any, members: Sequence[str], path: str) -> None:
    """InputError with the way out where a problem or plan stands in place of an envelope of these members."""
    what = _alone(raw)
    if what is not None:
        raise InputError.single("not_wrapped", path, f"this is {what} itself: send {wrapped(members)}")


def _alone(raw: Any) -> str | None:
    if is_plan(raw):
        return "a plan"
    told = isinstance(raw, list | dict) and raw and problem_format(raw) != "json"
    return "a problem" if told or (isinstance(raw, dict) and any(name in raw for name in _INSIDE)) else None
