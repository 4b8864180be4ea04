"""The log on standard error, one line for each event: text in a terminal, elsewhere JSON; and the audit log.

No contents of problems and no keys are logged. The audit log has a line for every change that somebody asked
for, and for every key that was refused, whatever the setting `log_level` says; it names keys by id.
"""

import json
import logging
import os
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

import structlog
from starlette.types import Scope
from structlog.typing import Processor

from memstow.planner.model.printable import printable

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# Longer than any line of the service; lines of libraries are cut there.
_LONGEST: Final = 500


def set_up(level: str, form: str) -> None:
    """Log from this level on, in this form: `text`, `json`, or `auto`, by whether a terminal is there."""
    text = form == "text" or (form == "auto" and sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        *(_text_steps() if text else _json_steps()),
    ]
    renderer = _for_people(sys.stderr) if text else _as_json
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    _take_in_libraries(level, shared, renderer)


# Making an encoder takes longer than a line.
_encode: Final = json.JSONEncoder(default=repr).encode


def _as_json(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    return _encode(event)


def _json_steps() -> list[Processor]:
    return [structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.format_exc_info]


def _text_steps() -> list[Processor]:
    # At a terminal people want local time.
    return [structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False), _harmless]


def _harmless(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters, which could drive the terminal; JSON escapes them by itself."""
    return {
        name: printable(entry, _LONGEST) if isinstance(entry, str) else entry for name, entry in event.items()
    }


def _for_people(stream: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty() and not os.environ.get("NO_COLOR"),
        exception_formatter=structlog.dev.plain_traceback,
        sort_keys=False,
    )


def _take_in_libraries(level: str, shared: list[Processor], renderer: Processor) -> None:
    """Write the lines of libraries, which use the standard module, in the same form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(_LEVELS[level], logging.WARNING))
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True


_SCOPE_KEY: Final = "memstow.audit"
_INFO: Final = 20
# Operations that change something, whether or not they say what.
_CHANGES: Final = frozenset(
    {
        *("submit_job", "submit_front", "end_job", "end_jobs", "submit_batch", "end_batch"),
        *("create_key", "set_key", "rotate_key", "revoke_key"),
        *("pause_claims", "resume_claims", "drain_server", "kick_job"),
    }
)

_log = structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(_INFO))


@dataclass(slots=True)
class AuditRecord:
    """What is known of a request when it is over."""

    key: str | None = None
    affected: dict[str, str] = field(default_factory=dict)
    refused: str | None = None
    """Why the caller was refused."""


def begin_record(scope: Scope) -> AuditRecord:
    """A new record for the request of this scope."""
    record = scope[_SCOPE_KEY] = AuditRecord()
    return record


def record_of(scope: Scope) -> AuditRecord:
    """The record of the request of this scope."""
    record: AuditRecord = scope[_SCOPE_KEY]
    return record


def note_affected(scope: Scope, **affected: str) -> None:
    """Note the job or jobs, the batch or the key that a request changes."""
    record_of(scope).affected.update(affected)


def write_changes(changes: Iterable[Mapping[str, str]]) -> None:
    """Write the lines of what the command line has changed in the store."""
    for change in changes:
        _log.info("audit", outcome="done", source="command line", **change)


def write_record(scope: Scope, status: int) -> None:
    """Write the line of a request that is over, if it is one for the audit log."""
    record = record_of(scope)
    operation = getattr(scope.get("route"), "operation_id", None) or "none"
    if record.refused is None and not record.affected and operation not in _CHANGES:
        return
    client = scope.get("client")
    _log.info(
        "audit",
        operation=operation,
        outcome="refused" if record.refused is not None else "done" if status < 400 else "failed",
        status=status,
        key=record.key,
        address=client[0] if client else None,
        **({"reason": record.refused} if record.refused is not None else {}),
        **record.affected,
    )
