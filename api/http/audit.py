"""The audit log: a line for every change that somebody asked for, and for every key that was refused.

Lines are written whatever the setting `log_level` says. They name keys by id, never by text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog
from starlette.types import Scope

_SCOPE_KEY: Final = "memstow.audit"
_INFO: Final = 20
# Operations that change something, whether or not they say what.
_CHANGES: Final = frozenset(
    {
        *("submit_job", "end_job", "end_jobs", "submit_batch", "end_batch"),
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
    found: AuditRecord = scope[_SCOPE_KEY]
    return found


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
