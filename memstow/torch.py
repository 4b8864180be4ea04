"""With PyTorch: `graph_of` makes a graph of a traced program, `reordered` runs one in the order of a plan.

`symbolic_graph_of` is for sizes that are open; `inductor` makes the options of `torch.compile` with a plan,
and `checkpoint_policy` says what a layer keeps for its backward pass.
`read_recording` reads what an allocator has done, and `replay` gives the allocations of a recorded step the
addresses of a plan. Importing this module does not import torch; docs/pytorch.md and docs/recordings.md have
examples.
"""

from typing import TYPE_CHECKING, Final

from memstow import _from_home

if TYPE_CHECKING:
    from memstow.api.plugins.torch.inductor import inductor as inductor
    from memstow.api.plugins.torch.replay import Replay as Replay
    from memstow.api.plugins.torch.replay import ReplayError as ReplayError
    from memstow.api.plugins.torch.replay import ReplayStatistics as ReplayStatistics
    from memstow.api.plugins.torch.replay import replay as replay
    from memstow.api.plugins.torch.selective import Selection as Selection
    from memstow.api.plugins.torch.selective import checkpoint_policy as checkpoint_policy
    from memstow.planner.formats.torch_program import graph_of as graph_of
    from memstow.planner.formats.torch_program import reordered as reordered
    from memstow.planner.formats.torch_program import symbolic_graph_of as symbolic_graph_of
    from memstow.planner.recorded.recording import Recording as Recording
    from memstow.planner.recorded.recording import Usage as Usage
    from memstow.planner.recorded.recording import User as User
    from memstow.planner.recorded.recording import read_recording as read_recording

_HOMES: Final = {
    "Recording": "memstow.planner.recorded.recording",
    "Replay": "memstow.api.plugins.torch.replay",
    "ReplayError": "memstow.api.plugins.torch.replay",
    "ReplayStatistics": "memstow.api.plugins.torch.replay",
    "Selection": "memstow.api.plugins.torch.selective",
    "Usage": "memstow.planner.recorded.recording",
    "User": "memstow.planner.recorded.recording",
    "checkpoint_policy": "memstow.api.plugins.torch.selective",
    "graph_of": "memstow.planner.formats.torch_program",
    "inductor": "memstow.api.plugins.torch.inductor",
    "read_recording": "memstow.planner.recorded.recording",
    "replay": "memstow.api.plugins.torch.replay",
    "reordered": "memstow.planner.formats.torch_program",
    "symbolic_graph_of": "memstow.planner.formats.torch_program",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    try:
        return _from_home(__name__, _HOMES, name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = "PyTorch is not installed: pip install 'memstow[torch]'"
        raise ModuleNotFoundError(message, name="torch") from None
