"""`solve --proof` and `verify --proof` for graphs: about all orders of their operators."""

import json
import os
from pathlib import Path

import pytest

import memstow
from memstow.api.cli.terminal import Exit
from memstow.planner.formats import write_graph
from memstow.planner.generate.graph import graph as generated
from memstow.planner.model.graph import FREE
from memstow.planner.proofs.check import proof_about
from memstow.records import replace
from tests.api.cli.conftest import Cli
from tests.api.cli.test_build import held
from tests.checker.checkers import VERIFIED, WEAKER
from tests.checker.order_proofs import SECOND
from tests.checker.test_order_checker import EXAMPLE
from tests.graphs import Document

INSTEAD = {"id": "c", "replaces": ["A"], "operators": [{"id": "Z", "inputs": ["x"], "outputs": ["a"]}]}


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """That of docs/order.md; no order needs less than 130 bytes."""
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(EXAMPLE))
    return path


def solve(cli: Cli, graph: Path, *more: str) -> tuple[int, str, str]:
    names = ("--output", graph.parent / "plan.json", "--proof", graph.parent / "plan.proof")
    ran = cli("solve", graph, *names, *more)
    return ran.code, ran.out, ran.err


def says(folder: Path) -> tuple[int, str]:
    names = ("graph.json", "plan.json", "plan.proof")
    verdict = SECOND.check(tuple((folder / name).read_bytes() for name in names), folder)  # type: ignore[arg-type]
    return verdict.code, verdict.words


