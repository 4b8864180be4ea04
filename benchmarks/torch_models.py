"""Networks of PyTorch, compiled as Inductor plans them and as memstow does: `make bench-torch`.

`ARGS="lstm unet --batches 1 16 --modes inference"` measures some of them. Each case is measured in a process
of its own, and its figures are kept in `build/torch_models.jsonl`, from which the table is made.
With `--empty`, kernels of Inductor are not compiled and do nothing: memory is the same.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Final

import torch
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch._inductor import memory
from torch._inductor.async_compile import AsyncCompile

import memstow
import memstow.torch
from benchmarks.page import ROOT, put, table
from benchmarks.torch_networks import NETWORKS
from memstow.api.plugins.torch import inductor as plugin
from tests.torch.measuring import most_allocated

_PART: Final = "torch"
_RECORDS: Final = ROOT / "build" / "torch_models.jsonl"
_MODES: Final = ("inference", "training")
_TURNS: Final = 9
_SEED: Final = 5
_INDUCTOR: Final = "Inductor"
_PLANNING: Final = "its memory planning"
_OURS: Final = "memstow"
_WAYS: Final[dict[str, Callable[[], dict[str, object]]]] = {
    _INDUCTOR: dict,
    _PLANNING: lambda: {"memory_planning": True},
    _OURS: memstow.torch.inductor,
}


@dataclass(slots=True)
class Searches:
    """What the searches of a compilation came to."""

    seconds: float = 0.0
    bound: int = 0
    arenas: int = 0
    proven: bool = True


@dataclass(slots=True)
class Case:
    """The figures of one network; those of ways by their names."""

    network: str
    mode: str
    batch: int
    peak: dict[str, int] = field(default_factory=dict)
    estimated: dict[str, int] = field(default_factory=dict)
    compiled: dict[str, float] = field(default_factory=dict)
    """Seconds of this process, without those of the C++ compilers that it starts."""
    ran: dict[str, float] = field(default_factory=dict)
    """Nothing where kernels are empty, as in..."""
    same: bool | None = None
    """...whether results are those of Inductor."""
    searches: Searches = field(default_factory=Searches)
    warned: list[str] = field(default_factory=list)


def _watch(searches: Searches) -> None:
    """Have the searches of the pass for Inductor noted."""
    inside: Any = plugin
    order_of, plan_of, lines_of = inside.outlook, memstow.plan, inside._Arena.plan

    def outlook(*arguments: Any) -> Any:
        begin = time.perf_counter()
        best = order_of(*arguments)
        searches.seconds += time.perf_counter() - begin
        if best is not None:
            searches.bound = max(searches.bound, best.bound)
            searches.proven &= best.needed == best.bound
        return best

    def plan(*arguments: Any) -> Any:
        begin = time.perf_counter()
        placed = plan_of(*arguments)
        searches.seconds += time.perf_counter() - begin
        searches.proven &= placed.status == "optimal"
        return placed

    def lines_with_arena(*arguments: Any) -> Any:
        lines = lines_of(*arguments)
        searches.arenas += bool(lines)
        return lines

    inside.outlook, inside._Arena.plan, inside.memstow.plan = outlook, lines_with_arena, plan


def _with_estimates(estimated: dict[str, int], way: str) -> Callable[..., Any]:
    """Inductor's choice of an order, whose peak by its own estimate is noted."""
    chosen = memory.reorder_for_peak_memory

    def reorder(nodes: Any, buffers: Any, fused: Any, inputs: Any, outputs: Any) -> Any:
        order = chosen(nodes, buffers, fused, inputs, outputs)
        estimate, _ = memory.prepare_planning_info(order, buffers, fused, inputs, outputs)
        estimated[way] = max(estimated.get(way, 0), estimate)
        return order

    return reorder


def _step(compiled: Any, model: Any, x: Any, mode: str) -> list[Any]:
    torch.manual_seed(_SEED)
    if mode == "inference":
        with torch.no_grad():
            return [compiled(x)]
    loss = compiled(x).square().mean()
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    return [loss, *gradients]


