"""A bell that wakes one of the threads that wait for work."""

import threading


class Bell:
    """What is rung before a thread begins to wait is not missed, if it looked at `rings` before its work."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0

    @property
    def rings(self) -> int:
        """How often it was rung."""
        return self._rings

    def ring(self) -> None:
        """Wake one thread."""
        with self._condition:
            self._rings += 1
            self._condition.notify()

    def ring_for_all(self) -> None:
        """Wake every thread."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def wait(self, rings_before: int, seconds: float) -> None:
        """Wait for a ring since there were this many, at most for this time."""
        with self._condition:
            if self._rings == rings_before:
                self._condition.wait(seconds)
