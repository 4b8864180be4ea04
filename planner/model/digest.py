"""The identity of a problem: SHA-256, in lower-case hex, of its canonical form.

Two problems have one digest when they differ only in what has no meaning: the name, the groups of buffers,
the order of buffers and of constraints, the order within a symmetric pair, defaults spelled out or left out,
one lifetime written as several. The order of pools, of the pools a buffer may be in, and of the objective
does have a meaning.

The canonical form is a sequence of bytes made of lines. Each line ends with one line feed (0x0A) and consists
of fields separated by one space (0x20). A field is one of:

* a number: decimal ASCII digits, with a leading `-` when negative, no leading zeros;
* a string: the number of bytes of its UTF-8 encoding, a colon, those bytes; nothing is escaped;
* a list: its length, then its fields, all separated by spaces;
* `-` (a lone hyphen) for what is absent, `*` for "all", or a word, as given below.

The lines, in this order:

1. `memstow-problem 1`
2. For each pool, in the order of the problem:
   `pool`, id, capacity (`-` when null), alignment, base (0 when absent), cost, and the list of reserved
   ranges, each as two fields, begin and end. Ranges are merged: sorted, disjoint, not touching.
3. For each buffer, in the order of the UTF-8 bytes of the ids:
   `buffer`, id, size, alignment, accesses (the size when absent), pinned offset or `-`, life, allowed pools.
   * Life is `-` for a buffer without any lifetime, the word `always`, or the list of live ranges, each as two
     fields, begin and end, merged as above; empty ranges vanish, and an empty list is written `-`.
   * Allowed pools are `*` when they are all pools in the order of the problem, else the list of their ids.
     The pool a buffer is pinned to is its only allowed pool.
4. For each pair of `conflicts`: `conflict` and the two ids.
5. For each pair of `exclusive`: `exclusive` and the two ids.
6. For each entry of `relative`: `relative`, id of the buffer, id of the base, offset.
7. For each entry of `in_place`: `in_place` and the two ids.
8. For each pair in `reuse_costs`: `reuse_cost`, the two ids, and the sum of the costs of its entries.
9. Only where something depends on banks: for each pool that has some, in the order of the problem, `banks`,
   id, and the list of banks by address, each as two fields, begin and end. For each buffer that must be
   within a bank, or in some: `in_bank`, id, `1` if within one and `0` if not, and the sorted list of the
   numbers of its banks or `*`. For each pair in `bank_conflicts`: `bank_conflict`, the two ids, and the sum
   of the costs of its entries, or `-` where one of them has none. Buffers of size 0 are left out.
10. `objective` and the list of its terms in order, each a string, after the default is filled in.

In 4, 5, 7 to 9 the smaller id comes first, in the order of UTF-8 bytes. Within each of 4 to 9 the entries
are sorted by their ids in order, in 6 then by offset, and equal entries are written once."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeVar

from memstow.planner.model import _instances
from memstow.planner.model.errors import require_kind
from memstow.planner.model.problem import (
    RARE_FIELDS,
    AnyBuffer,
    Buffer,
    Pool,
    Problem,
    Range,
    access_count,
    allowed_pools,
    bank_pairs,
    bank_ranges,
    has_bank_rule,
    merged,
    uses_banks,
)
from memstow.records import Remembered

if TYPE_CHECKING:
    from hashlib import _Hash

_FEW: Final = 1 << 18
LINE: Final = 64
"""Bytes of a buffer in the canonical form, more or less."""
FIRST_LINE: Final = "memstow-problem 1\n"


@Remembered
def digest(problem: Problem) -> str:
    """SHA-256 of the canonical form, in hex."""
    require_kind(problem, Problem, "digest takes a Problem")
    identity = hasher(len(problem.buffers) * LINE)
    for part in _parts(problem):
        identity.update(part)
    return identity.hexdigest()


def sha256_of(data: bytes) -> "_Hash":
    """SHA-256 of the bytes."""
    identity = hasher(len(data))
    identity.update(data)
    return identity


def hasher(size: int) -> "_Hash":
    """SHA-256 of data of about this size: to load OpenSSL takes longer than to hash a little without it."""
    own = _without_openssl() if size <= _FEW and "_hashlib" not in sys.modules else None
    if own is not None:
        return own()
    from hashlib import sha256

    return sha256()


@cache
def _without_openssl() -> "Callable[[], _Hash] | None":
    for module in ("_sha2", "_sha256"):  # The first since Python 3.12; a build may have neither.
        with suppress(ImportError):
            own: Callable[[], _Hash] = import_module(module).sha256
            return own
    return None


def canonical(problem: Problem) -> bytes:
    """The canonical form itself."""
    return b"".join(_parts(problem))


_Buffer = TypeVar("_Buffer", bound=AnyBuffer)


def canonical_with(
    problem: Problem, buffers: tuple[_Buffer, ...], plain: Callable[[_Buffer], Buffer], rare: Sequence[str]
) -> bytes:
    """The canonical form of the problem with other buffers, which `plain` makes ordinary ones.

    Sizes that are text count as 0 there. `rare`: those of the rare fields that these buffers have.
    """
    return b"".join(_parts(problem, _lines_of(problem, buffers, plain, rare)))


def _lines_of(
    problem: Problem, buffers: tuple[_Buffer, ...], plain: Callable[[_Buffer], Buffer], rare: Sequence[str]
) -> bytes:
    everywhere = tuple(pool.id for pool in problem.pools)

    def line(buffer: _Buffer) -> str:
        return _buffer(problem, plain(buffer), everywhere)

    lines = _instances.buffer_lines(buffers, everywhere, rare, line)
    # Code points sort as their UTF-8 bytes do.
    return _utf8(map(line, sorted(buffers, key=attrgetter("id")))) if lines is None else lines


def _parts(problem: Problem, buffers: bytes | None = None) -> Iterator[bytes]:
    """The canonical form in a few parts; `buffers`: its lines, where they are there already."""
    yield _utf8([FIRST_LINE, *map(line_of_pool, problem.pools)])
    yield _lines_of(problem, problem.buffers, _itself, RARE_FIELDS) if buffers is None else buffers
    yield from relation_lines(
        _sides(problem.conflicts),
        _sides(problem.exclusive),
        ((tie.buffer, tie.base, tie.offset) for tie in problem.relative),
        ([entry.input for entry in problem.in_place], [entry.output for entry in problem.in_place]),
    )
    yield _utf8([*_cost_lines(problem), *_bank_lines(problem), objective_line(problem.terms())])


Sides = tuple[list[str], list[str]]
"""The one and the other ids of some pairs."""


def _sides(pairs: Sequence[tuple[str, str]]) -> Sides:
    return [one for one, _ in pairs], [other for _, other in pairs]


def relation_lines(
    conflicts: Sides, exclusive: Sides, relative: Iterable[tuple[str, str, int]], in_place: Sides
) -> Iterator[bytes]:
    """The lines between those of buffers and those of costs; each entry of `relative` with its offset."""
    yield _instances.pair_lines("conflict", *conflicts)
    yield _instances.pair_lines("exclusive", *exclusive)
    yield _utf8(
        f"relative {counted(buffer)} {counted(base)} {offset}\n"
        for buffer, base, offset in sorted(set(relative))
    )
    yield _instances.pair_lines("in_place", *in_place)


def _itself(buffer: Buffer) -> Buffer:
    return buffer


def _utf8(lines: Iterable[str]) -> bytes:
    # Surrogates cannot come out of JSON, but a Python caller may have them in an id.
    return "".join(lines).encode("utf-8", "surrogatepass")


def pool_line(name: str, capacity: int | None, rest: str = "1 0 0 0") -> str:
    """The line of a pool; the rest is that of one without alignment, base, cost and reserved ranges."""
    return f"pool {counted(name)} {'-' if capacity is None else capacity} {rest}\n"


def objective_line(terms: Sequence[str]) -> str:
    """The last line."""
    return f"objective {counted_list(terms)}\n"


def _cost_lines(problem: Problem) -> Iterator[str]:
    costs: dict[tuple[str, str], int] = {}
    for entry in problem.reuse_costs:
        pair = min(entry.buffers), max(entry.buffers)
        costs[pair] = costs.get(pair, 0) + entry.cost
    for (one, other), cost in sorted(costs.items()):
        yield f"reuse_cost {counted(one)} {counted(other)} {cost}\n"


def _bank_lines(problem: Problem) -> Iterator[str]:
    if not uses_banks(problem):
        return
    for pool in problem.pools:
        if pool.banks:
            ranges = bank_ranges(pool)
            listed = "".join(f" {begin} {end}" for begin, end in ranges)
            yield f"banks {counted(pool.id)} {len(ranges)}{listed}\n"
    for buffer in sorted(filter(has_bank_rule, problem.buffers), key=attrgetter("id")):
        numbers = None if buffer.banks is None else sorted(set(buffer.banks))
        among = "*" if numbers is None else " ".join(map(str, (len(numbers), *numbers)))
        yield f"in_bank {counted(buffer.id)} {int(bool(buffer.within_bank))} {among}\n"
    for (one, other), cost in sorted(bank_pairs(problem).items()):
        yield f"bank_conflict {counted(one)} {counted(other)} {'-' if cost is None else cost}\n"


def line_of_pool(pool: Pool) -> str:
    """The line of any pool."""
    reserved = _ranges((entry.offset, entry.offset + entry.size) for entry in pool.reserved)
    return pool_line(pool.id, pool.capacity, f"{pool.alignment} {pool.base or 0} {pool.cost} {reserved}")


def _buffer(problem: Problem, buffer: Buffer, everywhere: tuple[str, ...]) -> str:
    offset = "-" if buffer.offset is None else buffer.offset
    if buffer.pools is None and buffer.pool is None:
        pools = "*"
    else:
        allowed = allowed_pools(problem, buffer)
        pools = "*" if allowed == everywhere else counted_list(allowed)
    return (
        f"buffer {counted(buffer.id)} {buffer.size} {buffer.alignment} {access_count(buffer)} {offset} "
        f"{_life(buffer)} {pools}\n"
    )


def _life(buffer: Buffer) -> str:
    lifetime = buffer.lifetime
    if isinstance(lifetime, str):
        return lifetime
    if lifetime is not None:
        return f"1 {lifetime[0]} {lifetime[1]}" if lifetime[0] < lifetime[1] else "-"
    ranges = _ranges(buffer.lifetimes or ())
    return "-" if ranges == "0" else ranges


def _ranges(ranges: Iterable[Range]) -> str:
    union = merged(ranges)
    return " ".join([str(len(union)), *(f"{begin} {end}" for begin, end in union)])


def counted(text: str) -> str:
    """A text after the number of its bytes."""
    length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return f"{length}:{text}"


def counted_list(texts: Sequence[str]) -> str:
    """Texts after their number."""
    return " ".join([str(len(texts)), *map(counted, texts)])
