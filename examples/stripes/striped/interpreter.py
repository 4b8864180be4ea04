"""Runs a network as its table of loops says: all that is read and written is where the table puts it."""

from collections.abc import Mapping

import numpy as np

from striped import layers
from striped.arena import Arena
from striped.fixed_point import Image
from striped.network import Network, Operator
from striped.rows import finished, start
from striped.strip import Strip
from striped.table import Alone, Copy, Member, Scratch, Stripe, Table, Whole


def run(net: Network, table: Table, inputs: Mapping[str, Image], seed: int = 0) -> dict[str, Image]:
    """The outputs of the network."""
    return Interpreter(net, table, seed).run(inputs)


class Interpreter:
    """A network, its table and its memory."""

    def __init__(self, net: Network, table: Table, seed: int = 0) -> None:
        self.net = net
        self.table = table
        self.arena = Arena(table, seed)
        self.operators = {entry.id: entry for entry in net.operators}
        self.tensors = {tensor["id"]: tensor for tensor in table["tensors"]}

    def run(self, inputs: Mapping[str, Image]) -> dict[str, Image]:
        """The outputs for these inputs."""
        for name, image in inputs.items():
            self.image(name)[:] = image
        for number, segment in enumerate(self.table["segments"]):
            self.arena.spoil_all_but(self._live_before(number))
            if segment["kind"] == "operator":
                self._alone(segment)
            elif segment["kind"] == "copy":
                self._copy(segment)
            else:
                self._stripe(segment)
        self.arena.spoil_all_but(self._live_before(len(self.table["segments"])))
        last = {
            entry.get("of", entry["id"]): entry["id"]
            for entry in self._live_before(len(self.table["segments"]))
        }
        return {name: self.image(last[name]).copy() for name in self.net.outputs}

    def image(self, name: str) -> Image:
        """A tensor of the table as a whole, to read and to write."""
        return self.arena.whole(self.tensors[name], self.shape_of(name))

    def shape_of(self, name: str) -> tuple[int, int, int]:
        """Rows, columns and channels of a tensor of the table; of a later version, those of the first."""
        tensor = self.tensors.get(name)
        return self.net.image(name if tensor is None else tensor.get("of", name))

    def operator(self, segment: Alone | Member) -> Operator:
        """What a segment runs: an operator of the network. Its tensors may have other names here."""
        return self.operators[segment.get("runs", segment["id"])]

    def spoil(self, temporaries: list[Scratch]) -> None:
        """What kernels use for themselves they may write as they like."""
        for temporary in temporaries:
            self.arena.spoil(temporary["pool"], temporary["offset"], temporary["size"])

    def _live_before(self, segment: int) -> list[Whole]:
        return [tensor for tensor in self.table["tensors"] if tensor["first"] < segment <= tensor["last"]]

    def _alone(self, segment: Alone) -> None:
        images = [self.image(name).copy() for name in segment["inputs"] if name in self.tensors]
        self.spoil(segment.get("temporaries", []))
        self.image(segment["outputs"][0])[:] = layers.layer(self.net, self.operator(segment), images)

    def _copy(self, segment: Copy) -> None:
        source, target = self.tensors[segment["source"]], self.tensors[segment["target"]]
        bytes_ = self.arena.bytes_at(source["pool"], source["offset"], source["size"])
        self.arena.bytes_at(target["pool"], target["offset"], target["size"])[:] = bytes_.copy()

    def _stripe(self, segment: Stripe) -> None:
        adding = [entry for entry in segment["operators"] if "sums" in entry]
        for member in adding:
            self.arena.sums(member["sums"])[:] = start(self.operator(member))
        for columns in segment["strips"]:
            Strip(self, segment, columns).run()
        for member in adding:
            sums = self.arena.sums(member["sums"]).astype(np.int64)
            made = finished(self.net, self.operator(member), sums)
            self.image(member["makes"])[:] = made.reshape(self.shape_of(member["makes"]))
