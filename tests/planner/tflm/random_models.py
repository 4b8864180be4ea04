"""Random models that TensorFlow Lite Micro can run: branches, state, control flow, scratch, dead ends."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.tflite_models import FLOAT32, RESOURCE, Fields, Sub, table, written

_CODES: Final = {
    "ADD": 0,
    "CONCATENATION": 2,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 4,
    "FULLY_CONNECTED": 9,
    "MAX_POOL_2D": 17,
    "RELU": 19,
    "RESHAPE": 22,
    "SVDF": 27,
    "LESS": 58,
    "IF": 118,
    "WHILE": 119,
    "CALL_ONCE": 129,
    "VAR_HANDLE": 142,
    "READ_VARIABLE": 143,
    "ASSIGN_VARIABLE": 144,
}
_NUMBERS: Final = {name: number for number, name in enumerate(_CODES)}
# The kinds of options in the union that operators have.
_OPTIONS: Final = {
    "CONV_2D": 1,
    "DEPTHWISE_CONV_2D": 2,
    "MAX_POOL_2D": 5,
    "SVDF": 6,
    "FULLY_CONNECTED": 8,
    "CONCATENATION": 10,
    "ADD": 11,
    "RESHAPE": 17,
    "LESS": 41,
    "IF": 92,
    "WHILE": 93,
    "CALL_ONCE": 103,
    "VAR_HANDLE": 111,
    "READ_VARIABLE": 112,
    "ASSIGN_VARIABLE": 113,
}
INT32, BOOL = 2, 6
_MEMORY: Final = 3

Shape = tuple[int, ...]


def random_model(seed: int) -> bytes:
    """The model of a seed."""
    return _Maker(Random(seed)).model()


@dataclass
class _Maker:
    rng: Random
    subs: list[Sub] = field(default_factory=list)
    buffers: list[Fields] = field(default_factory=lambda: [table()])

    def model(self) -> bytes:
        main = self.sub()
        shape = (1, self.rng.choice((2, 4, 6)), self.rng.choice((2, 5)), self.rng.choice((1, 3, 4)))
        values = [self.value(main, shape) for _ in range(self.rng.randint(1, 2))]
        main.inputs = list(values)
        if self.rng.random() < 0.3:
            values.append(self.resource(main, shape))
        for _ in range(self.rng.randint(2, 12)):
            values.append(self.step(main, values, nested=False))
        if self.rng.random() < 0.3:
            self.value(main, (1, 40))  # nobody uses it
        main.outputs = list(dict.fromkeys(self.rng.sample(values[-3:], self.rng.randint(1, 2))))
        subs: list[object] = [
            table(
                f0=operator.tensors,
                f1=list(operator.inputs),
                f2=list(operator.outputs),
                f3=operator.operators,
            )
            for operator in self.subs
        ]
        codes = [table(f0=("b", min(code, 127)), f2=("i", 1), f3=("i", code)) for code in _CODES.values()]
        return written(table(f0=("I", 3), f1=codes, f2=subs, f4=self.buffers))

    def sub(self) -> Sub:
        made = Sub()
        self.subs.append(made)
        return made

    def value(self, sub: Sub, shape: Shape, kind: int = FLOAT32) -> int:
        return sub.tensor(*shape, kind=kind)

    def constant(self, sub: Sub, shape: Shape, numbers: Sequence[float] | None = None) -> int:
        count = 1
        for extent in shape:
            count *= extent
        floats = numbers or [self.rng.uniform(-0.5, 0.5) for _ in range(count)]
        return self.data(sub, shape, struct.pack(f"<{count}f", *floats), FLOAT32)

    def data(self, sub: Sub, shape: Shape, content: bytes, kind: int) -> int:
        made = sub.tensor(*shape, kind=kind)
        self.buffers.append(table(f0=content))
        sub.tensors[made][2] = ("I", len(self.buffers) - 1)
        return made

    def run(
        self, sub: Sub, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: object
    ) -> None:
        sub.operator(_NUMBERS[name], inputs, outputs, table(**options) if name in _OPTIONS else None)
        if name in _OPTIONS:
            sub.operators[-1][3] = ("B", _OPTIONS[name])

    def step(self, sub: Sub, values: Sequence[int], nested: bool) -> int:
        """One more value, made of some that are there."""
        x = values[-1] if self.rng.random() < 0.5 else self.rng.choice(values)
        makers = [self.convolution, self.depthwise, self.activation, self.dense, self.memory, self.pool]
        if not nested:
            makers += [self.branch, self.loop]
        alike = [entry for entry in values if _shape(sub, entry) == _shape(sub, x)]
        if self.rng.random() < 0.35:
            return self.joined(sub, x, self.rng.choice(alike))
        return self.rng.choice(makers)(sub, x)

    def convolution(self, sub: Sub, x: int) -> int:
        shape = _shape(sub, x)
        made = self.rng.choice((1, 2, 5, 8))
        kernel = self.rng.choice((1, 3))
        weights = self.constant(sub, (made, kernel, kernel, shape[3]))
        y = self.value(sub, (*shape[:3], made))
        bias = self.constant(sub, (made,))
        self.run(sub, "CONV_2D", [x, weights, bias], [y], f0=("b", 0), f1=("i", 1), f2=("i", 1))
        return y

    def depthwise(self, sub: Sub, x: int) -> int:
        shape = _shape(sub, x)
        weights, bias = self.constant(sub, (1, 3, 3, shape[3])), self.constant(sub, (shape[3],))
        y = self.value(sub, shape)
        options = {"f0": ("b", 0), "f1": ("i", 1), "f2": ("i", 1), "f3": ("i", 1)}
        self.run(sub, "DEPTHWISE_CONV_2D", [x, weights, bias], [y], **options)
        return y

    def pool(self, sub: Sub, x: int) -> int:
        y = self.value(sub, _shape(sub, x))
        options = {"f0": ("b", 0), "f1": ("i", 1), "f2": ("i", 1), "f3": ("i", 2), "f4": ("i", 2)}
        self.run(sub, "MAX_POOL_2D", [x], [y], **options)
        return y

    def activation(self, sub: Sub, x: int) -> int:
        y = self.value(sub, _shape(sub, x))
        self.run(sub, "RELU", [x], [y])
        return y

    def joined(self, sub: Sub, x: int, other: int) -> int:
        shape = _shape(sub, x)
        if self.rng.random() < 0.5 or shape[3] > 16:
            y = self.value(sub, shape)
            self.run(sub, "ADD", [x, other], [y])
        else:
            y = self.value(sub, (*shape[:3], 2 * shape[3]))
            self.run(sub, "CONCATENATION", [x, other], [y], f0=("i", 3))
        return y

    def dense(self, sub: Sub, x: int) -> int:
        """Reshaped, multiplied, reshaped back."""
        shape = _shape(sub, x)
        count = shape[1] * shape[2] * shape[3]
        flat, y, back = self.value(sub, (1, count)), self.value(sub, (1, count)), self.value(sub, shape)
        self.run(sub, "RESHAPE", [x], [flat], f0=[1, count])
        weights, bias = self.constant(sub, (count, count)), self.constant(sub, (count,))
        self.run(sub, "FULLY_CONNECTED", [flat, weights, bias], [y])
        self.run(sub, "RESHAPE", [y], [back], f0=list(shape))
        return back

    def memory(self, sub: Sub, x: int) -> int:
        """A filter that keeps its last inputs in a variable, and asks for scratch memory."""
        shape = _shape(sub, x)
        count = shape[1] * shape[2] * shape[3]
        flat, y, back = self.value(sub, (1, count)), self.value(sub, (1, count)), self.value(sub, shape)
        state = sub.tensor(1, count * _MEMORY, kind=FLOAT32, variable=True)
        self.run(sub, "RESHAPE", [x], [flat], f0=[1, count])
        weights, times = self.constant(sub, (count, count)), self.constant(sub, (count, _MEMORY))
        inputs = [flat, weights, times, self.constant(sub, (count,)), state]
        self.run(sub, "SVDF", inputs, [y], f0=("i", 1), f1=("b", 0))
        self.run(sub, "RESHAPE", [y], [back], f0=list(shape))
        return back

    def resource(self, main: Sub, shape: Shape) -> int:
        """A variable that a subgraph sets at first, and each run adds to."""
        first = self.sub()
        start = self.constant(first, shape)
        handle = first.tensor(1, kind=RESOURCE)
        self.run(first, "VAR_HANDLE", [], [handle], f0="", f1="sum")
        self.run(first, "ASSIGN_VARIABLE", [handle, start], [])
        self.run(main, "CALL_ONCE", [], [], f0=("i", self.subs.index(first)))
        held = main.tensor(1, kind=RESOURCE)
        kept, y = self.value(main, shape), self.value(main, shape)
        self.run(main, "VAR_HANDLE", [], [held], f0="", f1="sum")
        self.run(main, "READ_VARIABLE", [held], [kept])
        self.run(main, "ADD", [kept, main.inputs[0]], [y])
        self.run(main, "ASSIGN_VARIABLE", [held, y], [])
        return y

    def branch(self, sub: Sub, x: int) -> int:
        """IF, on the sign of the first element that is left of the value."""
        y = self.value(sub, _shape(sub, x))
        test = self.test_of(sub, x)
        arms = [self.arm(_shape(sub, x)) for _ in range(2)]
        self.run(sub, "IF", [test, x], [y], f0=("i", arms[0]), f1=("i", arms[1]))
        return y

    def test_of(self, sub: Sub, x: int) -> int:
        shape = _shape(sub, x)
        count = shape[1] * shape[2] * shape[3]
        flat, one, test = self.value(sub, (1, count)), self.value(sub, (1, 1)), sub.tensor(1, 1, kind=BOOL)
        self.run(sub, "RESHAPE", [x], [flat], f0=[1, count])
        weights = self.constant(sub, (1, count))
        self.run(sub, "FULLY_CONNECTED", [flat, weights, self.constant(sub, (1,))], [one])
        self.run(sub, "LESS", [one, self.constant(sub, (1, 1), [0.1])], [test])
        return test

    def arm(self, shape: Shape) -> int:
        sub = self.sub()
        number = len(self.subs) - 1
        values = [self.value(sub, shape)]
        sub.inputs = [values[0]]
        for _ in range(self.rng.randint(0, 3)):
            values.append(self.step(sub, values, nested=True))
        alike = [entry for entry in values if _shape(sub, entry) == shape]
        if alike[-1] == values[0]:
            alike.append(self.activation(sub, values[0]))
        sub.outputs = [alike[-1]]
        return number

    def loop(self, sub: Sub, x: int) -> int:
        """WHILE: two or three rounds."""
        shape = _shape(sub, x)
        condition = self.sub()
        at = condition.tensor(1, kind=INT32)
        unused, test = self.value(condition, shape), condition.tensor(1, kind=BOOL)
        most = self.data(condition, (1,), struct.pack("<i", self.rng.randint(2, 3)), INT32)
        self.run(condition, "LESS", [at, most], [test])
        condition.inputs, condition.outputs = [at, unused], [test]
        first = self.subs.index(condition)
        number = self.arm(shape)
        body = self.subs[number]
        before, after = body.tensor(1, kind=INT32), body.tensor(1, kind=INT32)
        step = self.data(body, (1,), struct.pack("<i", 1), INT32)
        self.run(body, "ADD", [before, step], [after])
        body.inputs, body.outputs = [before, *body.inputs], [after, *body.outputs]
        start = self.data(sub, (1,), struct.pack("<i", 0), INT32)
        rounds, y = sub.tensor(1, kind=INT32), self.value(sub, shape)
        self.run(sub, "WHILE", [start, x], [rounds, y], f0=("i", first), f1=("i", number))
        return y


def _shape(sub: Sub, tensor: int) -> Shape:
    shape = sub.tensors[tensor][0]
    assert isinstance(shape, list)
    return tuple(shape)
