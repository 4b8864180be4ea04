"""The checker that is proven right: it says what the fast one says, and what it verifies is true."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.campaign import gate_first, rounds
from tests.checker.checkers import (
    FOLDER,
    HEAD,
    NOT_CHECKED,
    ROOT,
    VERIFIED,
    WEAKER,
    WRONG,
    Batch,
    Files,
    batch,
    bytes_of,
    compilers,
)
from tests.checker.mutations import Case, is_true, mutant, sample
from tests.checker.test_checker import PROOF, TWO, by_hand, placed
from tests.checker.test_ties import derived

SOURCES: Final = FOLDER / "verified"
PROGRAM: Final = SOURCES / "build/memstow-check-verified"


def _why_not() -> str | None:
    """Why the program cannot be tried."""
    if not PROGRAM.exists():
        return (
            "checker/verified is not built: `make proofs-verified` does so, where Coq and OCaml are installed"
        )
    built = PROGRAM.stat().st_mtime
    if any(path.stat().st_mtime > built for suffix in ("v", "ml") for path in SOURCES.glob(f"*.{suffix}")):
        return "checker/verified has changed since it was built: `make proofs-verified` builds it again"
    return None if compilers() else "memstow-check, which it is compared with, needs g++ or clang++"


@pytest.fixture(scope="session")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batch]:
    """The checker that is proven right."""
    why = _why_not()
    if why is not None:
        pytest.skip(why)
    with batch(PROGRAM, tmp_path_factory.mktemp("verified"), "--batch") as running:
        yield running


def files_of(case: Case) -> Files:
    document = json.dumps(case.problem).encode()
    head = HEAD + sha256(document).digest()
    return document, json.dumps(case.plan).encode(), head + bytes_of(case.proof)


def is_known(problem: object) -> bool:
    """Whether it knows the problem, as far as groups and pools go."""
    if not isinstance(problem, dict) or problem.get("relative"):
        return False
    pools = problem.get("pools", [{"id": "memory"}])
    ids = [pool.get("id") for pool in pools]
    buffers = (buffer for buffer in problem.get("buffers", []) if buffer.get("pools") is not None)
    return len(pools) == 1 and all(buffer["pools"] == ids for buffer in buffers)


ABOUT_COSTS: Final = (
    "not checked: the proof is about costs or several pools",
    "not checked: the objective does not begin with the peak",
)


def agreed(verified: Batch, checker: Batch, files: Files) -> int:
    """The code of both."""
    one, other = verified.check(files), checker.check(files)
    if one.words in ABOUT_COSTS:
        return one.code
    with suppress(ValueError):
        if not is_known(json.loads(files[0])):
            assert one.code == NOT_CHECKED, files
            return one.code
    assert one.code == other.code, (one, other, files)
    if one.code in (VERIFIED, WEAKER):
        assert one.words == other.words, files
    return one.code


@pytest.mark.rounds
@pytest.mark.parametrize("seed", gate_first(range(12), 1))
def test_it_agrees_with_the_fast_one(verified: Batch, checker: Batch, tmp_path: Path, seed: int) -> None:
    rng, cases, codes = Random(seed), list[Case](), Counter[int]()
    while len(cases) < rounds(150):
        # Most proofs of tiny problems are one step: two of three are to have lemmas.
        case = sample(rng, tmp_path, needs_lemmas=len(cases) % 3 > 0)
        if case is None or not is_known(case.problem):
            continue
        cases.append(case)
        assert agreed(verified, checker, files_of(case)) in (VERIFIED, WEAKER)
    for _ in range(rounds(1_000)):
        files = mutant(rng, rng.choice(cases))
        code = agreed(verified, checker, files)
        codes[code] += 1
        assert code != VERIFIED or codes[code] > 20 or is_true(files), files
    assert min(codes[code] for code in (VERIFIED, WRONG, NOT_CHECKED, WEAKER)) > 0


@pytest.mark.rounds
@pytest.mark.parametrize("seed", gate_first(range(12), 1))
def test_it_agrees_where_pairs_in_place_tie(verified: Batch, checker: Batch, seed: int) -> None:
    rng, cases, codes = Random(seed), list[Case](), Counter[int]()
    while len(cases) < rounds(100):
        case = derived(rng)
        if case is not None and is_known(case.problem):
            cases.append(case)
            assert agreed(verified, checker, files_of(case)) == VERIFIED
    for _ in range(rounds(600)):
        files = mutant(rng, rng.choice(cases))
        code = agreed(verified, checker, files)
        codes[code] += 1
        assert code != VERIFIED or codes[code] > 20 or is_true(files), files
    assert min(codes[code] for code in (VERIFIED, WRONG)) > rounds(40)


@pytest.mark.parametrize(
    "rule",
    [
        (0, 3, 0, 9, 2, 0, 0),  # derive: overfull
        (1, 0, 0, 1, 0, 2, 2),  # split low of `a` at 0: `b` has to be above, or `a` on top of it
        (2, 0, 4, 1, 0, 2, 2),  # split high of `a` at 4
    ],
)
def test_each_rule_of_a_lemma(verified: Batch, rule: tuple[int, ...]) -> None:
    numbers = [1, 2, 0, 0, 4, 0, 0, 2, *rule, 3, 9, 4, 1, 0, 2]
    assert verified.check(by_hand(TWO, placed(0, 4), *numbers)).words == "verified: peak 10 is least"
    for at in range(8, 8 + len(rule)):
        assert verified.check(by_hand(TWO, placed(0, 4), *numbers[:at], *numbers[at + 1 :])).code == WRONG


def test_a_name_does_not_pass_for_a_verdict(verified: Batch) -> None:
    answer = placed(0, 4)
    answer["placements"][0]["buffer"] = "x\n\x1b[2J\u202everified: peak 10 is least"
    said = verified.check(by_hand(TWO, answer, *PROOF)).words
    assert said.isascii()
    assert said.isprintable()
    assert said.startswith("wrong: the plan places 'x\\n\\027[2J")


@pytest.mark.parametrize("blanks", [*range(70), 100_000])
def test_files_of_any_length_have_the_digest_of_others(verified: Batch, blanks: int) -> None:
    document = json.dumps(TWO).encode() + b" " * blanks
    answer, proof = json.dumps(placed(0, 4)).encode(), bytes_of([*PROOF])
    assert verified.check((document, answer, HEAD + sha256(document).digest() + proof)).code == VERIFIED
    other = sha256(document + b" ").digest()
    assert verified.check((document, answer, HEAD + other + proof)).words == (
        "wrong: the proof is for another problem"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"pools": [{"id": "a"}, {"id": "b"}]},
        {"pools": [{"id": "memory", "banks": []}]},
        {"pools": [{"id": "memory", "capacity": (1 << 62) + 1}]},
        {"pools": [{"id": "memory", "alignment": 0}]},
        {"pools": [{"id": "memory", "capacity": 9, "reserved": [{"offset": 8, "size": 2}]}]},
        {
            "pools": [{"id": "memory", "alignment": (1 << 61) + 1}],
            "buffers": [{"id": "a", "size": 1, "alignment": 4}],
        },
        {"relative": [{"buffer": "a", "base": "b", "offset": 0}]},
        {"objective": ["placement_cost", "peak"]},
        {"version": 2},
        {"colour": "red"},
        {"conflicts": [["a", "c"]]},
        {"conflicts": [["a", "a"]]},
        {"buffers": [{"id": "a", "size": 1, "lifetime": [3, 3]}]},
        {"buffers": [{"id": "a", "size": 1.5}]},
        {"buffers": [{"id": "a", "size": 99999999999999999999999999}]},
        {"buffers": [{"id": "a", "size": 1}, {"id": "a", "size": 1}]},
        {"buffers": [{"id": "a", "size": -1}]},
        {"buffers": [{"id": "a", "size": 1, "accesses": -1}]},
        {"pools": [{"id": "memory", "cost": -1}]},
        {"pools": [{"id": "memory", "cost": 1 << 60}], "objective": ["peak", "placement_cost"]},
        {"reuse_costs": [{"buffers": ["a", "a"], "cost": 1}]},
        {"reuse_costs": [{"buffers": ["a", "nobody"], "cost": 1}]},
        {"reuse_costs": [{"buffers": ["a", "b"], "cost": -1}]},
        {"reuse_costs": [{"buffers": ["a", "b"]}]},
        {"reuse_costs": [{"buffers": ["a", "b"], "cost": 1, "banks": 1}]},
        {"reuse_costs": [{"buffers": ["a", "b"], "cost": cost} for cost in (1, 1 << 62)]},
    ],
)
def test_what_it_does_not_know_it_refuses(verified: Batch, checker: Batch, change: dict[str, Any]) -> None:
    assert agreed(verified, checker, by_hand(TWO | change, placed(0, 4), *PROOF)) == NOT_CHECKED


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[1, 2",
        b'{"a": 1, "a": 2}',
        b'{"version": 01}',
        b'{"version": 1.}',
        b'{"version": nan}',
        b'{"version": "\xff"}',
        b'{"version": "\\ud800"}',
        b'{"version": "\n"}',
        b'{"version": 1} 2',
        b"[" * 200 + b"]" * 200,
    ],
)
def test_what_is_no_json_it_refuses(verified: Batch, checker: Batch, document: bytes) -> None:
    answer = json.dumps(placed(0, 4)).encode()
    proof = HEAD + sha256(document).digest() + bytes_of([*PROOF])
    assert agreed(verified, checker, (document, answer, proof)) == NOT_CHECKED


def test_ids_may_be_any_text(verified: Batch, checker: Batch) -> None:
    name = 'é\U0001f600\t"\\/\x7f'
    problem = json.loads(json.dumps(TWO).replace('"a"', json.dumps(name)))
    answer = json.loads(json.dumps(placed(0, 4)).replace('"a"', json.dumps(name)))
    assert agreed(verified, checker, by_hand(problem, answer, *PROOF)) == VERIFIED
    document = json.dumps(problem, ensure_ascii=False).encode()
    files = document, json.dumps(answer).encode(), HEAD + sha256(document).digest() + bytes_of([*PROOF])
    assert agreed(verified, checker, files) == VERIFIED


def test_the_program_prints_and_exits_as_the_fast_one(verified: Batch, tmp_path: Path) -> None:
    assert verified
    paths = [tmp_path / name for name in ("problem.json", "plan.json", "plan.proof")]
    for path, data in zip(paths, by_hand(TWO, placed(0, 4), *PROOF), strict=True):
        path.write_bytes(data)
    run = subprocess.run([PROGRAM, *paths], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (VERIFIED, "verified: peak 10 is least\n", "")
    assert subprocess.run([PROGRAM], capture_output=True, check=False).returncode == NOT_CHECKED
    missing = subprocess.run([PROGRAM, "none", "none", "none"], capture_output=True, check=False)
    assert missing.returncode == NOT_CHECKED


def test_nothing_is_left_unproven() -> None:
    """The build asks Coq as well; this needs none."""
    for path in SOURCES.glob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        words = r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Unset|bypass_check)\b"
        assert re.findall(words, text) == [], path
        assert set(re.findall(r"From (\w+)", text)) <= {"Coq", "Memstow"}
    theorems = re.findall(r"^Theorem (\w+)", (SOURCES / "Sound.v").read_text(), flags=re.MULTILINE)
    compared = re.findall(
        r"^Print Assumptions (\w+)", (SOURCES / "Assumptions.v").read_text(), flags=re.MULTILINE
    )
    assert [*theorems, "ten_is_least"] == compared


def test_the_build_says_what_is_missing(tmp_path: Path) -> None:
    for tool in ("make", "sh", "find", "sort", "cksum", "cut", "grep", "basename", "nproc"):
        path = shutil.which(tool)
        if path is not None:
            (tmp_path / tool).symlink_to(path)
    run = subprocess.run(
        [tmp_path / "make", "--no-print-directory", "proofs-verified"],
        cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "proofs-verified: skipped, because these programs are not installed: coqc ocamlopt" in run.stdout
