"""The folder of a library: read without trust, written so that an interruption leaves nothing half done.

A reader follows no link and takes no more bytes than a limit. A new instance is written beside and renamed.
Of a record that changes, the new files are written beside as `NAME.next`; `instance.json`, which has their
checksums, is then replaced in one step, and after that each file gets its name. A reader who finds another
checksum takes the file beside.
"""

import errno
import fcntl
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Final, Protocol, TypeVar, get_args

from memstow.planner import formats
from memstow.planner.formats.native import encode_document, plain
from memstow.planner.instance_library.judging import Answer, Posed
from memstow.planner.model.errors import InputError, naming
from memstow.planner.model.library import FileName, IndexLine, LibraryFile, LibraryIndex, LibraryInstance
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.proof_file import draft_of
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_whole
from memstow.planner.reading.sections import Findings

INDEX: Final = "index.json"
METADATA: Final = "instance.json"
PLAN: Final = "plan.json"
PROOF: Final = "plan.proof"
DOCUMENTS: Final[tuple[FileName, ...]] = ("problem.json", "problem.json.gz", "graph.json", "graph.json.gz")
NAMES: Final[tuple[FileName, ...]] = get_args(FileName)
PACKED: Final = ".gz"
_NEXT: Final = ".next"

LARGEST_METADATA: Final = 1 << 20
LARGEST_INDEX: Final = 64 << 20
LARGEST_FILE: Final = 64 << 20
"""Of a document, unpacked, of a plan and of a proof."""
LARGEST_PLAIN: Final = 1 << 20
"""Documents of more bytes are packed."""
MOST_INSTANCES: Final = 10_000
PATIENCE: Final = 10.0
"""Seconds that a writer waits for another."""

_Holder = TypeVar("_Holder")


