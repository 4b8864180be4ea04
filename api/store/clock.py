"""The clock of the store, which decides what is old enough to be removed.

It shows about the seconds since 1970, and goes on only while a server runs, by the steady clock of that
server: neither a wrong system clock nor one that jumps makes anything old. Time in which no server runs
does not count.
"""

import time
from collections.abc import Callable

from sqlalchemy import Connection, ScalarSelect, select, update

from memstow.api.store.database import Database
from memstow.api.store.tables import clock


def store_time() -> ScalarSelect[float]:
    """The time of the store, for a statement."""
    return select(clock.c.seconds).scalar_subquery()


def read_time(connection: Connection) -> float:
    """The time of the store."""
    return float(connection.execute(select(clock.c.seconds)).scalar_one())


class StoreClock:
    """Lets the clock of the store go on while this server runs.

    Each server adds the time since its own start to what the clock showed then, and never sets it back: it
    goes as fast with several servers as with one.
    """

    def __init__(self, database: Database, steady: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._steady = steady
        self._begin: tuple[float, float] | None = None

    def time(self) -> float:
        """What the clock should show by now; what it shows is behind that until someone advances it."""
        if self._begin is None:
            self.advance()
        return self._due(self._steady())

    def advance(self) -> None:
        """Set the clock to what it should show by now."""
        now = self._steady()
        with self._database.write() as connection:
            shown = read_time(connection)
            if self._begin is None:
                self._begin = (shown, now)
            due = self._due(now)
            if due > shown:
                connection.execute(update(clock).where(clock.c.seconds < due).values(seconds=due))

    def _due(self, now: float) -> float:
        time_of_start, start = self._begin or (0.0, now)
        return time_of_start + (now - start)
