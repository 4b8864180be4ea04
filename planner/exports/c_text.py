"""C as text: what every C file that memstow writes is put together of.

Files begin with a comment that says what they are, headers are guarded, and tables are static arrays of a
few lines. Constants of unsigned types end in `u`: they get the type that their value needs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from memstow.planner.exports.naming import in_comment

_LINE: Final = 100
"""Cells of an array that go into one line, in letters."""
BETWEEN: Final = ",\0"
"""Between the cells of an array, before it is known where its lines end."""


def heading(
    what: str, name: str | None, digest: str | None, *, proof: str | None = None, pronoun: str = "it"
) -> str:
    """The comment at the top of a file. Nothing in it changes while the plan stays.

    `what` is in the file, of the problem with this name and digest; `proof` is the digest of its proof.
    """
    first, *more = heading_lines(what, name, digest, proof=proof, pronoun=pronoun)
    return "\n".join([f"/* {first}", *(f" * {line}" for line in more), " */"]) if more else f"/* {first} */"


def heading_lines(
    what: str, name: str | None, digest: str | None, *, proof: str | None = None, pronoun: str = "it"
) -> Iterator[str]:
    """The lines of that comment, for languages with other comments."""
    of = "" if name is None else f" of {in_comment(name)}"
    yield f"{what}{of}, as memstow wrote {pronoun}: not to be edited."
    if digest is not None:
        yield f"Problem {in_comment(digest)[1:-1]}"
    if proof is not None:
        yield f"Proof {in_comment(proof)[1:-1]}"


def guard_begin(guard: str, *includes: str) -> str:
    """The beginning of a header that is read once, with what the header includes."""
    return f"#ifndef {guard}\n#define {guard}\n\n{include(*includes)}"


def guard_end(guard: str) -> str:
    """The end of such a header."""
    return f"#endif /* {guard} */\n"


def include(*headers: str) -> str:
    """Lines that include headers of the system."""
    return "".join(f"#include <{header}>\n" for header in headers)


def unsigned(value: int) -> str:
    """A constant that is unsigned, and as wide as its value needs."""
    return f"{value}u"


def signed(value: int) -> str:
    """A constant of 64 bits with a sign."""
    return f"INT64_C({value})"


def enumeration(values: Mapping[str, int], comment: str | None = None) -> str:
    """Constants of type int by their names."""
    lines = [f"  {name} = {value}," for name, value in values.items()]
    return "\n".join([*([] if comment is None else [f"/* {comment} */"]), "enum {", *lines, "};\n"])


def array(declared: str, cells: Iterable[str]) -> str:
    """A static array that is declared like this, with as many cells in a line as fit.

    What is given as a cell may be many of them with `BETWEEN` between each two.
    """
    lines = ",\n  ".join(_lines(BETWEEN.join(cells))).replace("\0", " ")
    return f"static {declared} = {{\n  {lines},\n}};\n"


def _lines(text: str) -> Iterator[str]:
    """Cells that fit into a line each time; a cell that is longer has one of its own."""
    begin, end = 0, len(text)
    while begin < end:
        until = end if end - begin < _LINE else text.rfind(BETWEEN, begin, begin + _LINE + 1)
        if until < 0:
            until = text.find(BETWEEN, begin)
        until = end if until < 0 else until
        yield text[begin:until]
        begin = until + len(BETWEEN)


def assertion(macro: str, condition: str, says: str) -> str:
    """What the compiler checks; headers of plans define the macro for C and C++."""
    return f'{macro}_ASSERT({condition}, "{says}");'


def filled(template: str, macro: str, symbol: str, **words: str) -> str:
    """The template with `@N` for the prefix of macros, `@n` for that of other names, `@WORD` for a word."""
    for word, text in words.items():
        template = template.replace(f"@{word}", text)
    return template.replace("@N", macro).replace("@n", symbol)
