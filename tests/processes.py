"""Which processes there are, for tests of what starts and ends them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait_for


def members(group: int) -> Iterator[int]:
    """Processes of a group but those that have ended and that nobody has reaped."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[2]) == group and words[0] not in "ZX":
            yield int(stat.parent.name)


def wait_gone(group: int) -> None:
    """Wait until no process of a group is left."""
    wait_for(lambda: not any(members(group)), f"the processes of group {group} to end")


def wait_ended(process: int) -> None:
    """Wait until a process is no more, or is no more than what its parent has to reap."""
    wait_for(lambda: state_of(process) in ("", "Z", "X"), f"process {process} to end")


def state_of(process: int) -> str:
    """The letter that the system has for what it does; empty where there is no such process."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return ""


def children_of(process: int) -> list[int]:
    """Processes that a process has started."""
    result: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            # A thread may end while its neighbours are looked at.
            with suppress(OSError):
                result += map(int, (task / "children").read_text().split())
    return result


# One that solves has threads besides the one that listens and the one that waits for a request.
_SOLVING_THREADS = 3


def solving(process: int) -> list[int]:
    """Children of a server or a worker that solve, without those in waiting."""
    return [child for child in children_of(process) if _threads(child) >= _SOLVING_THREADS]


def _threads(process: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{process}/task").iterdir()))
    return 0
