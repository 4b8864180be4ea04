"""Time that passes in a store, for tests."""

from memstow.api.store.database import Database, StoreClock


def let_pass(database: Database, seconds: float) -> None:
    """Let a server run on this store for so long."""
    at = [0.0]
    clock = StoreClock(database, lambda: at[0])
    clock.advance()
    at[0] = seconds
    clock.advance()
