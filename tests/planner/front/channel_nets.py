"""Small random graphs with tensors that can be there in parts of their channels."""

from pathlib import Path
from random import Random

from memstow.planner.model.graph import Graph, Operator, Tensor, Window

SHARED_GRAPHS = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "graphs"


def channel_net(seed: int) -> Graph:
    """Blocks as those of MobileNet, one after the other, some with a sum around them."""
    random = Random(seed)
    rows = random.choice((2, 4))
    tensors = [_image("x", rows, random.randint(1, 6))]
    operators: list[Operator] = []

    def run(kind: str, source: Tensor, channels: int, window: Window | None, *more: str) -> Tensor:
        made = _image(f"t{len(tensors)}", rows, channels)
        tensors.append(made)
        cost = random.choice((None, random.randint(1, 300)))
        inputs = [source.id, *more]
        if kind == "conv2d" and random.random() < 0.7:
            weights = Tensor(
                id=f"w{len(tensors)}", shape=(channels, 1, 1, _channels(source)), type="int8", kind="constant"
            )
            inputs.append(weights.id)
            tensors.insert(0, weights)
        name = f"o{len(operators)}"
        operators.append(
            Operator(id=name, type=kind, inputs=inputs, outputs=[made.id], window=window, cost=cost)
        )
        return made

    last = tensors[0]
    for _ in range(random.randint(1, 3)):
        source, wide = last, random.choice((1, 2, 5, 9, 24))
        last = run("conv2d", last, wide, Window(kernel=(1, 1)))
        if random.random() < 0.7:
            last = run("depthwise_conv2d", last, wide, Window(kernel=(3, 3), padding=(1, 1, 1, 1)))
        if random.random() < 0.3:
            last = run("relu", last, wide, None)
        last = run("conv2d", last, _channels(source), Window(kernel=(1, 1)))
        if random.random() < 0.4:
            last = run("add", last, _channels(source), None, source.id)
    return Graph(tensors=tensors, operators=operators, inputs=["x"], outputs=[last.id])


def _image(name: str, rows: int, channels: int) -> Tensor:
    return Tensor(id=name, shape=(rows, rows, channels), type="int8")


def _channels(image: Tensor) -> int:
    return (image.shape or (1,))[-1]
