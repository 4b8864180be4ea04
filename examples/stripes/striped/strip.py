"""One strip of a stripe: its steps, each of which makes a row from rows in rings or whole tensors."""

from typing import TYPE_CHECKING

import numpy as np

from striped.fixed_point import Image
from striped.rows import add_row, make_row
from striped.table import Stripe

if TYPE_CHECKING:
    from striped.interpreter import Interpreter


class Strip:
    """The steps of a stripe in some columns."""

    def __init__(self, interpreter: "Interpreter", stripe: Stripe, columns: list[list[int]]) -> None:
        self._all = interpreter
        self._arena = interpreter.arena
        self._stripe = stripe
        self._columns = columns
        self._rings = {ring["tensor"]: ring for ring in stripe["rings"]}
        self._place_of = {operator["makes"]: at for at, operator in enumerate(stripe["operators"])}
        self._freed = [0] * len(stripe["rings"])

    def run(self) -> None:
        """All steps, and bytes spoiled as soon as the table says that nobody needs them."""
        for step, frees in zip(self._stripe["steps"], self._stripe["frees"], strict=True):
            if self._columns[step[0]][0] < self._columns[step[0]][1]:
                self._step(step)
            for number, row in zip(frees[::2], frees[1::2], strict=True):
                self._free(number, row)

    def _step(self, step: list[int]) -> None:
        place, row, *rows = step
        member = self._stripe["operators"][place]
        first, end, *columns = self._columns[place]
        operator = self._all.operator(member)
        reads = {
            name: (rows[2 * at], rows[2 * at + 1], columns[2 * at], columns[2 * at + 1])
            for at, name in enumerate(member["reads"])
        }
        self._all.spoil(member.get("temporaries", []))
        allowed = _Allowed(self, dict(zip(operator.inputs, member["inputs"], strict=True)), reads)
        net = self._all.net
        if "sums" in member:
            sums = self._arena.sums(member["sums"])
            sums[:] = add_row(net, operator, allowed, row, first, end, sums.astype(np.int64))
        else:
            self.row(member["makes"], row, first, end)[:] = make_row(net, operator, allowed, row, first, end)

    def row(self, tensor: str, row: int, first: int, end: int) -> Image:
        """Columns [first, end) of a row, to read and to write."""
        ring = self._rings.get(tensor)
        if ring is None:
            return self._all.image(tensor)[row, first:end]
        begin, until = self._columns[self._place_of[tensor]][:2]
        if not begin <= first <= end <= until:
            raise IndexError(f"columns {first} to {end} of {tensor!r} are not in this strip")
        return self._arena.ring_row(ring, row, until - begin)[first - begin : end - begin]

    def _free(self, number: int, row: int) -> None:
        ring = self._stripe["rings"][number]
        for gone in range(max(self._freed[number], row - ring["rows"]), row):
            at = ring["offset"] + gone % ring["rows"] * ring["pitch"]
            self._arena.spoil(ring["pool"], at, ring["pitch"])
        self._freed[number] = row


class _Allowed:
    """The rows and columns that the table lets a step read; reading others is an error."""

    def __init__(
        self, strip: Strip, names: dict[str, str], reads: dict[str, tuple[int, int, int, int]]
    ) -> None:
        self._strip = strip
        self._names = names
        self._reads = reads

    def row(self, tensor: str, row: int, first: int, end: int) -> Image:
        """Columns [first, end) of a row of a tensor of the network, which may have another name here."""
        tensor = self._names[tensor]
        top, bottom, left, right = self._reads[tensor]
        if not (top <= row < bottom and left <= first and end <= right):
            raise IndexError(f"row {row}, columns {first} to {end} of {tensor!r} are not those of the table")
        return self._strip.row(tensor, row, first, end)
