"""What PyTorch's profiler records of a step on a processor."""

from pathlib import Path

import pytest

import memstow
from memstow.torch import read_recording
from tests.torch import NEEDED


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_a_step_of_training_is_read_from_its_trace(suffix: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason=NEEDED)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.Adam(model.parameters())
    inputs = torch.randn(64, 256)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    step()
    path = tmp_path / f"step.{suffix}"
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profiler:
        step()
    profiler.export_chrome_trace(str(path))
    recording = read_recording(path.read_bytes())
    usage, problem = recording.usage, recording.problem
    assert usage.device == "cpu"
    assert usage.allocations == len(problem.buffers) > 20
    # The gradient of the first layer, which the next step would free.
    assert max(buffer.size for buffer in problem.buffers) >= 256 * 512 * 4
    assert {"aten::addmm", "aten::mm"} <= {buffer.group for buffer in problem.buffers}
    assert not memstow.verify(problem, recording.plan)
    plan = memstow.plan(problem)
    assert plan.status == "optimal"
    # Small tensors take their alignment as well.
    assert usage.allocated <= plan.pools[0].peak < usage.allocated * 1.01
