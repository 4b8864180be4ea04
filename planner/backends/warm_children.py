"""Children that have imported their back end already: that takes longer than most solves.

`prepare` is called as soon as a back end will be needed, `take` when it is. At most one child of a name
waits; it ends with this process.
"""

import atexit
import os
import sys
import threading

from memstow.planner.processes.process import Process

_LAST_SECONDS = 5.0

_lock = threading.Lock()
_waiting: dict[str, Process] = {}


def prepare(name: str) -> None:
    """Start a child of this name, if none waits."""
    with _lock:
        spare = _waiting.get(name)
        if spare is not None and spare.alive():
            return
        if spare is not None:
            del _waiting[name]
            spare.close()
        _waiting[name] = Process(command_for(name))


def take(name: str) -> Process:
    """A child of this name: the one that waits, or a new one."""
    with _lock:
        spare = _waiting.pop(name, None)
    if spare is not None:
        if spare.alive():
            return spare
        spare.close()
    return Process(command_for(name))


def command_for(name: str) -> list[str]:
    """The command that starts a child of this back end; `Process` fills in `{events}`."""
    # -P: where the caller happens to be, there may be files of any name; that is no place to import from.
    return [sys.executable, "-P", "-m", "memstow.planner.backends.child", name, "{events}"]


def dismiss() -> None:
    """End every child that waits."""
    with _lock:
        idle = list(_waiting.values())
        _waiting.clear()
    for spare in idle:
        # This process may be about to end, so no thread can do it later.
        spare.close(wait=_LAST_SECONDS)


def _forget() -> None:
    """A forked process does not own the children of its parent."""
    global _lock
    _lock = threading.Lock()
    _waiting.clear()


atexit.register(dismiss)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
