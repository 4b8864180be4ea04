"""What a run has proven, as a proof of its plan may rest on it instead of looking for that again.

Whoever writes a proof derives all that it says anew: what is wrong here makes it weaker, but not false.
"""

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from memstow.solvers import _native

KnownOrders: TypeAlias = _native.LeastPeak
"""Of the orders of a graph."""
KnownPrices: TypeAlias = tuple[_native.AddressPrices, ...]
"""Of reuse costs: what shows them, by buffer, in each pool where they rest on what each address holds."""
Known: TypeAlias = KnownOrders | KnownPrices

_MOST_PACKED: Final = 1 << 20
"""Numbers; more are not sent to another process."""


def packed(known: Known) -> bytes | None:
    """The same for a proof that another process writes; None where that is too much."""
    numbers = list(_of_prices(known)) if isinstance(known, tuple) else known.proven()
    return array("q", numbers).tobytes() if len(numbers) <= _MOST_PACKED else None


def unpacked_orders(data: bytes) -> KnownOrders:
    """What a run of another process has proven of the same graph. A ValueError if that is nothing."""
    return _native.proven_orders(array("q", data))


def _of_prices(known: KnownPrices) -> Iterator[int]:
    for prices in known:
        yield from (prices.scale, prices.unit, prices.worth, len(prices.links), len(prices.crowds))
        for link in prices.links:
            yield from link
        for members, price in prices.crowds:
            yield from (price, len(members), *members)


def unpacked_prices(data: bytes) -> KnownPrices:
    """What a run of another process has proven of the same problem. A ValueError if that is nothing."""
    numbers, some = iter(array("q", data)), list[_native.AddressPrices]()

    def several(count: int) -> list[int]:
        taken = list(islice(numbers, max(count, 0)))
        if len(taken) != count:
            raise ValueError("a list has another length than it says")
        return taken

    try:
        for scale in numbers:
            unit, worth, links, crowds = several(4)
            known = _native.AddressPrices(
                [(link, price) for link, price in (several(2) for _ in range(links))],
                [(several(count), price) for price, count in (several(2) for _ in range(crowds))],
                scale,
                unit,
                worth,
            )
            some.append(known)
    except TypeError:
        raise ValueError("a number is no index of a buffer") from None
    return tuple(some)
