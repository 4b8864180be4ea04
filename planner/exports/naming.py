"""What the names in exported code are made of: a prefix, sections for pools, the name of the header."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.problem import Problem
from memstow.planner.reading.printable import printable

DEFAULT_PREFIX: Final = "plan"
_PREFIX: Final = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9]){0,63}", re.ASCII)
_SECTION: Final = re.compile(r"[A-Za-z0-9_.$][A-Za-z0-9_.$-]{0,254}", re.ASCII)
_HEADER: Final = re.compile(r"[A-Za-z0-9_.+-][A-Za-z0-9_.+ -]{0,254}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Naming:
    """How the names in exported code begin, and where the arenas go."""

    prefix: str = DEFAULT_PREFIX
    sections: Mapping[str, str] = field(default_factory=dict)
    """By id of the pool, the section for its arenas, which the linker script of the program has."""
    header: str | None = None
    """The name by which C sources include the header; default: the prefix and `.h`."""

    @property
    def macro(self) -> str:
        """The prefix of macros."""
        return self.prefix.upper()

    @property
    def symbol(self) -> str:
        """The prefix of what is no macro."""
        return self.prefix.lower()

    @property
    def header_name(self) -> str:
        """The name by which the header is included."""
        return self.header if self.header is not None else f"{self.symbol}.h"


def sections_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The sections of pools that were given one by one; InputError where a pool has two."""
    sections: dict[str, str] = {}
    for pool, section in pairs:
        if sections.setdefault(pool, section) != section:
            message = f"the pool {printable(pool, 80)!r} has two sections; give it one"
            raise InputError.single("two_sections", "section", message)
    return sections


def check_naming(problem: Problem, naming: Naming) -> None:
    """Refuse what is no name in C, Rust or a linker script, and sections of pools that do not exist."""
    issues = list(_bad_words(naming))
    pools = [pool.id for pool in problem.pools]
    for pool in naming.sections:
        if pool not in pools:
            close = closest_match(pool, pools)
            some = ", ".join(f"{printable(it, 80)!r}" for it in pools[:8])
            known = f"the pools are {some}; a target has those of a device"
            meant = known if close is None else f"did you mean {printable(close, 80)!r}?"
            message = f"the problem has no pool {printable(pool, 80)!r}; {meant}"
            issues.append(Issue("unknown_pool", "section", message))
    if issues:
        raise InputError(issues)


def check_words(naming: Naming) -> None:
    """Refuse what is no name, whatever the problem is."""
    issues = list(_bad_words(naming))
    if issues:
        raise InputError(issues)


def _bad_words(naming: Naming) -> Iterator[Issue]:
    if not _PREFIX.fullmatch(naming.prefix):
        message = (
            f"{printable(naming.prefix, 80)!r} cannot begin a name: use up to 64 letters and digits, with "
            "single underscores between them, that begin with a letter"
        )
        yield Issue("bad_prefix", "prefix", message)
    if naming.header is not None and not _HEADER.fullmatch(naming.header):
        message = (
            f"{printable(naming.header, 80)!r} cannot be included by every compiler: use letters, digits, "
            "spaces and . _ + - in the name of the header"
        )
        yield Issue("bad_header", "header", message)
    for section in naming.sections.values():
        if not _SECTION.fullmatch(section):
            message = (
                f"{printable(section, 80)!r} is not the name of a section: use letters, digits and . _ $ -"
            )
            yield Issue("bad_section", "section", message)
