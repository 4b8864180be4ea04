"""Which format a content is of, told from its shape."""

from typing import Any, Final

from memstow.planner.model.errors import InputError

_EMPTY_LIST: Final = (
    'an empty list is of no format in particular: give a problem, {"version": 1, "buffers": [...]}, '
    "or name the format"
)


def looks_like_json(data: bytes) -> bool:
    """Whether the bytes begin as a JSON object or list does; anything else is taken for CSV."""
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def problem_format(raw: Any) -> str:
    """The format of a JSON value that should be a problem; the native one where nothing tells.

    InputError for an empty list, which is of several: who sent it has lost a problem on the way.
    """
    if isinstance(raw, list):
        if not raw:
            raise InputError.single("no_problem", "$", _EMPTY_LIST)
        return "usmp" if isinstance(raw[0], list) else "executorch"
    if isinstance(raw, dict) and not ("buffers" in raw or "version" in raw):
        if "schema_version" in raw or "problem" in raw:
            return "structured"
        if "sizes" in raw or "edges" in raw or "buffer_infos" in raw:
            return "usmp"
        if "specs" in raw or "memory_config" in raw:
            return "executorch"
    return "json"


def is_request(raw: Any) -> bool:
    """Whether it is what the service gets: a native problem, with options or a target beside it."""
    problem = raw.get("problem") if isinstance(raw, dict) else None
    return isinstance(problem, dict) and "version" in problem and "schema_version" not in raw


def is_plan(raw: Any) -> bool:
    """Whether it is a plan, of ours or in the structured form."""
    return isinstance(raw, dict) and "placements" in raw and "buffers" not in raw


def plan_format(raw: Any) -> str:
    """The format of a JSON value that should be a plan; only the native one has a status."""
    return "structured" if isinstance(raw, dict) and "placements" in raw and "status" not in raw else "json"
