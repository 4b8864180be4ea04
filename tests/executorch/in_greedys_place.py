"""A plug-in of pytest: memstow in the place of ExecuTorch's and Cadence's own planners, for their own tests.

It is loaded before those tests are imported, which is when they look for the planners.
"""

import typing
from typing import Any

import typing_extensions
from executorch.backends.cadence.aot.memory_planning import CadenceMemoryPlanning
from executorch.exir import memory_planning

from memstow.api.plugins.executorch import algorithm
from memstow.api.plugins.executorch.cadence import CadenceAlgorithm
from memstow.executorch import Memstow

_STOCK = memory_planning.greedy
_OURS = Memstow()


def _greedy(*args: Any, **kwargs: Any) -> Any:
    return _OURS(*args, **kwargs)


def _cadence(*args: Any, **kwargs: Any) -> Any:
    return [CadenceAlgorithm(*args, **kwargs)] * 2


algorithm._greedy = lambda *args: _STOCK(*args)
memory_planning.greedy = _greedy
CadenceMemoryPlanning.get_mem_algos = staticmethod(_cadence)
# Cadence's tests take it from here, where it is from Python 3.12 on.
vars(typing).setdefault("override", typing_extensions.override)
