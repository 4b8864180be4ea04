"""An event loop with nothing to do: how late the machine alone makes it, on standard output at the end."""

import asyncio
import sys
from statistics import quantiles

SECONDS = 0.5


async def watch(seconds: float) -> list[float]:
    """How late each of many short sleeps was, in seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    late = []
    while (before := loop.time()) < end:
        await asyncio.sleep(SECONDS)
        late.append(max(0.0, loop.time() - before - SECONDS))
    return late


if __name__ == "__main__":
    print(quantiles(asyncio.run(watch(float(sys.argv[1]))), n=100)[98])
