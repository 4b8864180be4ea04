"""Selective activation checkpointing without a compiler: which results a layer keeps for the backward pass.

`torch.utils.checkpoint` runs a layer again before its backward pass, all at once, and asks a policy for each
operator of the forward pass whether its result is kept, so that it need not run again. So a choice is worth
the cost of what is kept, and takes its bytes until then. The layer is looked at with fake tensors, below
autograd, where the policy is asked as well.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    create_selective_checkpoint_contexts,
)

from memstow.api.plugins.torch.budget import require_budget
from memstow.planner.formats.torch_program import changed_statistics, cost_of
from memstow.planner.graph.checkpoints import kept_within

_Call = tuple[Any, int]
"""An operator, and how many times it ran before."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a layer keeps: the `context_fn` of `torch.utils.checkpoint.checkpoint`."""

    kept: frozenset[_Call]
    """The calls of operators whose results are kept."""
    keeps_random: bool
    """Whether results of operators that draw random numbers are kept: all of them, or none."""
    bytes: int
    """What that takes, from the forward pass to the backward pass."""
    whole: int
    """What PyTorch keeps without checkpoints."""
    cost: int
    """The cost of what runs again."""

    def __call__(self) -> tuple[Any, Any]:
        """The contexts of one forward pass, and of what runs again."""
        contexts: tuple[Any, Any] = create_selective_checkpoint_contexts(self.policy())
        return contexts

    def policy(self) -> Callable[..., CheckpointPolicy]:
        """The policy of one forward pass, which counts the operators."""
        calls: Counter[Any] = Counter()

        def choose(_: object, operator: Any, *arguments: Any, **named: Any) -> CheckpointPolicy:
            call = operator, calls[operator]
            calls[operator] += 1
            # Where a layer does not run as it was looked at, random numbers are still the same again.
            is_kept = self.keeps_random if _is_random(operator, arguments, named) else call in self.kept
            return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

        return choose


def checkpoint_policy(
    layer: Callable[..., Any], *inputs: Any, memory_budget: float, **named: Any
) -> Selection:
    """Which results a layer keeps when it is called with inputs like these, so that little runs again.

    `memory_budget`: what it may keep at most until its backward pass, in bytes, or as a share of what PyTorch
    keeps without checkpoints. What is chosen goes to `torch.utils.checkpoint.checkpoint(layer, *inputs,
    use_reentrant=False, context_fn=...)`. A RuntimeWarning says where statistics would change twice.
    """
    require_budget(memory_budget)
    seen = _looked_at(layer, inputs, named)
    limit = memory_budget if isinstance(memory_budget, int) else int(memory_budget * seen.whole)
    fixed = [entry for entry in seen.results if entry.is_once and entry.may_be_kept]
    needed = sum(entry.size for entry in fixed)
    if needed > limit or len(fixed) < sum(entry.is_once for entry in seen.results):
        message = "memstow: normalisations of the layer run again, and change their statistics twice"
        if needed > limit:
            message += f": a budget of {limit:,} bytes is less than the {needed:,} of their results"
        warnings.warn(message, RuntimeWarning, 2)
        fixed = fixed if needed <= limit else []
    random = [entry for entry in seen.results if entry.is_random]
    choices = [_chosen(seen.results, fixed, limit, keeps_random=False)]
    if random and all(entry.may_be_kept for entry in random):
        with_random = [*fixed, *random]
        if sum(entry.size for entry in with_random) <= limit:
            choices.append(_chosen(seen.results, with_random, limit, keeps_random=True))
    kept, keeps_random = max(choices, key=lambda choice: sum(entry.cost for entry in choice[0]))
    return Selection(
        kept=frozenset(entry.call for entry in kept),
        keeps_random=keeps_random,
        bytes=sum(entry.size for entry in kept),
        whole=seen.whole,
        cost=sum(entry.cost for entry in seen.results) - sum(entry.cost for entry in kept),
    )


@dataclass(frozen=True, slots=True)
class _Result:
    """What an operator makes."""

    call: _Call
    size: int
    cost: int
    """Of running the operator again; 0 where that does not happen anyway."""
    may_be_kept: bool
    is_random: bool
    is_once: bool
    """Whether the operator changes statistics of the layer."""


def _chosen(
    results: Iterable[_Result], fixed: Sequence[_Result], limit: int, *, keeps_random: bool
) -> tuple[list[_Result], bool]:
    """These results, and what else is worth its bytes."""
    chosen = set(fixed)
    others = [entry for entry in results if entry.may_be_kept and not entry.is_random and entry not in chosen]
    room = limit - sum(entry.size for entry in fixed)
    kept = kept_within([(entry.size, entry.cost) for entry in others], room)
    return [*fixed, *(others[place] for place in sorted(kept))], keeps_random


@dataclass(slots=True)
class _Seen:
    """A layer that has run once."""

    results: list[_Result]
    whole: int


