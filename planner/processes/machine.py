"""The processors, memory and threads that this process may use; in a container, not those of the host."""

import math
import os
import threading
import time
from collections.abc import Iterator
from functools import cache

_Folder = str | os.PathLike[str]
_ROOT = "/"
# A full machine often has room for one more thread a moment later.
_THREAD_SECONDS = 2.0


def processors(root: _Folder = _ROOT) -> int:
    """Processors that this process may use, at least one."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        count = os.cpu_count() or 1
    return int(max(1, min(count, _quota(os.fspath(root)))))


def memory(root: _Folder = _ROOT) -> int:
    """Bytes of memory this process and its children may use together."""
    return min([_physical(), *_memory_limits(os.fspath(root))])


def start_thread(thread: threading.Thread) -> None:
    """Start a thread, if need be a moment later, when others have ended."""
    end = time.monotonic() + _THREAD_SECONDS
    while True:
        try:
            thread.start()
        except RuntimeError as error:
            if not lacks_threads(error) or time.monotonic() >= end:
                raise
            time.sleep(0.05)
        else:
            return


def lacks_threads(error: BaseException) -> bool:
    """Whether the machine, or a limit of this process, allows no further thread."""
    # Python has no other sign of too many threads.
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)


def processor_model(root: _Folder = _ROOT) -> str:
    """What the processor calls itself; empty where the system does not say."""
    for line in _lines(os.path.join(os.fspath(root), "proc/cpuinfo")):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return " ".join(value.split())
    return ""


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 1 << 32


@cache
def _quota(root: str) -> float:
    """The smallest quota. Cached: reading it takes a tenth of the time of a small problem."""
    return min(_quotas(root), default=math.inf)


def _quotas(root: str) -> Iterator[int]:
    """The processors that each control group up to the root allows, rounded up."""
    for folder in _groups(root, "cpu"):
        quota, period = _words(f"{folder}/cpu.max", 2) or (
            *(_words(f"{folder}/cpu.cfs_quota_us", 1) or ("max",)),
            *(_words(f"{folder}/cpu.cfs_period_us", 1) or ("1",)),
        )
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield max(1, -(-int(quota) // int(period)))


def _memory_limits(root: str) -> Iterator[int]:
    for folder in _groups(root, "memory"):
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            words = _words(f"{folder}/{name}", 1)
            if words and words[0].isdecimal() and int(words[0]):
                yield int(words[0])


def _groups(root: str, controller: str) -> Iterator[str]:
    """Folders of this process's control groups and those above, of version 2 and of version 1.

    Inside a container the path that the kernel reports may be the host's and not exist; the walk up ends at
    the mount, which is the container's own group then.
    """
    base = os.path.join(root, "sys/fs/cgroup")
    for line in _lines(os.path.join(root, "proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mounts = (controllers, controller) if controllers else ("", "unified")
        for mount in (os.path.normpath(os.path.join(base, name)) for name in mounts):
            folder = os.path.normpath(os.path.join(mount, path.lstrip("/")))
            while True:
                if os.path.isdir(folder):
                    yield folder
                if folder in (mount, os.path.dirname(folder)):
                    break
                folder = os.path.dirname(folder)


def _words(path: str, count: int) -> list[str] | None:
    words = " ".join(_lines(path)).split()
    return words if len(words) == count else None


def _lines(path: str) -> list[str]:
    """The lines of a file; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except OSError:
        return []
