"""What the page asks a service is the problem that it shows, with all that says where a buffer may be."""

import json

from memstow.planner.formats import read_problem, write_problem
from memstow.planner.model.problem import BankConflict, Banks, Buffer, InPlace, Pool, Problem, Reserved
from tests.api.page.modules import run

ASKED = """
import { readDocuments } from "./model/documents.ts";
import { scenesOf } from "./model/scene.ts";
import { problemText } from "./service/scene_problem.ts";
export default ({text, without}) => {
  const documents = readDocuments(new TextEncoder().encode(text), false, () => undefined);
  return problemText(scenesOf(documents, "")[0], {capacity: null, without});
};
"""
PROBLEM = Problem(
    pools=[
        Pool(
            id="sram",
            capacity=96,
            base=4096,
            reserved=[Reserved(offset=0, size=8)],
            banks=[Banks(size=32, count=2), Banks(size=16, offset=64)],
        )
    ],
    buffers=[
        Buffer(id="x", size=24, lifetime=(0, 3), within_bank=True),
        Buffer(id='"w"', size=16, lifetime=(0, 6), alignment=8),
        Buffer(id="y", size=24, lifetime=(1, 5), banks=[1, 2]),
        Buffer(id="z", size=16, lifetime=(4, 6), within_bank=True, banks=[0]),
    ],
    in_place=[InPlace(input="x", output="y")],
    bank_conflicts=[
        BankConflict(buffers=["x", '"w"']),
        BankConflict(buffers=["x", "y", "z"], cost=4),
    ],
    objective=["peak"],
)


def asked(without: int) -> Problem:
    text = run(ASKED, {"text": write_problem(PROBLEM).decode(), "without": without})
    assert set(json.loads(text)) >= {"pools", "buffers", "in_place"}
    return read_problem(text.encode())


def test_the_question_is_the_problem_that_is_shown() -> None:
    problem = asked(-1)
    assert problem.pools == PROBLEM.pools
    assert [buffer.banks for buffer in problem.buffers] == [buffer.banks for buffer in PROBLEM.buffers]
    assert [bool(buffer.within_bank) for buffer in problem.buffers] == [True, False, False, True]
    assert problem.bank_conflicts == PROBLEM.bank_conflicts
    assert problem.in_place == PROBLEM.in_place


def test_a_buffer_that_is_left_out_is_in_no_rule() -> None:
    assert asked(1).bank_conflicts == PROBLEM.bank_conflicts[1:]
    assert asked(0).bank_conflicts == (BankConflict(buffers=("y", "z"), cost=4),)