def _seconds(call: Callable[[], Any]) -> float:
    """Of the processor: other programs of the machine take none of them."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _empty_kernel(*_: object) -> None:
    """Takes the place of a kernel."""


def measured(network: str, mode: str, batch: int, *, is_empty: bool) -> Case:
    """Compile the network in each way, then run these in turns."""
    case = Case(network, mode, batch)
    make, input_of = NETWORKS[network]
    if is_empty:
        # What nobody has written may be numbers with which a processor takes a hundred times as long.
        torch.set_flush_denormal(True)
        AsyncCompile.cpp_pybinding = lambda *_arguments, **_named: _empty_kernel
    torch.manual_seed(_SEED)
    model, x = make(), input_of(batch)
    model.train(mode == "training")
    # What the first compilation of a process imports is in none of them.
    torch.compile(torch.nn.Linear(2, 2))(torch.ones(2, 2)).sum().backward()
    _watch(case.searches)
    chosen = memory.reorder_for_peak_memory
    calls: dict[str, Callable[[], list[Any]]] = {}
    results: dict[str, list[Any]] = {}
    for way, options in _WAYS.items():
        if way == _PLANNING and mode == "training":
            # Inductor plans the memory of inference alone.
            continue
        memory.reorder_for_peak_memory = chosen
        memory.reorder_for_peak_memory = _with_estimates(case.estimated, way)
        compiled = torch.compile(model, options=options(), dynamic=False)

        def call(compiled: Any = compiled) -> list[Any]:
            return _step(compiled, model, x, mode)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            begin = time.process_time()
            results[way] = call()
            first = time.process_time() - begin
        case.warned += [str(entry.message) for entry in caught if "memstow: " in str(entry.message)]
        case.peak[way] = most_allocated(call)
        begin = time.process_time()
        call()
        case.compiled[way] = first - (time.process_time() - begin)
        calls[way] = call
    if is_empty:
        return case
    case.same = all(map(torch.equal, results[_INDUCTOR], results[_OURS]))
    results.clear()
    # Which of them comes first in a turn changes: it finds less of its data in caches.
    ways = list(calls)
    turns: list[dict[str, float]] = []
    for turn in range(_TURNS):
        offset = turn % len(ways)
        turns.append({way: _seconds(calls[way]) for way in ways[offset:] + ways[:offset]})
    case.ran = {way: median(turn[way] for turn in turns) for way in calls}
    return case


_HEAD: Final = (
    "network",
    "batch",
    "peak: Inductor",
    "its memory planning",
    "memstow",
    "estimate: Inductor",
    "memstow",
    "bound",
    "proven, in s",
    "arenas",
    "compiled in s: Inductor",
    "memstow",
    "a run in s: Inductor",
    "memstow",
)


def _row(case: Case) -> list[str]:
    return [
        f"{case.network}, {case.mode}",
        f"{case.batch}",
        *(f"{case.peak[way]:,}" if way in case.peak else "-" for way in _WAYS),
        *(f"{case.estimated[way]:,}" for way in (_INDUCTOR, _OURS)),
        f"{case.searches.bound:,}",
        f"{'yes' if case.searches.proven else 'no'}, {case.searches.seconds:.2f}",
        f"{case.searches.arenas}",
        *(f"{case.compiled[way]:.1f}" for way in (_INDUCTOR, _OURS)),
        *(f"{case.ran[way]:.3f}" if case.ran else "-" for way in (_INDUCTOR, _OURS)),
    ]


def _records() -> list[Case]:
    """The last figures of each case."""
    cases: dict[tuple[str, str, int], Case] = {}
    for line in _RECORDS.read_text().splitlines():
        entry = json.loads(line)
        case = Case(**{**entry, "searches": Searches(**entry["searches"])})
        cases[case.network, case.mode, case.batch] = case
    names = list(NETWORKS)
    return sorted(cases.values(), key=lambda case: (case.mode, names.index(case.network), case.batch))


def _page(cases: Sequence[Case]) -> str:
    proven = sum(case.searches.proven for case in cases)
    above = sum(case.peak[_OURS] > case.peak[_INDUCTOR] for case in cases)
    different = [f"{case.network}, {case.mode}, {case.batch}" for case in cases if case.same is False]
    compared = sum(case.same is not None for case in cases)
    warned = sorted({message for case in cases for message in case.warned})
    lines = [
        f"{proven} of {len(cases)} proven; {above} above Inductor's measured peak; results were compared in "
        f"{compared}, and differ in: {'; '.join(different) or 'none'}; "
        f"warnings: {'; '.join(warned) or 'none'}.",
        "",
        table(_HEAD, map(_row, cases)),
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure the cases that are wanted, and put all that are known on the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_models", description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 16])
    parser.add_argument("--modes", nargs="+", choices=_MODES, default=_MODES)
    parser.add_argument("--empty", action="store_true", help="with kernels that do nothing")
    parser.add_argument("--one", action="store_true", help="measure one case in this process")
    args = parser.parse_args()
    if args.one:
        inductor_config.fx_graph_cache = False
        inductor_config.compile_threads = 2
        functorch_config.enable_autograd_cache = False
        # Threads that wait for each other measure what else the machine does.
        torch.set_num_threads(1)
        case = measured(args.networks[0], args.modes[0], args.batches[0], is_empty=args.empty)
        print(json.dumps(asdict(case)))
        return
    _RECORDS.parent.mkdir(exist_ok=True)
    for batch in args.batches:
        for mode in args.modes:
            for network in args.networks:
                words = [sys.executable, "-m", "benchmarks.torch_models", network, "--one"]
                words += ["--batches", str(batch), "--modes", mode, *(["--empty"] if args.empty else [])]
                ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
                if ran.returncode != 0:
                    print(f"{network}, {mode}, batch {batch}: exit code {ran.returncode}", flush=True)
                    continue
                line = ran.stdout.splitlines()[-1]
                with _RECORDS.open("a") as records:
                    records.write(f"{line}\n")
                print(line, flush=True)
    put(_PART, _page(_records()))


if __name__ == "__main__":
    main()
