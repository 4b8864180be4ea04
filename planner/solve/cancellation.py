"""A piece of work that can be told to stop while it runs: by an event, or by Ctrl-C."""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

# How often a waiting caller looks whether it was told to stop.
_TICK: Final = 0.02


def watched(work: Callable[[], T], stop: Callable[[], None], cancel: threading.Event | None, name: str) -> T:
    """What the work returns or raises. `stop` has it end early, as Ctrl-C does, which is then passed on."""
    if cancel is None and threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            if cancel is not None and cancel.is_set():
                stop()
            thread.join(_TICK)
    except BaseException:
        stop()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
