"""Problems with symbols that several tests of the service plan."""

import random
from typing import Any


def hard(buffers: int = 150) -> dict[str, Any]:
    """A problem whose best order nobody proves: what is large at one end is small at the other."""
    rng = random.Random(1)
    made: list[dict[str, Any]] = []
    for number in range(buffers):
        factor, begin = rng.randint(1, 60), rng.randint(0, 60)
        size = rng.choice((f"{factor}*s", f"{factor}*(70 - s)", f"{factor}*s*s", 997 * factor))
        lifetime = [begin, begin + rng.randint(2, 25)]
        made.append({"id": f"b{number}", "size": size, "lifetime": lifetime})
    return {"version": 1, "symbols": [{"id": "s", "min": 1, "max": 64}], "buffers": made}
