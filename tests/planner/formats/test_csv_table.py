"""CSV means here what it means to MiniMalloc, and what it cannot mean is told by line and column."""

from pathlib import Path
from typing import Literal

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.formats.csv_table import write_problem
from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Problem, Relative
from tests.planner.refusal import refusal, told
from tests.referee import judge

HEADER = "id,lower,upper,size"


def _read(text: str) -> Problem:
    return formats.read_problem(text.encode())


def _buffers(text: str) -> tuple[Buffer, ...]:
    return _read(text).buffers


@pytest.mark.parametrize(
    "text",
    [
        "id,lower,upper,size\nb1,0,3,4\n",
        "id,lower,upper,size\r\nb1,0,3,4\r\n",
        "id,lower,upper,size\rb1,0,3,4\r",
        "\ufeffid,lower,upper,size\nb1,0,3,4",
        "size,upper,id,lower\n4,3,b1,0\n",
        "ID, Lower ,upper,size\n\nb1,0, 3,4\n\n",
        "id,lower,upper,size,\nb1,0,3,4,\n",
        "id,lower,upper,size\nb1,0,3,4,,\n",
        '"id","lower","upper","size"\n"b1","0","3","4"\n',
        "buffer,start,upper,size\nb1,0,3,4\n",
        "buffer_id,begin,end,size\nb1,0,2,4\n",
        "id,lower,upper,size,alignment\nb1,0,3,4,1\n",
        "id,lower,upper,size,alignment,gaps,offset\nb1,0,3,4,,,\n",
    ],
)
def test_one_buffer_written_in_many_ways(text: str) -> None:
    assert _buffers(text) == (Buffer(id="b1", size=4, lifetime=(0, 3)),)


def test_quoted_ids_hold_anything() -> None:
    problem = Problem(version=1, buffers=(Buffer(id='a,"\n b', size=1, lifetime=(-4, -1)),))
    data = formats.write_problem(problem, "csv")
    assert formats.read_problem(data) == problem


def test_gaps_are_times_at_which_nothing_is_held() -> None:
    text = f"{HEADER},gaps\n1,6,12,18,7-9 10-11\n0,5,10,15,\n"
    assert _buffers(text) == (
        Buffer(id="1", size=18, lifetimes=((6, 7), (9, 10), (11, 12))),
        Buffer(id="0", size=15, lifetime=(5, 10)),
    )


def test_with_an_end_column_gaps_end_at_their_last_moment_too() -> None:
    assert _buffers("id,start,end,size,gaps\n1,6,11,18,7-8 10-10\n") == _buffers(
        f"{HEADER},gaps\n1,6,12,18,7-9 10-11\n"
    )


def test_windows_let_two_buffers_interlock_as_in_minimalloc() -> None:
    # The "Tetris" case of its tests: each of size 2, together they need 3.
    problem = _read(f"{HEADER},gaps\nlow,4,8,2,4-6@0:1\nhigh,4,8,2,6-8@1:2\n")
    assert judge(problem).vector == (3,)
    assert judge(_read(f"{HEADER}\nlow,4,8,2\nhigh,4,8,2\n")).vector == (4,)


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER},gaps\na,0,9,8,2-3 4-5@2:6\nb,0,9,8,\n",
        f"{HEADER},gaps\na,0,9,8,0-9@1:2\n",
        f"{HEADER},gaps\na,0,9,8,0-4@1:2 4-9@3:5\n",
        f"{HEADER},alignment,offset\na,0,9,8,4,16\nb,0,9,8,1,\n",
    ],
)
def test_what_was_written_as_minimalloc_does_is_written_so_again(text: str) -> None:
    assert formats.write_problem(_read(text), "csv").decode() == text


def test_an_offset_pins_the_buffer() -> None:
    (buffer,) = _buffers(f"{HEADER},offset\na,0,9,8,16\n")
    assert (buffer.pool, buffer.offset) == ("memory", 16)


