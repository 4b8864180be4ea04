"""Which plug-ins are installed: the entry points `memstow.solvers` and `memstow.formats` of packages."""

import re
from collections.abc import Iterable
from typing import Final, Literal

from memstow.planner.model.errors import PlugInError
from memstow.planner.model.printable import printable
from memstow.records import record

Kind = Literal["solver", "format"]
GROUPS: Final[dict[Kind, str]] = {"solver": "memstow.solvers", "format": "memstow.formats"}
# As lists of names, and titles such as free+auto, can hold it.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@record
class PlugIn:
    """A solver or a format of another package."""

    kind: Kind
    name: str
    package: str
    version: str
    place: str
    """Where it is: `module:attribute`."""

    @property
    def origin(self) -> str:
        """The package that has it, with its version."""
        return f"{self.package} {self.version}"


def installed(kind: Kind) -> tuple[PlugIn, ...]:
    """The plug-ins of a kind, by name; one without a name that can be written in a list is left out."""
    # Late: it takes as long as a small solve.
    from importlib.metadata import entry_points

    plug_ins = {
        PlugIn(kind, entry.name, *_package(entry.dist), entry.value)
        for entry in entry_points(group=GROUPS[kind])
        if _NAME.fullmatch(entry.name)
    }
    return tuple(sorted(plug_ins, key=lambda one: (one.name, one.package)))


def _package(distribution: object) -> tuple[str, str]:
    """Its name and its version, each as far as the package says it."""
    metadata = getattr(distribution, "metadata", None)
    said = (None, None) if metadata is None else (metadata.get("Name"), metadata.get("Version"))
    name, version = (printable(str(value), 64) if value else "unknown" for value in said)
    return name, version


def find(kind: Kind, name: str) -> PlugIn | None:
    """The plug-in of this name, None where there is none; PlugInError where two packages have one."""
    if not _NAME.fullmatch(name):
        return None
    named = [plug_in for plug_in in installed(kind) if plug_in.name == name]
    if len(named) > 1:
        packages = " and ".join(one.package for one in named)
        raise PlugInError(f"the {kind} {name!r} is in two packages, {packages}: uninstall one of them")
    return named[0] if named else None


def names(kind: Kind, taken: Iterable[str]) -> tuple[str, ...]:
    """The names of the plug-ins of a kind, but for those that are taken: what is ours comes first."""
    ours = frozenset(taken)
    return tuple(dict.fromkeys(one.name for one in installed(kind) if one.name not in ours))
