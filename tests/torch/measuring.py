"""What a traced program takes of memory when it runs: the referee of the graphs that are made of it."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Interpreter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class _Counting(TorchDispatchMode):
    """Counts the bytes of storages that operators have made and nobody has let go."""

    def __init__(self, held: list[Any]) -> None:
        super().__init__()
        self.peak: int = 0
        self._live: dict[int, int] = {}
        self._held = {tensor.untyped_storage()._cdata for tensor in held}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key in self._held or key in self._live:
                continue
            self._live[key] = storage.nbytes()
            weakref.finalize(storage, self._live.pop, key, None)
        self.peak = max(self.peak, sum(self._live.values()))
        return result


class _Forgetting(Interpreter):
    """Lets go of results that nobody reads, as compiled code does."""

    def run_node(self, n: Any) -> Any:
        result = super().run_node(n)
        return result if n.users or n.op == "output" else None


def peak_of(module: Any, *inputs: Any) -> int:
    """The most bytes of storages that are there at once after an operator of the traced program."""
    held = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    held += [*module.parameters(), *module.buffers()]
    with _Counting(held) as counting, torch.no_grad():
        _Forgetting(module).run(*inputs)
    peak: int = counting.peak
    return peak


def most_allocated(call: Callable[[], Any]) -> int:
    """The most bytes that a call takes of the allocator beyond what was there before."""
    call()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        kept = call()
    live = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            most = max(most, live)
    del kept
    return most
