"""Plain problems at random, in the many ways to write the same one down."""

import json
import random
from dataclasses import dataclass, field

_IDS = ("b", "B ", "ä", "日本", "🙂", "x y", "-1", "0", "é́", "~", "'", "semi;colon")

_PIECES = (
    b"\x00",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"-",
    b"9",
    b"1e3",
    b"\xff",
    b"\xed\xa0\x80",
    b"[",
    b"}",
    b"\\u00e4",
    b"\\u0000",
)


@dataclass(frozen=True)
class Sample:
    """A problem as text."""

    ids: list[str]
    sizes: list[int]
    lives: list[tuple[int, int]]
    alignments: list[int]
    pool: str = "memory"
    capacity: int | None = None
    name: str | None = None
    odd: random.Random = field(default_factory=random.Random)

    def csv(self) -> bytes:
        """As CSV, with what a spreadsheet may add."""
        odd = self.odd
        last = odd.random() < 0.3
        columns = {
            odd.choice(("id", "buffer", "Buffer_ID")): self.ids,
            odd.choice(("lower", "begin", " START ")): [str(begin) for begin, _ in self.lives],
            "END" if last else "upper": [str(end - last) for _, end in self.lives],
            "size": [str(size) for size in self.sizes],
        }
        if any(alignment != 1 for alignment in self.alignments) or odd.random() < 0.2:
            columns["alignment"] = [
                "" if alignment == 1 and odd.random() < 0.5 else str(alignment)
                for alignment in self.alignments
            ]
        if odd.random() < 0.2:
            columns["gaps"] = ["" for _ in self.ids]
        names = list(columns)
        odd.shuffle(names)
        end = odd.choice(("\n", "\r\n"))
        lines = [",".join(names)]
        lines += [
            ",".join(self._cell(name, columns[name][row]) for name in names) for row in range(len(self.ids))
        ]
        if odd.random() < 0.2:
            lines = [f"{line}{',' * odd.randrange(3)}" for line in lines]
        if odd.random() < 0.3:
            lines.insert(odd.randrange(len(lines) + 1), odd.choice(("", "  ", "\t")))
        text = end.join(lines) + (end if odd.random() < 0.8 else "")
        return (b"\xef\xbb\xbf" if odd.random() < 0.2 else b"") + text.encode()

    def _cell(self, name: str, cell: str) -> str:
        if name.strip().lower() in ("id", "buffer", "buffer_id") or not cell:
            return cell
        digits = cell.removeprefix("-")
        signed = cell if cell.startswith("-") else f"+{cell}"
        zeros = f"{cell.removesuffix(digits)}00{digits}"
        return self.odd.choice((cell, cell, cell, f" {cell}", f"{cell}\t", signed, zeros))

    def json(self) -> bytes:
        """As native JSON, with fields in any order and strings in any form."""
        odd = self.odd
        buffers = []
        for row, name in enumerate(self.ids):
            fields: dict[str, object] = {
                "id": name,
                "size": self.sizes[row],
                "lifetime": list(self.lives[row]),
            }
            if self.alignments[row] != 1 or odd.random() < 0.2:
                fields["alignment"] = self.alignments[row]
            if odd.random() < 0.2:
                fields[odd.choice(("pools", "accesses", "offset", "group", "lifetimes"))] = None
            if odd.random() < 0.1:
                fields["group"] = "layer"
            buffers.append(self._shuffled(fields))
        document: dict[str, object] = {"version": 1, "buffers": buffers}
        if self.name is not None:
            document["name"] = self.name
        if self.pool != "memory" or self.capacity is not None or odd.random() < 0.2:
            pool: dict[str, object] = {"id": self.pool, "capacity": self.capacity}
            if odd.random() < 0.3:
                pool |= {"alignment": 1, "reserved": [], "base": None, "cost": 0}
            document["pools"] = [self._shuffled(pool)]
        if odd.random() < 0.3:
            document |= {"conflicts": [], "objective": odd.choice((None, ["peak"]))}
        text = json.dumps(
            self._shuffled(document), ensure_ascii=odd.random() < 0.5, indent=odd.choice((None, 1, "\t"))
        )
        return (
            (b"\xef\xbb\xbf" if odd.random() < 0.2 else b"")
            + text.encode()
            + odd.choice((b"", b"\n", b" \r\n"))
        )

    def _shuffled(self, fields: dict[str, object]) -> dict[str, object]:
        names = list(fields)
        self.odd.shuffle(names)
        return {name: fields[name] for name in names}


def random_sample(seed: int) -> Sample:
    """The sample of this number."""
    odd = random.Random(seed)
    count = odd.choice((1, 2, 3, 5, 8, 13, 40, 70))
    unit = odd.choice((1, 1, 4, 64, 1 << 40))
    ids = [f"{odd.choice(_IDS)}{number}" for number in range(count)]
    odd.shuffle(ids)
    lives = []
    shift = odd.choice((0, 0, -7, 10**12, -(1 << 61)))
    for _ in range(count):
        begin = odd.randrange(20) + shift
        lives.append((begin, begin + 1 + odd.randrange(9)))
    sizes = [odd.choice((0, 1, 2, 3, 5, 8, 9)) * unit for _ in range(count)]
    alignments = [odd.choice((1, 1, 2, 4, 3, 128)) if odd.random() < 0.5 else 1 for _ in range(count)]
    capacity = odd.choice((None, None, None, 40 * unit, sum(sizes), max(sizes), 1 << 62))
    return Sample(
        ids,
        sizes,
        lives,
        alignments if odd.random() < 0.5 else [odd.choice((1, 1, 8))] * count,
        pool=odd.choice(("memory", "sram", "ü\n")),
        capacity=capacity,
        name=odd.choice((None, "", "net")),
        odd=odd,
    )


def mutated(data: bytes, odd: random.Random) -> bytes:
    """The same with a few bytes changed, left out, or there twice."""
    for _ in range(odd.choice((1, 1, 1, 2, 3))):
        at = odd.randrange(len(data) + 1)
        pieces = (b"", b"7", b"0", b"a", b" ", *_PIECES) if odd.random() < 0.7 else _PIECES
        piece = odd.choice(pieces)
        cut = odd.choice((0, 0, 0, 1, 1, 2, 9))
        data = data[:at] + piece + data[at + cut :]
        if odd.random() < 0.1:
            end = odd.randrange(len(data) + 1)
            data = data[:end] + data[odd.randrange(end + 1) :]
    return data
