"""Logs of STAlloc for tests: what a training allocates and frees, written down line by line."""

from random import Random

_FIRST_ADDRESS = 0x7F_0000_0000_00


class Log:
    """A process that takes memory from a device and writes a line for each allocation and each free."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._sizes: dict[int, tuple[int, int]] = {}
        self._next = _FIRST_ADDRESS
        self._free: dict[int, list[int]] = {}

    def mark(self, text: str) -> None:
        self.lines.append(text)

    def alloc(self, size: int, stream: int = 0) -> int:
        block = -(-size // 512) * 512
        unused = self._free.get(block)
        if unused:
            address = unused.pop()
        else:
            address = self._next
            self._next += block
        self._sizes[address] = (size, stream)
        self.lines.append(f"1 {address:#x} {size} {f'{stream:#x}' if stream else 0}")
        return address

    def free(self, address: int) -> None:
        size, stream = self._sizes.pop(address)
        self._free.setdefault(-(-size // 512) * 512, []).append(address)
        self.lines.append(f"0 {address:#x} {size} {f'{stream:#x}' if stream else 0}")

    def data(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode()


def training(
    seed: int = 0,
    *,
    layers: int = 3,
    batches: int = 2,
    iterations: int = 3,
    carried: int = 0,
    streams: int = 1,
) -> Log:
    """A training with weights, micro-batches and an optimizer.

    `carried`: allocations of each iteration that are freed in the next. The last `streams` - 1 layers
    allocate on streams of their own.
    """
    rng = Random(seed)
    log = Log()
    sizes = [rng.randint(1, 40_000) for _ in range(4 * layers)]
    weights = [log.alloc(size) for size in sizes]
    for one in [log.alloc(rng.randint(1, 9_000)) for _ in range(4)]:
        log.free(one)
    activations = [[rng.randint(100, 20_000) for _ in range(3)] for _ in range(layers)]
    states: list[int] = []
    before: list[int] = []
    for iteration in range(iterations):
        log.mark(f"Iteration Index : {iteration}")
        after = [log.alloc(3_000 + index) for index in range(carried)]
        for _ in range(batches):
            log.mark("micro-batch : F")
            kept = []
            for layer, wanted in enumerate(activations):
                stream = max(0, layer + streams - layers)
                made = [log.alloc(size, stream) for size in wanted]
                log.free(made.pop())
                kept.append(made)
            log.mark("micro-batch : B")
            for made in reversed(kept):
                gradient = log.alloc(5_000)
                for one in made:
                    log.free(one)
                log.free(gradient)
        for one in before:
            log.free(one)
        before = after
        if iteration == 0:
            states = [log.alloc(2 * size) for size in sizes]
    log.mark("Iteration Index : end")
    for one in (*before, *weights, *states):
        log.free(one)
    return log


def with_experts() -> Log:
    """A training whose layer of experts allocates another number of bytes in each iteration."""
    log = Log()
    weight = log.alloc(70_000)
    for iteration in range(3):
        log.mark(f"Iteration Index : {iteration}")
        log.mark("micro-batch : F")
        tokens = log.alloc(9_000)
        log.mark("layers.0.mlp->MoELayer Layer : F-start")
        log.mark("layers.0.mlp.router->TopKRouter Layer : F-start")
        scores = log.alloc(1_500)
        log.mark("layers.0.mlp.router->TopKRouter Layer : F-end")
        sent = log.alloc(4_000 + 600 * iteration)
        log.mark("layers.0.mlp.experts.0->ParallelMLP Layer : F-start")
        log.free(log.alloc(8_000 + 1_200 * iteration))
        log.mark("layers.0.mlp.experts.0->ParallelMLP Layer : F-end")
        log.mark("layers.0.mlp.shared_experts->SharedMLP Layer : F-start")
        shared = log.alloc(2_500)
        log.mark("layers.0.mlp.shared_experts->SharedMLP Layer : F-end")
        log.mark("layers.0.mlp->MoELayer Layer : F-end")
        log.mark("token_permutation : F-start")
        log.mark("micro-batch : B")
        for one in (sent, shared, scores, tokens):
            log.free(one)
    log.mark("Iteration Index : end")
    log.free(weight)
    return log
