"""ggml with memory that memstow planned: the same results, and what ggml's own allocator reserves.

    python3 in_ggml.py FOLDER

FOLDER has libggml-base.so and libggml-cpu.so, as packages of llama.cpp or whisper.cpp have them. A model's
graph is computed twice: with `ggml_gallocr`, and with each tensor at an offset of a plan from the same
lifetimes, where an op may also write over an input that it is the last to read, as in ggml.
"""

import ctypes
import sys
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import memstow

Pointer = ctypes.c_void_p
Int, Float, Size, Long, Bool = ctypes.c_int, ctypes.c_float, ctypes.c_size_t, ctypes.c_int64, ctypes.c_bool
F32 = 0
IS_INPUT, IS_OUTPUT = 1, 2


class Tensor(ctypes.Structure):
    """`struct ggml_tensor`."""


Ref = ctypes.POINTER(Tensor)
TensorRef: TypeAlias = "ctypes._Pointer[Tensor]"
Tensor._fields_ = [
    ("type", Int), ("buffer", Pointer), ("ne", Long * 4), ("nb", Size * 4), ("op", Int),
    ("op_params", Int * 16), ("flags", Int), ("src", Ref * 10), ("view_src", Ref), ("view_offs", Size),
    ("data", Pointer), ("name", ctypes.c_char * 64), ("extra", Pointer),
    ("padding", ctypes.c_char * 8),
]  # fmt: skip


class Parameters(ctypes.Structure):
    """`struct ggml_init_params`."""

    _fields_ = (("mem_size", Size), ("mem_buffer", Pointer), ("no_alloc", Bool))


class Ggml:
    """The functions of the libraries that are called here, by their names without `ggml_`."""

    def __init__(self, folder: Path) -> None:
        flags = ctypes.RTLD_GLOBAL
        for name in ("libgomp", "libggml-base", "libggml-cpu"):
            for path in sorted(folder.glob(f"{name}*.so*"))[:1]:
                library = ctypes.CDLL(str(path), flags)
                setattr(self, name[3:].replace("-", "_"), library)
        tensors = (
            ("new_tensor_1d", (Pointer, Int, Long)), ("new_tensor_2d", (Pointer, Int, Long, Long)),
            ("mul_mat", (Pointer, Ref, Ref)), ("add", (Pointer, Ref, Ref)),
            ("mul", (Pointer, Ref, Ref)), ("rms_norm", (Pointer, Ref, Float)),
            ("silu", (Pointer, Ref)), ("cont", (Pointer, Ref)),
            ("permute", (Pointer, Ref, Int, Int, Int, Int)),
            ("reshape_3d", (Pointer, Ref, Long, Long, Long)),
            ("reshape_2d", (Pointer, Ref, Long, Long)),
            ("soft_max_ext", (Pointer, Ref, Ref, Float, Float)), ("transpose", (Pointer, Ref)),
            ("graph_node", (Pointer, Int)),
        )  # fmt: skip
        for name, arguments in tensors:
            self.define(name, Ref, arguments)
        others = (
            ("init", Pointer, (Parameters,)), ("free", None, (Pointer,)),
            ("new_graph_custom", Pointer, (Pointer, Size, Bool)),
            ("build_forward_expand", None, (Pointer, Ref)), ("graph_n_nodes", Int, (Pointer,)),
            ("op_can_inplace", Bool, (Int,)), ("set_input", None, (Ref,)),
            ("set_output", None, (Ref,)), ("nbytes", Size, (Ref,)), ("nelements", Long, (Ref,)),
            ("backend_buft_get_alignment", Size, (Pointer,)),
            ("backend_buft_get_alloc_size", Size, (Pointer, Ref)),
            ("backend_alloc_ctx_tensors_from_buft", Pointer, (Pointer, Pointer)),
            ("backend_get_default_buffer_type", Pointer, (Pointer,)),
            ("backend_alloc_buffer", Pointer, (Pointer, Size)),
            ("backend_buffer_get_base", Pointer, (Pointer,)),
            ("backend_tensor_alloc", Int, (Pointer, Ref, Pointer)), ("backend_view_init", Int, (Ref,)),
            ("backend_tensor_set", None, (Ref, Pointer, Size, Size)),
            ("backend_tensor_get", None, (Ref, Pointer, Size, Size)),
            ("backend_graph_compute", Int, (Pointer, Pointer)), ("backend_cpu_init", Pointer, ()),
            ("gallocr_new", Pointer, (Pointer,)), ("gallocr_alloc_graph", Bool, (Pointer, Pointer)),
            ("gallocr_get_buffer_size", Size, (Pointer, Int)),
        )  # fmt: skip
        for name, result, arguments in others:
            self.define(name, result, arguments)

    def define(self, name: str, result: Any, arguments: tuple[Any, ...]) -> None:
        """Make `ggml_NAME` a method."""
        for library in (self.ggml_base, self.ggml_cpu):
            if hasattr(library, f"ggml_{name}"):
                function = getattr(library, f"ggml_{name}")
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise SystemExit(f"this ggml has no {name}")


