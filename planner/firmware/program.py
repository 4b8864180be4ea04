"""The program in C: kernels that are used, numbers that never change, and what runs when.

All memory that it writes to is where the table of loops says (docs/loops.md), beside variables and a stack of
a few hundred bytes. Steps of stripes are bytes: which operator makes its next row.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final, Literal

from memstow.planner.exports.c_text import BETWEEN, filled, heading
from memstow.planner.exports.c_text import array as c_array
from memstow.planner.exports.naming import in_comment
from memstow.planner.firmware.cmsis_nn import HEADER
from memstow.planner.firmware.full_model import WIDTHS, numbers_in
from memstow.planner.firmware.layers import (
    Call,
    ConstantArray,
    Extents,
    Layer,
    Move,
    Operand,
    Struct,
    Variable,
)
from memstow.planner.model.loops import (
    Copy,
    Loops,
    RowRing,
    StripeLoops,
    StripeMember,
    WholeOperator,
    WholeTensor,
)

_TOPICS: Final = ("arithmetic.c", "windows.c", "reductions.c", "elements.c", "movement.c", "cmsis_nn.c")
_SECTION: Final = re.compile(r"^/\* section (\w+)(?:: ([\w ]+))? \*/\n", re.MULTILINE)
_TYPES: Final = ("s8", "s16", "s32", "u8", "f32")


@dataclass(frozen=True, slots=True)
class _Section:
    text: str
    needs: tuple[str, ...]


class Kernels:
    """The kernels of the package, of which a program takes those that it calls and what these need.

    `more` are files beside those of TensorFlow Lite; what they have takes the place of others of its name.
    """

    def __init__(self, more: Sequence[str] = ()) -> None:
        self._sections: dict[str, _Section] = {}
        self._taken: dict[str, str] = {}
        for topic in (*_TOPICS, *more):
            text = files("memstow.planner.firmware").joinpath("kernels", topic).read_text(encoding="utf-8")
            parts = _SECTION.split(text)
            for name, needs, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
                self._sections[name] = _Section(body.strip(), tuple((needs or "").split()))

    def take(self, name: str) -> None:
        """Take a kernel, such as conv_s8, after all that it needs."""
        if name in self._taken:
            return
        section, words = self._resolve(name)
        for needed in section.needs:
            self.take(_replaced(needed, words))
        self._taken[name] = _replaced(section.text, words)

    def has(self, name: str) -> bool:
        """Whether it was taken."""
        return name in self._taken

    def _resolve(self, name: str) -> tuple[_Section, Mapping[str, str]]:
        if name in self._sections:
            return self._sections[name], {}
        stem, _, last = name.rpartition("_")
        before, _, first = stem.rpartition("_")
        for general, words in (
            (f"{stem}_T", {"T": last}),
            (f"{stem}_U", {"U": last}),
            (f"{before}_T_U", {"T": first, "U": last}),
            ("binary_T", {"T": last, "NAME": stem}),
            ("unary_f32", {"NAME": stem}),
        ):
            if general in self._sections and (general != "binary_T" or f"{stem}_of_T" in self._sections):
                return self._sections[general], words
        raise KeyError(name)

    def text(self) -> str:
        """All that was taken, each after what it needs."""
        return "\n\n".join(text for text in self._taken.values() if text)


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for letter in ("T", "U"):
        if letter in words:
            text = re.sub(rf"_{letter}(?![A-Za-z0-9])", f"_{words[letter]}", text)
            text = re.sub(rf"_{letter}(?=_)", f"_{words[letter]}", text)
    return text.replace("NAME", words["NAME"]) if "NAME" in words else text


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output of the model."""

    tensor: str
    name: str
    size: int
    type: str
    shape: tuple[int, ...]
    is_external: bool = False
    """Whether it lies with the caller, who says where at each run."""
    copied: Struct | None = None
    """How `copy_strided` turns it on the way in or out, where it lies in memory in another order."""
    stored: tuple[int, ...] | None = None
    """Its shape in memory, where that is another."""
    slack: float = 0.0
    """By how much more than floats its elements may differ from those of the runtime of the model."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a program is written from."""

    name: str
    """With which all names begin."""
    title: str
    table: Loops
    layers: Mapping[str, Layer]
    """By operator of the graph."""
    labels: Mapping[str, str]
    """What operators are, for comments."""
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    constant_of: Callable[[str], ConstantArray]
    """The elements of a tensor that never changes."""
    alignments: Mapping[str, int]
    """Of the arrays that stand for pools."""
    kernels: Sequence[str] = ()
    """Files of kernels beside those of TensorFlow Lite."""