def test_a_plan_is_the_problem_with_offsets() -> None:
    problem = _read(f"{HEADER},gaps\na,0,9,8,2-3@1:2\nb,0,9,8,\n")
    placed = tuple(
        Placement(buffer=name, pool="memory", offset=offset)
        for name, offset in (("a", 0), ("b", 8), ("a@2-3@1:2", 1))
    )
    plan = Plan(status=Status.FEASIBLE, placements=placed)
    data = formats.write_plan(problem, plan, "csv")
    assert data.decode() == f"{HEADER},gaps,offset\na,0,9,8,2-3@1:2,0\nb,0,9,8,,8\n"
    assert set(formats.read_plan(data, problem).placements) == set(placed)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "empty", "$"),
        ("\n\n", "empty", "$"),
        ("hello", "no_header", "line 1"),
        ("id;lower;upper;size\n", "unknown_column", "line 1, column 1"),
        ("id,lower,size\n", "missing_column", "line 1"),
        ("id,lower,upper,size,colour\n", "unknown_column", "line 1, column 5"),
        ("id,lower,upper,size,size\n", "duplicate_column", "line 1, column 5"),
        ("id,lower,upper,end,size\n", "duplicate_column", "line 1, column 4"),
        ("id,lower,,upper,size\n", "unknown_column", "line 1, column 3"),
        (f"{HEADER}\na,0,1\n", "wrong_width", "line 2"),
        (f"{HEADER}\na,0,1,2,3\n", "wrong_width", "line 2"),
        (f"{HEADER}\na,x,1,2\n", "not_an_integer", "line 2, column lower"),
        (f"{HEADER}\na,0,1,2.0\n", "not_an_integer", "line 2, column size"),
        (f"{HEADER}\na,0,1,1_0\n", "not_an_integer", "line 2, column size"),
        (f"{HEADER}\na,0,1,\u0663\n", "not_an_integer", "line 2, column size"),
        (f"{HEADER}\na,0,,2\n", "missing_field", "line 2, column upper"),
        (f"{HEADER}\na,0,1," + "9" * 5000 + "\n", "integer_too_long", "line 2, column size"),
        (f"{HEADER}\na,0,1,99999999999999999999\n", "too_large", "line 2, column size"),
        (f"{HEADER}\na,0,1,-2\n", "too_small", "line 2, column size"),
        (f"{HEADER}\n,0,1,2\n", "empty", "line 2, column id"),
        (f"{HEADER}\n\na,2,1,2\n", "reversed_lifetime", "line 3, column lower"),
        (f"{HEADER}\na,0,1,2\na,0,1,2\n", "duplicate_buffer", "line 3, column id"),
        (f"{HEADER},alignment\na,0,1,2,0\n", "too_small", "line 2, column alignment"),
        (f"{HEADER},offset\na,0,1,2,-1\n", "too_small", "line 2, column offset"),
        (f"{HEADER},gaps\na,0,9,2,1-2-3\n", "malformed_gap", "line 2, column gaps"),
        (f"{HEADER},gaps\na,0,9,2,8-10\n", "malformed_gap", "line 2, column gaps"),
        (f"{HEADER},gaps\na,0,9,2,1-4 3-5\n", "malformed_gap", "line 2, column gaps"),
        (f"{HEADER},gaps\na,0,9,2,1-4@0:3\n", "malformed_gap", "line 2, column gaps"),
        (f'{HEADER}\n"a,0,1,2\n', "malformed_csv", "line 2"),
        (f'{HEADER}\n"a,0,1,2', "malformed_csv", "line 2"),
        (f'{HEADER}\n"a,0,1,2\nb,0,1,2\nc,0,1,2\n', "malformed_csv", "line 2"),
        (f'{HEADER}\r\na,0,1,2\r\n\r\n"b,0,1,2\r\n', "malformed_csv", "line 4"),
        (f'{HEADER}\r"a\rb",0,1,"2\r', "malformed_csv", "line 3"),
        (f'{HEADER}\n"a""\n",0,"""1,2\n', "malformed_csv", "line 3"),
        (f'{HEADER}\n5" x,0,1,"2', "malformed_csv", "line 2"),
        (f'"{HEADER}\na,0,1,2\n', "malformed_csv", "line 1"),
        (f'{HEADER}\n"a\n{"a" * (2 << 20)},0,1,2\n', "malformed_csv", "line 2"),
        (f'{HEADER}\n"a"b,0,1,2\n', "malformed_csv", "line 2"),
        (f'{HEADER}\n"a\n"b,0,1,2\n', "malformed_csv", "line 3"),
        (f"{HEADER}\na\0,0,1,2\n", "not_text", "line 2, column id"),
        (f"{HEADER}\n{'a' * (2 << 20)},0,1,2\n", "malformed_csv", "line 2"),
    ],
)
def test_defects_are_told_by_line_and_column(text: str, code: str, place: str) -> None:
    assert (code, place) in told(lambda: _read(text))


