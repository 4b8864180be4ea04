"""The processors and the memory that this process may use; in a container, not those of the host."""

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path("/")


def processors(root: Path = _ROOT) -> int:
    """Processors that this process may use, at least one."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        count = os.cpu_count() or 1
    return int(max(1, min(count, _quota(root))))


def memory(root: Path = _ROOT) -> int:
    """Bytes of memory this process and its children may use together."""
    return min([_physical(), *_memory_limits(root)])


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 1 << 32


@cache
def _quota(root: Path) -> float:
    """The smallest quota. Cached: reading it takes a tenth of the time of a small problem."""
    return min(_quotas(root), default=math.inf)


def _quotas(root: Path) -> Iterator[int]:
    """The processors that each control group up to the root allows, rounded up."""
    for folder in _groups(root, "cpu"):
        quota, period = _words(folder / "cpu.max", 2) or (
            *(_words(folder / "cpu.cfs_quota_us", 1) or ("max",)),
            *(_words(folder / "cpu.cfs_period_us", 1) or ("1",)),
        )
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield max(1, -(-int(quota) // int(period)))


def _memory_limits(root: Path) -> Iterator[int]:
    for folder in _groups(root, "memory"):
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            words = _words(folder / name, 1)
            if words and words[0].isdecimal() and int(words[0]):
                yield int(words[0])


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Folders of this process's control groups and those above, of version 2 and of version 1.

    Inside a container the path that the kernel reports may be the host's and not exist; the walk up ends at
    the mount, which is the container's own group then.
    """
    base = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mounts = [base / controllers, base / controller] if controllers else [base, base / "unified"]
        for mount in mounts:
            folder = mount / path.lstrip("/")
            while True:
                if folder.is_dir():
                    yield folder
                if folder == mount:
                    break
                folder = folder.parent


def _words(path: Path, count: int) -> list[str] | None:
    try:
        words = path.read_text().split()
    except OSError:
        return None
    return words if len(words) == count else None
