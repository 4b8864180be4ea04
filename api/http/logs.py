"""The log on standard error, one line for each event: text in a terminal, elsewhere JSON.

No contents of problems and no keys are logged.
"""

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog
from structlog.typing import Processor

from memstow.planner.reading.printable import printable

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
    renderer = _for_people(sys.stderr) if text else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    _take_in_libraries(level, shared, renderer)


def _json_steps() -> list[Processor]:
    return [structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.format_exc_info]


def _text_steps() -> list[Processor]:
    # At a terminal people want local time.
    return [structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False), _harmless]


def _harmless(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters, which could drive the terminal; JSON escapes them by itself."""
    return {name: printable(it, _LONGEST) if isinstance(it, str) else it for name, it in event.items()}


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
