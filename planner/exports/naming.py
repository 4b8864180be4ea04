"""Names in exported code: a prefix, sections for pools, the header; and names of C and Rust for any id.

Two names never differ in case alone, because the names of Rust's constants are upper case and those of its
functions lower case, and because some tools compare symbols that way.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem
from memstow.records import field, record

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9]+", re.ASCII)
# Comments of C end at `*/`, and lines go on after a backslash, which C before C23 also spells `??/`.
_NOT_IN_COMMENTS: Final = re.compile(r"[^A-Za-z0-9 _.,:;@#%&+=<>()\[\]{}|~^!$/'-]", re.ASCII)


def identifiers(ids: Iterable[str]) -> dict[str, str]:
    """A name for each id, as the end of an identifier: the id itself where that is possible.

    They do not depend on the order of the ids. An id that can be a name has it; the others get a number where
    their name is taken.
    """
    ordered = sorted(set(ids))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for one in ordered:
        if _as_name(one) == one and one.lower() not in taken:
            taken.add(one.lower())
            names[one] = one
    numbers: dict[str, int] = {}
    for one in ordered:
        if one not in names:
            stem = name = _as_name(one)
            while name.lower() in taken:
                numbers[stem.lower()] = numbers.get(stem.lower(), 1) + 1
                name = f"{stem}_{numbers[stem.lower()]}"
            taken.add(name.lower())
            names[one] = name
    return names


def _as_name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text).strip("_") or "x"


_RESERVED: Final = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await
    co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false far float
    for fortran friend goto huge i386 if imaginary import inline int interrupt linux long module
    mutable namespace near new noexcept noreturn not not_eq nullptr operator or or_eq pascal private
    protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct sun switch template this thread_local throw true try typedef
    typeid typename typeof typeof_unqual union unix unsigned using vax virtual void volatile wchar_t
    while xor xor_eq
    assert errno offsetof setjmp stderr stdin stdout va_arg va_copy va_end va_start
"""
_WORDS: Final = frozenset(_RESERVED.split())
# Types and macros of the headers that programs include most: INT64_MAX, size_t, NULL.
_OF_HEADERS: Final = re.compile(r"[A-Z0-9_]{3,}|.*_t", re.ASCII)


def member_names(ids: Iterable[str]) -> dict[str, str]:
    """A name for each id as the member of a struct in C and C++: the id itself where that is possible."""
    return {one: _free_name(name) for one, name in identifiers(ids).items()}


def _free_name(name: str) -> str:
    # Nothing that `identifiers` makes ends in an underscore.
    if name in _WORDS or name[0].isdigit() or _OF_HEADERS.fullmatch(name):
        return f"{'s' if name[0].isdigit() else ''}{name}_"
    return name


def in_comment(text: str) -> str:
    """The text in quotes, in characters that mean nothing in a comment of any language."""
    return '"' + _NOT_IN_COMMENTS.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text) + '"'


DEFAULT_PREFIX: Final = "plan"
_PREFIX: Final = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9]){0,63}", re.ASCII)
_SECTION: Final = re.compile(r"[A-Za-z0-9_.$][A-Za-z0-9_.$-]{0,254}", re.ASCII)
_HEADER: Final = re.compile(r"[A-Za-z0-9_.+-][A-Za-z0-9_.+ -]{0,254}", re.ASCII)


@record
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
            some = ", ".join(f"{printable(pool, 80)!r}" for pool in pools[:8])
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
