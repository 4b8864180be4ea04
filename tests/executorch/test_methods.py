"""Several methods of one program: state that they share, and no more memory than the largest needs."""

from typing import Any

import pytest

import memstow
from memstow.executorch import Memstow

pytestmark = pytest.mark.filterwarnings("default")


def test_methods_share_their_state_and_one_memory(et: Any) -> None:
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.runtime import Runtime

    from tests.executorch.models import Decode, Prefill

    torch = et.torch
    cache = torch.zeros(8, 16)
    models = {
        name: kind(cache).eval().requires_grad_(False)
        for name, kind in (("prefill", Prefill), ("decode", Decode))
    }
    exported = {name: torch.export.export(model, (torch.zeros(8, 16),)) for name, model in models.items()}
    problems: list[memstow.Problem] = []
    suite = MemoryPlanningAlgorithmSuite([Memstow(on_plan=lambda problem, _: problems.append(problem))])
    planning = MemoryPlanningPass(suite, share_mutable_buffers=True)
    made = to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    sizes = [made.exported_program(name).graph_module.meta["non_const_buffer_sizes"] for name in models]
    state = cache.nbytes
    assert [entry[2] for entry in sizes] == [state, state]
    # What a plan of all, with the state in it, needs as well.
    programs = memstow.Programs(
        programs=[
            memstow.Program(
                id=name,
                problem=memstow.Problem(
                    buffers=[
                        *problem.buffers,
                        memstow.Buffer(id="cache", size=state, lifetime="always", alignment=16),
                    ],
                    pools=problem.pools,
                    objective=problem.objective,
                    relative=problem.relative,
                    conflicts=problem.conflicts,
                    in_place=problem.in_place,
                ),
            )
            for name, problem in zip(models, problems, strict=True)
        ],
        kept=[memstow.Kept(buffers=[(name, "cache") for name in models])],
    )
    together = memstow.plan(memstow.joint_problem(programs))
    assert together.status == "optimal"
    assert together.pools[0].peak == max(entry[1] for entry in sizes) + state

    program = Runtime.get().load_program(made.buffer)
    methods = {name: program.load_method(name) for name in models}
    for name in ("prefill", "decode", "decode", "prefill", "decode"):
        x = torch.randn(8, 16)
        ours, theirs = methods[name].execute((x,))[0], models[name](x)
        assert torch.allclose(ours, theirs, atol=1e-5), name