def _looked_at(layer: Callable[..., Any], inputs: Sequence[Any], named: dict[str, object]) -> _Seen:
    """Run the layer with fake tensors, which neither computes nor changes anything."""
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    recorder = _Recorder(fake)
    given, by_name = tree_map_only(torch.Tensor, fake.from_tensor, (tuple(inputs), named))
    recorder.own.update(_storages(tree_leaves((given, by_name))))
    hooks = torch.autograd.graph.saved_tensors_hooks(recorder.pack, lambda tensor: tensor)
    with fake, recorder, torch.enable_grad(), hooks:
        recorder.held.append(layer(*given, **by_name))
    return _Seen(list(recorder.results()), recorder.whole())


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Notes what operators make and change."""

    def __init__(self, fake: FakeTensorMode) -> None:
        super().__init__()
        self.own: set[int] = set()
        """Storages of inputs and of parameters, which are there anyway."""
        self.calls: list[tuple[_Call, int, list[Any], bool, bool, bool]] = []
        self.held: list[Any] = []
        """What was made, so that no storage takes the place of another."""
        self._fake = fake
        self._sizes: dict[int, int] = {}
        """Of storages whose fake tensors have no bytes, such as what recurrent layers keep for themselves."""
        self._saved: dict[int, int] = {}
        self._last = 0
        """How many operators had run when autograd kept something for the last time."""
        self._count: Counter[Any] = Counter()
        self._changed: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, and note it."""
        # Parameters and statistics, which would change where an operator has no other argument.
        args, named = tree_map_only(torch.Tensor, self._faked, (args, kwargs or {}))
        result = func(*args, **named)
        if func in SAC_IGNORED_OPS:
            return result
        call = func, self._count[func]
        self._count[func] += 1
        arguments = _by_name(func, args, named)
        for argument in func._schema.arguments:
            if argument.alias_info is not None and argument.alias_info.is_write:
                leaves = tree_leaves(arguments.get(argument.name))
                self._changed.update(_storages(leaves))
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        self.held.append(tensors)
        if not all(tensor.numel() for tensor in tensors) and any(tensor.numel() for tensor in tensors):
            self._sizes.update(_sizes_of_real(func, args, named, result))
        is_new = bool(tensors) and all(entry.alias_info is None for entry in func._schema.returns)
        self.calls.append(
            (
                call,
                cost_of(func, args, named, result) if is_new else 0,
                tensors,
                is_new,
                _is_random(func, args, named),
                bool(changed_statistics(func._schema.name, arguments)),
            )
        )
        return result

    def _faked(self, tensor: Any) -> Any:
        if isinstance(tensor, FakeTensor):
            return tensor
        both = [tensor, self._fake.from_tensor(tensor)]
        self.own.update(_storages(both))
        self.held.append(both)
        return both[1]

    def pack(self, tensor: Any) -> Any:
        """Note what autograd keeps."""
        self._last = len(self.calls)
        storage = tensor.untyped_storage()
        self._saved[storage._cdata] = self._bytes(storage)
        self.held.append(tensor)
        return tensor

    def _bytes(self, storage: Any) -> int:
        size: int = self._sizes.get(storage._cdata, storage.nbytes())
        return size

    def whole(self) -> int:
        """What autograd keeps of what the layer made."""
        return sum(size for key, size in self._saved.items() if key not in self.own)

    def results(self) -> Iterator[_Result]:
        """What the operators make, but for views."""
        for place, (call, cost, tensors, is_new, is_random, is_once) in enumerate(self.calls):
            if not (is_new or is_random):
                continue
            storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
            yield _Result(
                call=call,
                size=sum(map(self._bytes, storages.values())),
                # What follows the last result that autograd keeps does not run again.
                cost=cost if place < self._last else 0,
                # A result that is changed afterwards is not what the backward pass would expect.
                may_be_kept=is_new and self._changed.isdisjoint(storages),
                is_random=is_random,
                is_once=is_once,
            )


def _sizes_of_real(operator: Any, arguments: Any, named: dict[str, object], result: Any) -> dict[int, int]:
    """The bytes of what the operator makes of real tensors, by storages of the fake ones without bytes."""

    def real(fake: Any) -> Any:
        return torch.zeros(fake.shape, dtype=fake.dtype, device=fake.device)

    with unset_fake_temporarily():
        output = operator(
            *tree_map_only(FakeTensor, real, arguments), **tree_map_only(FakeTensor, real, named)
        )
    return {
        fake.untyped_storage()._cdata: leaf.untyped_storage().nbytes()
        for fake, leaf in zip(tree_leaves(result), tree_leaves(output), strict=True)
        if isinstance(fake, torch.Tensor) and isinstance(leaf, torch.Tensor) and not fake.numel()
    }


def _by_name(operator: Any, arguments: Sequence[Any], named: dict[str, object]) -> dict[str, object]:
    names = (argument.name for argument in operator._schema.arguments)
    return {**dict(zip(names, arguments, strict=False)), **named}


def _storages(leaves: Iterable[Any]) -> Iterator[int]:
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            yield leaf.untyped_storage()._cdata


def _is_random(operator: Any, arguments: Sequence[Any], named: dict[str, object]) -> bool:
    """Whether the operator draws random numbers."""
    if torch.Tag.nondeterministic_seeded not in operator.tags:
        return False
    return bool(_by_name(operator, arguments, named).get("dropout_p", _DRAWS) != 0)


_DRAWS: Final = 1.0
