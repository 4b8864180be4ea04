"""Where the time goes: `python -m benchmarks profiles [million] [start] [service] [engine]`."""

from typing import Final

from benchmarks.profiles import engine, million, service, start

PARTS: Final = {
    "million": million.measure,
    "start": start.measure,
    "service": service.measure,
    "engine": engine.measure,
}
