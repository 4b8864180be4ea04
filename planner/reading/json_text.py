"""Bytes to JSON values, or a clear error: what no reader of JSON may let pass is caught here.

Bytes come from a file, a pipe or a device, never more than a limit: an endless source must not fill memory.
Python's parser lets pass duplicate keys (the last wins), NaN and infinities, and says nothing of an input
that needs more memory than there is; a plan made from such a file would answer a question nobody asked. A
place inside a document is a path: keys to walk, or a text to read.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.printable import LONGEST, printable, shown
from memstow.records import collector_at_rest

LARGEST_INPUT: Final = 256 << 20
_CHUNK: Final = 1 << 20


def read_bytes(source: str | os.PathLike[str] | BinaryIO, limit: int = LARGEST_INPUT) -> bytes:
    """The bytes of a path, a stream or (`-`) standard input; an InputError when more than `limit`."""
    if source == "-":
        return _drained(sys.stdin.buffer, limit, "standard input")
    if not isinstance(source, str | os.PathLike):
        return _drained(source, limit, _name_of(source))
    name = os.fspath(source)
    try:
        with open(source, "rb", buffering=0) as stream:
            # Only a shortcut: the size of a device or a pipe says nothing.
            size = os.fstat(stream.fileno()).st_size
            if size > limit:
                raise too_large(name, limit)
            # What is read in one piece is not copied.
            return _drained(stream, limit, name, max(size + 1, _CHUNK))
    except ValueError:  # a NUL byte in the name
        raise InputError.single("not_found", printable(name, 200), "there is no such file") from None
    except OSError as error:
        raise InputError.single(*_problem_with(error, name)) from None


def _drained(stream: BinaryIO, limit: int, name: str, piece: int = _CHUNK) -> bytes:
    chunks: list[bytes] = []
    left = limit + 1
    try:
        while left > 0 and (chunk := stream.read(min(left, piece))):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        raise InputError.single(*_problem_with(error, name)) from None
    if left <= 0:
        raise too_large(name, limit)
    return b"".join(chunks)


def _name_of(stream: BinaryIO) -> str:
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "input"


def too_large(name: str, limit: int) -> InputError:
    """The error about an input of more than so many bytes."""
    return InputError.single(
        "too_large", printable(name, 200), f"more than {limit:,} bytes, the most that is read"
    )


def _problem_with(error: OSError, source: str) -> tuple[str, str, str]:
    name = printable(source, 200)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "not_found", name, "there is no such file"
    if isinstance(error, IsADirectoryError):
        return "is_a_directory", name, "this is a directory; give a file"
    if isinstance(error, PermissionError):
        return "not_permitted", name, "the permissions of this file do not let it be read"
    return "unreadable", name, f"cannot be read: {printable(error.strerror or str(error), 200)}"


Path = tuple[str | int, ...]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEP: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def json_path(path: Path) -> str:
    """`$.buffers[3].lifetime[1]`"""
    return "$" + "".join(map(_step, path))


def parse_path(text: str) -> Path:
    """The keys of a path that `json_path` wrote."""
    keys: list[str | int] = []
    for name, index, quoted in _STEP.findall(text):
        keys.append(int(index) if index else name or quoted)
    return tuple(keys)


def value_at(root: object, path: Path) -> object:
    """The value there, or None where nothing is."""
    value = root
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def order_in(root: object, path: Path) -> tuple[int, ...]:
    """Sorts paths by the place in the document; missing fields come after the fields of their object."""
    order: list[int] = []
    value = root
    for key in path:
        if isinstance(value, dict):
            order.append(_rank(value, key))
            value = value.get(key)
        else:
            order.append(key if isinstance(key, int) else 0)
            inside = isinstance(value, list) and isinstance(key, int) and key < len(value)
            value = value[key] if inside and isinstance(value, list) and isinstance(key, int) else None
    return tuple(order)


def _rank(members: dict[object, object], key: object) -> int:
    # Finding a key's rank walks over the object: not worth it where an object is used as a long table.
    if key not in members or len(members) > 10_000:
        return len(members)
    return next(rank for rank, name in enumerate(members) if name == key)


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if len(key) <= LONGEST and _NAME.fullmatch(key) else f"[{shown(key)}]"


# Those who read bytes read JSON next: they find both here.

MOST_VALUES: Final = 40_000_000
FEW_BYTES: Final = 1 << 16
"""A document of fewer is read before what reads large ones (`planner.model.instances`) would be loaded."""
LONGEST_INTEGER: Final = 4_300  # where Python draws the line
_MOST_DUPLICATES: Final = 100

_BYTE_ORDER_MARKS: Final = (
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\xfe\xff", "UTF-16"),
    (b"\xff\xfe", "UTF-16"),
)

_PACKED: Final = ((b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_LFS: Final = b"version https://git-lfs.github.com/spec/"
_EXECUTORCH: Final = b"ET"

_IN_WORDS: Final = {
    "Expecting value": "expected a value",
    "Expecting property name enclosed in double quotes": "expected a field name in double quotes",
    "Expecting ',' delimiter": "expected a comma or the end of the list or object",
    "Expecting ':' delimiter": "expected a colon after the field name",
    "Extra data": "expected the end of the text: one JSON value is already complete",
    "Unterminated string starting at": "the string that starts here has no closing quote",
    "Invalid control character at": "a control character must be written as an escape, such as \\n",
    "Invalid \\escape": "this is not an escape that JSON knows",
    "Invalid \\uXXXX escape": "expected four hexadecimal digits after \\u",
    "Illegal trailing comma before end of object": "a comma before the end of an object is not JSON",
    "Illegal trailing comma before end of array": "a comma before the end of a list is not JSON",
}


class _NotFiniteError(Exception):
    def __init__(self, literal: str) -> None:
        self.literal = literal


def parse_json(data: bytes, most_values: int = MOST_VALUES) -> object:
    """The one JSON value in the bytes, as dicts, lists, strings, numbers, booleans and None."""
    text = decoded(data)
    if not text or text.isspace():
        raise InputError.single("empty", "$", "the input is empty")
    _check_count(data, most_values)
    duplicates: list[tuple[dict[str, object], str]] = []

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        built = dict(pairs)
        if len(built) != len(pairs) and len(duplicates) < _MOST_DUPLICATES:
            duplicates.append((built, _repeated(pairs)))
        return built

    with collector_at_rest():
        try:
            value: object = json.loads(
                text, object_pairs_hook=build, parse_float=_finite, parse_constant=_refuse_constant
            )
        except json.JSONDecodeError as error:
            raise _malformed(error, text) from None
        except _NotFiniteError as error:
            raise _not_finite(error.literal, text) from None
        except RecursionError:
            raise InputError.single(
                "too_deep", "$", "lists and objects are nested too deep; no problem or plan needs that"
            ) from None
        except ValueError:
            raise _integer_too_long(text) from None
    if duplicates:
        raise InputError(_duplicate_keys(value, duplicates))
    return value


def decoded(data: bytes) -> str:
    """The text of UTF-8 bytes, without a byte order mark."""
    check_marks(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(data) from None


def require_bytes(data: object) -> None:
    """Raise TypeError for anything but bytes: what is read is files, whose encoding is a part of them."""
    if not isinstance(data, bytes | bytearray):
        said = f"a document is read from its bytes, not from {type(data).__name__}"
        raise TypeError(f"{said}: open the file in binary mode, or encode the text")


def check_marks(data: bytes) -> None:
    """Refuse what says, or shows at its start, that it is not UTF-8."""
    require_bytes(data)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            raise InputError.single("not_utf8", "$", f"the input is {encoding}; save it as UTF-8")
    for magic, packed in _PACKED:
        if data.startswith(magic):
            raise InputError.single("packed", "$", f"the input is packed with {packed}; unpack it first")
    if data.startswith(_LFS):
        message = "this is what Git LFS keeps in the place of a file; fetch the file: git lfs pull"
        raise InputError.single("lfs_pointer", "$", message)
    if b"\x00" in data[:4]:
        # As flatbuffers say what they are, with two digits for a version.
        if data[4:6] == _EXECUTORCH and data[6:8].isdigit():
            message = (
                "this is a program of ExecuTorch, whose memory is planned already; memstow does that while "
                "it is exported (memstow.executorch)"
            )
            raise InputError.single("executorch_program", "$", message)
        message = "the input begins with NUL bytes, as UTF-16, UTF-32 and binary files do; save it as UTF-8"
        raise InputError.single("not_utf8", "$", message)


def not_utf8(data: bytes) -> InputError:
    """Where the bytes cease to be UTF-8."""
    try:
        data.decode("utf-8")
        start = 0
    except UnicodeDecodeError as error:
        start = error.start
    line = data.count(b"\n", 0, start) + 1
    column = start - data.rfind(b"\n", 0, start)
    message = f"byte 0x{data[start]:02x} is not UTF-8; save it as UTF-8"
    return InputError.single("not_utf8", f"line {line}, byte {column}", message)


def _check_count(data: bytes, most_values: int) -> None:
    """Refuse what would need too much memory: each of these bytes can be one Python object."""
    if len(data) > most_values and sum(map(data.count, (b",", b"[", b"{"))) > most_values:
        raise InputError.single("too_large", "$", f"more than {most_values:,} values, the most that is read")


def _finite(literal: str) -> float:
    value = float(literal)
    if value - value != 0.0:
        raise _NotFiniteError(literal)
    return value


def _refuse_constant(literal: str) -> float:
    raise _NotFiniteError(literal)


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - (text.rfind(chr(10), 0, position) + 1) + 1}"


def _malformed(error: json.JSONDecodeError, text: str) -> InputError:
    words = _IN_WORDS.get(error.msg, printable(error.msg, 100))
    rest = text[error.pos : error.pos + 16]
    rest_shown = f"found {shown(rest, 16)}" if rest.strip() else "the text ends here"
    return InputError.single("malformed_json", _place(text, error.pos), f"{words}; {rest_shown}")


def _not_finite(literal: str, text: str) -> InputError:
    position = _outside_strings(re.escape(literal), text)
    return InputError.single(
        "not_finite",
        _place(text, position),
        f"{printable(literal, 24)} is not a finite number; JSON has none such",
    )


def _integer_too_long(text: str) -> InputError:
    position = _outside_strings(rf"[0-9]{{{LONGEST_INTEGER + 1}}}", text)
    return InputError.single(
        "integer_too_long", _place(text, position), f"an integer of more than {LONGEST_INTEGER:,} digits"
    )


def _outside_strings(pattern: str, text: str) -> int:
    """Where the pattern first occurs outside a string; the text up to there is known to be JSON."""
    for match in re.finditer(rf'"(?:[^"\\]|\\.)*+"|(?P<found>{pattern})', text):
        if match["found"] is not None:
            return match.start()
    return 0


def _repeated(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    raise AssertionError("no key occurs twice")


def _duplicate_keys(root: object, duplicates: list[tuple[dict[str, object], str]]) -> Iterator[Issue]:
    wanted = {id(built) for built, _ in duplicates}
    places = _places_of(root, wanted)
    for built, key in duplicates:
        # An object that a later duplicate replaced is not in the tree: its place is gone.
        inside = places.get(id(built))
        path = "$" if inside is None else json_path((*inside, key))
        yield Issue(
            "duplicate_key",
            path,
            f"the field {shown(key)} occurs more than once in one object; keep one of them",
        )


def _places_of(root: object, wanted: set[int]) -> dict[int, Path]:
    place_of: dict[int, Path] = {id(root): ()} if id(root) in wanted else {}
    walks = [_members(root)]
    keys: list[str | int] = []
    while walks and len(place_of) < len(wanted):
        step = next(walks[-1], None)
        if step is None:
            walks.pop()
            del keys[-1:]
            continue
        key, value = step
        if isinstance(value, dict | list):
            keys.append(key)
            walks.append(_members(value))
            if id(value) in wanted:
                place_of[id(value)] = tuple(keys)
    return place_of


def _members(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)
