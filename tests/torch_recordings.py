"""A small caching allocator as PyTorch has one, and what it records: snapshots and traces for tests.

It hands out blocks of 512 bytes and more from segments of 2 MiB for small ones and of 20 MiB or more for
large ones: the smallest free block of its stream that is large enough, which it splits. Freed blocks join
their neighbours.
"""

import json
import pickle
import random
from dataclasses import dataclass, field
from typing import Any, Final

MIB: Final = 1 << 20
_SMALL: Final = MIB
_FIRST_ADDRESS: Final = 0x7F_0000_0000_00


def rounded(size: int) -> int:
    """The size of the block for a request."""
    return max(512, -(-size // 512) * 512)


@dataclass
class Block:
    """A part of a segment."""

    address: int
    size: int
    requested: int = 0
    active: bool = False
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Segment:
    """What the device gave, and the blocks that it is divided into."""

    address: int
    size: int
    stream: int
    blocks: list[Block]
    pool: tuple[int, int] = (0, 0)


class CachingAllocator:
    """One device: hands out memory and writes down what happens."""

    def __init__(self, device: int = 0) -> None:
        self.device = device
        self.segments: list[Segment] = []
        self.events: list[dict[str, Any]] = []
        self.most_reserved = self.most_allocated = 0
        self._next = _FIRST_ADDRESS + device * (1 << 40)
        self._frames: dict[str, list[dict[str, Any]]] = {}
        self._places: dict[int, tuple[Segment, Block]] = {}

    @property
    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def allocated(self) -> int:
        return sum(block.size for segment in self.segments for block in segment.blocks if block.active)

    def alloc(self, size: int, stream: int = 0, who: str = "", pool: tuple[int, int] = (0, 0)) -> int:
        """The address of memory of this size."""
        wanted = rounded(size)
        free = [
            (block.size, block.address, segment, block)
            for segment in self.segments
            if (segment.stream, segment.pool) == (stream, pool)
            and (segment.size <= 2 * MIB) == (wanted <= _SMALL)
            for block in segment.blocks
            if not block.active and block.size >= wanted
        ]
        if free:
            _, _, segment, block = min(free, key=lambda entry: entry[:2])
        else:
            segment, block = self._reserve(wanted, stream, pool)
        if block.size > wanted:
            rest = Block(block.address + wanted, block.size - wanted)
            segment.blocks.insert(segment.blocks.index(block) + 1, rest)
            block.size = wanted
        block.active, block.requested, block.frames = True, size, self._stack(who)
        self._places[block.address] = segment, block
        self._event("alloc", block.address, size, stream, block.frames)
        self._count()
        return block.address

    def free(self, address: int) -> None:
        """Give memory back, at once."""
        segment, block = self._places.pop(address)
        for action in ("free_requested", "free_completed"):
            self._event(action, address, block.requested, segment.stream, block.frames)
        block.active = False
        at = segment.blocks.index(block)
        for neighbour in (at + 1, at):
            if 0 < neighbour < len(segment.blocks):
                before, after = segment.blocks[neighbour - 1], segment.blocks[neighbour]
                if not before.active and not after.active:
                    before.size += after.size
                    del segment.blocks[neighbour]

    def empty_cache(self) -> None:
        """Give the device back all segments of which nothing is used."""
        for segment in list(self.segments):
            if not any(block.active for block in segment.blocks):
                self.segments.remove(segment)
                self._event("segment_free", segment.address, segment.size, segment.stream, [])

    def forget(self) -> None:
        """Begin the recording here."""
        self.events.clear()
        self.most_reserved, self.most_allocated = self.reserved, self.allocated

    def _reserve(self, wanted: int, stream: int, pool: tuple[int, int]) -> tuple[Segment, Block]:
        unit = 2 * MIB
        size = unit if wanted <= _SMALL else 20 * MIB if wanted < 10 * MIB else -(-wanted // unit) * unit
        block = Block(self._next, size)
        segment = Segment(self._next, size, stream, [block], pool)
        self._next += size + 4 * MIB
        self.segments.append(segment)
        self._event("segment_alloc", segment.address, size, stream, [])
        return segment, block

    def _stack(self, who: str) -> list[dict[str, Any]]:
        if who not in self._frames:
            place, _, line = who.partition(":")
            own = {"filename": "/opt/lib/torch/nn/modules/module.py", "line": 7, "name": "_call"}
            user = {"filename": f"/home/somebody/project/{place}", "line": int(line or 0), "name": "forward"}
            self._frames[who] = [own, user] if who else []
        return self._frames[who]

    def _event(self, action: str, address: int, size: int, stream: int, frames: list[dict[str, Any]]) -> None:
        event = {"action": action, "addr": address, "size": size, "stream": stream}
        self.events.append(event | {"time_us": 10**15 + len(self.events), "frames": frames})

    def _count(self) -> None:
        self.most_reserved = max(self.most_reserved, self.reserved)
        self.most_allocated = max(self.most_allocated, self.allocated)


def snapshot_of(*devices: CachingAllocator, expandable: bool = False) -> dict[str, Any]:
    """What `torch.cuda.memory._snapshot` returns."""
    segments = [
        {
            "device": allocator.device,
            "address": segment.address,
            "total_size": segment.size,
            "allocated_size": sum(block.size for block in segment.blocks if block.active),
            "active_size": sum(block.size for block in segment.blocks if block.active),
            "requested_size": sum(block.requested for block in segment.blocks if block.active),
            "stream": segment.stream,
            "segment_type": "small" if segment.size <= 2 * MIB else "large",
            "segment_pool_id": segment.pool,
            "is_expandable": expandable,
            "frames": [],
            "blocks": [
                {
                    "address": block.address,
                    "size": block.size,
                    "requested_size": block.requested,
                    "state": "active_allocated" if block.active else "inactive",
                    "frames": block.frames,
                }
                for block in segment.blocks
            ],
        }
        for allocator in devices
        for segment in allocator.segments
    ]
    return {
        "segments": segments,
        "device_traces": [allocator.events for allocator in devices],
        "allocator_settings": {
            "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True" if expandable else "",
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": expandable,
            "roundup_power2_divisions": {str(1 << power): 0 for power in range(16)},
        },
        "external_annotations": [],
    }


def pickled(snapshot: object, protocol: int = 4) -> bytes:
    """As `torch.cuda.memory._dump_snapshot` writes it."""
    return pickle.dumps(snapshot, protocol)


def training_step(
    allocator: CachingAllocator, rng: random.Random, layers: int = 12, stream: int = 0, steps: int = 1
) -> None:
    """Steps of training: weights that stay, activations that live until their backward, and temporaries."""
    weights = [rng.randrange(4_000, 6 * MIB) for _ in range(layers)]
    for layer, size in enumerate(weights):
        allocator.alloc(size, stream, f"model.py:{10 + layer}")
    for _ in range(steps):
        activations = []
        for layer in range(layers):
            temporary = allocator.alloc(rng.randrange(1_000, 9 * MIB), stream, f"model.py:{100 + layer}")
            activations.append(
                allocator.alloc(rng.randrange(1_000, 5 * MIB), stream, f"model.py:{200 + layer}")
            )
            allocator.free(temporary)
        gradients = []
        for layer in reversed(range(layers)):
            temporary = allocator.alloc(rng.randrange(1_000, 12 * MIB), stream, f"train.py:{300 + layer}")
            gradients.append(allocator.alloc(weights[layer], stream, f"train.py:{400 + layer}"))
            allocator.free(activations.pop())
            allocator.free(temporary)
        for gradient in gradients:
            allocator.free(gradient)


def sample(seed: int = 1, **shape: int) -> CachingAllocator:
    """A device that has trained a little."""
    allocator = CachingAllocator()
    training_step(allocator, random.Random(seed), **shape)
    return allocator


def trace_of(allocator: CachingAllocator, kind: int = 1, number: int = 0) -> bytes:
    """The same events as the profiler writes them, in an operator each."""
    events: list[dict[str, Any]] = []
    total = 0
    for moment, event in enumerate(allocator.events):
        if event["action"] not in ("alloc", "free_completed"):
            continue
        size = rounded(event["size"]) * (1 if event["action"] == "alloc" else -1)
        total += size
        here = {"pid": 7, "tid": 7, "ts": moment * 10 + 5.125}
        name = event["frames"][-1]["filename"].rpartition("/")[2] if event["frames"] else "aten::add"
        for depth, called in enumerate((name, "aten::empty")):
            events.append(
                {"ph": "X", "cat": "cpu_op", "name": called, "pid": 7, "tid": 7}
                | {"ts": moment * 10 + depth, "dur": 9 - 2 * depth, "args": {"Ev Idx": moment}}
            )
        args = {"Total Reserved": allocator.most_reserved, "Total Allocated": total, "Bytes": size}
        args |= {"Device Id": number, "Device Type": kind, "Addr": event["addr"], "Ev Idx": moment}
        events.append(
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]"} | here | {"args": args}
        )
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events}).encode()