def test_names_of_columns_are_told_as_the_header_has_them() -> None:
    assert told(lambda: _read("buffer,start,end,size\na,0,x,1\n")) == [
        ("not_an_integer", "line 2, column end")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id;lower;upper;size\n", '"id;lower;upper;size" is not a column; separate columns with commas'),
        (f'{HEADER}\n"a,0,1,2\n', "a quote is opened and never closed"),
        (
            f'{HEADER}\n"a"b,0,1,2\n',
            "a cell in quotes goes on after the closing quote; write a quote in a cell twice",
        ),
        (
            f"{HEADER}\n{'a' * (2 << 20)},0,1,2\n",
            "a cell of more than 1,048,576 characters; a quote may not be closed",
        ),
        (
            f"{HEADER},gaps\nq,0,9,4,3-5@0:2\n\na,0,1,4,\na,1,2,3,\n",
            "'a' is already the id of line 4; give each buffer an id of its own",
        ),
        (
            "id,start,end,size\na,0,-1,4\n",
            "the first moment 0 is after the last, -1; give the first and then the last, both live",
        ),
        (
            f"{HEADER}\na,0,1,64KB\n",
            'expected an integer, given "64KB"; write the number in full, such as 65536 for 64 KiB',
        ),
        (f"{HEADER}\na,0,1,1.5\n", 'expected an integer, given "1.5"'),
    ],
)
def test_a_defect_is_told_in_the_terms_of_the_file(text: str, message: str) -> None:
    assert [issue.message for issue in refusal(lambda: _read(text))] == [message]


def test_all_defects_are_told_at_once() -> None:
    text = f"{HEADER}\na,0,1,x\nb,3,2,1\nc,0\nb,0,1,1\n"
    assert told(lambda: _read(text)) == [
        ("not_an_integer", "line 2, column size"),
        ("reversed_lifetime", "line 3, column lower"),
        ("wrong_width", "line 4"),
        ("duplicate_buffer", "line 5, column id"),
    ]


def test_bytes_that_are_not_utf8_are_told_with_their_line() -> None:
    data = f"{HEADER}\n".encode() + b"\xff,0,1,2\n"
    assert told(lambda: formats.read_problem(data)) == [("not_utf8", "line 2, byte 1")]
    assert told(lambda: formats.read_problem(f"{HEADER}\n".encode("utf-16")))[0][0] == "not_utf8"


def test_a_plan_of_several_pools_must_name_them() -> None:
    problem = formats.read_problem(b'{"version": 1, "pools": [{"id": "p"}, {"id": "q"}], "buffers": []}')
    assert told(lambda: formats.read_plan(b"id,offset\na,0\n", problem)) == [("missing_column", "line 1")]
    plan = formats.read_plan(b"id,pool,offset\na,q,0\n", problem)
    assert plan.placements == (Placement(buffer="a", pool="q", offset=0),)


@pytest.mark.parametrize("line", ["a,b,c,d", "a,0,1,1", "a,2,1,1", "a"])
def test_the_number_of_issues_is_bounded(line: str) -> None:
    issues = refusal(lambda: _read(f"{HEADER}\n" + f"{line}\n" * 10_000))
    assert len(issues) == 201
    assert issues[-1].code == "more_issues"


def test_a_table_of_too_many_lines_is_refused_before_it_is_read() -> None:
    assert told(lambda: _read(HEADER + "\n" * 11_000_000)) == [("too_large", "$")]


def test_every_set_of_minimalloc_and_idealloc_comes_back_as_it_was(shared_data: Path) -> None:
    files = [*shared_data.glob("minimalloc/*.csv"), *shared_data.glob("idealloc/*.csv")]
    assert files
    for file in files:
        problem = formats.read_problem(file.read_bytes())
        assert formats.write_problem(problem, "csv").split() == file.read_bytes().split()


def test_gaps_hold_whatever_times_there_may_be() -> None:
    far = 10**3000
    one = Buffer(id="a", size=4, lifetimes=((-far, 0), (far, far + 2)))
    problem = Problem(version=1, buffers=(one,))
    assert formats.read_problem(formats.write_problem(problem, "csv")) == problem


@pytest.mark.parametrize(
    ("life", "offset"),
    [((0, 9), -1), ("always", 0)],
    ids=["below its buffer", "of one that is always live"],
)
def test_what_only_looks_like_a_window_is_not_written_as_one(
    life: tuple[int, int] | Literal["always"], offset: int
) -> None:
    apart = ((0, 2), (3, 9))
    whole = Buffer(id="a", size=8, lifetime="always")
    base = whole if life == "always" else Buffer(id="a", size=8, lifetimes=apart)
    child = Buffer(id=f"a@2-3@{offset}:{offset + 2}", size=2, lifetime=(2, 3))
    tie = Relative(buffer=child.id, base="a", offset=offset)
    problem = Problem(version=1, buffers=(base, child), relative=(tie,))
    assert find_issues(problem) == []
    paths = {path for _, path in told(lambda: write_problem(problem))}
    assert "$.relative" in paths
