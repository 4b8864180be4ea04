"""Requests a second of each checkout's service, and of a bare route of the framework with its models."""

import asyncio
from typing import Final

from benchmarks.service.rates import closed_loop
from benchmarks.service.servers import bodies, free_port, running, service
from benchmarks.versions.case import Figures
from benchmarks.versions.checkout import Checkout, FailedError
from benchmarks.versions.inputs import Inputs

SECONDS: Final = 4.0
_WARM_SECONDS: Final = 0.5
# A server that does not answer is not waited for all night.
_MOST_SECONDS: Final = 120.0
# More than any server answers in this time, so that no problem comes twice.
_BODIES: Final = int(2500 * SECONDS)


def requests(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """Of the service, each with another problem; and as a multiple of those of the bare route."""
    made = bodies(_BODIES)
    port = free_port()
    bare_route = [checkout.python, "-m", "benchmarks.service.bare", str(port)]
    # `-m` looks in the folder first: there is the route with the models of the same checkout.
    with running(bare_route, port, folder=checkout.folder):
        bare = _rate(port, "/echo", made)
    with service((checkout.memstow,), checkout.folder) as (port, _):
        rate = _rate(port, "/v1/plan", made)
    return {"rate": rate, "of-bare": rate / bare}


def _rate(port: int, path: str, made: list[bytes]) -> float:
    async def load() -> float:
        async with asyncio.timeout(_MOST_SECONDS):
            await closed_loop(port, path, lambda i: made[-i % len(made)], _WARM_SECONDS)
            rate, statuses = await closed_loop(port, path, lambda i: made[i % len(made)], SECONDS)
        if statuses.keys() != {200}:
            raise FailedError(f"{path} answers {dict(statuses)}")
        return rate

    try:
        return asyncio.run(load())
    except (OSError, EOFError, TimeoutError) as error:
        raise FailedError(f"{path}: {error!r}") from None
