"""Names of symbols as members of a struct in C and C++."""

import re
from collections.abc import Iterable
from typing import Final

from memstow.planner.exports.identifiers import identifiers

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


def field_names(symbols: Iterable[str]) -> dict[str, str]:
    """A name for each symbol: the symbol itself where that is possible."""
    return {symbol: _free(name) for symbol, name in identifiers(symbols).items()}


def _free(name: str) -> str:
    # Nothing that `identifiers` makes ends in an underscore.
    if name in _WORDS or name[0].isdigit() or _OF_HEADERS.fullmatch(name):
        return f"{'s' if name[0].isdigit() else ''}{name}_"
    return name
