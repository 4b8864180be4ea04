"""How much memory a server of memstow may take with all its processes, as docs/operations.md counts them."""

from memstow.api.http.fair_threads import READERS, SEARCHERS
from memstow.api.http.settings import Settings

SERVER = 160 << 20


def most_memory(settings: Settings) -> int:
    """Bytes of the server and of every process that may run beside it, of which each has `solve_memory`.

    Where others run the jobs, such as the workers of a cluster, large bodies and searches remain.
    """
    jobs = 0 if settings.executor == "dask" else settings.runner_settings().threads
    solving = (jobs + READERS + SEARCHERS) * settings.solve_memory
    return solving + settings.body_memory + settings.cache_memory + SERVER