class Source(Protocol):
    """A library that is read: a folder, or what a server has of one."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    def ids(self) -> Sequence[str]:
        """The instances, ascending."""

    def metadata(self, name: str) -> bytes:
        """`instance.json` of one."""

    def file(self, instance: LibraryInstance, entry: LibraryFile) -> bytes:
        """A file of one, as its checksum says."""


def refused(path: str, code: str, message: str) -> InputError:
    """The error about a file or a value of a library."""
    return InputError.single(code, printable(path, 200), message)


def parse_metadata(data: bytes, name: str) -> LibraryInstance:
    """The metadata of the instance of this name; an InputError where they are not what they should be."""
    instance = _parsed(LibraryInstance, data, f"{name}/{METADATA}")
    require_name(name)
    if instance.id != name:
        raise refused(f"{name}/{METADATA}", "other_id", f"it says that its id is {instance.id}")
    names = [entry.name for entry in instance.files]
    if len(set(names)) < len(names):
        raise refused(f"{name}/{METADATA}", "duplicate_file", "it names a file twice")
    if [entry for entry in names if entry in DOCUMENTS] not in (
        [f"{instance.kind}.json"],
        [f"{instance.kind}.json{PACKED}"],
    ):
        message = f"its files should have one document, {instance.kind}.json or {instance.kind}.json{PACKED}"
        raise refused(f"{name}/{METADATA}", "documents", message)
    return instance


def require_name(name: str) -> None:
    """InputError for the one id that would be in the way of another file."""
    if name == INDEX:
        raise refused(f"{name}/{METADATA}", "reserved_id", "an instance cannot have the name of the index")


def parse_index(data: bytes) -> LibraryIndex:
    """The index; an InputError where an id is there twice."""
    index = _parsed(LibraryIndex, data, INDEX)
    ids = [line.id for line in index.instances]
    if len(set(ids)) < len(ids):
        raise refused(INDEX, "duplicate_id", "an id is there twice")
    if len(ids) > MOST_INSTANCES:
        raise refused(INDEX, "too_large", f"more than {MOST_INSTANCES:,} instances, the most that are read")
    return index


def _parsed(holder: type[_Holder], data: bytes, path: str) -> _Holder:
    with naming(printable(path, 200)):
        raw = parse_json(data)
        return parse_whole(holder, raw, Findings(raw))


def write_metadata(instance: LibraryInstance) -> bytes:
    """The text of `instance.json`."""
    return encode_document(plain(instance))


def index_line(instance: LibraryInstance) -> IndexLine:
    """What the index says of an instance."""
    return IndexLine(
        id=instance.id,
        title=instance.title,
        family=instance.family,
        licence=instance.licence,
        kind=instance.kind,
        state=instance.state,
        buffers=instance.features.get("buffers", 0),
        values=[term.value for term in instance.best],
        bounds=[term.bound for term in instance.best],
        updated=instance.history[-1].date if instance.history else None,
        sha256=sha256(write_metadata(instance)).hexdigest(),
    )


def write_index(lines: Iterable[IndexLine]) -> bytes:
    """The text of `index.json`."""
    return encode_document(plain(LibraryIndex(instances=sorted(lines, key=lambda line: line.id))))


def is_draft(name: str) -> bool:
    """Whether a file or a folder is one that a writer has not finished."""
    return name.startswith(".") and name.endswith(".unfinished")


def file_entry(name: FileName, data: bytes) -> LibraryFile:
    """What the metadata say of a file."""
    return LibraryFile(name=name, bytes=len(data), sha256=sha256(data).hexdigest())


def is_file(entry: LibraryFile, data: bytes) -> bool:
    """Whether these are the bytes that the metadata name."""
    return len(data) == entry.bytes and sha256(data).hexdigest() == entry.sha256


def pack(kind: str, data: bytes) -> tuple[FileName, bytes]:
    """The file of a document: as it is, or packed where it is large."""
    for name in DOCUMENTS:
        if len(data) <= LARGEST_PLAIN and name == f"{kind}.json":
            return name, data
        if len(data) > LARGEST_PLAIN and name == f"{kind}.json{PACKED}":
            packer = zlib.compressobj(9, wbits=31)  # Of gzip, without name and time.
            return name, packer.compress(data) + packer.flush()
    raise ValueError(kind)


def unpack(data: bytes, path: str) -> bytes:
    """The bytes that are packed; an InputError where they are no gzip, or would be too many."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain_data = unpacker.decompress(data, LARGEST_FILE + 1)
    except zlib.error as error:
        raise refused(path, "packed", f"this is no gzip: {error}") from None
    if len(plain_data) > LARGEST_FILE:
        raise refused(path, "too_large", f"it unpacks to more than {LARGEST_FILE:,} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise refused(path, "packed", "it has no end, or something behind its end")
    return plain_data


def instance_of(source: Source, name: str) -> LibraryInstance:
    """The metadata of an instance."""
    return parse_metadata(source.metadata(name), name)


def document_of(source: Source, instance: LibraryInstance) -> bytes:
    """The file of the problem or the graph of an instance, unpacked."""
    (entry,) = (entry for entry in instance.files if entry.name in DOCUMENTS)
    data = source.file(instance, entry)
    return unpack(data, f"{instance.id}/{entry.name}") if entry.name.endswith(PACKED) else data


def posed_of(source: Source, instance: LibraryInstance) -> Posed:
    """The problem or the graph of an instance."""
    data = document_of(source, instance)
    with naming(f"{instance.id}/{instance.kind}.json"):
        document = formats.read_document(data, "json" if instance.kind == "problem" else "graph")
    return Posed(document, data)


def answer_of(source: Source, instance: LibraryInstance) -> Answer | None:
    """The plan of an instance with its proof; None where there is none."""
    files = {
        entry.name: source.file(instance, entry) for entry in instance.files if entry.name in (PLAN, PROOF)
    }
    if PLAN not in files:
        if PROOF in files:
            raise refused(f"{instance.id}/{PROOF}", "no_plan", "there is a proof, and no plan")
        return None
    with naming(f"{instance.id}/{PLAN}"):
        plan = formats.read_plan(files[PLAN], Problem(buffers=()), "json")
    return Answer(plan, files.get(PROOF))


class Folder:
    """A library in a folder."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self.path = Path(path)

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return str(self.path)

    def require(self) -> None:
        """InputError where there is no such folder."""
        if not self.path.is_dir():
            raise refused(self.name, "not_found", "there is no such folder")

    def ids(self) -> list[str]:
        """The instances, ascending: folders with metadata. Others, and what begins with a dot, are none."""
        if not self.path.is_dir():
            return []
        with os.scandir(self.path) as entries:
            names = [
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and os.path.lexists(os.path.join(entry.path, METADATA))
            ]
        if len(names) > MOST_INSTANCES:
            raise refused(self.name, "too_large", f"more than {MOST_INSTANCES:,} instances")
        return sorted(names)

    def metadata(self, name: str) -> bytes:
        """`instance.json` of one."""
        return self._read(name, METADATA, LARGEST_METADATA)

    def index(self) -> bytes | None:
        """`index.json`; None where there is none."""
        if not os.path.lexists(self.path / INDEX):
            return None
        return self._read("", INDEX, LARGEST_INDEX)

    def file(self, instance: LibraryInstance, entry: LibraryFile) -> bytes:
        """A file of one, as its checksum says: where another writer was cut short it is the one beside."""
        for name in (entry.name, f"{entry.name}{_NEXT}"):
            if os.path.lexists(self.path / instance.id / name):
                data = self._read(instance.id, name, LARGEST_FILE)
                if is_file(entry, data):
                    return data
        path = f"{instance.id}/{entry.name}"
        if not os.path.lexists(self.path / instance.id / entry.name):
            raise refused(path, "not_found", "there is no such file")
        raise refused(path, "checksum", "its bytes are not those that instance.json names")

    def strangers(self, instance: LibraryInstance) -> list[str]:
        """Files in the folder of an instance that its metadata do not name."""
        known = {METADATA, *(entry.name for entry in instance.files)}
        return sorted(
            name
            for name in os.listdir(self.path / instance.id)
            if name not in known and name.removesuffix(_NEXT) not in known
        )

    def _read(self, folder: str, name: str, limit: int) -> bytes:
        """The bytes of a plain file; neither it nor its folder may be a link."""
        path = f"{folder}/{name}" if folder else name
        try:
            place = os.open(
                self.path / folder, os.O_RDONLY | os.O_DIRECTORY | (os.O_NOFOLLOW if folder else 0)
            )
            try:
                # A pipe is opened without waiting for its writer, and then refused.
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
            finally:
                os.close(place)
        except FileNotFoundError:
            raise refused(path, "not_found", "there is no such file") from None
        except OSError as error:
            why = "it is a link or no folder" if error.errno in _LINKS else os.strerror(error.errno or 0)
            raise refused(path, "unreadable", why) from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise refused(path, "unreadable", "this is no plain file")
        with open(file, "rb") as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise refused(path, "too_large", f"more than {limit:,} bytes, the most that is read")
        return data

    # Writing.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The folder for one writer alone; what writers before were cut short in is removed."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._wait_for(lock)
            for name in filter(is_draft, os.listdir(self.path)):
                draft = self.path / name
                if draft.is_dir() and not draft.is_symlink():
                    rmtree(draft, ignore_errors=True)
                else:
                    draft.unlink(missing_ok=True)
            yield
        finally:
            os.close(lock)

    def _wait_for(self, lock: int) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    message = "another process writes to it; try again later"
                    raise refused(self.name, "in_use", message) from None
                time.sleep(0.05)
            else:
                return

    def add(self, instance: LibraryInstance, files: Mapping[FileName, bytes]) -> None:
        """Write a new instance, all of it or nothing."""
        require_name(instance.id)
        target = self.path / instance.id
        if os.path.lexists(target):
            raise refused(instance.id, "duplicate_id", "there is an instance of this id")
        with draft_of(str(target)) as draft:
            os.mkdir(draft)
            try:
                for name, data in files.items():
                    _write_new(Path(draft, name), data)
                _write_new(Path(draft, METADATA), write_metadata(instance))
                os.rename(draft, target)
            finally:
                rmtree(draft, ignore_errors=True)

    def change(self, instance: LibraryInstance, files: Mapping[FileName, bytes]) -> None:
        """Write a better record: these files, and the metadata that name them."""
        place = self.path / instance.id
        for name, data in files.items():
            replace_file(place / f"{name}{_NEXT}", data)
        replace_file(place / METADATA, write_metadata(instance))
        self.settle(instance)

    def settle(self, instance: LibraryInstance) -> None:
        """Give files that wait beside their names, if the metadata mean them; remove what is of before."""
        place = self.path / instance.id
        named = {entry.name: entry for entry in instance.files}
        for name in os.listdir(place):
            file, is_waiting = name.removesuffix(_NEXT), name.endswith(_NEXT)
            entry = named.get(file)  # type: ignore[call-overload]
            if is_waiting and entry is not None:
                if is_file(entry, self._read(instance.id, name, LARGEST_FILE)):
                    os.replace(place / name, place / file)
                    continue
            elif entry is not None or not (file in NAMES or is_draft(name)):
                continue
            (place / name).unlink()

    def put_index(self, lines: Iterable[IndexLine]) -> None:
        """Write the index."""
        replace_file(self.path / INDEX, write_index(lines))


_LINKS: Final = (errno.ELOOP, errno.ENOTDIR)


def _write_new(path: Path, data: bytes, *, synced: bool = True) -> None:
    with open(path, "xb") as file:
        file.write(data)
        if synced:
            file.flush()
            os.fsync(file.fileno())


def replace_file(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Write a file in one step: readers see the one before or this; a synced one also after a power cut."""
    with draft_of(str(path)) as draft:
        _write_new(Path(draft), data, synced=synced)
        os.replace(draft, path)
