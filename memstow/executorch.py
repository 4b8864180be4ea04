"""Inside of ExecuTorch: `Memstow` for its suite of algorithms, `CadencePlanning` for its Cadence backend.

Importing this module imports neither torch nor ExecuTorch; docs/integrations.md has examples.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

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
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memstow.executorch' has no attribute {name!r}")
    return getattr(import_module(home), name)
