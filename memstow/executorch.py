"""Inside of ExecuTorch: `Memstow` for its suite of algorithms, `CadencePlanning` for its Cadence backend.

Importing this module imports neither torch nor ExecuTorch; docs/integrations.md has examples.
"""

from typing import TYPE_CHECKING, Final

from memstow import _from_home

if TYPE_CHECKING:
    from memstow.api.plugins.executorch.algorithm import Memstow as Memstow
    from memstow.api.plugins.executorch.algorithm import NoPlanError as NoPlanError
    from memstow.api.plugins.executorch.cadence import CadencePlanning as CadencePlanning

_HOMES: Final = {
    "CadencePlanning": "memstow.api.plugins.executorch.cadence",
    "Memstow": "memstow.api.plugins.executorch.algorithm",
    "NoPlanError": "memstow.api.plugins.executorch.algorithm",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    return _from_home(__name__, _HOMES, name)
