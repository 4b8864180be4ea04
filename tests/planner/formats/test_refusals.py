"""What somebody adds to a problem is lost in no file, digest or columns before it is considered there."""

import pytest

from memstow.planner import formats
from memstow.planner.formats import format as shared
from memstow.planner.model import digest as hashing
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import RARE_FIELDS, Buffer, Pool, Problem, Relative
from memstow.planner.plain import column_documents
from memstow.planner.plain.column_documents import columns_of

BUFFERS = (Buffer(id="a", size=4, lifetime=(0, 2)), Buffer(id="b", size=4, lifetime=(1, 3), accesses=9))


@pytest.mark.parametrize("form", ["csv", "usmp", "executorch", "structured"])
@pytest.mark.parametrize(
    ("kind", "field", "path"),
    [
        (Buffer, "accesses", "$.buffers[1].accesses"),
        (Pool, "capacity", "$.pools[0].capacity"),
        (Problem, "relative", "$.relative"),
    ],
)
def test_a_field_that_no_writer_has_considered_is_refused_by_all(
    monkeypatch: pytest.MonkeyPatch, form: str, kind: type, field: str, path: str
) -> None:
    known = tuple(name for name in shared._CONSIDERED[kind] if name != field)
    monkeypatch.setitem(shared._CONSIDERED, kind, known)
    problem = Problem(
        buffers=BUFFERS,
        pools=(Pool(id="m", capacity=64),),
        relative=(Relative(buffer="b", base="a", offset=8),),
    )
    with pytest.raises(InputError) as refused:
        formats.write_problem(problem, form)
    assert (path, "not_expressible") in {(issue.path, issue.code) for issue in refused.value.issues}


def test_a_buffer_with_a_field_that_columns_do_not_know_is_not_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = BUFFERS[0]
    assert columns_of(Problem(buffers=(plain,))) is not None
    assert columns_of(Problem(buffers=BUFFERS)) is None
    monkeypatch.setattr(column_documents, "_BEYOND_OF_BUFFERS", [])
    assert columns_of(Problem(buffers=BUFFERS)) is not None, "nothing but the list keeps it out"
    monkeypatch.setattr(column_documents, "_BEYOND", ())
    tied = Problem(buffers=BUFFERS, relative=(Relative(buffer="b", base="a", offset=8),))
    assert columns_of(tied) is not None
    monkeypatch.undo()
    assert columns_of(tied) is None


def test_the_digest_leaves_buffers_with_rare_fields_to_the_ordinary_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    ordinary = hashing._buffer

    def watched(problem: Problem, buffer: Buffer, everywhere: tuple[str, ...]) -> str:
        seen.append(buffer.id)
        return ordinary(problem, buffer, everywhere)

    monkeypatch.setattr(hashing, "_buffer", watched)
    native = hashing.canonical(Problem(buffers=BUFFERS))
    assert seen == []
    monkeypatch.setattr(hashing, "RARE_FIELDS", [*RARE_FIELDS, "accesses"])
    assert hashing.canonical(Problem(buffers=BUFFERS)) == native
    assert seen == ["b"]
