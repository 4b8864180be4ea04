"""tinygrad with memstow as its memory planner: the same results, and what either of the two reserves.

    DEV=CPU python3 in_tinygrad.py

tinygrad gives the buffers of a schedule places in one arena per device by an allocator that follows time
(`memory_plan_rewrite`). `planned` does the same with a plan of memstow, from the same lifetimes.
"""

import contextlib
from collections.abc import Callable, Iterator

import tinygrad.engine.jit
import tinygrad.schedule
from tinygrad import Tensor, TinyJit, nn
from tinygrad.dtype import dtypes
from tinygrad.helpers import Context, round_up
from tinygrad.schedule.memory import _can_plan, _collect_bufs, memory_plan_rewrite
from tinygrad.uop.ops import Ops, UOp

import memstow

BLOCK = 256


def planned(linear: UOp, held: set[UOp] | None = None) -> tuple[UOp, int, bool]:
    """The schedule with its buffers in planned arenas, the bytes of these, and whether no plan needs less."""
    lives: dict[UOp, tuple[int, int]] = {}
    copied: set[UOp] = set()
    for step, item in enumerate(linear.src):
        for buffer in (
            b for source in item.src[1:] for b in _collect_bufs(source) if _can_plan(b, held or set())
        ):
            lives[buffer] = (lives.get(buffer, (step, 0))[0], step + 1)
            if item.src[0].op is Ops.COPY:
                copied.add(buffer)
    if not lives:
        return linear, 0, True
    buffers, lanes = {}, {}
    for number, (buffer, (begin, end)) in enumerate(lives.items()):
        lane = f"{buffer.device}{' copies' if buffer in copied else ''}"
        lanes[lane] = buffer.device
        # Copies run beside kernels, and are held twice as long.
        until = end + (end - begin if buffer in copied else 0)
        size = round_up(buffer.max_numel() * buffer.dtype.itemsize, BLOCK)
        buffers[f"b{number}"] = (
            buffer,
            memstow.Buffer(
                id=f"b{number}", size=size, lifetime=(begin, until), alignment=BLOCK, pools=(lane,)
            ),
        )
    problem = memstow.Problem(
        buffers=[made for _, made in buffers.values()], pools=[memstow.Pool(id=lane) for lane in lanes]
    )
    plan = memstow.plan(problem, memstow.Options(deterministic=True))
    arenas = {use.pool: UOp.new_buffer(lanes[use.pool], use.peak, dtypes.int8) for use in plan.pools}
    places = {}
    for place in plan.placements:
        buffer = buffers[place.buffer][0]
        bytes_ = arenas[place.pool][place.offset : place.offset + buffer.nbytes()]
        places[buffer] = bytes_.bitcast(buffer.dtype)
    rewritten = linear.substitute(places, name="memory plan", walk=True)
    return rewritten, sum(use.peak for use in plan.pools), plan.status == "optimal"


def reserved(linear: UOp, held: set[UOp] | None = None) -> int:
    """The bytes of the arenas of tinygrad's own plan."""
    before = {node for node in linear.toposort() if node.op is Ops.BUFFER}
    after = {node for node in memory_plan_rewrite(linear, held).toposort() if node.op is Ops.BUFFER}
    return sum(node.nbytes() for node in after - before)


@contextlib.contextmanager
def memstow_plans(log: list[tuple[int, int, bool]]) -> Iterator[None]:
    """While this is entered, tinygrad plans memory by memstow."""

    def rewrite(linear: UOp, held: set[UOp] | None = None) -> UOp:
        result, size, proven = planned(linear, held)
        log.append((reserved(linear, held), size, proven))
        return result

    modules = (tinygrad.schedule, tinygrad.engine.jit)
    for module in modules:
        module.memory_plan_rewrite = rewrite
    try:
        yield
    finally:
        for module in modules:
            module.memory_plan_rewrite = memory_plan_rewrite


class Separable:
    """A network of separable convolutions with branches that are joined again."""

    def __init__(self) -> None:
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        widths = ((16, 24), (24, 40), (40, 80))
        self.blocks = [
            (nn.Conv2d(i, 4 * i, 1), nn.Conv2d(4 * i, 4 * i, 3, padding=1, groups=4 * i),
             nn.Conv2d(4 * i, o, 1), nn.Conv2d(i, o, 1))
            for i, o in widths
        ]  # fmt: skip

    def __call__(self, x: Tensor) -> Tensor:
        """The activations of an image."""
        x = self.stem(x).relu()
        for wide, deep, narrow, beside in self.blocks:
            x = (narrow(deep(wide(x).relu()).relu()) + beside(x)).max_pool2d()
        return x.mean((2, 3))


class Blocks:
    """Blocks of attention."""

    def __init__(self, count: int, width: int) -> None:
        self.parts = [(nn.Linear(width, 3 * width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width))
                      for _ in range(count)]  # fmt: skip

    def __call__(self, x: Tensor) -> Tensor:
        """The same shape."""
        for mixed, up, down in self.parts:
            q, k, v = mixed(x.layernorm()).chunk(3, dim=-1)
            x = x + q.scaled_dot_product_attention(k, v)
            x = x + down(up(x.layernorm()).gelu())
        return x


def separable() -> Callable[[], list[float]]:
    """Images through convolutions."""
    model = Separable()
    step = TinyJit(lambda x: model(x).realize())
    return lambda: step(Tensor.rand(4, 3, 64, 64)).flatten().tolist()


def attention() -> Callable[[], list[float]]:
    """Tokens through blocks of attention."""
    model = Blocks(2, 64)
    step = TinyJit(lambda x: model(x).realize())
    return lambda: step(Tensor.rand(2, 32, 64)).flatten().tolist()


def training() -> Callable[[], list[float]]:
    """A step of training of blocks of attention."""
    model = Blocks(2, 32)
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=0.01)

    @TinyJit
    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = (model(x) - x).square().mean().backward()
        return loss.realize(*optimizer.schedule_step())

    def run() -> list[float]:
        with Context(TRAINING=1):
            return [step(Tensor.rand(2, 16, 32)).item()]

    return run


def outputs(make: Callable[[], Callable[[], list[float]]]) -> list[float]:
    """What four runs give: from the third one on tinygrad replays what it has captured."""
    Tensor.manual_seed(7)
    run = make()
    return [value for _ in range(4) for value in run()]


def main() -> None:
    """Each program, planned by tinygrad and by memstow."""
    for make in (separable, attention, training):
        log: list[tuple[int, int, bool]] = []
        wanted = outputs(make)
        with memstow_plans(log):
            results = outputs(make)
        theirs, ours, proven = max(log)
        print(
            f"{make.__name__}: tinygrad {theirs:,} bytes, memstow {ours:,}"
            f"{' (proven least)' if proven else ''}, {'same' if results == wanted else 'OTHER'} results"
        )


if __name__ == "__main__":
    main()