@dataclass
class Constants:
    """Arrays that never change; those that are alike are one."""

    known: dict[tuple[str, bytes], str] = field(default_factory=dict)
    size: int = 0
    lines: list[str] = field(default_factory=list)
    needs_math: bool = False
    """Whether one holds what is no number, or infinite, which `<math.h>` names."""

    def name_of(self, constant: ConstantArray) -> str:
        kind, values = constant.type, array(_LETTERS[constant.type], constant.values)
        key = kind, values.tobytes()
        name = self.known.get(key)
        if name is None:
            name = constant.name
            if name in self.known.values():
                name = f"{name}_{len(self.known)}"
            self.known[key] = name
            self.size += len(values) * values.itemsize
            text = c_array(f"const {kind} {name}[{len(values)}]", _cells(kind, values))
            self.needs_math |= kind == "float" and ("NAN" in text or "INFINITY" in text)
            self.lines.append(text)
        return name


_INTEGERS: Final = {1: "int8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}
_LETTERS: Final = {
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "int64_t": "q",
    "float": "f",
}
_FEW: Final = 1024
"""Numbers that become text at once."""
_BYTES: Final = {
    "int8_t": [str(byte - 256 if byte > 127 else byte) for byte in range(256)],
    "uint8_t": [str(byte) for byte in range(256)],
}


def _cells(kind: str, values: "array[int] | array[float]") -> Iterator[str]:
    """The cells of an array, many at a time: weights are millions of numbers."""
    for begin in range(0, len(values), _FEW):
        part = values[begin : begin + _FEW]
        if kind == "float":
            yield _reals(part)
        elif kind in _BYTES:
            yield BETWEEN.join(map(_BYTES[kind].__getitem__, part.tobytes()))
        else:
            yield BETWEEN.join(map(_number, part))


def _number(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _reals(array("f", (value,)))
    if value == -(1 << 31):
        return "INT32_MIN"
    if not -(1 << 31) <= value < 1 << 31:
        return f"INT64_C({value})" if value > -(1 << 63) else "INT64_MIN"
    return str(value)


def _reals(values: Sequence[float]) -> str:
    # Nine digits say which number of 32 bits it is.
    text = BETWEEN.join(["%.9gf"] * len(values)) % tuple(values)
    if "n" in text or any(map(float.is_integer, values)):
        text = BETWEEN.join(map(_odd_real, text.split(BETWEEN)))
    return text


def _odd_real(text: str) -> str:
    """A number as C has it, which may be none, or look as if it were whole."""
    if "n" in text:
        return {"nanf": "NAN", "-nanf": "NAN", "inff": "INFINITY", "-inff": "-INFINITY"}[text]
    return text if "." in text or "e" in text else f"{text[:-1]}.0f"


@dataclass(frozen=True, slots=True)
class Program:
    """The text, and what it takes beside its arena."""

    header: str
    source: str
    constants: int
    """Bytes of numbers that never change."""
    state: int
    """Bytes of variables."""
    by_cmsis_nn: int
    """Operators that CMSIS-NN computes, on some processors at least."""


def write_program(source: Source) -> Program:
    """The header and the source of a program."""
    return _Writer(source).program()


class _Writer:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._table = source.table
        self._kernels = Kernels(source.kernels)
        self._constants = Constants()
        self._layers: dict[str, str] = {}
        self._layer_lines: list[str] = []
        self._functions: list[str] = []
        self._tensors = {tensor.id: tensor for tensor in self._table.tensors}
        self._pools = [pool for pool in self._table.pools if pool.size]
        self._variables: dict[str, Variable] = {}
        self._by_cmsis_nn: set[str] = set()
        self._external: dict[str, str] = {}
        """The pointers to tensors that lie with the caller."""
        for word, ports in (("input", source.inputs), ("output", source.outputs)):
            for at, port in enumerate(ports):
                if port.is_external:
                    self._external[port.tensor] = f"{word}_{at}"

    def program(self) -> Program:
        calls = [self._segment(number) for number in range(len(self._table.segments))]
        for layer in self._source.layers.values():
            for variable in layer.variables:
                known = self._variables.get(variable.name)
                if known is None or (known.initial is None and variable.initial is not None):
                    self._variables[variable.name] = variable
        self._turn_ports()
        macro = self._source.name.upper()
        return Program(
            header=self._header(macro),
            source=self._c(macro, [call for call in calls if call]),
            constants=self._constants.size,
            state=sum(variable.size for variable in self._variables.values()),
            by_cmsis_nn=len(self._by_cmsis_nn),
        )

    # What runs.

    def _segment(self, number: int) -> str:
        """Write the function of a segment; what calls it, empty where it does nothing."""
        segment = self._table.segments[number]
        name = f"run_{number}"
        if isinstance(segment, Copy):
            source, target = self._tensors[segment.source], self._tensors[segment.target]
            what = f"{segment.source} moves"
            lines = [f"  memcpy({self._place(target)}, {self._place(source)}, {source.size});"]
        elif isinstance(segment, StripeLoops):
            what = "stripe of " + ", ".join(self._label(member) for member in segment.operators)
            lines = list(self._stripe(segment))
        else:
            what = self._label(segment)
            lines = list(self._whole(segment))
        if not lines:
            return ""
        self._functions.append(
            "\n".join([f"/* {in_comment(what)[1:-1]} */", f"static void {name}(void) {{", *lines, "}\n"])
        )
        return f"  {name}();"

    def _label(self, segment: WholeOperator | StripeMember) -> str:
        return self._source.labels.get(segment.runs or segment.id, segment.id)

    def _whole(self, segment: WholeOperator) -> Iterator[str]:
        layer = self._source.layers[segment.runs or segment.id]
        alone = layer.alone
        if alone is not None and (segment.temporaries or not alone.scratch):
            if not alone.needs_vectors:
                yield f"  {self._alone(segment, alone)};"
                return
            self._kernels.take("vectors")
            yield from ("  if (HAS_VECTORS) {", f"    {self._alone(segment, alone)};", "    return;", "  }")
        yield from self._steps(segment, layer)

    def _alone(self, segment: WholeOperator, call: Call) -> str:
        self._kernels.take(call.kernel)
        self._by_cmsis_nn.add(segment.runs or segment.id)
        layer = self._layer(segment.runs or segment.id, 0, call)
        places = [self._base(operand, segment.inputs) for operand in call.inputs]
        places.append(self._place_of(segment.outputs[call.output]))
        places += [self._at(own.pool, own.offset) for own in segment.temporaries] or ["NULL"]
        return f"{call.kernel}(&{layer}, {', '.join(places)})"

    def _steps(self, segment: WholeOperator, layer: Layer) -> Iterator[str]:
        for place, step in enumerate(layer.steps):
            if isinstance(step, Move):
                source = self._moved(step.source, segment.inputs)
                target = self._moved(step.target, segment.outputs)
                if source != target:
                    yield f"  memmove({target}, {source}, {step.size});"
                continue
            self._kernels.take(step.kernel)
            layer_name = self._layer(segment.runs or segment.id, place, step)
            bases = [self._base(operand, segment.inputs) for operand in step.inputs]
            out = self._place_of(segment.outputs[step.output])
            if step.by == "whole":
                yield f"  {step.kernel}(&{layer_name}, {', '.join(bases)}, {out});"
                continue
            yield (
                "  {"
                if step.batches == 1
                else f"  for (int32_t batch = 0; batch < {step.batches}; ++batch) {{"
            )
            for at, (operand, base) in enumerate(zip(step.inputs, bases, strict=True)):
                yield f"    const image in_{at} = {_image(base, operand.extents, step.batches)};"
            yield f"    const image out = {_image(out, step.extents, step.batches)};"
            yield f"    for (int32_t row = 0; row < {step.extents.rows}; ++row) {{"
            images = "".join(f"&in_{at}, " for at in range(len(bases)))
            yield f"      {step.kernel}(&{layer_name}, {images}&out, row, 0, {step.extents.columns});"
            yield "    }"
            yield "  }"

    def _moved(self, end: int | str, tensors: Sequence[str]) -> str:
        if isinstance(end, str):
            return end
        return self._place_of(tensors[end])

    def _stripe(self, stripe: StripeLoops) -> Iterator[str]:
        rings = {ring.tensor: ring for ring in stripe.rings}
        maker = {member.makes: place for place, member in enumerate(stripe.operators)}
        count = len(stripe.operators)
        columns = [[strip[place][:2] for place in range(count)] for strip in stripe.strips]
        widest = max(end for strip in columns for _, end in strip)
        kind = "uint8_t" if widest < 256 else "uint16_t" if widest < 65536 else "uint32_t"
        cells = (str(value) for strip in columns for pair in strip for value in pair)
        yield (
            c_array(f"const {kind} columns[{len(columns)}][{count}][2]", _grouped(cells, count))
            .replace("static", "  static", 1)
            .rstrip("\n")
        )
        step_kind = "uint8_t" if count < 256 else "uint16_t"
        steps = [step[0] for step in stripe.steps]
        yield (
            c_array(f"const {step_kind} steps[{len(steps)}]", map(str, steps))
            .replace("static", "  static", 1)
            .rstrip("\n")
        )
        for member in stripe.operators:
            if member.sums is not None:
                yield f"  {self._adding(member, 'begin')};"
        yield f"  for (int32_t strip = 0; strip < {len(columns)}; ++strip) {{"
        yield f"    int32_t rows[{count}] = {{0}};"
        yield f"    for (int32_t step = 0; step < {len(steps)}; ++step) {{"
        yield "      const int32_t member = steps[step];"
        yield "      const int32_t row = rows[member]++;"
        yield "      const int32_t first = columns[strip][member][0];"
        yield "      const int32_t end = columns[strip][member][1];"
        yield "      if (first >= end) {"
        yield "        continue;"
        yield "      }"
        yield "      switch (member) {"
        for place, member in enumerate(stripe.operators):
            last = place == count - 1
            case = "default" if last else f"case {place}"
            yield f"        {case}: {{ /* {in_comment(self._label(member))[1:-1]} */"
            yield from (f"          {line}" for line in self._member(member, rings, maker))
            yield "          break;"
            yield "        }"
        yield "      }"
        yield "    }"
        yield "  }"
        for member in stripe.operators:
            if member.sums is not None:
                yield f"  {self._adding(member, 'end')};"

    def _adding(self, member: StripeMember, part: Literal["begin", "add", "end"]) -> str:
        """The call that begins, goes on with or ends what adds up."""
        layer, sums = self._source.layers[member.runs or member.id], member.sums
        reduction = layer.reduction
        if reduction is None or sums is None:
            raise TypeError(f"{member.id} does not add up")
        for kernel in reduction.kernels:
            self._kernels.take(kernel)
        call: str = getattr(reduction, part)
        words = {
            "SUMS": self._at(sums.pool, sums.offset),
            "OUT": self._place_of(member.makes),
            "IN": "&in_0",
            "ROW": "row",
            "FIRST": "first",
            "END": "end",
        }
        if "LAYER" in call:
            words["LAYER"] = f"&{self._layer(member.runs or member.id, 0, _call(layer.steps[0]))}"
        return re.sub(r"\b(SUMS|OUT|IN|ROW|FIRST|END|LAYER)\b", lambda match: words[match[1]], call)

    def _member(
        self, member: StripeMember, rings: Mapping[str, RowRing], maker: Mapping[str, int]
    ) -> Iterator[str]:
        layer = self._source.layers[member.runs or member.id]
        if member.sums is not None:
            extents = Extents(member.rows, member.columns, self._pixel_read(member, rings))
            yield f"const image in_0 = {self._image_of(member.inputs[0], extents, rings, maker)};"
            yield f"{self._adding(member, 'add')};"
            return
        made = _call(layer.steps[0]).extents
        yield f"const image out = {self._image_of(member.makes, made, rings, maker)};"
        for place, step in enumerate(map(_call, layer.steps)):
            self._kernels.take(step.kernel)
            images = []
            for at, operand in enumerate(step.inputs):
                name = f"in_{place}_{at}"
                if isinstance(operand.source, int):
                    image = self._image_of(member.inputs[operand.source], operand.extents, rings, maker)
                else:
                    image = _image(self._base(operand, ()), operand.extents)
                yield f"const image {name} = {image};"
                images.append(f"&{name}, ")
            run = f"{''.join(images)}&out, row, first, end);"
            layer_name = self._layer(member.runs or member.id, place, step)
            if layer.vector_rows is None:
                yield f"{step.kernel}(&{layer_name}, {run}"
                continue
            self._kernels.take("vectors")
            self._kernels.take(layer.vector_rows.kernel)
            self._by_cmsis_nn.add(member.runs or member.id)
            other = self._layer(member.runs or member.id, place, layer.vector_rows)
            yield "if (HAS_VECTORS) {"
            yield f"  {layer.vector_rows.kernel}(&{other}, {run}"
            yield "} else {"
            yield f"  {step.kernel}(&{layer_name}, {run}"
            yield "}"

    def _pixel_read(self, member: StripeMember, rings: Mapping[str, RowRing]) -> int:
        ring = rings.get(member.inputs[0])
        if ring is not None:
            return ring.pixel
        tensor = self._tensors[member.inputs[0]]
        return tensor.size // (member.rows * member.columns)

    def _image_of(
        self, tensor: str, extents: Extents, rings: Mapping[str, RowRing], maker: Mapping[str, int]
    ) -> str:
        ring = rings.get(tensor)
        if ring is None:
            return _image(self._place_of(tensor), extents)
        first = f"columns[strip][{maker[tensor]}][0]"
        return f"{{{self._at(ring.pool, ring.offset)}, {ring.rows}, {ring.pitch}, {first}}}"

    # Names of places.

    def _at(self, pool: str, offset: int) -> str:
        names = [entry.id for entry in self._pools]
        memory = self._memory(names.index(pool))
        return f"{memory} + {offset}" if offset else memory

    def _place(self, tensor: WholeTensor) -> str:
        # Of a tensor without bytes nothing is read.
        if tensor.size:
            return self._at(tensor.pool, tensor.offset)
        return self._at(self._pools[0].id, 0) if self._pools else "NULL"

    def _place_of(self, name: str) -> str:
        tensor = self._tensors.get(name)
        if tensor is not None:
            return self._place(tensor)
        # One that is made again has another name, and the same place.
        pointer = self._external.get(name.partition("#")[0])
        return self._read_only(self._source.constant_of(name)) if pointer is None else pointer

    def _base(self, operand: Operand, inputs: Sequence[str]) -> str:
        if isinstance(operand.source, ConstantArray):
            return self._read_only(operand.source)
        return self._place_of(inputs[operand.source])

    def _read_only(self, constant: ConstantArray) -> str:
        """Numbers as images have them, which do not say that nobody writes to them."""
        return f"(uint8_t *)(uintptr_t){self._constants.name_of(constant)}"

    def _layer(self, operator: str, place: int, step: Call) -> str:
        key = f"{operator}/{place}/{step.kernel}"
        name = self._layers.get(key)
        if name is None:
            name = f"layer_{re.sub(r'[^A-Za-z0-9]', '_', operator)}"
            name = f"{name}_{place}" if place else name
            name = f"{name}_{step.kernel}" if name in self._layers.values() else name
            self._layers[key] = name
            text = self._struct(step.layer, 0)
            self._layer_lines.append(f"static const {step.kernel}_layer {name} = {text};\n")
        return name

    def _struct(self, layer: Struct, depth: int) -> str:
        pad = "  " * (depth + 1)
        lines = [f"{pad}.{name} = {self._value(value, depth + 1)}," for name, value in layer.fields.items()]
        return "\n".join(["{", *lines, f"{'  ' * depth}}}"])

    def _value(self, value: object, depth: int) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, Struct):
            return self._struct(value, depth)
        if isinstance(value, ConstantArray):
            return self._constants.name_of(value)
        if isinstance(value, list | tuple):
            return "{" + ", ".join(self._value(entry, depth + 1) for entry in value) + "}"
        if not isinstance(value, int | float | str):
            raise TypeError(f"a layer holds a {type(value).__name__}")
        return _number(value)

    # The files.

    def _header(self, macro: str) -> str:
        source = self._source
        name = source.name
        lines = [
            heading("The program", source.title, self._table.digest),
            f"#ifndef {macro}_H\n#define {macro}_H\n",
            "#include <stddef.h>\n#include <stdint.h>\n",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            f"#define {macro}_INPUTS {len(source.inputs)}",
            f"#define {macro}_OUTPUTS {len(source.outputs)}",
        ]
        for word, ports in (("INPUT", source.inputs), ("OUTPUT", source.outputs)):
            for at, port in enumerate(ports):
                shape = "x".join(map(str, port.shape)) or "scalar"
                in_memory = "" if port.stored is None else f", in memory {'x'.join(map(str, port.stored))}"
                lines.append(
                    f"#define {macro}_{word}_{at}_BYTES {port.size} /* {in_comment(port.name)[1:-1]}: "
                    f"{port.type} {shape}{in_memory} */"
                )
        total = sum(pool.size for pool in self._pools)
        state = sum(variable.size for variable in self._variables.values())
        lines += [
            f"#define {macro}_ARENA_BYTES {total}",
            *(
                f"#define {macro}_ARENA_{at}_BYTES {pool.size} /* {in_comment(pool.id)[1:-1]} */\n"
                f"#define {macro}_ARENA_{at}_ALIGNMENT {source.alignments[pool.id]}"
                for at, pool in enumerate(self._pools)
            ),
            f"#define {macro}_STATE_BYTES {state}",
            "",
        ]
        failing = _FAILING if self._kernels.has("cmsis_nn") else ""
        return "\n".join(lines) + filled(_HEADER_END, macro, name, GUARD=f"{macro}_H", FAILING=failing)

    def _c(self, macro: str, calls: Sequence[str]) -> str:
        source = self._source
        name = source.name
        kernels, reset = self._kernels.text(), self._reset(name)
        needs_math = self._constants.needs_math or re.search(
            r"\b(expf|tanhf|roundf|expm1f|log1pf|fabsf|sqrtf|erff|NAN|INFINITY)\b",
            "".join((kernels, *self._layer_lines)),
        )
        includes = ["<stdint.h>", "<string.h>"]
        if self._kernels.has("cmsis_nn"):
            includes.append(f'"{HEADER}"')
        if "FLT_MAX" in kernels:
            includes.insert(0, "<float.h>")
        if needs_math:
            includes.insert(0, "<math.h>")
        rows = max((layer.kernel_rows for layer in source.layers.values()), default=0)
        parts = [
            heading("The program", source.title, self._table.digest),
            f'#include "{name}.h"\n',
            "".join(f"#include {entry}\n" for entry in includes),
            _ALIASING,
            f"#define MOST_KERNEL_ROWS {max(rows, 1)}\n",
            kernels + "\n",
            "/* Numbers that never change. */\n",
            *self._constants.lines,
            *self._memories(macro),
            *self._pointers(),
            *self._states(),
            *self._layer_lines,
            *self._functions,
            reset,
            self._arenas(macro, name),
            self._ports(name),
            self._run(macro, name, calls),
        ]
        return "\n".join(parts)

    def _memories(self, macro: str) -> Iterator[str]:
        for at, pool in enumerate(self._pools):
            yield filled(
                _MEMORY,
                macro,
                self._memory(at),
                SIZE=str(pool.size),
                AT=str(at),
                POOL=in_comment(pool.id)[1:-1],
            )

    def _pointers(self) -> Iterator[str]:
        if self._external:
            yield "/* Inputs and outputs that lie with the caller. */"
            yield "".join(f"static uint8_t *{pointer};\n" for pointer in self._external.values())

    def _arenas(self, macro: str, name: str) -> str:
        """The function that takes an arena of the caller, and whether all of these are there."""
        cases, missing = [], []
        for at in range(len(self._pools)):
            memory = self._memory(at)
            begin, end = f"#ifdef {macro}_ARENA_{at}_BY_CALLER", "#endif"
            cases += [
                begin,
                f"  if (number == {at} && (uintptr_t)arena % {macro}_ARENA_{at}_ALIGNMENT == 0u) {{",
                f"    {memory} = arena;",
                "    return 0;",
                "  }",
                end,
            ]
            missing += [begin, f"  if ({memory} == NULL) {{", "    return 0;", "  }", end]
        lines = [
            f"int {name}_set_arena(int number, void *arena) {{",
            "  if (arena == NULL) {",
            "    return 1;",
            "  }",
            *cases,
            "  (void)number;",
            "  return 1;",
            "}\n",
            "static int has_arenas(void) {",
            *missing,
            "  return 1;",
            "}\n",
        ]
        return "\n".join(lines)

    def _memory(self, at: int) -> str:
        return "memory" if len(self._pools) == 1 else f"memory_{at}"

    def _states(self) -> Iterator[str]:
        for variable in self._variables.values():
            count = variable.size // variable.width
            yield f"static {variable.type or _INTEGERS[variable.width]} {variable.name}[{count}];\n"

    def _reset(self, name: str) -> str:
        lines = []
        for variable in self._variables.values():
            letter = {1: "b", 2: "h", 4: "i", 8: "q"}[variable.width]
            count = variable.size // variable.width
            content = variable.initial
            values = (variable.fill,) if content is None else numbers_in(letter, content)
            if any(value != values[0] for value in values):
                initial = ConstantArray(f"initial_{variable.name}", _INTEGERS[variable.width], values)
                lines.append(
                    f"  memcpy({variable.name}, {self._constants.name_of(initial)}, {variable.size});"
                )
            elif values[0]:
                lines += [
                    f"  for (int32_t at = 0; at < {count}; ++at) {{",
                    f"    {variable.name}[at] = {values[0]};",
                    "  }",
                ]
            else:
                lines.append(f"  memset({variable.name}, 0, {variable.size});")
        ready = ["static int is_ready;\n"] if self._variables else []
        lines += ["  is_ready = 1;"] if self._variables else []
        return "\n".join([*ready, f"void {name}_reset(void) {{", *lines, "}\n"])

    def _ports(self, name: str) -> str:
        parts = []
        for word, ports in (("input", self._source.inputs), ("output", self._source.outputs)):
            lines = [f"void *{name}_{word}(int number) {{", "  switch (number) {"]
            if self._pools:
                lines[1:1] = ["  if (!has_arenas()) {", "    return NULL;", "  }"]
            for at, port in enumerate(ports):
                if not port.is_external:
                    lines.append(f"    case {at}:")
                    lines.append(f"      return {self._port(port)};")
            lines += ["    default:", "      return NULL;", "  }", "}\n"]
            parts.append("\n".join(lines))
        return "\n".join(parts)

    def _port(self, port: Port) -> str:
        """Where it is: of an output that was copied or computed again, the version that is kept."""
        end = len(self._table.segments)
        versions = [tensor for tensor in self._table.tensors if (tensor.of or tensor.id) == port.tensor]
        kept = [tensor for tensor in versions if tensor.last == end and port in self._source.outputs]
        return self._place(kept[-1] if kept else versions[0])

    def _turn_ports(self) -> None:
        for word, ports in (("input", self._source.inputs), ("output", self._source.outputs)):
            for at, port in enumerate(ports):
                if port.copied is not None:
                    self._kernels.take("copy_strided")
                    text = self._struct(port.copied, 0)
                    self._layer_lines.append(
                        f"static const copy_strided_layer turned_{word}_{at} = {text};\n"
                    )

    def _copied(self, macro: str, word: str, at: int, port: Port, ends: tuple[str, str]) -> str:
        source, target = ends
        if port.copied is not None:
            return f"copy_strided(&turned_{word}_{at}, {source}, {target});"
        return f"memcpy({target}, {source}, {macro}_{word.upper()}_{at}_BYTES);"

    def _run(self, macro: str, name: str, calls: Sequence[str]) -> str:
        lines = [f"int {name}_run(const void *const inputs[], void *const outputs[]) {{"]
        for word, ports in (("inputs", self._source.inputs), ("outputs", self._source.outputs)):
            lines += [] if ports else [f"  (void){word};"]
        if self._variables:
            lines += ["  if (!is_ready) {", f"    {name}_reset();", "  }"]
        lines += ["  if (!has_arenas()) {", "    return 1;", "  }"]
        for word, ports in (("inputs", self._source.inputs), ("outputs", self._source.outputs)):
            for at, port in enumerate(ports):
                if not port.is_external:
                    continue
                width = WIDTHS[port.type]
                aligned = f" || (uintptr_t){word}[{at}] % {width}u != 0u" if width > 1 else ""
                constant = "(uint8_t *)(uintptr_t)" if word == "inputs" else ""
                lines += [
                    f"  if (!{word} || !{word}[{at}]{aligned}) {{",
                    "    return 2;",
                    "  }",
                    f"  {self._external[port.tensor]} = {constant}{word}[{at}];",
                ]
        for at, port in enumerate(self._source.inputs):
            if port.is_external:
                continue
            lines += [
                f"  if (inputs && inputs[{at}]) {{",
                f"    {self._copied(macro, 'input', at, port, (f'inputs[{at}]', self._port(port)))}",
                "  }",
            ]
        if self._kernels.has("cmsis_nn"):
            calls = ["  has_failed = 0;", *calls, "  if (has_failed) {", "    return 3;", "  }"]
        lines += calls
        for at, port in enumerate(self._source.outputs):
            if port.is_external:
                continue
            lines += [
                f"  if (outputs && outputs[{at}]) {{",
                f"    {self._copied(macro, 'output', at, port, (self._port(port), f'outputs[{at}]'))}",
                "  }",
            ]
        lines += ["  return 0;", "}\n"]
        return "\n".join(lines)


def _call(step: Call | Move) -> Call:
    if isinstance(step, Move):
        raise TypeError("bytes that move are no rows")
    return step


def _grouped(cells: Iterable[str], members: int) -> Iterator[str]:
    """Numbers as the braces of an array of three dimensions want them."""
    numbers = list(cells)
    for at in range(0, len(numbers), 2 * members):
        pairs = (f"{{{numbers[i]}, {numbers[i + 1]}}}" for i in range(at, at + 2 * members, 2))
        yield f"{{{', '.join(pairs)}}}"


def _image(base: str, extents: Extents, batches: int = 1) -> str:
    pitch = extents.columns * extents.pixel
    begin = base if batches == 1 else f"{base} + batch * {extents.rows * pitch}"
    return f"{{{begin}, {extents.rows}, {pitch}, 0}}"


_ALIASING: Final = """\
/* Bytes of the arena hold elements of different types at different times. */
#if defined(__GNUC__)
#define ALIASING __attribute__((may_alias))
#else
#define ALIASING
#endif
"""

_MEMORY: Final = """\
/* @POOL: elsewhere with @N_ARENA_@AT_ATTRIBUTE, such as __attribute__((section(".dtcm"))), or where
   the caller says, with @N_ARENA_@AT_BY_CALLER. */
#ifdef @N_ARENA_@AT_BY_CALLER
static uint8_t *@n;
#else
#ifndef @N_ARENA_@AT_ATTRIBUTE
#define @N_ARENA_@AT_ATTRIBUTE
#endif
static _Alignas(@N_ARENA_@AT_ALIGNMENT) uint8_t @n[@SIZE] @N_ARENA_@AT_ATTRIBUTE;
#endif
"""

_FAILING: Final = """
   3: CMSIS-NN wants more scratch memory than was planned, or cannot compute; outputs are not right."""

_HEADER_END: Final = """
/* Runs the model: reads the inputs, writes the outputs, and returns 0. An input that is NULL is where
   @n_input says; an output that is NULL stays where @n_output says until the next run.
   1: an arena of the caller is missing. 2: so is an input or an output that lies with the caller, or it is
   not aligned as its elements are.@FAILING */
int @n_run(const void *const inputs[], void *const outputs[]);

/* Gives an arena that was compiled with @N_ARENA_0_BY_CALLER (and so on): as many bytes as the header says,
   aligned to @N_ARENA_0_ALIGNMENT, which nobody else writes to while the model runs. 0: it is taken. */
int @n_set_arena(int number, void *arena);

/* Where an input and an output are; NULL for what lies with the caller. Runs overwrite inputs. */
void *@n_input(int number);
void *@n_output(int number);

/* Sets the variables of the model to what they are before its first run. */
void @n_reset(void);

#ifdef __cplusplus
}
#endif

#endif /* @GUARD */
"""