class Model:
    """Blocks of attention and a gated feed-forward, over a prompt; weights have a memory of their own."""

    def __init__(
        self, g: Ggml, backend: Pointer, blocks: int, width: int, heads: int, hidden: int, tokens: int
    ) -> None:
        self.g, self.backend = g, backend
        self.weights = g.init(Parameters(1 << 20, None, True))
        self.context = g.init(Parameters(1 << 24, None, True))
        self.parameters: list[TensorRef] = []
        self.inputs = [
            g.new_tensor_2d(self.context, F32, width, tokens),
            g.new_tensor_2d(self.context, F32, tokens, tokens),
        ]
        for tensor in self.inputs:
            g.set_input(tensor)
        x, mask = self.inputs
        for _ in range(blocks):
            x = self.block(x, mask, width, heads, hidden, tokens)
        self.output = g.mul_mat(
            self.context, self.weight(width, 4 * width), g.rms_norm(self.context, x, 1e-5)
        )
        g.set_output(self.output)
        self.graph = g.new_graph_custom(self.context, 4096, False)
        g.build_forward_expand(self.graph, self.output)
        g.backend_alloc_ctx_tensors_from_buft(self.weights, g.backend_get_default_buffer_type(backend))
        rng = Random(1)
        for tensor in self.parameters:
            self.fill(tensor, [rng.gauss(0, 0.1) for _ in range(g.nelements(tensor))])
        self.nodes = [g.graph_node(self.graph, i) for i in range(g.graph_n_nodes(self.graph))]

    def weight(self, *shape: int) -> TensorRef:
        """A matrix of the model."""
        self.parameters.append(self.g.new_tensor_2d(self.weights, F32, *shape))
        return self.parameters[-1]

    def block(
        self, x: TensorRef, mask: TensorRef, width: int, heads: int, hidden: int, tokens: int
    ) -> TensorRef:
        """The block's output."""
        g, c = self.g, self.context
        normed = g.mul(c, g.rms_norm(c, x, 1e-5), self.weight(width, 1))
        q, k, v = (g.mul_mat(c, self.weight(width, width), normed) for _ in range(3))
        q, k = (
            g.permute(c, g.reshape_3d(c, part, width // heads, heads, tokens), 0, 2, 1, 3) for part in (q, k)
        )
        v = g.cont(c, g.permute(c, g.reshape_3d(c, v, width // heads, heads, tokens), 1, 2, 0, 3))
        scores = g.soft_max_ext(c, g.mul_mat(c, k, q), mask, (width / heads) ** -0.5, 0.0)
        mixed = g.cont(c, g.permute(c, g.mul_mat(c, v, scores), 0, 2, 1, 3))
        x = g.add(c, x, g.mul_mat(c, self.weight(width, width), g.reshape_2d(c, mixed, width, tokens)))
        normed = g.mul(c, g.rms_norm(c, x, 1e-5), self.weight(width, 1))
        up = g.mul_mat(c, self.weight(width, hidden), normed)
        gate = g.silu(c, g.mul_mat(c, self.weight(width, hidden), normed))
        return g.add(c, x, g.mul_mat(c, self.weight(hidden, width), g.mul(c, gate, up)))

    def fill(self, tensor: TensorRef, values: list[float]) -> None:
        """Give a tensor its elements."""
        self.g.backend_tensor_set(tensor, (Float * len(values))(*values), 0, 4 * len(values))

    def compute(self) -> list[float]:
        """The output for one prompt."""
        rng = Random(2)
        width, tokens = self.inputs[0].contents.ne[0], self.inputs[0].contents.ne[1]
        self.fill(self.inputs[0], [rng.gauss(0, 1) for _ in range(width * tokens)])
        causal = [0.0 if i <= row else -float("inf") for row in range(tokens) for i in range(tokens)]
        self.fill(self.inputs[1], causal)
        if self.g.backend_graph_compute(self.backend, self.graph) != 0:
            raise SystemExit("ggml could not compute the graph")
        values = (Float * self.g.nelements(self.output))()
        self.g.backend_tensor_get(self.output, values, 0, ctypes.sizeof(values))
        return list(values)


def address(tensor: TensorRef) -> int:
    """What tells tensors apart."""
    return ctypes.addressof(tensor.contents)


def root(tensor: TensorRef) -> TensorRef:
    """The tensor whose memory this one is, or is a view of."""
    return root(tensor.contents.view_src) if tensor.contents.view_src else tensor


def same_layout(one: Tensor, other: Tensor) -> bool:
    """Whether elements lie alike."""
    return one.type == other.type and list(one.ne) == list(other.ne) and list(one.nb) == list(other.nb)


def problem_of(model: Model) -> tuple[memstow.Problem, dict[str, TensorRef]]:
    """The buffers of a graph that has no memory yet, and their tensors by id."""
    g, steps = model.g, len(model.nodes)
    type_ = g.backend_get_default_buffer_type(model.backend)
    alignment = g.backend_buft_get_alignment(type_)
    owners: dict[int, TensorRef] = {}
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    for step, node in enumerate(model.nodes):
        sources = [source for source in node.contents.src if source]
        for tensor in [*sources, node]:
            owner = root(tensor)
            if owner.contents.data:
                continue
            owners.setdefault(address(owner), owner)
            is_input = owner.contents.flags & IS_INPUT
            begins.setdefault(address(owner), 0 if is_input else step)
            ends[address(owner)] = steps if owner.contents.flags & IS_OUTPUT else step + 1
    ids = {key: f"t{number}" for number, key in enumerate(owners)}
    pairs = []
    for step, node in enumerate(model.nodes):
        if node.contents.view_src or not g.op_can_inplace(node.contents.op):
            continue
        for source in {address(s): s for s in node.contents.src if s}.values():
            owner = root(source)
            whole = same_layout(source.contents, node.contents) and g.nbytes(owner) == g.nbytes(node)
            kept = owner.contents.flags & (IS_OUTPUT | IS_INPUT)
            if address(owner) in ids and whole and not kept and ends[address(owner)] == step + 1:
                pairs.append(memstow.InPlace(input=ids[address(owner)], output=ids[address(node)]))
    buffers = [
        memstow.Buffer(
            id=ids[key], size=g.backend_buft_get_alloc_size(type_, owner), lifetime=(begins[key], ends[key]),
            alignment=alignment,
        )
        for key, owner in owners.items()
    ]  # fmt: skip
    problem = memstow.Problem(buffers=buffers, in_place=pairs)
    return problem, {ids[key]: owner for key, owner in owners.items()}


def place(model: Model) -> tuple[int, bool]:
    """Give the tensors memory by a plan; its bytes, and whether no plan needs less."""
    g = model.g
    problem, tensors = problem_of(model)
    plan = memstow.plan(problem, memstow.Options(deterministic=True))
    arena = g.backend_alloc_buffer(model.backend, plan.pools[0].peak)
    base = g.backend_buffer_get_base(arena)
    for at in plan.placements:
        g.backend_tensor_alloc(arena, tensors[at.buffer], base + at.offset)
    for node in model.nodes:
        if node.contents.view_src and not node.contents.data:
            g.backend_view_init(node)
    return plan.pools[0].peak, plan.status == "optimal"


def main() -> None:
    """Models of several sizes."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    g = Ggml(Path(sys.argv[1]))
    backend = g.backend_cpu_init()
    for blocks, width, heads, hidden, tokens in (
        (2, 64, 4, 192, 16),
        (2, 64, 8, 172, 64),
        (4, 96, 2, 100, 33),
    ):
        shape = (backend, blocks, width, heads, hidden, tokens)
        theirs, ours = Model(g, *shape), Model(g, *shape)
        allocator = g.gallocr_new(g.backend_get_default_buffer_type(backend))
        g.gallocr_alloc_graph(allocator, theirs.graph)
        reserved = g.gallocr_get_buffer_size(allocator, 0)
        planned, proven = place(ours)
        same = theirs.compute() == ours.compute()
        print(
            f"{blocks} blocks of {width} with {heads} heads, {tokens} tokens: ggml {reserved:,} bytes, "
            f"memstow {planned:,}{' (proven least)' if proven else ''}, {'same' if same else 'OTHER'} results"
        )


if __name__ == "__main__":
    main()