@pytest.mark.parametrize("more", [(), ("--quiet",), ("--deterministic",)])
def test_the_proof_is_about_all_orders(cli: Cli, graph: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    code, out, err = solve(cli, graph, *more)
    assert (code, err) == (Exit.DONE, "")
    assert ("plan.proof proves that no plan has a peak below 130 (1 step, " in out) == ("--quiet" not in more)
    assert says(tmp_path) == (VERIFIED, "verified: peak 130 is least of all orders and layouts")
    ran = cli("verify", graph, tmp_path / "plan.json", "--strict", "--proof", tmp_path / "plan.proof")
    assert (ran.code, "verified: peak 130 is least of all orders" in ran.out) == (Exit.DONE, True)


def test_the_order_may_be_free_by_an_option(cli: Cli, graph: Path, tmp_path: Path) -> None:
    graph.write_text(json.dumps({name: value for name, value in EXAMPLE.items() if name != "order"}))
    assert solve(cli, graph, "--order", "free")[0] == Exit.DONE
    assert says(tmp_path)[0] == VERIFIED
    proof = ("--proof", tmp_path / "plan.proof")
    assert cli("verify", graph, tmp_path / "plan.json", "--order", "free", *proof).code == Exit.DONE
    # As they are listed they make a problem.
    code, _, err = solve(cli, graph)
    assert (code, "`memstow convert` it to that" in err) == (Exit.USAGE, True)
    assert cli("convert", graph, tmp_path / "problem.json").code == Exit.DONE
    assert cli("solve", tmp_path / "problem.json", "--proof", tmp_path / "other.proof").code == Exit.DONE


@pytest.mark.parametrize(
    ("count", "seed", "work"), [(60, 3, 10_000_000), (40, 1, 1_000_000), (20, 2, 20_000)]
)
def test_a_lock_names_the_same_proof_with_and_without_its_search(
    cli: Cli, graph: Path, tmp_path: Path, count: int, seed: int, work: int
) -> None:
    made = replace(generated(count, seed, family="wiring"), order=FREE)
    graph.write_bytes(write_graph(made))
    lock, proof = tmp_path / "plan.lock", tmp_path / "plan.proof"
    more = ("--work-limit", str(work), "--lock", str(lock))
    assert solve(cli, graph, "--deterministic", *more[:2])[0] == Exit.DONE
    proofs = [proof.read_bytes()]
    assert solve(cli, graph, *more)[0] == Exit.DONE
    proofs.append(proof.read_bytes())
    locked = lock.read_bytes()
    proof.unlink()
    assert solve(cli, graph, *more, "--locked")[0] == Exit.DONE
    proofs.append(proof.read_bytes())
    # The plan of an older lock, to begin from, is no part of the proof.
    older = json.loads(locked)
    older["problem"] = older["problem"][::-1]
    lock.write_text(json.dumps(older))
    assert solve(cli, graph, *more)[0] == Exit.DONE
    proofs.append(proof.read_bytes())
    assert len(set(proofs)) == 1
    code, words = says(tmp_path)
    assert (code, json.loads(lock.read_bytes())["plan"]["objective"]) == (
        VERIFIED if "is least" in words else WEAKER,
        json.loads(locked)["plan"]["objective"],
    )


def test_nothing_fits(cli: Cli, graph: Path, tmp_path: Path) -> None:
    graph.write_text(json.dumps(EXAMPLE | {"pools": [{"id": "memory", "capacity": 129}]}))
    code, out, err = solve(cli, graph)
    assert (code, "plan.proof proves that nothing fits" in out, err) == (Exit.INFEASIBLE, True, "")
    assert says(tmp_path) == (VERIFIED, "verified: no order fits into 129 bytes")
    ran = cli("verify", graph, tmp_path / "plan.json", "--strict", "--proof", tmp_path / "plan.proof")
    assert ran.code == Exit.DONE


@pytest.mark.parametrize(
    ("change", "words", "text"),
    [
        ({"alternatives": [INSTEAD]}, (), "it has `alternatives`"),
        ({"pools": [{"id": "one"}, {"id": "two"}]}, (), "it has several pools"),
        ({"objective": ["placement_cost"]}, (), "its objective does not begin with the peak"),
        ({}, ("--capacity", "200"), "a proof is about a graph in JSON, just as its file says it"),
        ({}, ("--opb", "p.opb", "--pbp", "p.pbp"), "no proofs for VeriPB of the orders of graphs"),
        ({"order": "given"}, (), "its operators run as they are listed"),
    ],
)
def test_what_there_are_no_proofs_of(
    cli: Cli, graph: Path, tmp_path: Path, change: Document, words: tuple[str, ...], text: str
) -> None:
    os.chdir(tmp_path)
    graph.write_text(json.dumps(EXAMPLE | change))
    code, _, err = solve(cli, graph, *words)
    assert (code, text in err) == (Exit.USAGE, True), err
    assert not (tmp_path / "plan.proof").exists()


def test_a_wrong_proof_is_a_violation(cli: Cli, graph: Path, tmp_path: Path) -> None:
    assert solve(cli, graph)[0] == Exit.DONE
    proof = tmp_path / "plan.proof"
    whole = proof.read_bytes()
    proof.write_bytes(whole[:-1])
    for says_why in (
        "the plan names another proof",
        "memstow-check does not accept the proof: wrong: step 1",
    ):
        ran = cli("verify", graph, tmp_path / "plan.json", "--proof", proof)
        assert (ran.code, says_why in ran.out) == (Exit.INVALID, True)
        plan = json.loads((tmp_path / "plan.json").read_text())
        plan.pop("proof_sha256", None)
        (tmp_path / "plan.json").write_text(json.dumps(plan))
    # That of a problem is none of a graph.
    proof.write_bytes(b"memstow proof 1\n" + whole[22:])
    assert "is unknown to this program" in cli("verify", graph, tmp_path / "plan.json", "--proof", proof).out


def test_a_page_walks_through_a_proof(cli: Cli, graph: Path, tmp_path: Path) -> None:
    assert solve(cli, graph)[0] == Exit.DONE
    page = tmp_path / "page.html"
    names = ("--problem", graph, "--proof", tmp_path / "plan.proof", "--output", page)
    ran = cli("view", tmp_path / "plan.json", *names)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    walk = held(page)["verdict"]["walk"]
    assert walk["says"] == "verified: peak 130 is least of all orders and layouts"
    assert walk["steps"][0]["text"].startswith("No order needs less than 130 bytes: B needs them whenever")


def test_the_library_proves_graphs(graph: Path, tmp_path: Path) -> None:
    document = graph.read_bytes()
    planned = memstow.plan(memstow.read_graph(document))
    proof = memstow.prove(document, planned, tmp_path / "plan.proof")
    assert proof is not None
    assert (proof.bound, proof.steps) == (130, 1)
    assert memstow.check_proof(document, planned, tmp_path / "plan.proof").verified
    # As one about another file of the same graph.
    other = json.dumps(EXAMPLE, indent=3).encode()
    moved = proof_about(other, (tmp_path / "plan.proof").read_bytes())
    (tmp_path / "moved.proof").write_bytes(moved)
    assert memstow.check_proof(other, planned, tmp_path / "moved.proof").verified
    checked = memstow.check_proof(document, planned, tmp_path / "moved.proof")
    assert "the proof is for another problem" in checked.says


def test_a_search_is_proven_where_one_operator_shows_too_little(
    cli: Cli, graph: Path, tmp_path: Path
) -> None:
    # A ladder: each rung may be made before the next, or after.
    rungs = 7
    tensors = [{"id": "x0", "size": 3}, {"id": "y0", "size": 4}]
    operators = []
    for k in range(rungs):
        tensors += [{"id": f"x{k + 1}", "size": 3 + k % 3}, {"id": f"y{k + 1}", "size": 4 + k % 2}]
        operators += [
            {"id": f"X{k}", "inputs": [f"x{k}", f"y{max(k - 2, 0)}"], "outputs": [f"x{k + 1}"]},
            {"id": f"Y{k}", "inputs": [f"y{k}", f"x{max(k - 2, 0)}"], "outputs": [f"y{k + 1}"]},
        ]
    ladder = {
        "version": 1,
        "tensors": tensors,
        "operators": operators,
        "inputs": ["x0", "y0"],
        "order": "free",
    }
    ladder["outputs"] = [f"x{rungs}", f"y{rungs}"]
    graph.write_text(json.dumps(ladder))
    assert solve(cli, graph, "--deterministic")[0] == Exit.DONE
    first = (tmp_path / "plan.proof").read_bytes()
    assert first[54] == 3, "a search is the first step"
    code, words = says(tmp_path)
    bound = json.loads((tmp_path / "plan.json").read_text())["objective"][0]["bound"]
    assert code == VERIFIED or f"in each order {bound} bytes are live at once" in words
    assert solve(cli, graph, "--deterministic")[0] == Exit.DONE
    assert (tmp_path / "plan.proof").read_bytes() == first
