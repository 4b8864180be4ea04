"""The same problem in larger bytes: all that is best in it grows by the same factor."""

from copy import deepcopy

from tests.independent.documents import ProblemDocument


def scaled(problem: ProblemDocument, factor: int) -> ProblemDocument:
    """Everything that is counted in bytes, times the factor; accesses stay, so that costs do not grow."""
    larger = deepcopy(problem)
    for pool in larger.get("pools", []):
        pool["alignment"] = pool.get("alignment", 1) * factor
        capacity = pool.get("capacity")
        if capacity is not None:
            pool["capacity"] = capacity * factor
        if "base" in pool:
            pool["base"] *= factor
        for reserved in pool.get("reserved", []):
            reserved["offset"] *= factor
            reserved["size"] *= factor
    for buffer in larger["buffers"]:
        buffer["accesses"] = buffer.get("accesses", buffer["size"])
        buffer["size"] *= factor
        if "alignment" in buffer:
            buffer["alignment"] *= factor
        if "offset" in buffer:
            buffer["offset"] *= factor
    for tie in larger.get("relative", []):
        tie["offset"] *= factor
    return larger
